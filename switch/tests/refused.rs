//! Bad input and a machine that lacks something: one line that says what, and exit 2.
#![cfg(feature = "dpdk")]

#[allow(dead_code, reason = "each test file uses a part of it")]
mod binary;

use binary::Place;
use std::os::unix::process::CommandExt;

fn switch(ports: &str) -> String {
    format!(
        "name = \"s1\"\n[buffer]\nsize = \"4MB\"\n[control]\nsocket = \"s.sock\"\n[memory]\n\
         hugepages = \"never\"\n[workers]\nidle = \"sleep\"\n{ports}"
    )
}

fn port(device: &str) -> String {
    format!("[[port]]\ndevice = \"{device}\"\naddresses = [\"10.0.1.254/24\"]\n")
}

#[test]
fn a_wrong_configuration_is_refused_alike_by_check_and_run() {
    for (text, error) in [
        (switch(""), "SWITCH.toml:1:8: a switch needs ports"),
        (switch(&port("eth0")), "SWITCH.toml:11:10: `eth0` is no virtual device"),
        (
            switch(&port("net_tapp0")),
            "SWITCH.toml:11:10: there is no virtual device `net_tapp0`; did you",
        ),
        (switch("[[prot]]\n"), "SWITCH.toml:10:3: unknown field `prot`; did you mean `port`?"),
        (switch(&port("net_null0")).replace("4MB", "4XB"), "SWITCH.toml:3:8: "),
        (
            switch(&format!(
                "[[lossless]]\npriority = 3\nheadroom = \"3MB\"\n{}{}",
                port("net_null0"),
                port("net_null1").replace("10.0.1", "10.0.2")
            )),
            "too much: 2 lossless queues reserve",
        ),
    ] {
        let place = Place::new(&text);
        let checked = place.refused(&["check", "SWITCH.toml"]);
        assert!(checked.contains(error), "{checked}");
        assert_eq!(place.refused(&["run", "SWITCH.toml"]), checked);
        assert!(!place.path("s.sock.lock").exists(), "nothing was touched");
    }
}

#[test]
fn what_the_machine_lacks_is_named() {
    for (text, error) in [
        (switch(&port("net_pcap0,rx_pcap=missing.pcap")), "missing.pcap"),
        (switch(&port("net_virtio_user0,path=/no")), "device `net_virtio_user0,path=/no`: "),
        (
            switch(&port("net_null0")).replace("idle", "cores = [4000]\nidle"),
            "cannot run on CPU 4000",
        ),
        (
            switch(&port("net_null0")).replace("\"never\"", "\"always\"\nsize = \"9000GiB\""),
            "of hugepages are needed and",
        ),
        (switch(&port("net_null0")).replace("s.sock", "/proc/no/s.sock"), "cannot create /proc/no"),
    ] {
        let place = Place::new(&text);
        let refusal = place.refused(&["run", "SWITCH.toml"]);
        assert!(refusal.contains(error), "{refusal}");
        assert!(!place.path("s.sock").exists() && !place.path("s.sock.lock").exists());
    }
    let place = Place::new("");
    assert!(place.refused(&["run", "none.toml"]).contains("none.toml:1:1: cannot be read"));
}

/// Root's work is done as nobody, who may enter neither a clone in root's own folder nor, perhaps,
/// TMPDIR: files and program are where everybody may go.
#[test]
fn without_root_the_error_names_what_is_missing() {
    let nobody = 65_534;
    for (text, missing) in [
        (switch(&port("net_tap0,iface=knotless-no")), "CAP_NET_ADMIN"),
        (switch(&port("net_af_packet0,iface=lo")), "CAP_NET_RAW"),
        (
            switch(&port("net_null0")).replace("\"s.sock\"", "\"/run/knotless-no/s.sock\""),
            "run as root",
        ),
    ] {
        let place = Place::for_everybody(&text);
        let folder = place.path("");
        let mut command = place.command(&["run", "SWITCH.toml"]);
        command.env("XDG_RUNTIME_DIR", &folder).env("HOME", &folder);
        if nix::unistd::Uid::effective().is_root() {
            command.uid(nobody).gid(nobody);
        }
        let output = command.output().unwrap();
        let refusal = binary::refusal(&output);
        assert!(refusal.contains(missing), "{refusal}");
    }
}

