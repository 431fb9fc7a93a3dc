//! What a newcomer may rely on in every file of the tree.

use config::SwitchConfig;
use config::rule_file;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use tests::pcap::cases;
use tests::tree;

/// A file is one idea.
const LINES_MAX: usize = 600;
const COLUMNS_MAX: usize = 100;
/// What rustfmt does not format, or cannot: a long string stands in one line.
const CODE_COLUMNS_MAX: usize = 120;
/// Nothing in the tree needs to be larger; what does belongs elsewhere.
const BYTES_MAX: u64 = 1 << 20;

/// Words of work that was not finished. Put together here, or this file would be the first to fail.
const UNFINISHED: [&str; 6] = [
    concat!("TO", "DO"),
    concat!("FIX", "ME"),
    concat!("XX", "X"),
    concat!("dbg", "!("),
    concat!("todo", "!("),
    concat!("unimple", "mented!("),
];

/// Starts of paths that exist on somebody's machine only.
const ELSEWHERE: [&str; 5] = [
    concat!("/ho", "me/"),
    concat!("/ro", "ot/"),
    concat!("/Use", "rs/"),
    concat!("/wo", "rk/"),
    concat!("/tmp/", "wt"),
];

fn extension(path: &Path) -> &str {
    path.extension().and_then(OsStr::to_str).unwrap_or_default()
}

fn is_code(path: &Path) -> bool {
    matches!(extension(path), "rs" | "py" | "sh" | "c" | "h" | "js" | "css" | "html")
}

/// Files of text, with what they say.
fn texts() -> Vec<(PathBuf, String)> {
    let files = tree::files().unwrap().into_iter();
    files
        .filter_map(|path| {
            let text = fs::read_to_string(tree::root().join(&path)).ok()?;
            Some((path, text))
        })
        .collect()
}

/// Every line for which `is_wrong` holds, as `file:line: text`.
fn lines_where(
    is_looked_at: impl Fn(&Path) -> bool,
    is_wrong: impl Fn(&str) -> bool,
) -> Vec<String> {
    let mut found = Vec::new();
    for (path, text) in texts().into_iter().filter(|(path, _)| is_looked_at(path)) {
        for (number, line) in (1..).zip(text.lines()).filter(|(_, line)| is_wrong(line)) {
            found.push(format!("{}:{number}: {}", path.display(), line.trim()));
        }
    }
    found
}

fn assert_none(found: &[String], what: &str) {
    assert!(found.is_empty(), "{what}:\n{}", found.join("\n"));
}

#[test]
fn files_are_short_enough_to_be_one_idea() {
    let code = texts().into_iter().filter(|(path, _)| is_code(path));
    let long = code.map(|(path, text)| (path, text.lines().count()));
    let long = long.filter(|&(_, lines)| lines > LINES_MAX);
    let long: Vec<String> =
        long.map(|(path, lines)| format!("{}: {lines} lines", path.display())).collect();
    assert_none(&long, "files of more than 600 lines");
}

#[test]
fn lines_fit_the_screen() {
    let is_comment = |line: &str| line.trim_start().starts_with("//");
    let columns = |line: &str| line.chars().count();
    let wide = lines_where(is_code, |line| {
        columns(line) > if is_comment(line) { COLUMNS_MAX } else { CODE_COLUMNS_MAX }
    });
    assert_none(&wide, "lines of more than 100 columns, 120 where it is not a comment");
}

#[test]
fn nothing_is_left_unfinished() {
    let found = lines_where(
        |path| is_code(path) || extension(path) == "toml",
        |line| UNFINISHED.iter().any(|word| line.contains(word)),
    );
    assert_none(&found, "unfinished work");
}

#[test]
fn no_path_exists_on_one_machine_only() {
    let found = lines_where(|_| true, |line| ELSEWHERE.iter().any(|start| line.contains(start)));
    assert_none(&found, "paths of somebody's machine");
}

#[test]
fn text_ends_in_a_newline_and_lines_end_in_no_blank() {
    let found = lines_where(
        |path| is_code(path) || matches!(extension(path), "toml" | "md" | "json"),
        |line| line.ends_with([' ', '\t', '\r']),
    );
    assert_none(&found, "lines that end in blanks");
    for (path, text) in texts() {
        assert!(
            text.is_empty() || text.ends_with('\n'),
            "{}: no newline at the end",
            path.display()
        );
    }
}

