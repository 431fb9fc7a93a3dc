//! `knotless compile`, `verify`, `headroom` and `check` on networks: files, JSON, exit codes.

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn knotless(words: &[&str], place: &Path) -> Output {
    let program = env!("CARGO_BIN_EXE_knotless");
    Command::new(program).args(words).current_dir(place).output().unwrap()
}

fn example(name: &str) -> String {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../config/examples/networks");
    let file: PathBuf = examples.join(name);
    file.to_str().unwrap().to_owned()
}

/// The one JSON object that was printed, and nothing else.
fn object(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"))
}

fn fields(value: &Value) -> Vec<&str> {
    value.as_object().unwrap().keys().map(String::as_str).collect()
}

/// The first part of `make knot` and the second, without a frame.
#[test]
fn the_deadlock_is_predicted_and_resolved() {
    let place = tempfile::tempdir().unwrap();
    let (network, plain) = (example("../knot/network.toml"), example("../knot/plain"));
    let verified = knotless(&["verify", &network, "--rules", &plain, "--json"], place.path());
    assert_eq!(verified.status.code(), Some(1), "{verified:?}");
    let cycle = object(&verified)["cycle"].as_array().unwrap().clone();
    let mut switches: Vec<_> = cycle.iter().filter_map(|hop| hop["switch"].as_str()).collect();
    switches.sort_unstable();
    assert_eq!(switches, ["A", "B", "C"]);

    let compiled = knotless(&["compile", &network, "--out", "rules", "--json"], place.path());
    let json = object(&compiled);
    assert_eq!((&json["paths"], &json["lossless_paths"]), (&3.into(), &3.into()));
    assert_eq!(json["lossless_priorities"], 2);
    let words = ["verify", &network, "--rules", "rules", "--json", "--dot", "waits.dot"];
    let verified = knotless(&words, place.path());
    assert_eq!(verified.status.code(), Some(0), "{verified:?}");
    // Three paths of three switches: each has two waits, and none of another path's.
    let drawn = std::fs::read_to_string(place.path().join("waits.dot")).unwrap();
    let waits: Vec<(&str, &str)> = drawn.lines().filter_map(drawn_wait).collect();
    assert_eq!(waits.len(), 6, "{drawn}");
    assert!(has_no_cycle(waits), "{drawn}");
}

/// The two ends of an arrow in a Graphviz file.
fn drawn_wait(line: &str) -> Option<(&str, &str)> {
    let (from, rest) = line.trim().split_once(" -> ")?;
    Some((from, rest.split_once(' ')?.0))
}

/// Whether arrows can be taken away, each after those that lead to its tail, until none is left.
fn has_no_cycle(mut arrows: Vec<(&str, &str)>) -> bool {
    loop {
        let before = arrows.len();
        let heads: Vec<&str> = arrows.iter().map(|&(_, head)| head).collect();
        arrows.retain(|(tail, _)| heads.contains(tail));
        if arrows.len() == before {
            return arrows.is_empty();
        }
    }
}

#[test]
fn what_compile_writes_verify_proves() {
    let place = tempfile::tempdir().unwrap();
    for algorithm in ["updown", "greedy", "brute-force"] {
        let network = example("triangle.toml");
        let compiled = knotless(
            &["compile", &network, "--out", "rules", "--algorithm", algorithm, "--json"],
            place.path(),
        );
        assert_eq!(compiled.status.code(), Some(0), "{compiled:?}");
        let json = object(&compiled);
        assert_eq!(
            fields(&json),
            [
                "algorithm",
                "deadlock_free",
                "lossless_paths",
                "lossless_priorities",
                "max_rules",
                "open",
                "paths",
                "priorities_min",
                "priorities_min_witness",
                "seconds",
                "switches",
                "total_rules"
            ]
        );
        assert_eq!((&json["algorithm"], &json["switches"]), (&algorithm.into(), &3.into()));
        assert_eq!((&json["paths"], &json["lossless_paths"]), (&12.into(), &12.into()));
        assert_eq!(json["lossless_priorities"], if algorithm == "brute-force" { 3 } else { 2 });
        assert_eq!(json["priorities_min"], 2);
        assert_eq!(json["open"], algorithm == "brute-force");
        let ports = json["priorities_min_witness"]["cycle"].as_array().map_or(0, Vec::len);
        assert!(ports >= 3, "a cycle over the triangle: {json}");
        let verified = knotless(&["verify", &network, "--rules", "rules", "--json"], place.path());
        assert_eq!(verified.status.code(), Some(0), "{verified:?}");
        let json = object(&verified);
        assert_eq!(fields(&json), ["cycle", "deadlock_free", "lossless_paths", "paths"]);
        assert_eq!((&json["deadlock_free"], &json["lossless_paths"]), (&true.into(), &12.into()));
        let checked = knotless(&["check", "rules/A.json"], place.path());
        assert_eq!(checked.status.code(), Some(0), "{checked:?}");
    }
}

