//! Real databases and device profiles of public repositories: each is imported, or refused with the
//! line that the manifest `tests/sonic/corpus.toml` says.
//!
//! Files that are here are always tried. With `KNOTLESS_SONIC_CORPUS=FOLDER` all of the manifest
//! are, and must be in that folder, under any name: a file is known by its SHA-256.

use config::SwitchConfig;
use config::sonic::{ImportFiles, ImportOptions, SonicError, import};
use serde::Deserialize;
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

/// Cases of which all files are here.
const HERE_MIN: usize = 6;
/// Cases that the manifest has at the least.
const CASES_MIN: usize = 30;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Manifest {
    file: Vec<FileEntry>,
    case: Vec<Case>,
}

/// A file of a public repository.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FileEntry {
    repository: String,
    commit: String,
    path: String,
    sha256: String,
    bytes: u64,
    /// SHA-256 of the copy that is here, without blanks at the ends of lines.
    tidied: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    name: String,
    /// SHA-256 of each.
    databases: Vec<String>,
    pg_lookup: Option<String>,
    ports: Option<String>,
    /// Empty: imported. Else how many lines refuse it, and the first without the file's name.
    exact: Outcome,
    approximate: Outcome,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Outcome {
    lines: usize,
    first: Option<String>,
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/sonic")
}

/// The files of a folder by their SHA-256.
fn by_digest(folder: &Path, found: &mut HashMap<String, PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if let Ok(bytes) = fs::read(&path) {
            let digest = Sha256::digest(&bytes).iter().fold(String::new(), |mut text, octet| {
                let _always_fits = write!(text, "{octet:02x}");
                text
            });
            found.entry(digest).or_insert(path);
        }
    }
}

#[test]
fn each_case_is_imported_or_refused_as_the_manifest_says() {
    let text = fs::read_to_string(folder().join("corpus.toml")).unwrap();
    let manifest: Manifest = toml::from_str(&text).unwrap();
    assert!(manifest.case.len() >= CASES_MIN);
    check_entries(&manifest);
    let mut found = HashMap::new();
    by_digest(&folder(), &mut found);
    let whole = std::env::var_os("KNOTLESS_SONIC_CORPUS");
    if let Some(folder) = &whole {
        by_digest(Path::new(folder), &mut found);
    }
    let mut tried = 0;
    let mut wrong = Vec::new();
    let mut refused: HashMap<String, usize> = HashMap::new();
    let mut imported = [0; 2];
    for case in &manifest.case {
        let needed = case.databases.iter().chain(&case.pg_lookup).chain(&case.ports);
        let Some(paths) =
            needed.map(|sha256| found.get(sha256).cloned()).collect::<Option<Vec<_>>>()
        else {
            assert!(whole.is_none(), "{}: a file is not in the folder", case.name);
            continue;
        };
        tried += 1;
        let mut rest = paths[case.databases.len()..].iter().cloned();
        let files = ImportFiles {
            databases: paths[..case.databases.len()].to_vec(),
            pg_lookup: case.pg_lookup.as_ref().and_then(|_| rest.next()),
            ports: case.ports.as_ref().and_then(|_| rest.next()),
        };
        for (approximate, expected) in [(false, &case.exact), (true, &case.approximate)] {
            let lines = lines(&files, approximate);
            imported[usize::from(approximate)] += usize::from(lines.is_empty());
            for line in &lines {
                *refused.entry(kind(line)).or_default() += 1;
            }
            let first = lines.first().cloned();
            if lines.len() != expected.lines || first != expected.first {
                let how = if approximate { "approximate" } else { "exact" };
                wrong.push(format!("{} {how}: {} lines, {first:?}", case.name, lines.len()));
            }
        }
    }
    println!("{tried} cases: {} imported exactly, {} with --approximate", imported[0], imported[1]);
    let mut often: Vec<_> = refused.into_iter().collect();
    often.sort_by_key(|(kind, count)| (std::cmp::Reverse(*count), kind.clone()));
    often.iter().take(25).for_each(|(kind, count)| println!("{count:5} {kind}"));
    assert!(tried >= HERE_MIN, "only {tried} cases were tried");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Each file is named by repository, commit, path, digest and size, and each case by its files.
fn check_entries(manifest: &Manifest) {
    let hex =
        |text: &str, length| text.len() == length && text.bytes().all(|b| b.is_ascii_hexdigit());
    for FileEntry { repository, commit, path, sha256, bytes, tidied } in &manifest.file {
        assert!(repository.split_once('/').is_some() && !path.is_empty() && *bytes > 0, "{path}");
        assert!(hex(commit, 40) && hex(sha256, 64), "{path}");
        assert!(tidied.as_ref().is_none_or(|sha256| hex(sha256, 64)), "{path}");
    }
    for case in &manifest.case {
        for sha256 in case.databases.iter().chain(&case.pg_lookup).chain(&case.ports) {
            assert!(manifest.file.iter().any(|file| file.sha256 == *sha256), "{}", case.name);
        }
    }
}

/// What refuses an import, without the file's name. What is imported is a switch.
fn lines(files: &ImportFiles, approximate: bool) -> Vec<String> {
    let options = ImportOptions { approximate, ..ImportOptions::default() };
    match import(files, &options) {
        Ok(imported) => {
            assert_eq!(
                imported.approximations.is_empty(),
                !imported.text.contains("# Approximated:")
            );
            SwitchConfig::parse(&files.databases[0], &imported.text).unwrap();
            Vec::new()
        }
        Err(SonicError::Refused(lines)) => lines.iter().map(|line| without_file(line)).collect(),
        Err(SonicError::File(error)) => vec![error.message],
    }
}

fn without_file(line: &str) -> String {
    line.split_once(": ").map_or(line, |(_, rest)| rest).to_owned()
}

/// Table and field of a line, with the reason.
fn kind(line: &str) -> String {
    let (place, why) = line.split_once(": ").unwrap_or(("", line));
    let table = place.split(['|', ' ']).next().unwrap_or_default();
    let why: String = why.split(';').next().unwrap_or_default().chars().take(90).collect();
    format!("{table}: {why}")
}
