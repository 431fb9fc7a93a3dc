//! Who imports whom. The house's rule is a table, here and in ARCHITECTURE.md; cargo says what is.

use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::process::Command;
use tests::tree;

/// What each crate may import of ours. A crate that is not here has no place in the house yet.
const MAY_IMPORT: [(&str, &[&str]); 12] = [
    ("dataplane", &[]),
    ("agents", &["dataplane"]),
    ("random", &[]),
    ("fabric", &["dataplane", "agents", "random"]),
    ("config", &["dataplane", "agents", "fabric", "roce"]),
    ("fleet", &["random"]),
    ("roce", &["dataplane"]),
    ("netsim", &["dataplane", "agents", "config", "fabric", "random", "roce"]),
    ("dpdk-sys", &[]),
    ("switch", &["dataplane", "agents", "config", "fabric", "fleet", "netsim", "roce", "dpdk-sys"]),
    ("bench", &["dataplane", "agents", "config", "fabric", "netsim", "random", "roce", "switch"]),
    ("tests", &["dataplane", "agents", "config", "fabric", "netsim", "random", "roce", "switch"]),
];

/// What stands before the name of every package of ours, which is otherwise its folder's.
const PREFIX: &str = "knotless-";

/// A package by its folder's name.
fn short(name: &Value) -> String {
    let name = name.as_str().unwrap();
    name.strip_prefix(PREFIX).unwrap_or_else(|| panic!("`{name}` is not {PREFIX}*")).to_owned()
}

/// The packages of the workspace, by the names of their folders.
fn packages() -> BTreeMap<String, Value> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["metadata", "--format-version", "1", "--no-deps", "--offline"])
        .current_dir(tree::root())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    let packages = metadata["packages"].as_array().unwrap().iter();
    packages.map(|package| (short(&package["name"]), package.clone())).collect()
}

/// What `package` depends on, in any way, of what stands in this tree.
fn imports(package: &Value) -> BTreeSet<String> {
    let dependencies = package["dependencies"].as_array().unwrap().iter();
    let ours = dependencies.filter(|dependency| dependency["path"].is_string());
    ours.map(|dependency| short(&dependency["name"])).collect()
}

#[test]
fn crates_import_only_what_stands_below_them() {
    for (name, package) in packages() {
        let place = MAY_IMPORT.iter().find(|(known, _)| *known == name);
        let Some((_, allowed)) = place else {
            panic!("crate `{name}` has no place in the table of this test; give it one");
        };
        for import in imports(&package) {
            // Tests may use their own crate with other features.
            assert!(
                import == name || allowed.contains(&import.as_str()),
                "`{name}` imports `{import}`; it may import {allowed:?}"
            );
        }
    }
}

#[test]
fn the_tables_crates_are_all_there_and_architecture_names_them() {
    let packages = packages();
    let architecture = fs::read_to_string(tree::root().join("ARCHITECTURE.md")).unwrap();
    for (name, _) in MAY_IMPORT {
        let exists = packages.contains_key(name) || tree::root().join(name).is_dir();
        assert!(exists, "the table names `{name}`, and there is no such crate");
        assert!(architecture.contains(&format!("| `{name}` |")), "ARCHITECTURE.md: `{name}`?");
    }
}

#[test]
fn only_the_program_links_dpdk() {
    for (name, package) in packages() {
        let links_dpdk = imports(&package).contains("dpdk-sys");
        assert!(!links_dpdk || name == "switch", "`{name}` links DPDK; only `switch` may");
        let native = package["links"].as_str();
        assert!(
            native.is_none() || name == "dpdk-sys",
            "`{name}` links a native library: {native:?}"
        );
    }
    // Whoever takes the program as a library must be able to leave DPDK out.
    let switch = &packages()["switch"];
    let optional = switch["dependencies"].as_array().unwrap().iter().any(|dependency| {
        dependency["name"] == "knotless-dpdk-sys" && dependency["optional"] == Value::Bool(true)
    });
    assert!(optional, "`switch` must build without DPDK");
}

#[test]
fn the_core_and_the_agents_are_no_std_and_forbid_unsafe_code() {
    for root in ["dataplane/src/lib.rs", "agents/src/lib.rs"] {
        let head = fs::read_to_string(tree::root().join(root)).unwrap();
        for attribute in ["#![no_std]", "#![forbid(unsafe_code)]"] {
            assert!(head.lines().any(|line| line == attribute), "{root} lost {attribute}");
        }
    }
}
