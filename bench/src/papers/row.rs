//! A row of the table: a theorem, table or figure of a paper, and what became of it here.

use crate::plot::Plot;
use bench::stats::Interval;
use comfy_table::{ContentArrangement, Table, presets};
use serde_json::{Value, json};

/// The five papers, in the order of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Paper {
    Tagger,
    GentleFlowControl,
    TtlClasses,
    Reconfiguration,
    Levels,
}

impl Paper {
    /// As ARCHITECTURE calls it.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Tagger => "Tagger",
            Self::GentleFlowControl => "GFC",
            Self::TtlClasses => "TTL classes",
            Self::Reconfiguration => "reconfiguration",
            Self::Levels => "levels by LLDP",
        }
    }
}

/// What became of an item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Ours shows what the paper says.
    Holds,
    /// Ours differs as this says, and is what it must be all the same.
    Differs(String),
    /// Nothing was measured, for this reason.
    NotDone(String),
    /// The item states nothing that could be measured: notation, an illustration.
    NoClaim(String),
    /// Ours is not what it must be.
    Fails(String),
}

impl Verdict {
    /// [`Verdict::Holds`] if `condition` is met; otherwise it fails, as `why` says.
    pub(crate) fn holds_if(condition: bool, why: impl Into<String>) -> Self {
        if condition { Self::Holds } else { Self::Fails(why.into()) }
    }

    /// [`Verdict::Differs`] for `reason` if `condition` is met; otherwise it fails, as `why` says.
    pub(crate) fn differs_if(
        condition: bool,
        reason: impl Into<String>,
        why: impl Into<String>,
    ) -> Self {
        if condition { Self::Differs(reason.into()) } else { Self::Fails(why.into()) }
    }

    /// Its name in JSON.
    const fn name(&self) -> &'static str {
        match self {
            Self::Holds => "holds",
            Self::Differs(_) => "differs",
            Self::NotDone(_) => "not done",
            Self::NoClaim(_) => "no claim",
            Self::Fails(_) => "FAILS",
        }
    }

    /// Why it is so; nothing where it holds.
    fn reason(&self) -> &str {
        match self {
            Self::Holds => "",
            Self::Differs(why) | Self::NotDone(why) | Self::NoClaim(why) | Self::Fails(why) => why,
        }
    }

    /// Its name, and why it is so.
    pub(crate) fn text(&self) -> String {
        match self.reason() {
            "" => self.name().to_owned(),
            reason => format!("{}: {reason}", self.name()),
        }
    }

    /// Whether the table fails for it.
    pub(crate) const fn is_failure(&self) -> bool {
        matches!(self, Self::Fails(_))
    }
}

/// See the module's head.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    pub(crate) paper: Paper,
    /// The theorem, table, figure or section.
    pub(crate) item: &'static str,
    /// What the paper says.
    pub(crate) paper_value: String,
    /// What came out here.
    pub(crate) ours: String,
    /// 95 % of the mean of `ours`, where it is random.
    pub(crate) interval: Option<Interval>,
    pub(crate) verdict: Verdict,
    /// The command that gives this row alone, or this whole table.
    pub(crate) command: &'static str,
    /// What the page draws under the table.
    pub(crate) plots: Vec<Plot>,
}

impl Row {
    /// A row without an interval or a plot, which the whole table's command gives.
    pub(crate) fn new(
        paper: Paper,
        item: &'static str,
        paper_value: impl Into<String>,
        ours: impl Into<String>,
        verdict: Verdict,
    ) -> Self {
        Self {
            paper,
            item,
            paper_value: paper_value.into(),
            ours: ours.into(),
            interval: None,
            verdict,
            command: "make bench-papers",
            plots: Vec::new(),
        }
    }

    /// A row of which nothing was measured, because of `reason`.
    pub(crate) fn not_done(
        paper: Paper,
        item: &'static str,
        paper_value: &str,
        reason: &str,
    ) -> Self {
        Self::new(paper, item, paper_value, "-", Verdict::NotDone(reason.to_owned()))
    }

