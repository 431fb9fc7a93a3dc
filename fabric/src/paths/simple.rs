//! All loop-free paths, for networks where that is a number.

use super::listed::{Listed, PathCollector, SWITCHES_MAX, first_host, local_turn};
use super::{PathsError, Turn};
use crate::network::Network;

/// Steps of the search after which there are too many paths.
const STEPS_MAX: u64 = 100_000_000;

/// Bytes of all paths at the most. Lists that grow take twice as much for a moment.
const BYTES_MAX: usize = 256 << 20;

/// Every loop-free path from a switch with hosts to another, and those that stay in one. They are
/// counted before the first one is kept, so that too many take no memory.
pub(super) fn all(network: &Network) -> Result<Listed, PathsError> {
    let mut bytes = 0;
    search(network, &mut |turns| {
        bytes += turns.len() + 1;
        bytes <= BYTES_MAX
    })?;
    let mut collector = PathCollector::default();
    search(network, &mut |turns| {
        collector.push(network, turns);
        true
    })?;
    Ok(collector.finish(true))
}

/// Calls `look` with each path, until it says that it wants no more.
fn search(network: &Network, look: &mut dyn FnMut(&[Turn]) -> bool) -> Result<(), PathsError> {
    let visited = vec![false; network.switches()];
    let mut search = Search { network, look, visited, turns: Vec::new(), steps: 0 };
    for switch in network.all_switches() {
        if let Some(input) = first_host(network, switch) {
            if let Some(turn) = local_turn(network, switch) {
                search.found(&[turn])?;
            }
            search.go_on(input)?;
        }
    }
    Ok(())
}

struct Search<'a> {
    network: &'a Network,
    look: &'a mut dyn FnMut(&[Turn]) -> bool,
    visited: Vec<bool>,
    turns: Vec<Turn>,
    steps: u64,
}

impl Search<'_> {
    fn found(&mut self, turns: &[Turn]) -> Result<(), PathsError> {
        if (self.look)(turns) { Ok(()) } else { Err(PathsError::TooMany) }
    }

    /// Goes on from where a path has come in by `input`.
    fn go_on(&mut self, input: u32) -> Result<(), PathsError> {
        self.steps += 1;
        if self.steps > STEPS_MAX {
            return Err(PathsError::TooMany);
        }
        let switch = self.network.owner(input);
        if let Some(output) = first_host(self.network, switch).filter(|_| !self.turns.is_empty()) {
            self.turns.push((input, output));
            let turns = std::mem::take(&mut self.turns);
            self.found(&turns)?;
            self.turns = turns;
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
