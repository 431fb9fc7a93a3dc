//! Local search on an order of switches, for the paths that need more than one raise.
//!
//! A path raises its tag at each switch that comes later in the order than both its neighbors on
//! the path: at a local maximum of rank. A path of four switches or fewer has one at the most, so
//! only longer ones matter; those that are *broken*, with two or more, are taken one at a time, and
//! one of their switches is moved to where the fewest paths through it are broken. That is WalkSAT
//! (Selman, Kautz and Cohen, 1994) with the positions of an order for variables.

use super::exact::Limits;
use crate::paths::Walks;
use random::{Draw, SplitMix64};
use std::ops::ControlFlow;

/// Paths that matter up to which the search is tried: their switches take four bytes each.
const PATHS_MAX: usize = 8_000_000;
/// Moves for each path that is broken at first, and a few more.
const MOVES: usize = 60;
/// Paths looked at after which the search ends: some seconds.
const LOOKS_MAX: u64 = 100_000_000;
/// One move in so many is random, to leave a place from which no single move leads on.
const RANDOM_ONE_IN: usize = 25;

/// Ranks with fewer broken paths than `ranks`, if any were found.
pub(super) fn repair(walks: &Walks<'_>, ranks: &[u32], limits: Limits) -> Option<Vec<u32>> {
    let mut search = Search::new(walks, ranks)?;
    let at_first = search.broken.len();
    let mut rng = random::seeded(1);
    let mut best = (at_first, search.keys.clone());
    for _ in 0..MOVES * (at_first + 100) {
        if search.broken.is_empty() || search.looks > LOOKS_MAX || limits.are_over() {
            break;
        }
        search.step(&mut rng);
        if search.broken.len() < best.0 {
            best = (search.broken.len(), search.keys.clone());
        }
    }
    (best.0 < at_first).then(|| {
        let mut order: Vec<u32> = (0..crate::network::u32_of(ranks.len())).collect();
        order.sort_by(|&one, &two| {
            let keys = [one, two].map(|switch| best.1[switch as usize]);
            keys[0].total_cmp(&keys[1]).then(one.cmp(&two))
        });
        super::order::ranks_of(&order)
    })
}

struct Search {
    /// By switch: its place in the order; between two there is always room for a third.
    keys: Vec<f64>,
    /// Switches of the paths, path after path.
    switches: Vec<u32>,
    /// Where each path begins in `switches`, and the end.
    starts: Vec<u32>,
    /// By switch: where it is on paths.
    through: Vec<Vec<Place>>,
    /// Broken paths, and by path its place among them.
    broken: Vec<u32>,
    places: Vec<u32>,
    /// How many paths have been looked at.
    looks: u64,
}

/// A switch on a path, with all that is needed to see whether a move changes anything there: most
/// do not, and need not look at the path.
#[derive(Clone, Copy)]
struct Place {
    path: u32,
    /// The switches before and after; at an end of the path, the switch itself.
    neighbors: [u32; 2],
}

/// In `places`: not broken.
const WHOLE: u32 = u32::MAX;

impl Search {
    /// `None` if there are too many paths.
    fn new(walks: &Walks<'_>, ranks: &[u32]) -> Option<Self> {
        let network = walks.network;
        let mut search = Self {
            keys: ranks.iter().map(|&rank| f64::from(rank)).collect(),
            switches: Vec::new(),
            starts: vec![0],
            through: vec![Vec::new(); network.switches()],
            broken: Vec::new(),
            places: Vec::new(),
            looks: 0,
        };
        let flow = walks.visit(5, &mut |turns| {
            if search.places.len() == PATHS_MAX {
                return ControlFlow::Break(());
            }
            let path = crate::network::u32_of(search.places.len());
            let owner = |at: usize| network.owner(turns[at].0);
            for at in 0..turns.len() {
                let neighbors = [owner(at.saturating_sub(1)), owner((at + 1).min(turns.len() - 1))];
                search.switches.push(owner(at));
                search.through[owner(at) as usize].push(Place { path, neighbors });
            }
            search.starts.push(crate::network::u32_of(search.switches.len()));
            search.places.push(WHOLE);
            ControlFlow::Continue(())
        });
        if flow.is_break() {
            return None;
        }
        for path in 0..crate::network::u32_of(search.places.len()) {
            search.note(path);
        }
        Some(search)
    }