    /// A row of an item that states nothing that could be measured, because of `reason`.
    pub(crate) fn no_claim(paper: Paper, item: &'static str, reason: &str) -> Self {
        Self::new(paper, item, "-", "-", Verdict::NoClaim(reason.to_owned()))
    }

    /// The same with the command that gives this row alone.
    pub(crate) fn by(self, command: &'static str) -> Self {
        Self { command, ..self }
    }

    /// The figures.
    fn json(&self) -> Value {
        json!({
            "paper": self.paper.name(),
            "item": self.item,
            "paper_value": self.paper_value,
            "ours": self.ours,
            "interval": self.interval.map(|interval| interval.json()),
            "verdict": self.verdict.name(),
            "reason": self.verdict.reason(),
            "command": self.command,
        })
    }

    /// What the table shows, in the order of [`HEADINGS`].
    pub(crate) fn cells(&self) -> [String; 7] {
        let interval = self.interval.map_or_else(String::new, |interval| interval.to_string());
        [
            self.paper.name().to_owned(),
            self.item.to_owned(),
            self.paper_value.clone(),
            self.ours.clone(),
            interval,
            self.verdict.text(),
            self.command.to_owned(),
        ]
    }
}

/// The columns.
pub(crate) const HEADINGS: [&str; 7] =
    ["paper", "item", "the paper's value", "ours", "95 % interval", "verdict", "command"];

/// Characters of a line of the table, where the text wraps.
const WIDTH: u16 = 200;

/// The rows as a table for a terminal.
pub(crate) fn table(rows: &[Row]) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_header(HEADINGS);
    table.set_content_arrangement(ContentArrangement::Dynamic).set_width(WIDTH);
    table.add_rows(rows.iter().map(Row::cells));
    table.to_string()
}

/// How many rows have each verdict, in one line.
pub(crate) fn summary(rows: &[Row]) -> String {
    let of = |name| rows.iter().filter(|row| row.verdict.name() == name).count();
    let names = ["holds", "differs", "not done", "no claim", "FAILS"];
    let counts = names.map(|name| format!("{name}: {}", of(name)));
    format!("{} rows; {}", rows.len(), counts.join(", "))
}

/// The rows as JSON.
pub(crate) fn json(rows: &[Row]) -> Value {
    rows.iter().map(Row::json).collect()
}

/// Whether no row fails.
pub(crate) fn holds(rows: &[Row]) -> bool {
    !rows.iter().any(|row| row.verdict.is_failure())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(verdict: Verdict) -> Row {
        Row::new(Paper::Tagger, "Fig. 99", "1", "2", verdict)
    }

    #[test]
    fn a_condition_that_is_not_met_fails_the_table() {
        let differs = |met| Verdict::differs_if(met, "another network", "3 is not 2");
        let good = [row(Verdict::holds_if(true, "never")), row(differs(true))];
        assert!(holds(&good));
        for verdict in [Verdict::holds_if(false, "3 is not 2"), differs(false)] {
            assert_eq!(verdict.text(), "FAILS: 3 is not 2");
            assert!(!holds(&[good[0].clone(), row(verdict)]));
        }
        let open = Row::not_done(Paper::Levels, "beyond 8", "-", "nobody did it");
        assert!(holds(&[open]));
    }

    #[test]
    fn the_table_and_the_json_have_every_cell() {
        let interval = Interval { mean: 16.0, half_width: 0.5, seeds: 20 };
        let row = Row {
            interval: Some(interval),
            ..row(Verdict::Differs("another rule".into())).by("make bench-papers")
        };
        let text = table(std::slice::from_ref(&row));
        let words = ["Tagger", "Fig. 99", "15.50 to 16.50", "differs: another rule"];
        for word in words {
            assert!(text.contains(word), "{word} is not in {text}");
        }
        assert!(summary(std::slice::from_ref(&row)).starts_with("1 rows; holds: 0, differs: 1"));
        let value = &json(&[row])[0];
        assert_eq!(value["verdict"], "differs");
        assert_eq!(value["reason"], "another rule");
        assert_eq!(value["interval"]["seeds"], 20);
    }
}