/// Tagger, VI-C: what is kept is the same file; what changes has a reason.
#[test]
fn a_grown_network_keeps_the_files_of_its_old_switches() {
    let place = tempfile::tempdir().unwrap();
    let small = example("growing-pods.toml");
    let text = std::fs::read_to_string(&small).unwrap().replace("pods = 2", "pods = 3");
    std::fs::write(place.path().join("grown.toml"), text).unwrap();
    let compiled = knotless(&["compile", &small, "--out", "old", "--json"], place.path());
    assert!(!fields(&object(&compiled)).contains(&"keep"), "{compiled:?}");

    let words = ["compile", "grown.toml", "--out", "new", "--keep", "old", "--json"];
    let compiled = knotless(&words, place.path());
    assert_eq!(compiled.status.code(), Some(0), "{compiled:?}");
    let kept = object(&compiled)["keep"].clone();
    assert_eq!(fields(&kept), ["changed", "new", "open", "unchanged"]);
    assert_eq!((&kept["unchanged"], &kept["new"]), (&32.into(), &8.into()));
    assert_eq!((&kept["changed"], &kept["open"]), (&serde_json::json!([]), &false.into()));
    let mut files = 0;
    for file in std::fs::read_dir(place.path().join("old")).unwrap() {
        let file = file.unwrap();
        let new = std::fs::read(place.path().join("new").join(file.file_name())).unwrap();
        assert_eq!(std::fs::read(file.path()).unwrap(), new, "{file:?}");
        files += 1;
    }
    assert_eq!(files, 32);
    let verified = knotless(&["verify", "grown.toml", "--rules", "new"], place.path());
    assert_eq!(verified.status.code(), Some(0), "{verified:?}");

    // A core with another number of tags than its old rules have.
    let more = std::fs::read_to_string(&small).unwrap().replace("bounces = 1", "bounces = 3");
    std::fs::write(place.path().join("more.toml"), more).unwrap();
    let words = ["compile", "more.toml", "--out", "more", "--keep", "old"];
    let said = String::from_utf8(knotless(&words, place.path()).stdout).unwrap();
    assert!(said.contains("rules of E1 change: the network has other tags"), "{said}");

    for (words, why) in [
        (vec!["--keep", "nowhere"], "nowhere:1:1: is not a directory"),
        (vec!["--keep", "."], "has rules of no switch of this network"),
        (vec!["--keep", "old", "--algorithm", "greedy"], "`updown` only"),
    ] {
        let all = [&["compile", "grown.toml", "--out", "none"], &words[..]].concat();
        let refused = knotless(&all, place.path());
        assert_eq!(refused.status.code(), Some(2), "{refused:?}");
        let error = String::from_utf8(refused.stderr).unwrap();
        assert!(error.contains(why) && error.lines().count() == 1, "{error}");
        assert!(!place.path().join("none").exists());
    }
}

