//! `knotless simulate` and `check` on scenarios: tables, JSON, pages, captures, exit codes.

#[allow(dead_code, reason = "each test file uses a part of it")]
mod pcap;

use pcap::read_records;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

/// `knotless` in this directory.
fn knotless(words: &[&str], place: &Path) -> Output {
    Command::new(env!("CARGO_BIN_EXE_knotless")).args(words).current_dir(place).output().unwrap()
}

fn ring() -> String {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../netsim/scenarios/ring.toml");
    file.to_str().unwrap().to_owned()
}

/// `knotless simulate` on the ring with these words besides: what it printed, and how it exited.
fn simulate_in(place: &Path, words: &[&str]) -> (String, Option<i32>) {
    let ring = ring();
    let output = knotless(&[&["simulate", &ring][..], words].concat(), place);
    assert!(output.stderr.is_empty(), "{output:?}");
    (String::from_utf8(output.stdout).unwrap(), output.status.code())
}

fn simulate(words: &[&str]) -> (String, Option<i32>) {
    simulate_in(Path::new("."), words)
}

/// The one JSON object that was printed, and nothing else.
fn object(printed: &str) -> Value {
    serde_json::from_str(printed).unwrap_or_else(|error| panic!("{error}: {printed}"))
}

#[test]
fn the_table_says_that_the_ring_deadlocks_and_that_tags_untie_it() {
    let (stdout, code) = simulate(&[]);
    assert_eq!(code, Some(0), "as the scenario expects: {stdout}");
    assert!(stdout.starts_with("ring, scheme pfc, seed 1, 1.000 ms\n\nDEADLOCK at "), "{stdout}");
    for switch in ["A", "B", "C"] {
        assert!(stdout.contains(&format!("\n  {switch}: ")), "{stdout}");
    }
    assert!(
        stdout.contains("which waits for A") && stdout.contains("frames never leave"),
        "{stdout}"
    );

    let (stdout, code) = simulate(&["--scheme", "tagger"]);
    assert_eq!(code, Some(0), "{stdout}");
    assert!(
        stdout.starts_with("ring, scheme tagger, seed 1, 1.000 ms\n\nno deadlock; "),
        "{stdout}"
    );
    assert!(!stdout.contains("DEADLOCK") && stdout.contains("a-c"), "{stdout}");
}

#[test]
fn json_is_one_object_that_others_can_rely_on() {
    let (stdout, code) = simulate(&["--json"]);
    assert_eq!(code, Some(0), "{stdout}");
    let json = object(&stdout);
    assert_eq!((&json["seed"], &json["lossless_drops"]), (&json!(1), &json!(0)));
    let deadlock = &json["deadlock"];
    assert_eq!(deadlock["detected"], true);
    let time_us = deadlock["time_us"].as_f64().unwrap();
    assert!((32.0..130.0).contains(&time_us), "{time_us}; the paper measured 65");
    let cycle = deadlock["cycle"].as_array().unwrap();
    assert_eq!(cycle.iter().map(|hop| &hop["switch"]).collect::<Vec<_>>(), ["A", "B", "C"]);
    let flows = json["flows"].as_array().unwrap();
    assert_eq!(flows.iter().map(|flow| &flow["name"]).collect::<Vec<_>>(), ["a-c", "b-a", "c-b"]);
    assert!(flows.iter().all(|flow| flow["gbps"].as_f64().is_some_and(|gbps| gbps > 0.0)));
    let hash = json["trace_hash"].as_str().unwrap();
    assert!(hash.len() == 16 && hash.chars().all(|c| c.is_ascii_hexdigit()), "{hash}");
    assert_eq!((&json["violations"], &json["unexpected"]), (&json!([]), &json!([])));

    let none = object(&simulate(&["--json", "--scheme", "tagger"]).0);
    let deadlock = json!({ "detected": false, "time_us": null, "cycle": [] });
    assert_eq!((&none["deadlock"], &none["scheme"]), (&deadlock, &json!("tagger")));
}

