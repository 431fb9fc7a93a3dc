//! The fewest tags for given paths, by trying everything: the oracle of the compiler's search.
//!
//! A path keeps its tag at a turn or gets the next one. Tags suffice if each path can be cut so
//! that for each tag the turns that keep it, of all paths together, close no cycle. Nothing here
//! knows of orders, solvers or rules.

use std::collections::HashSet;

/// A turn from channel to channel.
type Turn = (u32, u32);

/// How many steps are tried before the oracle gives no answer.
const STEPS_MAX: u64 = 3_000_000;

/// The fewest tags for paths, each listed by its channels; `None` if that takes too long.
pub(crate) fn fewest_tags(paths: &[Vec<u32>]) -> Option<u8> {
    (1..).find_map(|tags| match suffice(paths, tags) {
        Some(true) => Some(Some(tags)),
        Some(false) => None,
        None => Some(None),
    })?
}

/// Whether so many tags suffice; `None` if that takes too long.
pub(crate) fn suffice(paths: &[Vec<u32>], tags: u8) -> Option<bool> {
    let turns = |path: &Vec<u32>| path.windows(2).map(|pair| (pair[0], pair[1])).collect();
    let mut paths: Vec<Vec<Turn>> = paths.iter().map(turns).collect();
    paths.sort_unstable();
    paths.dedup();
    let mut trial = Trial { paths, kept: vec![HashSet::new(); usize::from(tags)], steps: 0 };
    let found = trial.go_on(0, 0, 0);
    (trial.steps <= STEPS_MAX).then_some(found)
}

struct Trial {
    paths: Vec<Vec<Turn>>,
    /// By tag: the turns that keep it.
    kept: Vec<HashSet<Turn>>,
    steps: u64,
}

impl Trial {
    /// Tries every continuation from a turn of a path, which comes there with `tag`.
    fn go_on(&mut self, path: usize, at: usize, tag: usize) -> bool {
        self.steps += 1;
        if self.steps > STEPS_MAX {
            return false;
        }
        let Some(turns) = self.paths.get(path) else { return true };
        let Some(&turn) = turns.get(at) else { return self.go_on(path + 1, 0, 0) };
        if self.kept[tag].contains(&turn) {
            return self.go_on(path, at + 1, tag);
        }
        if !self.leads(tag, turn.1, turn.0) {
            self.kept[tag].insert(turn);
            if self.go_on(path, at + 1, tag) {
                return true;
            }
            self.kept[tag].remove(&turn);
        }
        tag + 1 < self.kept.len() && self.go_on(path, at + 1, tag + 1)
    }

    /// Whether turns that keep `tag` lead from one channel to another.
    fn leads(&self, tag: usize, from: u32, to: u32) -> bool {
        let mut seen = vec![from];
        let mut at = 0;
        while at < seen.len() {
            let here = seen[at];
            at += 1;
            for &(_, next) in self.kept[tag].iter().filter(|turn| turn.0 == here) {
                if !seen.contains(&next) {
                    seen.push(next);
                }
            }
        }
        seen.contains(&to)
    }
}
