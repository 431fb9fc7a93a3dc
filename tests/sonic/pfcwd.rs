//! Switches with the PFC watchdog, and the storms that it is to find.

use crate::dut::{self, Dut, MS, POOL, PROFILE};
use dataplane::pfc::watchdog::{Action, WatchdogSettings};

/// Theirs: a storm after 400 ms, and over after 400 ms.
pub(crate) const DETECTION_MS: u64 = 400;
pub(crate) const RESTORATION_MS: u64 = 400;
/// Frames that theirs sends by a stormed queue.
pub(crate) const FRAMES: u32 = 100;
/// How long one pause of all its quanta lasts at 10 Gb/s, rounded up.
pub(crate) const PAUSE_MS: u64 = 4;

/// `ports` ports with a watchdog.
pub(crate) fn watched(ports: u8, action: Action) -> Dut {
    let mut builder = dut::builder(ports, PROFILE, POOL);
    let (detection_ns, restoration_ns) = (DETECTION_MS * MS, RESTORATION_MS * MS);
    for port in &mut builder.settings.ports {
        port.watchdog = Some(WatchdogSettings { detection_ns, restoration_ns, action });
    }
    Dut::new(builder)
}

/// The peer of each of `ports` pauses the classes of its bits for `ms` milliseconds without a
/// break.
pub(crate) fn storm(dut: &mut Dut, ports: &[(u8, u8)], ms: u64) {
    for _ in 0..ms {
        for &(number, bits) in ports {
            dut.hear_pfc(number, bits, 0xFFFF);
        }
        dut.pass(MS);
    }
}

/// A storm that has been found.
pub(crate) fn detected(dut: &mut Dut, ports: &[(u8, u8)]) {
    storm(dut, ports, DETECTION_MS + 1);
    for &(number, bits) in ports {
        for queue in (0..8).filter(|queue| bits >> queue & 1 == 1) {
            assert!(dut.queue(number, queue).stormed, "port {number}, queue {queue}");
        }
    }
}

/// The storm stops, and its end has been found.
pub(crate) fn restored(dut: &mut Dut, ports: &[(u8, u8)]) {
    dut.pass((PAUSE_MS + RESTORATION_MS) * MS);
    for &(number, bits) in ports {
        for queue in (0..8).filter(|queue| bits >> queue & 1 == 1) {
            assert!(!dut.queue(number, queue).stormed, "port {number}, queue {queue}");
        }
    }
}

/// Storms begun and ended in a queue of a port.
pub(crate) fn storms(dut: &Dut, number: u8, queue: u8) -> (u64, u64) {
    let pfc = dut.rig.report(number).counters.pfc;
    (pfc.storms[usize::from(queue)], pfc.restored[usize::from(queue)])
}
