//! A function or constant is public only if another crate, a test outside its crate, or an example
//! in its documentation names it.
//! (Types are public also where a public signature needs them; the compiler says which.)

use std::collections::HashSet;
use std::path::PathBuf;
use tests::tree;

/// The libraries of the workspace.
const LIBRARIES: [&str; 8] =
    ["agents", "config", "dataplane", "fabric", "netsim", "random", "roce", "switch"];

/// The words of `text`, comments aside.
fn words(text: &str) -> impl Iterator<Item = &str> {
    let code = text.lines().map(|line| line.split("//").next().unwrap_or_default());
    code.flat_map(|line| line.split(|c: char| !c.is_alphanumeric() && c != '_'))
}

/// The words of the examples in the documentation of `text`.
fn example_words(text: &str) -> impl Iterator<Item = &str> {
    let documentation = text.lines().filter_map(|line| {
        let line = line.trim_start();
        line.strip_prefix("///").or_else(|| line.strip_prefix("//!"))
    });
    let mut is_example = false;
    let examples = documentation.filter(move |line| {
        is_example ^= line.trim_start().starts_with("```");
        is_example
    });
    examples.flat_map(words)
}

/// The name of the public function, constant or static that `line` begins.
fn public_item(line: &str) -> Option<&str> {
    let mut words = words(line.trim().strip_prefix("pub ")?);
    let mut is_item = false;
    loop {
        match words.next()? {
            "fn" | "const" | "static" => is_item = true,
            "unsafe" | "async" => {}
            name => return is_item.then_some(name),
        }
    }
}

/// The public functions, constants and statics that `text` defines, with their line numbers.
fn publics(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let lines = (1..).zip(tree::without_unit_tests(text).lines());
    lines.filter_map(|(number, line)| Some((number, public_item(line)?)))
}

#[test]
fn every_public_function_and_constant_has_a_user_outside_its_crate() {
    let files = tree::rust_sources().unwrap();
    let mut checked = 0;
    let mut unused = Vec::new();
    for library in LIBRARIES {
        let start = format!("{library}/src");
        let is_inside = |path: &PathBuf| path.starts_with(&start) && !path.ends_with("main.rs");
        let outside: HashSet<&str> = files
            .iter()
            .flat_map(|(path, text)| -> Box<dyn Iterator<Item = &str>> {
                if is_inside(path) { Box::new(example_words(text)) } else { Box::new(words(text)) }
            })
            .collect();
        for (path, text) in files.iter().filter(|(path, _)| is_inside(path)) {
            if path.to_string_lossy().contains("test") {
                continue;
            }
            for (number, name) in publics(text) {
                checked += 1;
                if !outside.contains(name) {
                    unused
                        .push(format!("{}:{number}: {name}: pub(crate) is enough", path.display()));
                }
            }
        }
    }
    assert!(checked > 500, "{checked} items were found");
    assert!(unused.is_empty(), "{}", unused.join("\n"));
}

#[test]
fn items_are_told_from_fields_and_types() {
    let text = "pub struct A {\n    pub b: u8,\n}\n\
                pub const C: u8 = 1;\npub const fn d() {}\n    pub fn e<T>(t: T) {}\n\
                pub(crate) fn f() {}\npub mod g;\npub use h::i;\n";
    assert_eq!(publics(text).collect::<Vec<_>>(), [(4, "C"), (5, "d"), (6, "e")]);
}
