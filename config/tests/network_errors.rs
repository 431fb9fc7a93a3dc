//! What is wrong with a NETWORK.toml or a path file: where, and what would be right.

use config::{ConfigError, NetworkConfig};
use proptest::prelude::*;
use std::fs;
use std::path::Path;

const BASE: &str = r#"[[switch]]
name = "A"
ports = 3
[[switch]]
name = "B"
ports = 3
[[host]]
name = "D"
[[host]]
name = "E"
[[link]]
ends = ["A:1", "D"]
[[link]]
ends = ["B:1", "E"]
[[link]]
ends = ["A:2", "B:2"]
"#;

fn error(text: &str) -> ConfigError {
    NetworkConfig::parse(Path::new("N.toml"), text).unwrap_err()
}

/// The base with `old` replaced: the error's place, and words of it.
fn check(old: &str, new: &str, place: &str, words: &str) {
    assert!(BASE.contains(old), "the base has no `{old}`");
    let said = error(&BASE.replacen(old, new, 1)).to_string();
    assert!(said.starts_with(&format!("N.toml:{place}: ")), "{said}");
    assert!(said.contains(words), "{said}");
}

#[test]
fn the_base_is_right() {
    assert!(NetworkConfig::parse(Path::new("N.toml"), BASE).is_ok());
}

#[test]
fn what_is_wrong_with_a_table_is_said_at_its_place() {
    check(
        "\"A:2\", \"B:2\"",
        "\"A:1\", \"B:2\"",
        "16:9",
        "`A:1` has a link already; a port has one",
    );
    check(
        "\"A:2\", \"B:2\"",
        "\"A:2\", \"E\"",
        "16:16",
        "`E` has a link already; a host has one port",
    );
    check("\"A:2\", \"B:2\"", "\"A:2\", \"Q:2\"", "16:16", "there is no switch or host `Q`");
    check(
        "\"A:2\", \"B:2\"",
        "\"A:4\", \"B:2\"",
        "16:9",
        "`A` has no port `4`; its ports are 1 to 3",
    );
    check("\"A:2\", \"B:2\"", "\"A:2\", \"A:2\"", "16:8", "leads back to the port");
    check("\"A:2\", \"B:2\"", "\"A:2\", \"A:3\"", "16:8", "the link joins a switch to itself");
    check("\"A:2\", \"B:2\"", "\"A\", \"B:2\"", "16:9", "say which port, such as \"A:1\"");
    check("\"A:2\", \"B:2\"", "\"D:1\", \"B:2\"", "16:9", "`D` is a host and has one port");
    check("\"A:2\", \"B:2\"", "\"A:2\"", "16:8", "a link has two ends, this one has 1");
    check("name = \"B\"", "name = \"A\"", "5:8", "`A` is declared twice");
    check("name = \"B\"", "name = \"b/c\"", "5:8", "`b/c` is no name for a node");
    check("ports = 3", "ports = 257", "3:9", "a switch has 1 to 256 ports");
    check("[[host]]", "[[hots]]", "7:3", "did you mean `host`?");
    check("\"B:1\", \"E\"", "\"B:1\", \"A:3\"", "10:8", "host `E` has no link");
}

#[test]
fn a_generator_takes_its_own_numbers_and_no_others() {
    for (text, words) in [
        ("kind = 'jellyfish'\nswitches = 5\nports = 4\nnetwork_ports = 3", "leave one over"),
        ("kind = 'jellyfish'\nswitches = 4\nports = 8\nnetwork_ports = 4", "at most 3 others"),
        ("kind = 'jellyfish'\nswitches = 4\nports = 8", "'jellyfish' needs `network_ports`"),
        ("kind = 'jellyfish'\nswitches = 900000\nports = 256\nnetwork_ports = 4", "smaller one"),
        ("kind = 'fat-tree'\nk = 5", "`k` is 5; it must be even"),
        ("kind = 'fat-tree'\nk = 4\nn = 3", "takes no `n`; it takes k"),
        ("kind = 'clos'\nleaves = 4\nspines = 250\nhosts = 7", "a switch would need 257 ports"),
        ("kind = 'clos'\nleaves = 4\nspines = 2\ntors = 2", "add `pods`"),
        ("kind = 'hyperx'", "needs `shape`, such as [4, 4]"),
        ("kind = 'hyperx'\nshape = [1]", "1 to 8 dimensions of 2 to 256"),
        ("kind = 'torus'\nshape = [4, 4]\nk = 2", "takes no `k`; it takes shape, hosts"),
        ("kind = 'mesh'\nshape = [4, 4]\nhosts = 253", "a switch would need 257 ports"),
        ("kind = 'slim-fly'\nq = 9", "use a prime that is 1 modulo 4, such as 5, 13 or 17"),
        ("kind = 'bcube'\nn = 200\nk = 8", "generate a smaller one"),
        ("kind = 'bclub'\nn = 2\nk = 1", "did you mean `bcube`?"),
    ] {
        let said = error(&format!("[generate]\n{text}\n")).to_string();
        assert!(said.contains(words), "{text}: {said}");
    }
    assert!(error("").to_string().contains("there is no network"));
    assert!(error(&format!("{BASE}[generate]\nkind = 'f10'\nk = 4\n")).message.contains("either"));
}

