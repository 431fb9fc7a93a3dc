//! What switches count as changed tags is what the frames show: the tag with which each frame
//! arrives, compared with the tag it had a hop before.

use super::tags::TagChangeSums;
use super::violation::Violation;
use crate::network::Network;

/// Each frame that arrives with another tag than it had is one that a switch counted. If no frame
/// is on its way or has ended in between, the numbers are the same.
pub(crate) fn check(network: &Network) -> Result<(), Violation> {
    let Some(seen) = network.seen_tag_changes() else { return Ok(()) };
    let counted = network.tag_change_sums();
    let is_whole = network.frames_inside() == 0 && !network.has_lost_frames();
    let keys = seen.keys().chain(counted.keys());
    for &(tag, new_tag) in keys {
        let of = |sums: &TagChangeSums| sums.get(&(tag, new_tag)).copied().unwrap_or(0);
        let (seen, counted) = (of(&seen), of(&counted));
        if seen > counted || is_whole && seen != counted {
            return Err(Violation::TagChanges { tag, new_tag, counted, seen });
        }
    }
    Ok(())
}

impl Network {
    /// What the frames show in all parts, if only rules change tags.
    fn seen_tag_changes(&self) -> Option<TagChangeSums> {
        let mut sums = TagChangeSums::new();
        for part in &self.parts {
            for (&key, frames) in part.links.watch.changes()? {
                *sums.entry(key).or_default() += frames;
            }
        }
        Some(sums)
    }

    /// What all switches count, before restarts too.
    fn tag_change_sums(&self) -> TagChangeSums {
        let mut sums = TagChangeSums::new();
        for (switch, report) in self.switch_reports() {
            for (key, frames) in switch.tag_changes(&report) {
                *sums.entry(key).or_default() += frames;
            }
        }
        sums
    }

    /// Whether a data frame has ended anywhere but at a host.
    fn has_lost_frames(&self) -> bool {
        let in_switches = self.switch_reports().any(|(switch, report)| {
            report.totals.dropped + report.totals.punted + switch.past.data_ended != 0
        });
        in_switches || self.wires().any(|wire| wire.lost[0] != 0)
    }
}
