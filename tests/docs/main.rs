//! The documents: references that are what the code says, links that lead somewhere, commands and
//! examples that work, and pages that are as short as they should be.

mod commands;
mod examples;
mod links;
mod page;
mod reference;
mod source;

use page::Page;
use std::fs;
use tests::tree;

/// Pages and the most lines that each may have.
const LONGEST: [(&str, usize); 2] = [("README.md", 150), ("ARCHITECTURE.md", 250)];
const DECISION_LINES_MAX: usize = 80;

/// `KNOTLESS_WRITE=1` writes the references; otherwise they must be what the code gives.
#[test]
fn the_references_are_those_of_the_code() {
    let references = [
        ("docs/configuration.md", reference::configuration()),
        ("docs/counters.md", reference::counters()),
        ("docs/metrics.md", reference::metrics()),
    ];
    for (path, text) in references {
        let file = tree::root().join(path);
        if std::env::var_os("KNOTLESS_WRITE").is_some() {
            fs::write(&file, &text).unwrap();
        }
        let written = fs::read_to_string(&file).unwrap_or_default();
        assert!(written == text, "{path} is not what the code says; `make references` writes it");
    }
}

#[test]
fn no_link_is_dead() {
    let pages = Page::all();
    assert!(pages.len() > 20, "{} pages were read", pages.len());
    let dead: Vec<String> = pages.iter().flat_map(|page| links::dead(page, &pages)).collect();
    assert!(dead.is_empty(), "dead links:\n{}", dead.join("\n"));
}

#[test]
fn every_page_of_the_book_is_in_its_table_of_contents() {
    let contents = fs::read_to_string(tree::root().join("docs/SUMMARY.md")).unwrap();
    for page in Page::all() {
        let Some(name) = page.path.strip_prefix("docs/") else { continue };
        let listed = contents.contains(&format!("({name})")) || name == "SUMMARY.md";
        assert!(listed, "docs/SUMMARY.md does not list {name}");
    }
}

#[test]
fn pages_are_as_short_as_they_should_be() {
    for page in Page::all() {
        let decision =
            page.path.starts_with("docs/decisions/") && !page.path.ends_with("README.md");
        let most = LONGEST.iter().find(|(path, _)| *path == page.path).map(|(_, most)| *most);
        let most = most.or_else(|| decision.then_some(DECISION_LINES_MAX)).unwrap_or(usize::MAX);
        let lines = page.text.lines().count();
        assert!(lines <= most, "{} has {lines} lines, more than {most}", page.path);
    }
}

#[test]
fn every_toml_example_is_of_keys_that_exist() {
    let wrong: Vec<String> = Page::all().iter().flat_map(examples::wrong).collect();
    assert!(wrong.is_empty(), "examples that no file can have:\n{}", wrong.join("\n"));
}

#[test]
fn every_command_works() {
    commands::run_all(&Page::all());
}
