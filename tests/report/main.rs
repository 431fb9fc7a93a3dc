//! The pages of `knotless simulate --report` and of campaigns, as a browser shows them. `make
//! report` runs it.
//!
//! | file | idea |
//! |---|---|
//! | `browser` | headless Chromium: a page in, what its scripts made of it out |
//! | `reader.js` | what a reader does to a page |
//! | `samples/` | outcomes made by hand |
//! | `pages` | writes their pages, to be looked at |
//! | `campaign` | the page of a campaign |

mod browser;
mod campaign;
mod samples;

use browser::Shown;

/// The sample of this name, as a browser shows it.
fn shown(name: &str) -> Shown {
    shown_with(name, "")
}

/// The same after this script, too.
fn shown_with(name: &str, script: &str) -> Shown {
    let samples = samples::all();
    let (_, outcome) = samples.iter().find(|(sample, _)| *sample == name).unwrap();
    let page = netsim::report::page(outcome);
    browser::show(&page.replace("</body>", &format!("<script>{script}</script></body>")))
}

#[test]
fn every_page_draws_without_a_fault_and_shows_no_hole() {
    for (name, outcome) in samples::all() {
        let shown = browser::show(&netsim::report::page(&outcome));
        assert_eq!(shown.attribute_of_root("data-error"), None, "{name}: a fault in its script");
        assert_eq!(shown.attribute_of_root("data-owned"), None, "{name}: a name ran as script");
        for hole in ["NaN", "undefined", "Infinity", "[object", "null"] {
            assert!(!shown.contains(hole), "{name}: shows {hole}:\n{}", shown.around(hole));
        }
    }
}

#[test]
fn a_deadlock_is_the_verdict_and_its_cycle_is_red() {
    let ring = shown("ring");
    assert_eq!(ring.text_of("verdict-text"), "Deadlock at 63.1 µs: A → B → C → A");
    assert!(ring.contains("class=\"verdict bad\""), "the verdict is red");
    assert_eq!(ring.count("class=\"cycle\" data-hop="), 3, "a red link for each hop");
    assert_eq!(ring.count("class=\"mark deadlock\""), 4, "a mark in each chart over time");
    let queues_and_pauses = ring.count("class=\"label in-cycle\"");
    assert_eq!(queues_and_pauses, 3 + 3, "the cycle's queues, and who is paused in it");
}

#[test]
fn every_series_is_a_line_and_every_flow_a_row() {
    let ring = shown("ring");
    assert_eq!(ring.count("class=\"line "), 1 + 3 + 6, "in all, by flow, queues");
    assert_eq!(ring.count("class=\"limit "), 1, "one threshold for all queues");
    assert_eq!(ring.count("class=\"pause-track\""), 6);
    assert_eq!(ring.rows_of("flows-table"), 3);
    assert_eq!(ring.rows_of("drops-table"), 1);
    assert_eq!(ring.count("class=\"node switch"), 3 + 1, "and one in the key");
}

#[test]
fn eighty_switches_without_a_deadlock() {
    let tree = shown("fat-tree");
    let verdict = "No deadlock; drained 12 µs after the sources stopped";
    assert_eq!(tree.text_of("verdict-text"), verdict);
    assert!(tree.contains("class=\"verdict good\""));
    assert_eq!(tree.count("class=\"cycle"), 0);
    assert_eq!(tree.count("class=\"link down\""), 2 + 1, "and one in the key");
    assert_eq!(tree.count("class=\"line "), 1 + 64 + 32);
    assert_eq!(tree.rows_of("flows-table"), 200, "the first ones");
    assert!(tree.text().contains("The first 200 of 256 flows."));
    assert_eq!(tree.count("class=\"pause-track\""), 16, "until all are asked for");
    assert!(tree.text().contains("18446744073709551615"), "the seed to its last digit");
}

#[test]
fn an_outcome_of_nothing_is_a_page() {
    let empty = shown("empty");
    assert_eq!(empty.text_of("verdict-text"), "No deadlock; nothing was sent");
    for note in ["The topology was not recorded.", "No time passed.", "There were no flows."] {
        assert!(empty.text().contains(note), "{note}");
    }
}

#[test]
fn names_are_shown_as_they_are() {
    const COUNT: &str =
        "document.documentElement.dataset.markup = document.querySelectorAll('img, b, i').length";
    let hostile = shown_with("hostile", COUNT);
    assert_eq!(hostile.attribute_of_root("data-markup"), Some("0"), "a name became an element");
    assert!(hostile.text().contains("</script><img src=x onerror=\"document"));
    assert_eq!(hostile.rows_of("flows-table"), 7);
    assert_eq!(hostile.count("class=\"cycle\" data-hop="), 2);
}

#[test]
fn the_page_answers_its_reader() {
    let shown = shown_with("fat-tree", include_str!("reader.js"));
    assert_eq!(shown.attribute_of_root("data-error"), None);
    let notes = ["data-lines", "data-rows", "data-read", "data-zoomed", "data-whole"];
    let noted = notes.map(|name| shown.attribute_of_root(name).unwrap());
    assert_eq!(noted, ["63", "40", "at 1.015 ms", "true", "true"]);
}