#[test]
fn a_seed_repeats_a_run_and_can_be_overridden() {
    let place = tempfile::tempdir().unwrap();
    let text = "duration = '50us'\ngenerate = { kind = 'clos', leaves = 3, spines = 2, hosts = 2 }\n\
                [[traffic]]\nkind = 'permutation'\n";
    fs::write(place.path().join("p.toml"), text).unwrap();
    let run = |seed: &str| {
        let output = knotless(&["simulate", "p.toml", "--json", "--seed", seed], place.path());
        object(&String::from_utf8(output.stdout).unwrap())
    };
    let (first, again, other) = (run("5"), run("5"), run("6"));
    assert_eq!(first, again, "to the last number");
    assert_eq!((&first["seed"], &other["seed"]), (&json!(5), &json!(6)));
    assert_ne!(first["trace_hash"], other["trace_hash"]);
}

#[test]
fn what_is_read_or_written_already_is_no_place_for_another_output() {
    let place = tempfile::tempdir().unwrap();
    let scenario = fs::read_to_string(ring()).unwrap();
    fs::write(place.path().join("ring.toml"), &scenario).unwrap();
    fs::create_dir(place.path().join("paths")).unwrap();
    let paths = Path::new(&ring()).with_file_name("paths/ring.txt");
    fs::copy(paths, place.path().join("paths/ring.txt")).unwrap();
    for words in [
        &["--report", "./ring.toml"][..],
        &["--pcap", "A:1=ring.toml"],
        &["--pcap", "A:1=out", "--report", "out"],
    ] {
        let output = knotless(&[&["simulate", "ring.toml"], words].concat(), place.path());
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!((output.status.code(), error.lines().count()), (Some(2), 1), "{error}");
        assert!(error.contains("reads or writes it already"), "{error}");
        assert_eq!(fs::read_to_string(place.path().join("ring.toml")).unwrap(), scenario);
    }
}

#[test]
fn a_report_is_one_page() {
    let place = tempfile::tempdir().unwrap();
    let (stdout, code) = simulate_in(place.path(), &["--report", "ring.html"]);
    assert_eq!(code, Some(0), "{stdout}");
    let page = fs::read_to_string(place.path().join("ring.html")).unwrap();
    assert!(page.starts_with("<!doctype html>") || page.starts_with("<!DOCTYPE html>"));
    assert!(page.trim_end().ends_with("</html>") && page.contains("ring"));
    assert!(!page.contains("src=\"http") && !page.contains("href=\"http"), "it stands alone");
}

#[test]
fn a_capture_has_the_frames_of_both_ways_and_their_pauses() {
    let place = tempfile::tempdir().unwrap();
    let words = ["--pcap", "A:1=x.pcap", "--pcap", "c=c.pcap"];
    let (stdout, code) = simulate_in(place.path(), &words);
    assert_eq!(code, Some(0), "{stdout}");
    let file = place.path().join("x.pcap");
    let frames = read_records(&file);
    assert!(frames.is_sorted_by_key(|frame| frame.at_ns), "in the order of time");
    let mut kinds: BTreeMap<(&[u8], [u8; 2]), u32> = BTreeMap::new();
    for pcap::Record { length, bytes, .. } in &frames {
        *kinds.entry((&bytes[6..12], [bytes[12], bytes[13]])).or_default() += 1;
        assert!(*length == 1_514 || bytes[12..14] == [0x88, 0x08] && *length == 60, "{length}");
    }
    // From A data to B, whose way goes on; from B PFC. The flow from C to B comes over A.
    let pfc: Vec<_> = kinds.iter().filter(|((_, kind), _)| *kind == [0x88, 0x08]).collect();
    let data: Vec<_> = kinds.iter().filter(|((_, kind), _)| *kind == [8, 0]).collect();
    assert_eq!((pfc.len(), data.len(), kinds.len()), (1, 1, 2), "{kinds:?}");
    assert_ne!(pfc[0].0.0, data[0].0.0, "one way and the other");
    assert!(!read_records(&place.path().join("c.pcap")).is_empty(), "a host's link, by its name");

    // The same, as a foreign tool reads it.
    let fields = ["-T", "fields", "-e", "eth.type", "-e", "frame.len"];
    let tshark = Command::new("tshark").arg("-r").arg(&file).args(fields).output();
    let Ok(tshark) = tshark else {
        println!("tshark is not installed");
        return;
    };
    let read = String::from_utf8(tshark.stdout).unwrap();
    let paused = read.lines().filter(|line| *line == "0x8808\t60").count();
    let sent = read.lines().filter(|line| *line == "0x0800\t1514").count();
    assert_eq!((paused, sent), (*pfc[0].1 as usize, *data[0].1 as usize));
    assert_eq!(read.lines().count(), frames.len());
}

