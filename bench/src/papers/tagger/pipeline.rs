//! Tagger, Figs 7 and 8: which queues a frame with a new tag uses.

use super::PAPER;
use crate::row::{Row, Verdict};
use dataplane::ids::{PortId, Priority, Tag};
use dataplane::rules::{TagMatch, TcamEntry};
use dataplane::testing::RigBuilder;
use dataplane::testing::wire::Udp;
use dataplane::wire::MacAddress;
use dataplane::wire::mac_control::Pfc;

/// Frames sent to switch B, whose rule raises their tag.
const FRAMES: u32 = 10;

/// Of [`FRAMES`] frames whose tag a rule raises from 1 (priority 3) to 2 (priority 4): those that
/// leave while the next switch has paused `paused`, and those that wait in the ingress queue of
/// priority 3.
fn with_a_pause(paused: u8) -> (usize, u64) {
    let mut builder = RigBuilder::routed(2);
    let port = |number| PortId::from_number(number).into_iter().collect();
    builder.rules = Some(vec![TcamEntry {
        tag: TagMatch { value: 1, mask: 63 },
        in_ports: port(1),
        out_ports: port(2),
        new_tag: Tag::from_low_bits(2),
    }]);
    let mut rig = builder.build();
    let pause = Pfc::default().with(Priority::from_low_bits(paused), u16::MAX);
    rig.arrive(2, &pause.to_frame(MacAddress([2, 0, 0, 1, 9, 9])));
    rig.turn();
    rig.arrive_numbered(1, &Udp::routed(1, 2, 26), 0..FRAMES);
    rig.settle();
    let viq_bytes = rig.report(1).queues[3].viq_bytes;
    (rig.sent(2).len(), u64::from(viq_bytes))
}

/// Figs 7 and 8.
pub(super) fn fig_7_and_8() -> Vec<Row> {
    let (new, old) = (with_a_pause(4), with_a_pause(3));
    let all = FRAMES as usize;
    let holds = new.0 == 0 && new.1 > 0;
    let ours = format!("{} of {all} frames in the ingress queue of the old tag", all - new.0);
    let seven = Verdict::holds_if(holds, "a frame is not charged to the queue of its own tag");
    let holds = new.0 == 0 && old.0 == all;
    let eight = Verdict::holds_if(holds, "a pause of the new priority does not stop the frames");
    let both = format!(
        "paused in the new priority {} of {all} frames leave, in the old one {}",
        new.0, old.0
    );
    vec![
        Row::new(
            PAPER,
            "Fig. 7: match-action pipeline",
            "ingress queue by tag, egress queue by new tag",
            ours,
            seven,
        ),
        Row::new(
            PAPER,
            "Fig. 8: priority transition",
            "a pause of the new priority stops the egress queue; else frames are lost",
            both,
            eight,
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rows_hold() {
        for row in fig_7_and_8() {
            assert_eq!(row.verdict, Verdict::Holds, "{row:?}");
        }
    }
}
