//! What several rows are read from: runs of the emulator, and the figures of other commands.

use crate::compared::{self, Compared};
use crate::row::{Paper, Row, Verdict};
use crate::runs::{self, Run};
use serde_json::Value;
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

/// Where the benches write their figures.
pub(crate) fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/bench")
}

/// See the module's head.
pub(crate) struct Experiments {
    /// Every scenario under every scheme that it says something about.
    pub(crate) runs: Vec<Run>,
    /// The same failures under every scheme.
    pub(crate) compared: Vec<Compared>,
}

impl Experiments {
    /// Runs the scenarios, and writes a page for each run to `pages`.
    ///
    /// # Errors
    /// A scenario is wrong, or a page cannot be written.
    pub(crate) fn run(pages: &Path) -> Result<Self, Box<dyn Error>> {
        Ok(Self { runs: runs::all(pages)?, compared: compared::all()? })
    }

    /// A row of scenarios, each under one scheme: it holds if all came out as their files expect.
    pub(crate) fn row(
        &self,
        paper: Paper,
        item: &'static str,
        paper_value: &str,
        scenarios: &[(&str, &str)],
    ) -> Row {
        let mut ours = Vec::new();
        let mut wrong = Vec::new();
        for &(name, scheme) in scenarios {
            let is_it = |run: &&Run| run.name == name && run.scheme == scheme;
            let Some(run) = self.runs.iter().find(is_it) else {
                wrong.push(format!("{name} was not run under {scheme}"));
                continue;
            };
            let (least, most) = run.late_gbps();
            ours.push(format!("{name}, {scheme}: {}, {least:.1} to {most:.1} Gb/s", run.verdict()));
            wrong.extend(run.surprises.iter().cloned());
        }
        let verdict = Verdict::holds_if(wrong.is_empty(), wrong.join("; "));
        Row::new(paper, item, paper_value, ours.join("; "), verdict)
    }
}

/// What `make bench-NAME` wrote last; `None` if it did not.
pub(crate) fn figures(name: &str) -> Option<Value> {
    let text = fs::read_to_string(folder().join(format!("{name}.json"))).ok()?;
    serde_json::from_str(&text).ok()
}

/// A row that holds if the command that wrote `NAME.json` found that all of its own rows do.
pub(crate) fn row_of_figures(
    paper: Paper,
    item: &'static str,
    paper_value: &str,
    name: &str,
    command: &'static str,
    ours: impl FnOnce(&Value) -> String,
) -> Row {
    let Some(figures) = figures(name) else {
        let reason = format!("`{command}` was not run");
        return Row::not_done(paper, item, paper_value, &reason).by(command);
    };
    let verdict = Verdict::holds_if(figures["holds"] == true, format!("`{command}` failed"));
    Row::new(paper, item, paper_value, ours(&figures), verdict).by(command)
}

impl Row {
    /// The same, which differs for `reason` where it holds.
    pub(crate) fn differs(self, reason: &str) -> Self {
        let verdict = match self.verdict {
            Verdict::Holds => Verdict::Differs(reason.to_owned()),
            other => other,
        };
        Self { verdict, ..self }
    }
}
