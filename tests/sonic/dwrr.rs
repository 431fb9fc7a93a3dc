//! Deficit weighted round robin among the queues of a port.

use crate::dut::{self, Dut, POOL, PROFILE, default_queue, dscp_of};
use crate::model::Profile;

/// A DSCP of each queue, and its weight.
type Weights = [(u8, u32); 7];

/// SONiC's default weights.
const DEFAULT: Weights = [(8, 14), (1, 14), (5, 14), (3, 15), (4, 15), (46, 14), (48, 14)];
/// Those of the test that changes them.
const CHANGED: Weights = [(8, 10), (1, 10), (5, 10), (3, 30), (4, 25), (46, 10), (48, 5)];
/// Theirs for most chips.
const LIMIT: u32 = 80;
const BYTES: usize = 1_000;

/// Blocks a port of a switch with `weights`, fills each queue in proportion to `filled`, releases
/// the port, and looks when each queue has sent its last frame. Says how many frames of all queues
/// were then left, at most.
fn most_left(weights: Weights, filled: Weights) -> u32 {
    let profile = Profile { dynamic_th: 3, ..PROFILE };
    let mut builder = dut::builder(2, profile, 3 * POOL);
    for (dscp, weight) in weights {
        builder.settings.scheduler.quantum_bytes[usize::from(default_queue(dscp))] = weight * 100;
    }
    let buffer = &mut builder.settings.buffer;
    buffer.size_bytes += 2_000_000;
    (buffer.lossy_bytes, buffer.lossy_queue_bytes) = (buffer.lossy_bytes + 2_000_000, 1_000_000);
    let mut dut = Dut::new(builder);
    dut.block(2);
    let mut left = [0; 64];
    for (dscp, weight) in filled {
        dut.send(1, 2, dscp, BYTES, 10 * weight);
        left[usize::from(dscp)] = 10 * weight;
    }
    dut.release(2);
    let order = dut.left(2);
    let mut remaining: u32 = left.iter().sum();
    assert_eq!(order.len(), remaining as usize, "every frame is sent");
    assert_eq!((dut.rig.totals().dropped, dut.rig.totals().held), (0, 0));
    let mut most = 0;
    for frame in &order {
        let of_queue = &mut left[usize::from(dscp_of(frame))];
        *of_queue -= 1;
        remaining -= 1;
        if *of_queue == 0 {
            most = most.max(remaining);
        }
    }
    most
}

/// WRRtest (testQosSaiDwrr).
#[test]
fn qos_sai_dwrr() {
    let left = most_left(DEFAULT, DEFAULT);
    assert!(left < LIMIT, "{left} frames are left when the first queue is empty");
}

/// WRRtest after other weights (testQosSaiDwrrWeightChange). Weights are fixed at the start of a
/// switch here, so the change is a restart. With the weights of before, the same traffic is far
/// from the limit.
#[test]
fn qos_sai_dwrr_weight_change() {
    let left = most_left(CHANGED, CHANGED);
    assert!(left < LIMIT, "{left} frames are left when the first queue is empty");
    let left = most_left(DEFAULT, CHANGED);
    assert!(left > 4 * LIMIT, "{left} frames are left with weights that do not fit");
}
