//! Constraints that grow with the operations: adds share what they wait for.
//!
//! [`super::minimal`] gives each add a set of removes of its own, which can take a constraint for
//! each remove and add. Here the sets are nested: what one add of the row waits for, all later ones
//! wait for too. The row is cut into **stages**. A stage begins where an add must wait for more;
//! the removes that it needs in addition, and the barrier of the stage before, are done before the
//! barrier of the stage, and the adds of the stage wait for that barrier. So each remove and each
//! add that has to wait is in one constraint, and each barrier in one more.
//!
//! The proof is that of [`super::minimal`]: an add is clear among the adds before it in the row and
//! the old paths that it does not wait for. The deadline is kept, too: the row has the adds by
//! their times, the longest first, so what one add can wait for in time, all later ones can.

use super::minimal::{Constraints, Finder, Row, Scene};
use crate::network::u32_of;

/// Adds of the row that wait for the same.
#[derive(Default)]
struct Stage {
    /// Removes that the stages before do not wait for.
    removes: Vec<u32>,
    adds: Vec<u32>,
}

/// The constraints of the row in stages. `None` if an add cannot be clear within the deadline.
pub(super) fn place_all(finder: &Finder<'_>, row: Row) -> Option<Constraints> {
    let mut scene = finder.scene(&[]);
    // All old paths are in force until a stage waits for them.
    scene.harmful.iter().for_each(|&remove| scene.labels.insert(remove));
    let mut is_waited_for = vec![false; finder.dependencies.edges.len()];
    let mut stages: Vec<Stage> = Vec::new();
    for (&add, &waits) in row.adds.iter().zip(&row.waits) {
        scene.labels.insert(add);
        if !waits {
            continue;
        }
        if !scene.labels.start(add) {
            let removes = finder.clear(&mut scene, add, &mut is_waited_for)?;
            stages.push(Stage { removes, adds: Vec::new() });
        }
        scene.labels.forget();
        if let Some(stage) = stages.last_mut() {
            stage.adds.push(add);
        }
    }
    Some(Constraints {
        barriers: stages.len(),
        pairs: pairs(u32_of(finder.dependencies.edges.len()), &stages),
        row: row.adds,
    })
}

/// The pairs of stages whose barriers are numbered from `first`.
fn pairs(first: u32, stages: &[Stage]) -> Vec<(u32, u32)> {
    let mut pairs = Vec::new();
    for (barrier, stage) in (first..).zip(stages) {
        pairs.extend(stage.removes.iter().map(|&remove| (remove, barrier)));
        pairs.extend((barrier > first).then(|| (barrier.wrapping_sub(1), barrier)));
        pairs.extend(stage.adds.iter().map(|&add| (barrier, add)));
    }
    pairs
}

impl Finder<'_> {
    /// Takes as few old paths out of force as make `add` clear, of those in time that are not
    /// waited for yet, and returns them. The labels are those of `add` then.
    fn clear(
        &self,
        scene: &mut Scene<'_>,
        add: u32,
        is_waited_for: &mut [bool],
    ) -> Option<Vec<u32>> {
        let Scene { labels, harmless, harmful } = scene;
        let mut out = Vec::new();
        // What is harmless with everything new is not so with what is too late to wait for.
        for candidates in [harmful, harmless] {
            let may_go = |&&r: &&u32| !is_waited_for[r as usize] && self.is_in_time(r, add);
            let more: Vec<u32> = candidates.iter().filter(may_go).copied().collect();
            more.iter().for_each(|&remove| labels.take(remove));
            out.extend(more);
            if labels.start(add) {
                out.retain(|&remove| !labels.try_insert(remove));
                out.iter().for_each(|&remove| is_waited_for[remove as usize] = true);
                return Some(out);
            }
        }
        None
    }
}