/// More than two priorities are shown to be needed by the paths that need them.
#[test]
fn compile_lists_the_few_paths_that_need_so_many_priorities() {
    let place = tempfile::tempdir().unwrap();
    let network = "[generate]\nkind = 'clos'\nleaves = 4\nspines = 2\n\
                   [paths]\nkind = 'up-down'\nbounces = 4\n";
    std::fs::write(place.path().join("network.toml"), network).unwrap();
    let compiled = knotless(&["compile", "network.toml", "--out", "rules"], place.path());
    assert_eq!(compiled.status.code(), Some(0), "{compiled:?}");
    let said = String::from_utf8(compiled.stdout).unwrap();
    let (_, rest) = said.split_once("these paths alone need 3 priorities:\n").expect(&said);
    let listed: Vec<&str> = rest.lines().take_while(|line| line.starts_with("  H")).collect();
    assert!(!listed.is_empty(), "{said}");
    let arguments = ["compile", "network.toml", "--out", "again", "--json", "--budget", "5s"];
    let json = object(&knotless(&arguments, place.path()));
    assert_eq!((&json["lossless_priorities"], &json["priorities_min"]), (&3.into(), &3.into()));
    let shown: Vec<Value> = listed.iter().map(|line| line.trim().into()).collect();
    assert_eq!(json["priorities_min_witness"]["paths"], Value::from(shown));
    assert_eq!(json["open"], false);
}

#[test]
fn a_knot_is_shown_hop_by_hop_and_drawn() {
    let place = tempfile::tempdir().unwrap();
    let network = example("ring.toml");
    knotless(&["compile", &network, "--out", "rules"], place.path());
    for switch in ["A", "B", "C"] {
        // By hand: around the ring and on, in one priority.
        let text = format!(
            r#"{{"switch": "{switch}", "ports": 3, "lossy_tag": 0, "initial_tag": 1,
                "priorities": {{"1": 1}},
                "entries": [{{"tag": 1, "in": [2, 3], "out": [1, 3], "new_tag": 1}}]}}"#
        );
        std::fs::write(place.path().join(format!("rules/{switch}.json")), text).unwrap();
    }
    let words = ["verify", &network, "--rules", "rules", "--dot", "knot.dot"];
    let verified = knotless(&words, place.path());
    assert_eq!(verified.status.code(), Some(1), "{verified:?}");
    let stdout = String::from_utf8(verified.stdout).unwrap();
    assert!(stdout.contains("NOT deadlock-free: 3 buffers"), "{stdout}");
    assert!(
        stdout.contains("A:2 tag 1  waits, going out by port 1 with tag 1, for  B:2"),
        "{stdout}"
    );
    assert!(stdout.contains("not lossless: "), "the other way around is not: {stdout}");
    let drawn = std::fs::read_to_string(place.path().join("knot.dot")).unwrap();
    assert_eq!(drawn.matches(" -> ").count(), 3, "{drawn}");
    let json = object(&knotless(&["verify", &network, "--rules", "rules", "--json"], place.path()));
    assert_eq!(json["cycle"].as_array().unwrap().len(), 3);
    assert_eq!(json["cycle"][0], serde_json::json!({"switch": "A", "in": 2, "tag": 1}));
}

#[test]
fn bad_input_is_one_line_and_exit_2() {
    let place = tempfile::tempdir().unwrap();
    std::fs::write(place.path().join("N.toml"), "[generate]\nkind = 'fat-tree'\nk = 3\n").unwrap();
    let network = example("ring.toml");
    for (words, error) in [
        (vec!["compile", "N.toml", "--out", "rules"], "N.toml:3:5: `k` is 3; it must be even"),
        (vec!["check", "N.toml"], "N.toml:3:5: "),
        (vec!["compile", "none.toml", "--out", "rules"], "none.toml:1:1: cannot be read"),
        (vec!["verify", &network, "--rules", "none"], "none:1:1: is not a directory"),
    ] {
        let output = knotless(&words, place.path());
        let stdout = String::from_utf8(output.stderr.clone()).unwrap();
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        assert!(stdout.starts_with(error) && stdout.lines().count() == 1, "{stdout}");
        assert!(!place.path().join("rules").exists(), "nothing was written");
    }
}