#[test]
fn check_summarizes_a_valid_file_and_warns() {
    let place = Place::new(&switch(&format!(
        "[[lossless]]\npriority = 3\nheadroom = \"20KB\"\n{}",
        port("net_null0")
    )));
    let output = place.knotless(&["check", "SWITCH.toml"]);
    assert!(output.status.success());
    let text = String::from_utf8(output.stdout).unwrap();
    for message in ["switch s1: 1 ports", "buffer: 4 MB = ", "20 KB", "from plain pages"] {
        assert!(text.contains(message), "{message}: {text}");
    }
    let warning = String::from_utf8(output.stderr).unwrap();
    assert!(warning.contains("SWITCH.toml:12:12: ") && warning.contains("(warning)"), "{warning}");

    let output = place.knotless(&["check", "SWITCH.toml", "--json"]);
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&json["ok"], &json["kind"]), (&true.into(), &"switch".into()));
    let buffer = &json["buffer"];
    let parts = ["reserved_bytes", "headroom_bytes", "lossy_bytes", "shared_bytes"];
    let sum: u64 = parts.iter().map(|part| buffer[part].as_u64().unwrap()).sum();
    assert_eq!(Some(sum), buffer["size_bytes"].as_u64(), "the parts are the whole");

    place.write("SWITCH.toml", "name = 1");
    let output = place.knotless(&["check", "SWITCH.toml", "--json"]);
    assert_eq!(output.status.code(), Some(2));
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(json["ok"], false);
    assert!(json["error"].as_str().unwrap().starts_with("SWITCH.toml:1:8: "), "{json}");
}

/// One DSCP of several leads to each of two lossless priorities; port 1 faces a host.
const CLASSES: &str = "[[lossless]]\npriority = 3\n[[lossless]]\npriority = 4\n\
    [[tag]]\ntag = 3\ndscp = 26\npriority = 3\n[[tag]]\ntag = 5\ndscp = 48\npriority = 3\n\
    [[tag]]\ntag = 4\npriority = 4\n\
    [scheduler]\nstrict = [4]\n[watchdog]\naction = \"alert\"\n";

#[test]
fn check_shows_how_frames_come_to_a_priority() {
    let ports = format!(
        "{}{}trusted = true\nwatchdog = false\n",
        port("net_null0"),
        port("net_null1").replace("10.0.1", "10.0.2")
    );
    let place = Place::new(&switch(&format!("{CLASSES}{ports}")));
    let output = place.knotless(&["check", "SWITCH.toml"]);
    let text = String::from_utf8(output.stdout).unwrap();
    for line in [
        "priority  class     tags      DSCP              PCP      scheduling",
        "0         lossy     0-2,6-63  0-3,5-25,27-47,49-63  0-2,5-7  DRR, 1,522 B a round",
        "3         lossless  3,5       26,48             3        DRR, 1,522 B a round",
        "4         lossless  4         4                 4        strict",
        "port 1: by DSCP; tag 0 without it; lossless tags are not trusted, and become tag 3",
        "port 2: by DSCP; tag 0 without it; lossless tags are trusted",
        "watchdog: alert; detection after 200 ms, restoration after 400 ms; not at port 2",
    ] {
        let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.lines().any(|shown| words(shown) == words(line)), "{line}: {text}");
    }

    let output = place.knotless(&["check", "SWITCH.toml", "--json"]);
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let three = serde_json::json!({
        "priority": 3, "lossless": true, "tags": [3, 5], "dscps": [26, 48], "pcps": [3],
        "strict": false, "quantum_bytes": 1_522,
    });
    assert_eq!(json["priorities"][1], three);
    let trusts = [0, 1].map(|port| json["ports"][port]["trust"]["trusted"].as_bool());
    assert_eq!(trusts, [Some(false), Some(true)]);
    assert_eq!(json["ports"][0]["watchdog"]["action"], "alert");
    assert!(json["ports"][1]["watchdog"].is_null());
}