    fn path(&self, path: u32) -> &[u32] {
        let at = path as usize;
        &self.switches[self.starts[at] as usize..self.starts[at + 1] as usize]
    }

    fn key(&self, switch: u32) -> f64 {
        self.keys[switch as usize]
    }

    fn is_broken(&self, path: u32) -> bool {
        let path = self.path(path);
        let raises = path.windows(3).filter(|three| {
            self.key(three[1]) > self.key(three[0]) && self.key(three[1]) > self.key(three[2])
        });
        raises.count() > 1
    }

    /// Keeps `broken` true to what the path is now.
    fn note(&mut self, path: u32) {
        let (is_broken, place) = (self.is_broken(path), self.places[path as usize]);
        if is_broken && place == WHOLE {
            self.places[path as usize] = crate::network::u32_of(self.broken.len());
            self.broken.push(path);
        } else if !is_broken && place != WHOLE {
            self.places[path as usize] = WHOLE;
            self.broken.swap_remove(place as usize);
            if let Some(&moved) = self.broken.get(place as usize) {
                self.places[moved as usize] = place;
            }
        }
    }

    /// Takes one broken path and moves one of its switches.
    fn step(&mut self, rng: &mut SplitMix64) {
        let path = self.broken[rng.index(self.broken.len())];
        let path = self.path(path).to_vec();
        let mut moves: Vec<(u32, f64)> = Vec::new();
        for at in 1..path.len() - 1 {
            let keys = [path[at - 1], path[at], path[at + 1]].map(|switch| self.key(switch));
            if keys[1] > keys[0] && keys[1] > keys[2] {
                // Below both neighbors, or below the nearer one: no maximum any more; or one of
                // them above it.
                moves.push((path[at], beside(keys[0].min(keys[2]), -1.0, rng)));
                moves.push((path[at], beside(keys[0].max(keys[2]), -1.0, rng)));
                moves.push((path[at - 1], beside(keys[1], 1.0, rng)));
                moves.push((path[at + 1], beside(keys[1], 1.0, rng)));
            }
        }
        let chosen = if rng.index(RANDOM_ONE_IN) == 0 {
            moves.get(rng.index(moves.len())).copied()
        } else {
            let costs = moves.iter().map(|&(switch, key)| (self.cost(switch, key), switch, key));
            costs.min_by_key(|&(cost, _, _)| cost).map(|(_, switch, key)| (switch, key))
        };
        if let Some((switch, key)) = chosen {
            let touched = self.touched(switch, key);
            self.keys[switch as usize] = key;
            touched.into_iter().for_each(|path| self.note(path));
        }
    }

    /// The paths on which `switch` would change sides with a neighbor if it were at `key`.
    fn touched(&mut self, switch: u32, key: f64) -> Vec<u32> {
        let before = self.key(switch);
        let changes = |&neighbor: &u32| (self.key(neighbor) > before) != (self.key(neighbor) > key);
        let places = self.through[switch as usize].iter();
        let touched = places.filter(|place| place.neighbors.iter().any(changes));
        touched.map(|place| place.path).collect()
    }

    /// Broken paths through `switch` if it were at `key`, less those broken now.
    fn cost(&mut self, switch: u32, key: f64) -> i64 {
        let touched = self.touched(switch, key);
        self.looks += (self.through[switch as usize].len() / 16 + touched.len()) as u64;
        let now = touched.iter().filter(|&&path| self.places[path as usize] != WHOLE).count();
        let before = std::mem::replace(&mut self.keys[switch as usize], key);
        let then = touched.iter().filter(|&&path| self.is_broken(path)).count();
        self.keys[switch as usize] = before;
        i64::try_from(then).unwrap_or(i64::MAX) - i64::try_from(now).unwrap_or(0)
    }
}

/// A key near `key`, on the side of `sign`, that hardly any other switch has.
fn beside(key: f64, sign: f64, rng: &mut SplitMix64) -> f64 {
    let small = u32::try_from(rng.index(1 << 20)).unwrap_or(1) + 1;
    key + sign * f64::from(small) * 1e-7
}
