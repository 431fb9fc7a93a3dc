//! `docs/sonic-tests.md` and these files name the same tests.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use tests::tree;

/// What stands between backticks in the table and names a test, as `file::test`.
fn in_the_table() -> BTreeSet<String> {
    let page = fs::read_to_string(tree::root().join("docs/sonic-tests.md")).unwrap();
    let code = page.split('`').skip(1).step_by(2);
    code.filter(|code| code.contains("::") && !code.contains('/')).map(str::to_owned).collect()
}

/// The tests of one file, as `file::test`.
fn in_file(path: &Path) -> Vec<String> {
    let module = path.file_stem().unwrap().to_str().unwrap();
    let text = fs::read_to_string(path).unwrap();
    let tests = text.split("#[test]\n").skip(1);
    let name = |rest: &str| rest.trim_start_matches("fn ").split('(').next().unwrap().to_owned();
    tests.map(|rest| format!("{module}::{}", name(rest))).collect()
}

#[test]
fn every_test_stands_in_the_table_and_nothing_else_does() {
    let files = fs::read_dir(tree::root().join("tests/sonic")).unwrap();
    let files = files.map(|entry| entry.unwrap().path()).filter(|path| !path.ends_with("table.rs"));
    let mut tests: BTreeSet<String> = files.flat_map(|path| in_file(&path)).collect();
    tests.insert("table::every_test_stands_in_the_table_and_nothing_else_does".to_owned());
    let table = in_the_table();
    let missing: Vec<_> = tests.difference(&table).collect();
    let unknown: Vec<_> = table.difference(&tests).collect();
    assert!(missing.is_empty(), "not in docs/sonic-tests.md: {missing:?}");
    assert!(unknown.is_empty(), "docs/sonic-tests.md names what is no test: {unknown:?}");
}
