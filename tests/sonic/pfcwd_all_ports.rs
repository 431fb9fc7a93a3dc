//! Storms at every port at once: `tests/pfcwd/test_pfcwd_all_port_storm.py`.

use crate::dut::LOSSLESS;
use crate::pfcwd::{detected, restored, storms, watched};
use dataplane::pfc::watchdog::Action;

const PORTS: u8 = 32;

/// test_all_port_storm_restore: both lossless queues of all ports storm at once. Each is one storm,
/// found and over once, and no lossy queue has any.
#[test]
fn all_port_storm_restore() {
    let mut dut = watched(PORTS, Action::Drop);
    let stormed: Vec<(u8, u8)> = (1..=PORTS).map(|port| (port, 0b1_1000)).collect();
    detected(&mut dut, &stormed);
    for from in 1..=PORTS {
        let to = from % PORTS + 1;
        for queue in LOSSLESS {
            dut.send(from, to, queue, 64, 1);
        }
        dut.send(from, to, 8, 64, 1);
        assert_eq!(dut.left(to).len(), 1, "the lossy one");
    }
    assert_eq!(dut.rig.totals().dropped, 2 * u64::from(PORTS));
    restored(&mut dut, &stormed);
    for port in 1..=PORTS {
        for queue in 0..8 {
            let once = u64::from(LOSSLESS.contains(&queue));
            assert_eq!(storms(&dut, port, queue), (once, once), "port {port}, queue {queue}");
        }
    }
}