/// It needs no port that the watchdog looks after.
#[test]
fn check_says_that_the_big_red_switch_is_on() {
    let classes =
        CLASSES.replace("action = \"alert\"", "action = \"alert\"\nbig_red_switch = true");
    let ports =
        ["net_null0", "net_null1"].map(|device| format!("{}watchdog = false\n", port(device)));
    let ports = ports.concat().replacen("10.0.1", "10.0.2", 1);
    let place = Place::new(&switch(&format!("{classes}{ports}")));
    let output = place.knotless(&["check", "SWITCH.toml"]);
    let text = String::from_utf8(output.stdout).unwrap();
    let line = "watchdog: the big red switch is on: all lossless traffic is dropped";
    assert!(text.lines().any(|shown| shown == line), "{text}");
}

#[test]
fn strictly_a_port_that_is_not_lossless_and_a_warning_are_failures() {
    let lossless = "[[lossless]]\npriority = 3\n";
    for (head, status, strictly) in [
        (lossless.to_owned(), 0, 0),
        (format!("{lossless}headroom = \"20KB\"\n"), 0, 1),
        (format!("{lossless}xoff = \"200KB\"\n"), 0, 1),
        (format!("{lossless}xof = \"200KB\"\n"), 2, 2),
    ] {
        let place = Place::new(&switch(&format!("{head}{}", port("net_null0"))));
        let code = |words: &[&str]| place.knotless(words).status.code();
        assert_eq!(code(&["check", "SWITCH.toml"]), Some(status), "{head}");
        assert_eq!(code(&["check", "--strict", "SWITCH.toml"]), Some(strictly), "{head}");
    }
}

#[test]
fn what_is_no_regular_file_is_refused_at_once() {
    let place = Place::new(&switch(&port("net_null0")));
    nix::unistd::mkfifo(&place.path("pipe"), nix::sys::stat::Mode::S_IRWXU).unwrap();
    for (words, what) in [
        (vec!["check", "/dev/zero"], "device"),
        (vec!["check", "pipe"], "pipe"),
        (vec!["run", "pipe"], "pipe"),
        (vec!["compile", "/dev/zero", "--out", "rules"], "device"),
        (vec!["simulate", "/dev/zero"], "device"),
        (vec!["apply", "pipe", "--switches", "."], "pipe"),
        (vec!["check", "."], "directory"),
    ] {
        let refusal = place.refused(&words);
        let file = words[1];
        let message = format!("{file}:1:1: cannot be read: it is a {what}; name a regular file\n");
        assert_eq!(refusal, message);
    }
}

#[test]
fn check_tells_a_rule_file_from_a_switch_file() {
    let place = Place::new("");
    let rules = r#"{"switch":"A","ports":4,"lossy_tag":0,"initial_tag":1,"priorities":{"1":1},
        "entries":[{"tag":1,"in":[3],"out":[4],"new_tag":1}]}"#;
    place.write("A.json", rules);
    let output = place.knotless(&["check", "A.json"]);
    assert!(output.status.success(), "{output:?}");
    assert!(
        String::from_utf8(output.stdout)
            .unwrap()
            .starts_with("rules of switch A: 4 ports, 1 entries")
    );
    place.write("A.json", &rules.replace("\"out\":[4]", "\"out\":[5]"));
    let error = place.refused(&["check", "A.json"]);
    assert!(error.starts_with("A.json:2:"), "{error}");
}

#[test]
fn the_examples_are_right() {
    let examples = concat!(env!("CARGO_MANIFEST_DIR"), "/../config/examples");
    let place = Place::new("");
    let mut count = 0;
    for file in std::fs::read_dir(examples).unwrap().map(|file| file.unwrap().path()) {
        if file.extension().is_some_and(|end| end == "toml") {
            let output = place.knotless(&["check", file.to_str().unwrap()]);
            assert!(output.status.success(), "{}: {output:?}", file.display());
            count += 1;
        }
    }
    assert!(count >= 6, "{count}");
}
