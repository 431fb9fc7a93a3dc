//! Figs 7 and 8: a frame is charged by its old tag and waits by its new one. Two switches of the
//! real data plane, B and C, and a source that obeys pauses: B raises tag 1 to 2, and C's egress is
//! paused.

use super::PAPER;
use crate::row::{Row, Verdict};
use dataplane::counters::DropReason;
use dataplane::ids::{PortId, Priority, Tag};
use dataplane::rules::{TagMatch, TcamEntry};
use dataplane::testing::wire::port_mac;
use dataplane::testing::{Rig, RigBuilder};
use dataplane::wire::MacAddress;
use dataplane::wire::mac_control::{MacControl, Pfc};

/// Frames that the source has.
const FRAMES: u32 = 500;
/// DSCP of tag 1.
const DSCP: u8 = 26;
/// DSCP of tag 2, which B raises to.
const RAISED_DSCP: u8 = 27;
/// Priorities of tags 1 and 2.
const PRIORITIES: [u8; 2] = [3, 4];

/// What the two switches did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Transition {
    /// Frames that B sent and C had no room for.
    overflowed: u64,
    /// Classes that B paused at the source, as bits.
    source_paused_bits: u8,
    /// Classes that C paused at B, as bits.
    b_paused_bits: u8,
    /// Whether every frame left B with the DSCP of the new tag.
    is_raised: bool,
}

fn pfc(class: u8, quanta: u16) -> [u8; 60] {
    let class = Priority::from_low_bits(class);
    Pfc::default().with(class, quanta).to_frame(MacAddress([2, 0, 0, 1, 9, 9]))
}

/// B, which raises tag 1 to 2; the new tag waits in `egress_priority`.
fn switch_b(egress_priority: u8) -> Rig {
    let mut builder = RigBuilder::routed(2);
    let all = [1, 2].into_iter().filter_map(PortId::from_number).collect();
    let tag = TagMatch { value: 1, mask: 63 };
    let raise = TcamEntry { tag, in_ports: all, out_ports: all, new_tag: Tag::from_low_bits(2) };
    builder.rules = Some(vec![raise]);
    builder.tags.priority[2] = Priority::from_low_bits(egress_priority);
    builder.build()
}

/// Classes that the PFC frames among `sent` pause, as bits; and the other frames.
fn sort(sent: Vec<Vec<u8>>) -> (u8, Vec<Vec<u8>>) {
    let (mut paused_bits, mut data) = (0, Vec::new());
    for frame in sent {
        let MacControl::Pfc(pfc) = MacControl::parse(&frame) else {
            data.push(frame);
            continue;
        };
        let pauses = |class: &Priority| pfc.quanta[class.index()] > 0;
        let classes = Priority::in_bits(pfc.enabled_bits).filter(pauses);
        paused_bits |= classes.fold(0, |bits, class| bits | class.bit());
    }
    (paused_bits, data)
}

/// One frame after the other, until there are no more or B pauses the source.
fn run(egress_priority: u8) -> Transition {
    let mut b = switch_b(egress_priority);
    let mut c = RigBuilder::routed(2).build();
    // A chip receives whatever arrives.
    c.workers[0].device_mut().has_no_rx_ring = true;
    c.arrive(2, &pfc(PRIORITIES[1], u16::MAX));
    c.settle();
    let mut seen = Transition { is_raised: true, ..Transition::default() };
    for _ in 0..FRAMES {
        if seen.source_paused_bits != 0 {
            break;
        }
        b.load(1, 2, DSCP, 1);
        b.settle();
        seen.source_paused_bits |= sort(b.sent(1)).0;
        for mut frame in sort(b.sent(2)).1 {
            seen.is_raised &= frame[15] >> 2 == RAISED_DSCP;
            frame[..6].copy_from_slice(&port_mac(1).0);
            c.arrive(1, &frame);
        }
        c.settle();
        for frame in c.sent(1) {
            seen.b_paused_bits |= sort(vec![frame.clone()]).0;
            b.arrive(2, &frame);
        }
        b.settle();
    }
    seen.overflowed = c.dropped(1, DropReason::HeadroomOverrun);
    seen
}

/// Figs 7 and 8.
pub(super) fn rows() -> [Row; 2] {
    let [by_ingress, by_new_tag] = PRIORITIES.map(run);
    let [first, second] = PRIORITIES.map(|priority| 1 << priority);
    let is_pipeline = by_new_tag.source_paused_bits == first
        && by_new_tag.b_paused_bits == second
        && by_new_tag.is_raised;
    let pipeline = Row::new(
        PAPER,
        "Fig. 7: match-action pipeline",
        "ingress queue by tag, tag rewritten, egress queue by new tag",
        "the source is paused in the old tag's priority, B in the new one's",
        Verdict::holds_if(is_pipeline, format!("other classes are paused: {by_new_tag:?}")),
    );
    let ours = format!(
        "of {FRAMES} frames C has no room for {} (a), {} (b)",
        by_ingress.overflowed, by_new_tag.overflowed
    );
    let is_it = by_ingress.overflowed > 0 && by_new_tag.overflowed == 0;
    let transition = Row::new(
        PAPER,
        "Fig. 8: priority transition",
        "(a) egress priority of the old tag: drops; (b) of the new one: none",
        ours,
        Verdict::holds_if(is_it, "no loss in (a), or loss in (b)"),
    );
    [pipeline, transition]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_priority_of_the_new_tag_can_be_paused() {
        assert!(rows().iter().all(|row| row.verdict == Verdict::Holds), "{:?}", rows());
        let by_ingress = run(PRIORITIES[0]);
        assert_eq!(by_ingress.b_paused_bits, 1 << PRIORITIES[1], "C pauses what B does not use");
        assert_eq!(by_ingress.source_paused_bits, 0);
    }
}
