//! `knotless plan` as an operator would use it: files, JSON, Graphviz, scenarios, exit codes.

use serde_json::{Value, json};
use std::path::Path;
use std::process::{Command, Output};

fn knotless(words: &[&str], place: &Path) -> Output {
    let program = env!("CARGO_BIN_EXE_knotless");
    Command::new(program).args(words).current_dir(place).output().unwrap()
}

fn example(name: &str) -> String {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../config/examples/plans");
    examples.join(name).to_str().unwrap().to_owned()
}

fn object(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"))
}

fn text(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

/// The files of an example.
fn files(name: &str) -> [String; 3] {
    [".toml", "-old.txt", "-new.txt"].map(|end| example(&format!("{name}{end}")))
}

#[test]
fn the_papers_ring_is_planned_as_a_table_as_json_and_as_a_graph() {
    let place = tempfile::tempdir().unwrap();
    let [network, old, new] = files("ring");
    let words = ["plan", &network, "--old", &old, "--new", &new, "--dot", "plan.dot"];
    let planned = knotless(&words, place.path());
    assert_eq!(planned.status.code(), Some(0), "{planned:?}");
    let stdout = text(&planned);
    assert!(stdout.contains("proven safe at every moment: 1 constraint, each needed"), "{stdout}");
    assert!(stdout.contains("no safe order is faster"), "{stdout}");
    assert!(stdout.contains("4   add        p4    remove p1"), "{stdout}");
    let drawn = std::fs::read_to_string(place.path().join("plan.dot")).unwrap();
    assert!(drawn.contains("o1 -> o4;") && drawn.matches("->").count() == 1, "{drawn}");

    let plan = object(&knotless(&[&words[..], &["--json"]].concat(), place.path()));
    assert_eq!(
        plan["operations"],
        json!([
            { "id": 1, "kind": "remove", "path": "p1" },
            { "id": 2, "kind": "remove", "path": "p3" },
            { "id": 3, "kind": "add", "path": "p2" },
            { "id": 4, "kind": "add", "path": "p4" },
        ])
    );
    assert_eq!(plan["order"], json!([[1, 4]]));
    let makespan = json!({ "unit": "us", "parallel": 6_000, "sequential": 4_000,
        "control_delay": 26_000, "stragglers": 6_000 });
    assert_eq!(plan["makespan"], makespan);
    assert_eq!(plan["compared"]["remove_all"]["makespan"]["parallel"], 7_000);
    assert_eq!(plan["compared"]["remove_all"]["constraints"], 4);
}

#[test]
fn a_plan_is_simulated_and_the_worst_way_round_deadlocks() {
    let place = tempfile::tempdir().unwrap();
    let [network, old, new] = files("tree");
    let words = ["plan", &network, "--old", &old, "--new", &new, "--scenario", "plan.toml"];
    for (naive, deadlock) in [(&["--naive"][..], true), (&[], false)] {
        let planned = knotless(&[&words[..], naive].concat(), place.path());
        assert_eq!(planned.status.code(), Some(0), "{planned:?}");
        let simulated = knotless(&["simulate", "plan.toml", "--json"], place.path());
        assert_eq!(object(&simulated)["deadlock"]["detected"], deadlock, "{naive:?}");
    }
}

#[test]
fn the_loss_of_a_switch_is_planned_from_the_links_alone() {
    let place = tempfile::tempdir().unwrap();
    std::fs::write(
        place.path().join("N.toml"),
        "[generate]\nkind = 'jellyfish'\nswitches = 30\nports = 8\nnetwork_ports = 5\nseed = 4\n",
    )
    .unwrap();
    for model in ["parallel", "sequential", "control-delay", "stragglers"] {
        let words = ["plan", "N.toml", "--new-down", "J1", "--model", model, "--json"];
        let plan = object(&knotless(&words, place.path()));
        let makespan = |of: &Value| of["makespan"][model.replace('-', "_")].as_u64().unwrap();
        let ours = makespan(&plan);
        for other in ["remove_all", "intersect_first", "paper"] {
            let other = &plan["compared"][other];
            assert!(other.is_null() || ours <= makespan(other), "{model}: {plan}");
        }
        assert!(!plan["order"].as_array().unwrap().is_empty(), "{model}");
        assert_eq!(plan["from"]["new_down"], json!(["J1"]));
    }
}

#[test]
fn what_can_deadlock_by_itself_is_named_with_its_cycle_and_exit_1() {
    let place = tempfile::tempdir().unwrap();
    let [network, old, _] = files("ring");
    let around = "a: HA A B C HC\nb: HB B C D HD\nc: HC C D A HA\nd: HD D A B HB\n";
    std::fs::write(place.path().join("around.txt"), around).unwrap();
    let words = ["plan", &network, "--old", &old, "--new", "around.txt"];
    let failed = knotless(&words, place.path());
    assert_eq!(failed.status.code(), Some(1), "{failed:?}");
    let stdout = text(&failed);
    assert!(stdout.starts_with("the new paths can deadlock by themselves: "), "{stdout}");
    assert!(stdout.contains("B:1 waits") && stdout.contains("for C:1 waits"), "{stdout}");
    let json = object(&knotless(&[&words[..], &["--json"]].concat(), place.path()));
    assert_eq!((&json["deadlock_free"], &json["side"]), (&json!(false), &json!("new")));
    assert_eq!(json["cycle"].as_array().unwrap().len(), 4);
}

#[test]
fn with_tags_it_says_which_flows_would_turn_lossy_and_orders_against_it() {
    let place = tempfile::tempdir().unwrap();
    let [network, old, _] = files("ring");
    // Rules for the shortest paths: the way back around the ring is not among them.
    let compiled = knotless(&["compile", &network, "--out", "rules"], place.path());
    assert_eq!(compiled.status.code(), Some(0), "{compiled:?}");
    let other = "p1: HA A D C HC\np3: HC C D A HA\nlong: HB B C D A HA\n";
    std::fs::write(place.path().join("new.txt"), other).unwrap();
    let words = ["plan", &network, "--old", &old, "--new", "new.txt", "--rules", "rules"];
    let plan = object(&knotless(&[&words[..], &["--json"]].concat(), place.path()));
    assert_eq!(plan["method"], "lossless");
    assert_eq!(plan["kept_paths"], 1, "p3 is in both");
    let stdout = text(&knotless(&words, place.path()));
    assert!(stdout.contains("the rules exclude a deadlock in any order"), "{stdout}");
    // The flow from HA to HC is never without a path, but its new one needs other rules.
    assert_eq!(plan["order"], json!([[2, 1]]));
    assert_eq!(
        plan["lossy"],
        json!([
            { "path": "p1", "cause": "new path", "switch": "D", "in": 2, "out": 1 },
            { "path": "long", "cause": "new path", "switch": "D", "in": 1, "out": 2 },
        ])
    );
    assert!(
        stdout.contains("`long` is lossy when it comes: in D from port 1 to port 2"),
        "{stdout}"
    );
}

#[test]
fn bad_input_is_one_line_and_exit_2() {
    let place = tempfile::tempdir().unwrap();
    let [network, old, new] = files("ring");
    std::fs::write(place.path().join("bad.txt"), "p1: HA A C HC\n").unwrap();
    for (words, error) in [
        (vec!["plan", "none.toml", "--old", &old, "--new", &new], "none.toml:1:1: cannot be read"),
        (
            vec!["plan", &network, "--old", "bad.txt", "--new", &new],
            "bad.txt:1:10: there is no link from `A` to `C`; a path follows links",
        ),
        (
            vec!["plan", &network, "--old", &old, "--new", "none.txt"],
            "none.txt:1:1: cannot be read",
        ),
        (vec!["plan", &network, "--old", &old], "from what, to what? add --old OLD.txt"),
        (
            vec!["plan", &network, "--new-down", "A-C"],
            "--new-down A-C: there is no link from `A` to `C`",
        ),
        (
            vec!["plan", &network, "--old", &old, "--new", &new, "--new-down", "A"],
            "paths come from files or from what is down",
        ),
        (
            vec!["plan", &network, "--old", &old, "--new", &new, "--rules", "none"],
            "none:1:1: is not a directory",
        ),
    ] {
        let output = knotless(&words, place.path());
        let stdout = String::from_utf8(output.stderr.clone()).unwrap();
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        assert!(stdout.contains(error) && stdout.lines().count() == 1, "{stdout}");
    }
}
