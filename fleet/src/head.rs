//! What runs, what is newest, and how far a rollout is. One key of the store holds it, and each
//! step replaces it only if nobody else did so first.
//!
//! A rollout is between two stages, or in one: `stage` stages are done, and if `touched`, some
//! switches of the next may have changed. Both are states that were proven. Forward and back pass
//! through the same ones.

use serde::{Deserialize, Serialize};

/// The head.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Head {
    /// The newest revision; 0 if there is none.
    pub latest: u64,
    /// The revision that all switches have, or had before the rollout.
    pub running: Option<u64>,
    /// The rollout, if one has begun and is not complete.
    pub rollout: Option<Rollout>,
}

/// A rollout that has begun.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rollout {
    /// The revision whose stages it passes.
    pub revision: u64,
    /// Whether it goes from the revision's parent to it, or back.
    pub direction: Direction,
    /// Stages that are done.
    pub stage: usize,
    /// Stages that there are.
    pub stages: usize,
    /// Whether switches of the next stage may have changed.
    pub touched: bool,
    /// Whether somebody works on it.
    pub state: State,
    /// Why it stopped.
    #[serde(default)]
    pub why: Option<String>,
}

/// Which way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// To the revision.
    Forward,
    /// To its parent.
    Back,
}

/// Whether a rollout goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// A `rollout`, `resume` or `rollback` works on it.
    Running,
    /// It is to stop after the stage that it is in.
    Pausing,
    /// It waits for `resume` or `rollback`.
    Paused,
    /// It stopped by itself, and waits for `resume` or `rollback`.
    Stopped,
}

/// Why a step is not possible now: one line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct NotNow(String);

/// What a rollout does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Have the switches of this stage go to what they have after it, or, going back, before it.
    Stage(usize),
    /// Nothing: all is done.
    Complete,
}

impl Head {
    /// Begins a rollout of `revision`, which has `stages` stages from `parent`.
    ///
    /// # Errors
    /// Another rollout is not complete, or something else than the parent runs.
    pub fn begin(&self, revision: u64, parent: Option<u64>, stages: usize) -> Result<Self, NotNow> {
        self.has_no_rollout()?;
        if self.running == Some(revision) {
            return Err(NotNow(format!("revision {revision} runs already")));
        }
        if self.running != parent {
            let of = |it: Option<u64>| it.map_or_else(|| "nothing".to_owned(), |it| it.to_string());
            return Err(NotNow(format!(
                "revision {revision} was planned from {}, and {} runs; push its rules again",
                of(parent),
                of(self.running)
            )));
        }
        Ok(self.with(Rollout::new(revision, Direction::Forward, 0, stages)))
    }

    /// Begins to go back from the revision that runs to its parent.
    ///
    /// # Errors
    /// A rollout is not complete, or the revision has no parent.
    pub fn begin_back(&self, parent: Option<u64>, stages: usize) -> Result<Self, NotNow> {
        self.has_no_rollout()?;
        let running = self.running.ok_or_else(|| NotNow("no revision runs".to_owned()))?;
        if parent.is_none() {
            return Err(NotNow(format!(
                "revision {running} is the first; there is none before it"
            )));
        }
        Ok(self.with(Rollout::new(running, Direction::Back, stages, stages)))
    }

    /// Goes on with a rollout that is paused, has stopped, or lost the one who worked on it, in
    /// `direction`, or in its own.
    ///
    /// # Errors
    /// There is none.
    pub fn resume(&self, direction: Option<Direction>) -> Result<Self, NotNow> {
        let rollout = self.rollout.as_ref();
        let rollout = rollout.ok_or_else(|| NotNow("no rollout has stopped".to_owned()))?;
        let direction = direction.unwrap_or(rollout.direction);
        Ok(self.with(Rollout { direction, state: State::Running, why: None, ..rollout.clone() }))
    }

    /// Asks the one who works on the rollout to stop after the current stage.
    ///
    /// # Errors
    /// None runs.
    pub fn pause(&self) -> Result<Self, NotNow> {
        match &self.rollout {
            Some(rollout) if matches!(rollout.state, State::Running | State::Pausing) => {
                Ok(self.with(Rollout { state: State::Pausing, ..rollout.clone() }))
            }
            _ => Err(NotNow("no rollout runs".to_owned())),
        }
    }

    /// What the rollout does next.
    pub fn next(&self) -> Next {
        let Some(rollout) = &self.rollout else { return Next::Complete };
        let &Rollout { stage, stages, touched, direction, .. } = rollout;
        match direction {
            _ if touched => Next::Stage(stage),
            Direction::Forward if stage < stages => Next::Stage(stage),
            Direction::Back if stage > 0 => Next::Stage(stage - 1),
            _ => Next::Complete,
        }
    }

    /// From now on switches of the next stage may have changed.
    #[must_use]
    pub fn touch(&self) -> Self {
        match (self.next(), &self.rollout) {
            (Next::Stage(stage), Some(rollout)) => {
                self.with(Rollout { stage, touched: true, ..rollout.clone() })
            }
            _ => self.clone(),
        }
    }

    /// All switches of the stage have changed.
    #[must_use]
    pub fn stage_done(&self) -> Self {
        let Some(rollout) = &self.rollout else { return self.clone() };
        let stage = rollout.stage + usize::from(rollout.direction == Direction::Forward);
        let state = if rollout.state == State::Pausing { State::Paused } else { rollout.state };
        self.with(Rollout { stage, touched: false, state, ..rollout.clone() })
    }

    /// The rollout stops where it is.
    #[must_use]
    pub fn stop(&self, why: &str) -> Self {
        let Some(rollout) = &self.rollout else { return self.clone() };
        self.with(Rollout { state: State::Stopped, why: Some(why.to_owned()), ..rollout.clone() })
    }

    /// The rollout is complete; `parent` is that of its revision.
    #[must_use]
    pub fn complete(&self, parent: Option<u64>) -> Self {
        let running = match &self.rollout {
            Some(rollout) if rollout.direction == Direction::Forward => Some(rollout.revision),
            Some(_) => parent,
            None => self.running,
        };
        Self { running, rollout: None, ..self.clone() }
    }

    /// A further revision is in the store.
    #[must_use]
    pub fn pushed(&self) -> Self {
        Self { latest: self.latest + 1, ..self.clone() }
    }

    fn has_no_rollout(&self) -> Result<(), NotNow> {
        match &self.rollout {
            None => Ok(()),
            Some(rollout) => Err(NotNow(format!(
                "the rollout of revision {} is not complete; `fleet resume` or `fleet rollback`",
                rollout.revision
            ))),
        }
    }

    fn with(&self, rollout: Rollout) -> Self {
        Self { rollout: Some(rollout), ..self.clone() }
    }
}

impl Rollout {
    const fn new(revision: u64, direction: Direction, stage: usize, stages: usize) -> Self {
        let state = State::Running;
        Self { revision, direction, stage, stages, touched: false, state, why: None }
    }
}

#[cfg(test)]
#[path = "head_tests.rs"]
mod tests;
