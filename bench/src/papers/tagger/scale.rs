//! Table V and the networks of section VIII-C, as `make bench-tagger` compiled and proved them.

use super::PAPER;
use crate::experiments::figures;
use crate::row::{Row, Verdict};
use serde_json::Value;

const COMMAND: &str = "make bench-tagger";

/// Item, and the network's name in `make bench-tagger`.
const ITEMS: [(&str, &str); 11] = [
    ("Table V: Jellyfish 100", "Jellyfish 100"),
    ("Table V: Jellyfish 500", "Jellyfish 500"),
    ("Table V: Jellyfish 1,000", "Jellyfish 1,000"),
    ("Table V: Jellyfish 2,000", "Jellyfish 2,000"),
    ("Table V: Jellyfish 2,000 (*)", "Jellyfish 2,000 + 20,000 random"),
    ("Table V: (*), over 5 switches", "the same, over 5 switches each"),
    ("Table V: (*), over 6 switches", "the same, over 6 switches each"),
    ("VIII-C: Jellyfish 100, 16 shortest", "Jellyfish 100, 16 shortest"),
    ("VIII-C: BCube(8,3)", "BCube(8,3), 4 shortest"),
    ("VIII-C: F10", "F10 of 64 ports, 1 bounce"),
    ("VIII-C: k bounces on a large Clos", "fat-tree k = 16, 2 bounces"),
];

/// A row for each.
pub(crate) fn rows() -> Vec<Row> {
    let figures = figures("tagger");
    ITEMS.iter().map(|&(item, name)| row(item, name, figures.as_ref())).collect()
}

fn row(item: &'static str, name: &str, figures: Option<&Value>) -> Row {
    let rows = figures.and_then(|figures| figures["rows"].as_array());
    let Some(figures) = rows.and_then(|rows| rows.iter().find(|row| row["network"] == name)) else {
        let reason = "`make bench-tagger` was not run";
        return Row::not_done(PAPER, item, "priorities and rules", reason).by(COMMAND);
    };
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let both = |value: &Value| {
        let [priorities, rules] = ["lossless_priorities", "max_rules"].map(|key| text(&value[key]));
        format!("{priorities} priorities, {rules} rules")
    };
    let mut ours = both(&figures["ours"]);
    if !figures["greedy"].is_null() {
        ours += &format!("; Algorithm 2 here: {}", both(&figures["greedy"]));
    }
    let verdict = Verdict::holds_if(figures["holds"] == true, "more than it must be at most");
    Row::new(PAPER, item, both(&figures["paper"]), ours, verdict).by(COMMAND)
}
