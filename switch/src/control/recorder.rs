//! The flight recorder's samples: the statistics that all workers have just given, and the tables
//! if they may have changed.

use super::Control;
use super::protocol::Reply;
use super::stats::Stats;
use crate::flight_recorder::sampler::Knowledge;
use crate::platform::Platform;
use dataplane::time::Instant;
use std::hash::{DefaultHasher, Hash, Hasher};

impl<P: Platform> Control<P> {
    /// Gives the recorder `stats`, if a sample is due.
    pub(super) fn record(&mut self, stats: &Stats, now: Instant) {
        if !self.recorder.is_due(now) {
            return;
        }
        let is_news = self.recorder.is_news((self.epoch, self.tables.generation()));
        let known = is_news.then(|| self.knowledge());
        self.recorder.sample(stats, known, now);
    }

    fn knowledge(&self) -> Knowledge {
        let (config, routes) = (self.tables.config(), self.tables.routes());
        let neighbors = routes.neighbors().map(|(address, port, mac)| {
            let place = (self.port_name(port), mac.to_string());
            (address, place)
        });
        let entries = config.rules.iter().flat_map(|rules| &rules.entries);
        let mut hash = DefaultHasher::new();
        entries.clone().for_each(|entry| entry.hash(&mut hash));
        Knowledge {
            neighbors: neighbors.collect(),
            routes: (config.routes.len() + routes.learned().len()) as u64,
            rules: (hash.finish(), entries.count()),
        }
    }

    /// The events after this one.
    pub(super) fn recording(&self, after: u64) -> Reply {
        Reply::Recorder(self.recorder.since(&self.tables.config().name, after))
    }
}