#[test]
fn nothing_large_is_in_the_tree() {
    for path in tree::files().unwrap() {
        let bytes = fs::metadata(tree::root().join(&path)).unwrap().len();
        assert!(bytes <= BYTES_MAX, "{}: {bytes} bytes", path.display());
    }
}

/// The code of a line of Rust, up to its comment or its first string.
fn code(line: &str) -> &str {
    line.split('"').next().and_then(|code| code.split("//").next()).unwrap_or_default()
}

/// Whether the line opens a block or makes a promise that the compiler cannot check.
fn is_unsafe(line: &str) -> bool {
    let words = code(line).split(|c: char| !c.is_alphanumeric() && c != '_');
    words.into_iter().any(|word| word == concat!("un", "safe"))
}

fn may_be_unsafe(path: &Path) -> bool {
    let files = [
        "switch/src/security/each_thread.rs",
        "switch/src/control/peer_groups.rs",
        "switch/src/tap_queue.rs",
    ];
    path.starts_with("dpdk-sys")
        || path.starts_with("switch/src/dpdk")
        || files.iter().any(|file| path == Path::new(file))
}

#[test]
fn unsafe_code_stands_where_it_may_only() {
    let found = lines_where(|path| extension(path) == "rs" && !may_be_unsafe(path), is_unsafe);
    assert_none(
        &found,
        "unsafe code outside dpdk-sys, switch/src/dpdk and the three files of system calls",
    );
}

#[test]
fn every_unsafe_block_says_why_it_is_sound() {
    let mut found = Vec::new();
    for (path, text) in texts().into_iter().filter(|(path, _)| extension(path) == "rs") {
        let lines: Vec<&str> = text.lines().collect();
        for (at, line) in lines.iter().enumerate().filter(|(_, line)| is_unsafe(line)) {
            // A function that is unsafe to call documents it under `# Safety`; an attribute only
            // names the word.
            let opens = code(line).contains(concat!("un", "safe {"))
                || code(line).contains(concat!("un", "safe impl"));
            // The reason stands above the statement, which may have begun a few lines earlier.
            let before = &lines[at.saturating_sub(6)..=at];
            if opens && !before.iter().any(|line| line.contains("SAFETY:")) {
                found.push(format!("{}:{}: {}", path.display(), at + 1, line.trim()));
            }
        }
    }
    assert_none(&found, "unsafe code without a SAFETY line");
}

#[test]
fn every_example_is_a_switch() {
    let directory = tree::root().join("config/examples");
    let mut count = 0;
    for entry in fs::read_dir(&directory).unwrap() {
        let path = entry.unwrap().path();
        if extension(&path) == "toml" {
            SwitchConfig::load(&path).unwrap_or_else(|error| panic!("{error}"));
            count += 1;
        }
    }
    for entry in fs::read_dir(directory.join("rules")).unwrap() {
        rule_file::load(&entry.unwrap().path()).unwrap_or_else(|error| panic!("{error}"));
        count += 1;
    }
    assert!(count > 0, "no examples in {}", directory.display());
}

#[test]
fn every_pcap_case_is_whole() {
    let cases = cases().unwrap();
    assert!(cases.len() >= 25, "{} cases", cases.len());
    for (name, case) in cases {
        let case = case.unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(case.frames_in() > 0, "{name}: nothing arrives");
        let switch = case.folder.join("switch.toml");
        let switch = SwitchConfig::load(&switch).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(switch.name, name, "the switch is named as its case");
        for file in ["frames.py", "counters.txt"] {
            assert!(case.folder.join(file).is_file(), "{name}: {file} is missing");
        }
    }
}

#[test]
fn the_readme_names_the_targets_and_the_changelog_has_room() {
    let read = |name: &str| fs::read_to_string(tree::root().join(name)).unwrap_or_default();
    let (readme, makefile) = (read("README.md"), read("Makefile"));
    for target in ["knot", "demo", "test"] {
        assert!(
            readme.contains(&format!("make {target}")),
            "README.md does not name `make {target}`"
        );
        let rule = makefile.lines().any(|line| line.starts_with(&format!("{target}:")));
        assert!(rule, "the Makefile has no rule for `make {target}`");
    }
    let changelog = read("CHANGELOG.md");
    let heading = changelog.lines().find(|line| line.starts_with("## "));
    assert_eq!(heading, Some("## [Unreleased]"), "CHANGELOG.md begins with what is not released");
}
