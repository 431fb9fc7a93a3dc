//! The flight recorder: the events of the last seconds in memory, and in a file once something
//! happens that is worth it.
//!
//! | file | idea |
//! |---|---|
//! | `event` | what is recorded |
//! | `sampler` | events from two samples of the statistics |
//! | `file` | the file, written by a thread of its own |
//!
//! Nothing here touches the packet path: the workers report as for `ctl stats`, more often.

pub(crate) mod event;
mod file;
pub(crate) mod sampler;

use crate::control::stats::Stats;
use config::switch::{FlightRecorder as Settings, Trigger};
use dataplane::time::Instant;
use event::{FlightEvent, What};
use file::EventFile;
use sampler::{Knowledge, Sampler};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// Events that are kept at the most, however short the time.
const EVENTS_MAX: usize = 65_536;
/// Events of one reply.
const ROWS_MAX: usize = 5_000;
/// Least time between two appendices to the file.
const WRITE_NS: u64 = 5_000_000_000;

/// A part of what a switch has recorded.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Recording {
    /// The switch.
    pub switch: String,
    /// Number of the last event there is; 0 if there is none.
    pub last: u64,
    /// Number of the earliest event that is still there.
    pub first: u64,
    /// Up to 5,000 events, in order of their numbers.
    pub events: Vec<FlightEvent>,
}

/// See the module's head.
#[derive(Debug, Default)]
pub(crate) struct FlightRecorder {
    settings: Settings,
    sampler: Sampler,
    events: VecDeque<FlightEvent>,
    last: u64,
    due: Instant,
    file: Option<EventFile>,
    /// Numbers of the tables that the sampler knows.
    tables: Option<(u64, u64)>,
    /// What the file is to be written for.
    trigger: Option<Trigger>,
    write_at: Instant,
}

impl FlightRecorder {
    /// A recorder with these settings.
    pub(crate) fn new(settings: &Settings) -> Self {
        let file = settings.file.as_ref().map(|path| EventFile::new(path.clone()));
        Self { settings: settings.clone(), file, ..Self::default() }
    }

    /// Whether a sample is due.
    pub(crate) fn is_due(&self, now: Instant) -> bool {
        now >= self.due
    }

    /// The next sample is due a period from now.
    pub(crate) fn postpone(&mut self, now: Instant) {
        self.due = now + self.settings.sample_ns;
    }

    /// Whether the tables with these numbers are new to it; then they are not any more.
    pub(crate) fn is_news(&mut self, tables: (u64, u64)) -> bool {
        self.tables.replace(tables) != Some(tables)
    }

    /// Takes a sample. `known` is given if the tables may have changed since the last one.
    pub(crate) fn sample(&mut self, stats: &Stats, known: Option<Knowledge>, now: Instant) {
        self.postpone(now);
        let events = self.sampler.take(stats, known, self.settings.stall_ns);
        for (at, what) in events {
            if let Some(trigger) = trigger_of(&what)
                && self.settings.triggers.contains(&trigger)
            {
                self.trigger = Some(trigger);
            }
            self.last += 1;
            let ago_ms = stats.uptime_ns.saturating_sub(at) / 1_000_000;
            self.events.push_back(FlightEvent {
                seq: self.last,
                time_unix_ms: stats.time_unix_ms.saturating_sub(ago_ms),
                uptime_ns: at,
                what,
            });
        }
        let oldest = stats.uptime_ns.saturating_sub(self.settings.duration_ns);
        while self.events.len() > EVENTS_MAX
            || self.events.front().is_some_and(|event| event.uptime_ns < oldest)
        {
            self.events.pop_front();
        }
        self.write(&stats.name, now);
    }

    /// Appends to the file what is not in it, if a trigger wants it.
    fn write(&mut self, switch: &str, now: Instant) {
        let Some(file) = &mut self.file else { return };
        if let Some(trigger) = self.trigger
            && now >= self.write_at
            && file.append(switch, trigger, &self.events)
        {
            self.trigger = None;
            self.write_at = now + WRITE_NS;
        }
    }

    /// The events with numbers above `after`.
    pub(crate) fn since(&self, switch: &str, after: u64) -> Recording {
        let newer = self.events.iter().filter(|event| event.seq > after);
        Recording {
            switch: switch.to_owned(),
            last: self.last,
            first: self.events.front().map_or(self.last, |event| event.seq),
            events: newer.take(ROWS_MAX).cloned().collect(),
        }
    }
}

/// What an event is a trigger of.
const fn trigger_of(what: &What) -> Option<Trigger> {
    match what {
        What::Storm { .. } => Some(Trigger::Storm),
        What::Drops { lossless_frames, .. } if *lossless_frames > 0 => Some(Trigger::LosslessDrop),
        What::Stall { .. } => Some(Trigger::Stall),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
