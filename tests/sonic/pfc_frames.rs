//! PFC and link PAUSE frames as they are counted: `tests/qos/test_pfc_counters.py` and
//! `tests/pfcwd/test_xon_not_counted.py`. The same on files and on wires: `tests/pcap/pfc-*`, and
//! `pfc_frames` of the end-to-end tests.

use crate::dut::{self, Dut, MS, POOL, PROFILE};
use dataplane::wire::MacAddress;
use dataplane::wire::mac_control::Pfc;

/// Frames that theirs sends of each kind.
const FRAMES: u64 = 10;

fn dut() -> Dut {
    Dut::new(dut::builder(2, PROFILE, POOL))
}

/// A link PAUSE frame of IEEE 802.3, annex 31B.
fn pause(quanta: u16) -> [u8; 60] {
    let mut frame = [0; 60];
    frame[..6].copy_from_slice(&[1, 0x80, 0xC2, 0, 0, 1]);
    frame[6..12].copy_from_slice(&[2, 0, 0, 1, 1, 9]);
    frame[12..16].copy_from_slice(&[0x88, 0x08, 0, 1]);
    frame[16..18].copy_from_slice(&quanta.to_be_bytes());
    frame
}

/// What a class of a PFC frame counts as, `FRAMES` times.
fn of_class(class: u8, kind: &str) -> Vec<String> {
    let mut lines =
        vec![format!("p1 pfc.rx_frames +{FRAMES}"), format!("p1 pfc.rx_{kind}[{class}] +{FRAMES}")];
    if !dut::LOSSLESS.contains(&class) {
        lines.push(format!("p1 pfc.rx_ignored[{class}] +{FRAMES}"));
    } else if kind == "xoff" {
        lines.push(format!("p1 pfc.rx_pauses[{class}] +1"));
    }
    lines.sort();
    lines
}

/// Each of the eight classes: as many are counted as were sent, of this class alone.
#[test]
fn pfc_pause() {
    let mut dut = dut();
    for class in 0..8 {
        (0..FRAMES).for_each(|_| dut.hear_pfc(1, 1 << class, 0xFFFF));
        assert_eq!(dut.moved(), of_class(class, "xoff"));
    }
}

/// With time 0 they are counted too, apart from those that pause.
#[test]
fn pfc_unpause() {
    let mut dut = dut();
    for class in 0..8 {
        (0..FRAMES).for_each(|_| dut.hear_pfc(1, 1 << class, 0));
        assert_eq!(dut.moved(), of_class(class, "xon"));
    }
}

/// A link PAUSE frame is no PFC frame, whatever its time, and holds nothing up.
#[test]
fn fc_pause_and_unpause() {
    for quanta in [0xFFFF, 0] {
        let mut dut = dut();
        (0..FRAMES).for_each(|_| dut.rig.arrive(1, &pause(quanta)));
        dut.rig.settle();
        assert_eq!(dut.moved(), [format!("p1 pfc.rx_link_pause_frames +{FRAMES}")]);
        dut.send(2, 1, 3, 64, 5);
        assert_eq!(dut.left(1).len(), 5);
    }
}

/// Many more, one after the other, for all classes at once.
#[test]
fn continous_pfc() {
    const MANY: u64 = 50_000;
    let mut dut = dut();
    let all = (0..8).fold(Pfc::default(), |pfc, class| {
        pfc.with(dataplane::ids::Priority::from_low_bits(class), 0xFFFF)
    });
    let frame = all.to_frame(MacAddress([2, 0, 0, 1, 1, 9]));
    (0..MANY).for_each(|_| dut.rig.arrive(1, &frame));
    dut.rig.settle();
    let pfc = dut.rig.report(1).counters.pfc;
    assert_eq!((pfc.rx_frames, pfc.rx_xoff, pfc.rx_xon), (MANY, [MANY; 8], [0; 8]));
    assert_eq!(pfc.rx_pauses, [0, 0, 0, 1, 1, 0, 0, 0]);
}

/// MAC control frames are neither received nor dropped data, at any port, and none is forwarded.
/// Theirs allows a margin for frames of protocols.
#[test]
fn pfc_frames_not_counted_as_rx_ok() {
    const PORTS: u8 = 8;
    let mut dut = Dut::new(dut::builder(PORTS, PROFILE, POOL));
    for number in 1..=PORTS {
        (0..8).for_each(|class| (0..100).for_each(|_| dut.hear_pfc(number, 1 << class, 0xFFFF)));
    }
    for number in 1..=PORTS {
        let counters = dut.rig.report(number).counters;
        assert_eq!((counters.rx_frames, counters.rx_bytes), ([0; 8], [0; 8]), "port {number}");
        assert_eq!((counters.rx_unclassified_frames, counters.drops.iter().sum::<u64>()), (0, 0));
        assert_eq!(dut.left(number), Vec::<Vec<u8>>::new());
    }
    assert_eq!(dut.rig.totals().consumed, u64::from(PORTS) * 800);
}

/// A thousand frames that name no class, and a thousand XOFF of both lossless classes: no drop of
/// either. Theirs allows ten.
#[test]
fn xon_xoff_not_counted_rx_drop() {
    let mut dut = dut();
    let none = Pfc { enabled_bits: 0, quanta: [0xFFFF; 8] };
    (0..1_000).for_each(|_| dut.rig.arrive(1, &none.to_frame(MacAddress([2, 0, 0, 1, 1, 9]))));
    dut.rig.settle();
    assert_eq!(dut.moved(), ["p1 pfc.rx_frames +1000"], "it pauses nobody, and resumes nobody");
    (0..1_000).for_each(|_| dut.hear_pfc(1, 0b1_1000, 0xFFFF));
    let expected = [
        "p1 pfc.rx_frames +1000",
        "p1 pfc.rx_pauses[3] +1",
        "p1 pfc.rx_pauses[4] +1",
        "p1 pfc.rx_xoff[3] +1000",
        "p1 pfc.rx_xoff[4] +1000",
    ];
    assert_eq!(dut.moved(), expected);
    dut.pass(4 * MS);
    assert_eq!(dut.rig.totals().dropped, 0);
}