#[test]
fn a_network_without_hosts_is_refused() {
    for (text, place) in [
        ("\n[[switch]]\nname = 'A'\nports = 2\n", "N.toml:2:1: "),
        (
            "[generate]\nports = 4\nkind = 'jellyfish'\nswitches = 8\nnetwork_ports = 4\n",
            "N.toml:3:8: ",
        ),
    ] {
        let said = error(text).to_string();
        assert!(said.starts_with(place) && said.contains("has no host"), "{said}");
    }
}

#[test]
fn paths_say_what_they_need() {
    for (text, words) in [
        ("kind = 'k-shortest'", "these paths need `k`"),
        ("kind = 'file'", "these paths need `file`"),
        ("kind = 'file'\nfile = 'no-such.txt'", "no-such.txt cannot be read"),
        ("kind = 'shortest'\nbounces = 1", "these paths take no `bounces`"),
        ("kind = 'up-down'\nbounces = -1", "`bounces` is -1; use 0 to"),
        ("kind = 'shortest'\nclasses = 8", "`classes` is 8; use 1 to 7"),
        ("kind = 'shortest'\nclass_bounces = [1]", "these paths take no `class_bounces`"),
        ("kind = 'up-down'\nclass_bounces = []", "`class_bounces` has 0 classes; give one number"),
        ("kind = 'up-down'\nclass_bounces = [1, -1]", "`class_bounces` has -1; a class has 0 to"),
        ("kind = 'up-down'\nbounces = 1\nclass_bounces = [1]", "remove `bounces`"),
        (
            "kind = 'up-down'\nclasses = 3\nclass_bounces = [1, 0]",
            "`class_bounces` has 2 classes and `classes` is 3; remove `classes`",
        ),
    ] {
        let said = error(&format!("{BASE}[paths]\n{text}\n")).to_string();
        assert!(said.contains(words), "{text}: {said}");
    }
}

#[test]
fn a_path_file_is_checked_word_by_word() {
    let directory = tempfile::tempdir().unwrap();
    let network = format!("{BASE}[paths]\nkind = 'file'\nfile = 'p.txt'\n");
    let file = directory.path().join("N.toml");
    fs::write(&file, network).unwrap();
    for (paths, place, words) in [
        ("D A B E\nD A Q E\n", "2:5", "there is no switch or host `Q`"),
        ("# all\nD A B\n", "2:5", "`B` is a switch; a path begins and ends at a host"),
        ("D A B A B E\n", "1:7", "`A` is on this path twice"),
        ("D B E\n", "1:3", "host `D` is not linked to `B`, but to `A`"),
        ("D A E\n", "1:5", "host `E` is not linked to `A`, but to `B`"),
        ("D A B:3 E\n", "1:5", "`B:3` is not linked to `A`"),
        ("D A B:9 E\n", "1:5", "`B` has no port `9`"),
        ("D E\n", "1:3", "a path passes a switch"),
        ("D A D\n", "1:5", "the path ends where it begins"),
        ("D A E B E\n", "1:5", "`E` is a host; only switches forward"),
        ("# none\n", "2:1", "there is no path"),
    ] {
        fs::write(directory.path().join("p.txt"), paths).unwrap();
        let said = NetworkConfig::load(&file).unwrap_err();
        let shown = format!("{}:{}", said.line, said.column);
        assert_eq!(shown, place, "{paths}: {said}");
        assert!(said.message.contains(words), "{paths}: {said}");
    }
    fs::write(directory.path().join("p.txt"), "D A:1 B:2 E # in by port 2\n").unwrap();
    assert!(NetworkConfig::load(&file).is_ok());
}

proptest! {
    #[test]
    fn no_text_makes_it_panic(at in 0..BASE.len(), with in "[\\[\\]\"=:,a-zA-Z0-9\n-]{0,6}") {
        let mut text = BASE.to_owned();
        text.replace_range(at..(at + with.len()).min(BASE.len()), &with);
        let _ = NetworkConfig::parse(Path::new("N.toml"), &text);
    }
}
