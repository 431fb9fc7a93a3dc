//! How few priorities any rules could do with, and what shows it.

use super::acyclic::orders_of;
use super::exact::{Exact, Limits, Outcome};
use super::order::TagOrders;
use super::walk_graph::{Builder, channels};
use crate::paths::{Turn, Walks};
use random::Draw;
use std::ops::ControlFlow;

/// A path by its turns.
type Path = Vec<Turn>;

/// Paths that are added at a time at the least.
const ADDED_MIN: usize = 4;

/// A lower bound for the number of lossless priorities of one application class, with what shows
/// it. It holds for rules of any origin that keep all expected paths lossless.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Bound {
    /// One priority: nothing has to be shown.
    One,
    /// Two priorities: these turns of the paths close a cycle, and one tag must not keep them all.
    /// Each is the slot that a frame comes in by and the slot that it enters next.
    Cycle(Vec<(u32, u32)>),
    /// So many priorities: already these paths need them. Each is listed by its turns. That fewer
    /// do not suffice was found by exhaustive search; the paths are few, so that another program
    /// can repeat it.
    Paths(u8, Vec<Vec<Turn>>),
}

impl Bound {
    /// The bound.
    pub const fn priorities(&self) -> u8 {
        match self {
            Self::One => 1,
            Self::Cycle(_) => 2,
            Self::Paths(priorities, _) => *priorities,
        }
    }
}

/// Few of the paths, none of which can be left out, that need more than `tags` tags. `None` if the
/// search comes to its limits, or if all paths can do with so many.
pub(super) fn few_paths(walks: &Walks<'_>, tags: usize, limits: Limits) -> Option<Vec<Path>> {
    let search = |paths: &[Path]| {
        let mut builder = Builder::default();
        paths.iter().for_each(|path| builder.add(channels(walks.network, path)));
        Exact::new(&builder.finish(), walks.network.slots(), tags, false, limits).search()
    };
    // Paths are added until they cannot do with the tags: each time some that the tags found for
    // the ones before do not keep lossless.
    let mut chosen: Vec<Path> = Vec::new();
    loop {
        match search(&chosen) {
            Outcome::Impossible => break,
            Outcome::Open => return None,
            Outcome::Kept(kept) => {
                let orders = orders_of(walks.network, &kept)?;
                let broken = broken(walks, &orders, tags, chosen.len().max(ADDED_MIN));
                if broken.is_empty() {
                    return None;
                }
                chosen.extend(broken);
            }
        }
    }
    for at in (0..chosen.len()).rev() {
        let mut without = chosen.clone();
        without.remove(at);
        match search(&without) {
            Outcome::Impossible => chosen = without,
            Outcome::Open => break,
            Outcome::Kept(_) => {}
        }
    }
    Some(chosen)
}

/// `max` of the paths that are raised `tags` times or more, drawn at random (Vitter's algorithm R,
/// 1985).
fn broken(walks: &Walks<'_>, orders: &TagOrders, tags: usize, max: usize) -> Vec<Path> {
    let mut rng = random::seeded(1);
    let (mut drawn, mut seen): (Vec<Path>, usize) = (Vec::new(), 0);
    let _all = walks.visit(3, &mut |turns| {
        let raises = turns.iter().fold(0, |raises, &(input, output)| {
            raises + u8::from(orders.is_raise(input, output, raises))
        });
        if usize::from(raises) >= tags {
            seen += 1;
            let at = rng.index(seen);
            if drawn.len() < max {
                drawn.push(turns.to_vec());
            } else if let Some(place) = drawn.get_mut(at) {
                *place = turns.to_vec();
            }
        }
        ControlFlow::Continue(())
    });
    drawn
}
