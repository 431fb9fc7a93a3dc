//! A mistake on the command line is one line that says what would be right, and exit 2; help and
//! version are clap's own.

use std::process::{Command, Output};

fn knotless(words: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_knotless")).args(words).output().unwrap()
}

fn refused(words: &[&str]) -> String {
    let output = knotless(words);
    let message = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{words:?}: {message}");
    assert!(output.stdout.is_empty(), "{words:?}");
    assert_eq!(message.matches('\n').count(), 1, "{words:?}: {message}");
    assert!(message.ends_with('\n') && message.len() < 600, "{words:?}: {message}");
    assert!(!message.trim_end().contains(char::is_control), "{words:?}: {message:?}");
    for word in ["..=", "invalid digit", "target type", "error:", "Usage"] {
        assert!(!message.contains(word), "{words:?}: {message}");
    }
    message.trim_end().to_owned()
}

#[test]
fn an_error_is_one_line_with_advice() {
    let speed = "write bits per second as \"200M\", \"2.5G\" or \"40G\"";
    for (words, message) in [
        ("frob", "there is no command `frob`; see `knotless --help`"),
        ("chek x", "there is no command `chek`; did you mean `check`?"),
        ("ctl stat", "there is no command `stat`; did you mean `stats`?"),
        ("check", "missing: `<FILE>`; see `knotless check --help`"),
        ("compile", "missing: `--out <DIR>`, `<FILE>`; see `knotless compile --help`"),
        ("plan N --naive", "missing: `--scenario <FILE>`; see `knotless plan --help`"),
        ("check --frob x", "there is no option `--frob` here; see `knotless check --help`"),
        ("check --jsn x", "there is no option `--jsn` here; did you mean `--json`?"),
        ("check a b", "there is no argument `b` here; see `knotless check --help`"),
        ("compile N --out", "`--out <DIR>` needs a value; see `knotless --help`"),
        (
            "plan N --model",
            "`--model <MODEL>` needs a value; it takes parallel, sequential, control-delay or stragglers",
        ),
        ("ctl link a upp", "`upp` is wrong for `<STATE>`; it takes up or down"),
        (
            "compile N --out a --max-lossless 99",
            "`99` is wrong for `--max-lossless <N>`; it takes a whole number, 1 to 7",
        ),
        (
            "plan N --stragglers 0",
            "`0` is wrong for `--stragglers <N>`; it takes a whole number from 1 on",
        ),
        ("simulate N --seed x", "`x` is wrong for `--seed <N>`; it takes a number that fits"),
        (
            "simulate N --seed 99999999999999999999",
            "`99999999999999999999` is wrong for `--seed <N>`; it takes a number that fits",
        ),
        (
            "apply p --switches d --resume --rollback",
            "`--resume` and `--rollback` exclude each other; keep one",
        ),
        ("check N --json --json", "`--json` is given twice; keep one"),
    ] {
        let words: Vec<&str> = words.split(' ').collect();
        assert_eq!(refused(&words), format!("knotless: {message}"));
    }
    let headroom = ["headroom", "--speed", "40X", "--length", "3m", "--mtu", "1500"];
    let message =
        format!("knotless: `40X` is wrong for `--speed <SPEED>`; it is not a speed; {speed}");
    assert_eq!(refused(&headroom), message);
    let headroom = ["headroom", "--speed", "40G", "--length", "1200000m", "--mtu", "1500"];
    assert!(refused(&headroom).ends_with("; it is out of range; a length is at most 1000km"));
}

#[test]
fn old_words_work_and_name_the_new_ones() {
    let nowhere = "knotless traffic: no interface `nowhere` in this network namespace";
    let flow = "dst-ip=10.9.0.2";
    for (words, line) in [
        (vec!["sink"], "knotless traffic: `traffic sink` is now `traffic recv`"),
        (vec!["send", "--gentle", "--flow", flow], "knotless traffic: `--gentle` is now `--gfc`"),
    ] {
        let output = knotless(&[&["traffic"], &words[..], &["--dev", "nowhere"]].concat());
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{stderr}");
        assert_eq!(stderr.lines().collect::<Vec<_>>(), [line, nowhere]);
    }
    let help = String::from_utf8(knotless(&["traffic", "--help"]).stdout).unwrap();
    assert!(help.contains("recv") && !help.contains("sink"), "{help}");
}

#[test]
fn what_is_echoed_is_printable_and_short() {
    let long = "x".repeat(100_000);
    for words in [
        vec![long.as_str()],
        vec!["check", "a", &long],
        vec!["check", "--", "a\nb\u{1b}[2J", "c"],
        vec!["\u{1b}[31mred"],
        vec!["headroom", "--speed", &long, "--length", "3m", "--mtu", "1500"],
        vec!["headroom", "--speed", "4\n0\u{7}G", "--length", "3m", "--mtu", "1500"],
        vec!["check", &long],
        vec!["check", "no\nsuch\u{7}"],
        vec!["verify", &long, "--rules", &long],
        vec!["simulate", "x", "--seed", "4\u{9b}"],
        vec!["ctl", "--socket", &long, "stats"],
        vec!["ctl", "--name", "a\u{1b}b", "stats"],
    ] {
        let message = refused(&words);
        assert!(message.matches('x').count() <= 300, "{message}");
    }
}

#[test]
fn help_and_version_stay_as_they_are() {
    let help = knotless(&["--help"]);
    let text = String::from_utf8(help.stdout).unwrap();
    assert!(help.status.success() && help.stderr.is_empty());
    assert!(text.contains("Usage: knotless <COMMAND>") && text.lines().count() > 20, "{text}");
    let version = knotless(&["--version"]);
    assert!(version.status.success());
    assert!(String::from_utf8(version.stdout).unwrap().starts_with("knotless "));
    // With nothing at all there is no mistake to name: the commands are listed.
    let nothing = knotless(&[]);
    assert_eq!(nothing.status.code(), Some(2));
    assert!(String::from_utf8(nothing.stderr).unwrap().contains("Commands:"));
}
