//! The parts of a VIQ between two workers, under every order in which the memory model lets each
//! see the other's stores.

use super::*;
use crate::buffer::tests::settings;
use crate::ids::WorkerId;
use crate::rx_queues::rx_queues;
use crate::settings::{Threshold, ViqSettings};

const FRAME_BYTES: u32 = 1_000;
/// Frames of headroom; the threshold is passed by the first frame.
const HEADROOM_FRAMES: u32 = 3;

/// Two workers poll a queue each of one port, and admit a burst of one frame a turn as long as they
/// believe that there is room. Together they exceed the headroom by one burst at the most, and each
/// word that is read is one that was written.
#[test]
fn two_queues_exceed_the_headroom_by_a_burst_at_the_most() {
    loom::model(|| {
        let viq = ViqSettings {
            reserved_bytes: 0,
            threshold: Threshold::Static { xoff_bytes: 0 },
            xon_offset_bytes: 0,
            headroom_bytes: HEADROOM_FRAMES * FRAME_BYTES,
            rate_map: None,
        };
        let mut settings = settings(&[(3, viq)], 1_000_000, 10_000);
        settings.ports.truncate(1);
        settings.ports[0].further_queues.push(WorkerId(1));
        let queues = rx_queues(&settings);
        let parts = Arc::new(Parts::new(queues.len()));
        let worker = |at: usize| {
            let mut shared =
                SharedQueues::new(Arc::clone(&parts), &queues, &queues[at..=at], |_| 1 << 3);
            let mut buffer = Buffer::new(&settings);
            let viq = ViqId::new(queues[at].id, Priority::from_low_bits(3));
            move || {
                for _ in 0..2 {
                    shared.read(&mut buffer, |_, is_backlogged| assert!(!is_backlogged));
                    if buffer.headroom_left_bytes(viq_port(viq), 1 << 3) >= FRAME_BYTES {
                        buffer.admit(viq, FRAME_BYTES).expect("there is room");
                    }
                    shared.publish(&buffer, |_| false);
                }
                buffer.viq(viq).bytes()
            }
        };
        let (mut one, mut other) = (worker(0), worker(1));
        let thread = loom::thread::spawn(move || other());
        let bytes = one() + thread.join().expect("the worker does not panic");
        assert!(bytes <= (HEADROOM_FRAMES + 1) * FRAME_BYTES, "{bytes}");
        assert!(bytes >= HEADROOM_FRAMES * FRAME_BYTES, "what has room is admitted: {bytes}");
    });
}

fn viq_port(viq: ViqId) -> PortId {
    PortId::from_index(viq.port_index()).expect("a queue")
}