const SMALL: &str = "duration = '20us'\ngenerate = { kind = 'clos', leaves = 2, spines = 1 }\n\
                     [[flow]]\nfrom = 'H1'\nto = 'H2'\nrate = '10G'\n";

#[test]
fn what_is_wrong_is_one_line_and_exit_2() {
    let place = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| fs::write(place.path().join(name), text).unwrap();
    write("good.toml", SMALL);
    write("bad.toml", &SMALL.replace("'H2'", "'H9'"));
    write("small.toml", &format!("{SMALL}[switches]\nsize = '50KB'\nlossy = 0\n"));
    for (words, error) in [
        (
            vec!["simulate", "bad.toml"],
            "bad.toml:5:6: there is no switch or host `H9`; did you mean",
        ),
        (vec!["check", "bad.toml"], "bad.toml:5:6: there is no switch or host `H9`; did you mean"),
        (vec!["simulate", "none.toml"], "none.toml:1:1: cannot be read: "),
        (vec!["simulate", "small.toml"], "small.toml:1:1: L1 promises "),
        (vec!["simulate", "good.toml", "--pcap", "A:1=x"], "--pcap A:1=x: there is no linked port"),
        (vec!["simulate", "good.toml", "--pcap", "H1"], "--pcap H1: there is no `=`; write an end"),
        (
            vec!["simulate", "good.toml", "--report", "no/x.html"],
            "no/x.html:1:1: cannot be written",
        ),
        (
            vec!["simulate", "good.toml", "--pcap", "H1=x", "--pcap", "H1=y"],
            "--pcap H1=y: this link is captured already; write an end of another link",
        ),
    ] {
        let output = knotless(&words, place.path());
        let stdout = String::from_utf8(output.stderr.clone()).unwrap();
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        assert!(stdout.starts_with(error) && stdout.lines().count() == 1, "{words:?}: {stdout}");
        assert!(output.stdout.is_empty());
    }
    let output = knotless(&["simulate", "good.toml", "--scheme", "taggr"], place.path());
    assert_eq!(output.status.code(), Some(2));
    let stdout = String::from_utf8(output.stderr).unwrap();
    assert!(stdout.contains("there is no scheme `taggr`; did you mean `tagger`?"), "{stdout}");
}

#[test]
fn unmet_expectations_are_printed_and_exit_1() {
    let place = tempfile::tempdir().unwrap();
    let expect = "[expect.pfc]\ndeadlock = true\ndrains = true\nat_least = { H1-H2 = '30G' }\n\
                  [expect.lossy]\ndrains = true\n";
    fs::write(place.path().join("s.toml"), format!("{SMALL}{expect}")).unwrap();
    let output = knotless(&["simulate", "s.toml"], place.path());
    let stdout = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(1), "{stdout}");
    let lines: Vec<&str> = stdout.lines().filter(|line| line.starts_with("not as ")).collect();
    assert_eq!(lines.len(), 2, "{stdout}");
    assert_eq!(lines[0], "not as expected: expected a deadlock, found no deadlock");
    assert!(lines[1].starts_with("not as expected: flow H1-H2 makes 9"), "{}", lines[1]);
    let output = knotless(&["simulate", "s.toml", "--json"], place.path());
    assert_eq!(output.status.code(), Some(1));
    let json = object(&String::from_utf8(output.stdout).unwrap());
    assert_eq!(json["unexpected"].as_array().unwrap().len(), 2);
    // What is expected of one scheme is not of another.
    let output = knotless(&["simulate", "s.toml", "--scheme", "lossy"], place.path());
    assert_eq!(output.status.code(), Some(0), "{output:?}");
}

#[test]
fn check_reads_a_scenario() {
    let output = knotless(&["check", &ring()], Path::new("."));
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let output = knotless(&["check", &ring(), "--json"], Path::new("."));
    let json = object(&String::from_utf8(output.stdout).unwrap());
    assert_eq!((&json["ok"], &json["kind"]), (&json!(true), &json!("scenario")));
    let every_key = Path::new(env!("CARGO_MANIFEST_DIR")).join("../config/examples/scenarios");
    let every_key = every_key.join("every-key.toml");
    let output = knotless(&["check", every_key.to_str().unwrap()], Path::new("."));
    assert_eq!(output.status.code(), Some(0), "{output:?}");
}
