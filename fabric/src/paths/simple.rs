//! All loop-free paths, for networks where that is a number.

use super::listed::{Listed, PathCollector, SWITCHES_MAX, first_host, local_turn};
use super::{PathsError, Turn};
use crate::network::Network;

/// Steps of the search after which there are too many paths.
const STEPS_MAX: u64 = 100_000_000;

/// Every loop-free path from a switch with hosts to another, and those that stay in one.
pub(super) fn all(network: &Network) -> Result<Listed, PathsError> {
    let mut search = Search {
        network,
        collector: PathCollector::default(),
        visited: vec![false; network.switches()],
        turns: Vec::new(),
        steps: 0,
    };
    for switch in network.all_switches() {
        if let Some(input) = first_host(network, switch) {
            if let Some(turn) = local_turn(network, switch) {
                search.collector.push(network, &[turn]);
            }
            search.go_on(input)?;
        }
    }
    Ok(search.collector.finish(true))
}

struct Search<'a> {
    network: &'a Network,
    collector: PathCollector,
    visited: Vec<bool>,
    turns: Vec<Turn>,
    steps: u64,
}

impl Search<'_> {
    /// Goes on from where a path has come in by `input`.
    fn go_on(&mut self, input: u32) -> Result<(), PathsError> {
        self.steps += 1;
        if self.steps > STEPS_MAX {
            return Err(PathsError::TooMany);
        }
        let switch = self.network.owner(input);
        if let Some(output) = first_host(self.network, switch).filter(|_| !self.turns.is_empty()) {
            self.turns.push((input, output));
            self.collector.push(self.network, &self.turns);
            self.turns.pop();
        }
        if self.turns.len() + 1 >= SWITCHES_MAX {
            return Ok(());
        }
        self.visited[switch as usize] = true;
        for (output, far) in self.network.neighbors(switch) {
            if !self.visited[self.network.owner(far) as usize] {
                self.turns.push((input, output));
                self.go_on(far)?;
                self.turns.pop();
            }
        }
        self.visited[switch as usize] = false;
        Ok(())
    }
}
