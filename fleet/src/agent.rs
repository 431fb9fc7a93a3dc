//! What the agent of a switch does next, without I/O.
//!
//! The store says what is wanted. The agent fetches rules whose hash it does not run, has the
//! switch apply them, and says what the switch runs then. Without the store the switch stays as it
//! is. Whatever is lost, delayed or repeated on the way: once the store answers and what is wanted
//! stays the same, the switch runs it, or the store has the reason why not.

use crate::backoff::Backoff;
use crate::hash::content_hash;
use crate::records::{Ack, Want};
use std::time::Duration;

/// What happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input {
    /// The store answers; this is wanted of the switch, if anything is.
    Connected(Option<Want>),
    /// The store is gone.
    Lost,
    /// Something else is wanted now.
    Wanted(Option<Want>),
    /// The rules with this hash, if the store has them.
    Fetched {
        /// The hash.
        hash: String,
        /// Their text.
        text: Option<String>,
    },
    /// The switch has applied rules, or has refused them and runs what it ran.
    Applied {
        /// What was to be applied.
        want: Want,
        /// Why it was refused.
        result: Result<(), String>,
    },
    /// What the switch runs, by its own word.
    Runs(Option<String>),
}

/// What to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Connect, after this time.
    Connect(Duration),
    /// Read the rules with this hash.
    Fetch(String),
    /// Have the switch apply these rules.
    Apply(Want, String),
    /// Write what the switch has.
    Acknowledge(Ack),
}

/// The agent's state.
#[derive(Clone, Debug)]
pub struct Agent {
    version: String,
    connected: bool,
    backoff: Backoff,
    want: Option<Want>,
    /// What the switch runs.
    hash: Option<String>,
    /// The revision that it was wanted by.
    revision: Option<u64>,
    /// What is being fetched or applied.
    busy: Option<Busy>,
    /// What was refused, and why.
    refused: Option<(Want, String)>,
    losses: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Busy {
    Fetching(Want),
    Applying,
}

impl Agent {
    /// The agent of the switch `name`, which runs rules with the hash `hash` that came with
    /// `revision`.
    pub fn new(name: &str, version: &str, hash: Option<String>, revision: Option<u64>) -> Self {
        Self {
            version: version.to_owned(),
            connected: false,
            backoff: Backoff::new(name),
            want: None,
            hash,
            revision,
            busy: None,
            refused: None,
            losses: 0,
        }
    }

    /// Whether the store answers.
    pub const fn is_connected(&self) -> bool {
        self.connected
    }

    /// What is wanted, as far as it is known.
    pub const fn want(&self) -> Option<&Want> {
        self.want.as_ref()
    }

    /// What the store is told.
    pub fn ack(&self) -> Ack {
        let refused = self.refused.as_ref();
        let refused = refused.filter(|(want, _)| Some(want) == self.want.as_ref());
        Ack {
            hash: self.hash.clone(),
            revision: self.revision,
            error: refused.map(|(_, why)| why.clone()),
            version: self.version.clone(),
            losses: self.losses,
        }
    }

    /// A time up to `most`, another one for each switch.
    pub fn spread(&mut self, most: Duration) -> Duration {
        self.backoff.within(most)
    }

    /// Takes what happened.
    pub fn step(&mut self, input: Input) -> Vec<Action> {
        match input {
            Input::Connected(want) => {
                self.connected = true;
                self.backoff.reset();
                // What was refused is tried again: the switch may have other files by now.
                self.refused = None;
                self.want = want;
                let mut actions = self.next();
                // The lease is a new one, so there is no acknowledgement yet.
                if !actions.iter().any(|action| matches!(action, Action::Acknowledge(_))) {
                    actions.push(Action::Acknowledge(self.ack()));
                }
                actions
            }
            Input::Lost => {
                self.losses += u64::from(self.connected);
                self.connected = false;
                self.busy.take_if(|busy| *busy != Busy::Applying);
                vec![Action::Connect(self.backoff.next())]
            }
            Input::Wanted(want) => {
                if self.want == want {
                    return Vec::new();
                }
                self.want = want;
                self.next()
            }
            Input::Fetched { hash, text } => self.fetched(&hash, text),
            Input::Applied { want, result } => {
                self.busy = None;
                match result {
                    Ok(()) => {
                        self.hash = Some(want.hash);
                        self.revision = Some(want.revision);
                    }
                    Err(why) => self.refused = Some((want, why)),
                }
                self.next()
            }
            Input::Runs(hash) => {
                if self.hash == hash || self.busy == Some(Busy::Applying) {
                    return Vec::new();
                }
                self.hash = hash;
                self.revision = None;
                self.acknowledge()
            }
        }
    }

    fn fetched(&mut self, hash: &str, text: Option<String>) -> Vec<Action> {
        let Some(Busy::Fetching(want)) = self.busy.take_if(|busy| *busy != Busy::Applying) else {
            return Vec::new();
        };
        if want.hash != hash || self.want.as_ref() != Some(&want) {
            return self.next();
        }
        let why = match text {
            Some(text) if content_hash(&text) == hash => {
                self.busy = Some(Busy::Applying);
                return vec![Action::Apply(want, text)];
            }
            Some(_) => format!("the store's rules {hash} have another hash"),
            None => format!("the store has no rules {hash}"),
        };
        self.refused = Some((want, why));
        self.acknowledge()
    }

    /// Goes on towards what is wanted.
    fn next(&mut self) -> Vec<Action> {
        if self.busy.is_some() {
            return Vec::new();
        }
        let Some(want) = self.want.clone().filter(|_| self.connected) else { return Vec::new() };
        if self.hash.as_ref() == Some(&want.hash) {
            self.revision = Some(want.revision);
            self.refused = None;
            return self.acknowledge();
        }
        if self.refused.as_ref().is_some_and(|(refused, _)| *refused == want) {
            return self.acknowledge();
        }
        let hash = want.hash.clone();
        self.busy = Some(Busy::Fetching(want));
        vec![Action::Fetch(hash)]
    }

    fn acknowledge(&self) -> Vec<Action> {
        if self.connected { vec![Action::Acknowledge(self.ack())] } else { Vec::new() }
    }
}

#[cfg(test)]
#[path = "agent_tests.rs"]
mod tests;
