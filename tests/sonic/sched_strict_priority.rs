//! A strict queue with a peak rate.

use crate::dut::{self, Dut, LOSSY_DSCP, MS, POOL, PROFILE, port};
use dataplane::control_rings::Command;
use dataplane::ids::Priority;
use dataplane::queue::shaper::PeakRate;
use dataplane::testing::wire::Udp;
use dataplane::time::Speed;

const BYTES: usize = 1_000;
/// An ASIC counts the FCS, too.
const OCTETS: u64 = 1_004;
/// Theirs: octets a second, and for how long.
const LOW: u64 = 500_000;
const HIGH: u64 = 1_500_000;
const PIR: u64 = 750_000;
const SECONDS: u64 = 100;
const BURST: u32 = 8_192;
/// Theirs: fewer drops than the first are none, more than the second are those of the rate.
const FEW: u64 = 1_000;
const MANY: u64 = 10_000;
/// What the queue holds.
const HELD: u32 = 100;

/// What traffic of a rate to queue 0 of port 2 has done: frames sent to it, frames that left, and
/// frames dropped. No other counters move than those that say so.
fn traffic(dut: &mut Dut, octets_a_second: u64) -> [u64; 3] {
    let frames = octets_a_second / BYTES as u64 * SECONDS;
    let _ = dut.moved();
    let frame = Udp { frame_bytes: BYTES, ..Udp::routed(1, 2, LOSSY_DSCP) };
    let mut left = 0;
    for number in 0..frames {
        dut.rig.arrive_numbered(1, &frame, 0..1);
        dut.rig.settle();
        let due_ns = |number: u64| number * SECONDS * 1_000 * MS / frames;
        dut.rig.wait(due_ns(number + 1) - due_ns(number));
        left += dut.left(2).len() as u64;
    }
    dut.rig.settle();
    left += dut.left(2).len() as u64;
    let dropped = dut.risen("p2 drop.tail_drop");
    let known = [
        "p1 rx_bytes[0]",
        "p1 rx_frames[0]",
        "p2 drop.tail_drop",
        "p2 peak_rate_used_up[0]",
        "p2 tx_bytes[0]",
        "p2 tx_frames[0]",
    ];
    for line in dut.moved() {
        assert!(known.iter().any(|name| line.starts_with(name)), "{line}");
    }
    [frames, left, dropped]
}

/// test_rate_limiting_flow: without a peak rate nothing is dropped; with one, nothing of a rate
/// below, and what a rate above has too much. Theirs gives the queue a guaranteed rate, too, which
/// changes nothing while it is alone.
#[test]
fn rate_limiting_flow() {
    let mut builder = dut::builder(2, PROFILE, POOL);
    builder.settings.scheduler.strict_bits = 1;
    let mut dut = Dut::new(builder);
    let [frames, left, dropped] = traffic(&mut dut, HIGH);
    assert!(dropped < FEW, "{dropped}");
    assert_eq!((left, dropped), (frames, 0), "ours: exactly none");

    let peak = PeakRate { rate: Speed::from_bps(8 * PIR), burst_bytes: BURST };
    dut.rig.command(|| Command::PeakRate(port(2), Priority::EACH[0], Some(peak)));
    dut.rig.settle();
    let [frames, left, dropped] = traffic(&mut dut, LOW);
    assert!(dropped < FEW, "{dropped}");
    assert_eq!((left, dropped), (frames, 0), "ours: exactly none");

    let [frames, left, dropped] = traffic(&mut dut, HIGH);
    assert!(dropped > MANY, "{dropped}");
    let most = (PIR * SECONDS + u64::from(BURST)) / OCTETS;
    assert!((most - 2..=most).contains(&left), "ours: the rate and the burst, {left} of {most}");
    let held = dut.queue(2, 0).veq_frames;
    assert!((HELD - 1..=HELD).contains(&held), "{held}");
    assert_eq!(dropped, frames - left - u64::from(held), "ours: and the rest");
    // It goes on as before once the rate is gone.
    dut.rig.command(|| Command::PeakRate(port(2), Priority::EACH[0], None));
    dut.rig.settle();
    assert_eq!(dut.left(2).len(), held as usize);
}