#[test]
fn check_reads_a_network() {
    let json = object(&knotless(&["check", &example("pods.toml"), "--json"], Path::new(".")));
    assert_eq!((&json["kind"], &json["switches"]), (&"network".into(), &10.into()));
}

#[test]
fn headroom_is_given_by_every_model_side_by_side() {
    let words = ["headroom", "--speed", "40G", "--length", "300m", "--mtu", "1500"];
    let json = object(&knotless(&[&words[..], &["--json"]].concat(), Path::new(".")));
    assert_eq!((&json["paper"], &json["802.3"]), (&21_968.into(), &25_680.into()));
    assert_eq!(json["sonic"], 57_344);
    assert!(json["needed"].as_u64() > json["software"].as_u64());
    // The TTL paper's switch: 32 ports of 8 classes, 22 KB each; half on a tree, 22.9 % of 12 MB.
    let switch = &json["paper_switch"];
    assert_eq!(
        (&switch["headroom_kb"], &switch["tree_headroom_kb"]),
        (&5_632.into(), &2_816.into())
    );
    assert_eq!(switch["tree_permille_of_buffer"], 229);
    let ends = [&json["gfc_theorem"], &json["gfc_tight"], &json["gfc_staged"]];
    assert_eq!(ends.map(Value::as_u64), [102_720, 71_306, 51_360].map(Some));
    // A frame and a byte for each of the 64 senders that are assumed.
    let slack = [&json["gfc_slack"], &json["gfc_below_xoff"], &json["gfc_buffer"]];
    let below = 51_360 + 1_564;
    assert_eq!(slack.map(Value::as_u64), [1_564, below, 64 * below].map(Some));
    let few = ["--model", "gfc", "--senders", "8", "--json"];
    let few = object(&knotless(&[&words[..], &few].concat(), Path::new(".")));
    assert_eq!((&few["gfc_slack"], &few["gfc_buffer"]), (&1_508.into(), &422_944.into()));
    let one = knotless(&[&words[..], &["--model", "802.3", "--json"]].concat(), Path::new("."));
    assert_eq!(fields(&object(&one)), ["802.3", "needed", "software"]);
    let text = String::from_utf8(knotless(&words, Path::new(".")).stdout).unwrap();
    assert!(text.contains("21,968 B  too small at this speed"), "{text}");
    assert_eq!(
        [&json["chip_half"], &json["chip_most"]].map(Value::as_u64),
        [42_910, 118_756].map(Some)
    );
}

/// A chip's response time and occupancy, a chip of SONiC's, and what each assumption adds.
#[test]
fn headroom_of_a_chip_is_that_of_its_figures() {
    let object = |words: &str| {
        let words: Vec<&str> = words.split_whitespace().chain(["--json"]).collect();
        object(&knotless(&words, Path::new(".")))
    };
    let link = "headroom --speed 800G --length 5m --mtu 9100";
    let plain = object(link);
    assert_eq!(
        (&plain["802.3"], &plain["adds"]["response_1us"]),
        (&81_248.into(), &100_000.into())
    );
    assert_eq!(plain["adds"]["occupancy_2"], 9_164 + 5_000 + 58_000);
    // nokia_ixr7220_h5: 572,516 B published.
    let slow = object(&format!("{link} --response 4.52us --occupancy 1.21"));
    assert_eq!((&slow["802.3"], &slow["response"]), (&81_248.into(), &475_328.into()));
    assert_eq!(slow["chip"], 573_223);
    assert!(slow["needed"].as_u64() > plain["needed"].as_u64());
    // Mellanox-SN4700-C128: 66,560 B published.
    let sonic = "headroom --speed 100G --length 40m --mtu 9216 --model sonic --small-packets 50 \
                 --lossless-mtu 1024";
    assert_eq!(object(sonic)["sonic"], 66_560);
    let far = object("headroom --speed 100G --length 120km --mtu 9100 --model 802.3");
    assert_eq!(far["802.3"], 15_043_544);
}
