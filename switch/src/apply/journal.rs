//! The progress of a plan, in a file. The file is replaced as a whole before an operation starts
//! and after it ends. A lock beside it keeps a second process away.

use crate::replace_file::replace;
use crate::side_files::{open_lock, with_suffix};
use config::plan_file::PlanFile;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::{File, TryLockError};
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
    _locked: File,
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
    /// It cannot be read, is that of another plan, or another process executes it: the whole
    /// message.
    pub(super) fn open(file: &Path, plan: &PlanFile) -> Result<Self, String> {
        let own = fingerprint(plan);
        let locked = lock(file)?;
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
        Ok(Self { file: file.to_owned(), state, _locked: locked })
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
        let text = serde_json::to_string(&self.state).map_err(io::Error::other)?;
        replace(&self.file, &(text + "\n"))
    }
}

/// Locks `FILE.lock`, which stays: whoever removed it could remove another's.
fn lock(file: &Path) -> Result<File, String> {
    let path = with_suffix(file, ".lock");
    let locked = open_lock(&path).map_err(TryLockError::Error).and_then(|lock| {
        lock.try_lock()?;
        Ok(lock)
    });
    locked.map_err(|error| match error {
        TryLockError::WouldBlock => format!(
            "{}:1:1: another `apply` executes this plan; wait for its end, or name another file with --state",
            file.display()
        ),
        TryLockError::Error(error) => format!("{}: cannot be locked: {error}", path.display()),
    })
}

fn fingerprint(plan: &PlanFile) -> String {
    let mut hasher = DefaultHasher::new();
    for row in &plan.operations {
        (row.id, row.kind, &row.path).hash(&mut hasher);
    }
    plan.order.hash(&mut hasher);
    format!("{:016x}", hasher.finish())
}
