//! The progress of a plan, in a file. The file is replaced atomically (written, then renamed)
//! before an operation starts and after it ends.

use config::plan_file::PlanFile;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::path::{Path, PathBuf};

/// How far an operation is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Stage {
    /// Nothing was done, or all of it was undone.
    #[default]
    Pending,
    /// It has started; some of its switches may have changed.
    Begun,
    /// All of them have acknowledged.
    Done,
}

/// How far a plan is.
#[derive(Debug)]
pub(super) struct Journal {
    file: PathBuf,
    state: State,
}

#[derive(Debug, Serialize, Deserialize)]
struct State {
    /// Of the operations and their order.
    plan: String,
    /// By id; what is not here is pending.
    stages: BTreeMap<u64, Stage>,
}

impl Journal {
    /// Reads the journal of a plan, or begins one.
    ///
    /// # Errors
    /// It cannot be read, or is that of another plan: the whole message.
    pub(super) fn open(file: &Path, plan: &PlanFile) -> Result<Self, String> {
        let own = fingerprint(plan);
        let state = if matches!(file.try_exists(), Ok(false)) {
            State { plan: own.clone(), stages: BTreeMap::new() }
        } else {
            config::read_json(file).map_err(|error| error.to_string())?
        };
        if state.plan != own {
            return Err(format!(
                "{}:1:1: is the state of another plan; name another file with --state",
                file.display()
            ));
        }
        Ok(Self { file: file.to_owned(), state })
    }

    /// Whether anything was begun.
    pub(super) fn is_begun(&self) -> bool {
        !self.state.stages.is_empty()
    }

    pub(super) fn stage(&self, id: u64) -> Stage {
        self.state.stages.get(&id).copied().unwrap_or_default()
    }

    /// Writes down how far an operation is.
    ///
    /// # Errors
    /// The file cannot be written.
    pub(super) fn set(&mut self, id: u64, stage: Stage) -> io::Result<()> {
        match stage {
            Stage::Pending => self.state.stages.remove(&id),
            Stage::Begun | Stage::Done => self.state.stages.insert(id, stage),
        };
        let written = self.file.with_extension("writing");
        let text = serde_json::to_string(&self.state).map_err(io::Error::other)?;
        fs::write(&written, text + "\n")?;
        fs::File::open(&written)?.sync_all()?;
        fs::rename(&written, &self.file)
    }
}

fn fingerprint(plan: &PlanFile) -> String {
    let mut hasher = DefaultHasher::new();
    for row in &plan.operations {
        (row.id, row.kind, &row.path).hash(&mut hasher);
    }
    plan.order.hash(&mut hasher);
    format!("{:016x}", hasher.finish())
}
