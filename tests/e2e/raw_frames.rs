//! Frames octet by octet, and what becomes of them by the counters.

use crate::host::Host;
use crate::lab::Lab;
use std::collections::BTreeMap;
use switch::control::stats::Stats;

/// A frame from `from` with this destination, ethertype and payload.
pub(crate) fn frame(to: [u8; 6], ethertype: u16, payload: &[u8]) -> Vec<u8> {
    let mut frame = [to, [2, 0, 0, 0, 0, 9]].concat();
    frame.extend(ethertype.to_be_bytes());
    frame.extend(payload);
    frame.resize(frame.len().max(60), 0);
    frame
}

/// An IPv4 header of 20 octets, of a packet of UDP of 46 octets, with a correct checksum.
pub(crate) fn ipv4(ttl: u8, from: [u8; 4], to: [u8; 4]) -> Vec<u8> {
    header(46, [0, 0], ttl, from, to)
}

/// An IPv4 packet of `octets`, whose DF bit is set, in a frame for the first port.
pub(crate) fn long(octets: u16, from: [u8; 4], to: [u8; 4]) -> Vec<u8> {
    let mut frame = frame(PORT_MAC, 0x0800, &header(octets, [0x40, 0], 9, from, to));
    frame.resize(14 + usize::from(octets), 0);
    frame
}

fn header(octets: u16, fragment: [u8; 2], ttl: u8, from: [u8; 4], to: [u8; 4]) -> Vec<u8> {
    let [high, low] = octets.to_be_bytes();
    let mut header = vec![0x45, 0, high, low, 0, 0, fragment[0], fragment[1], ttl, 17, 0, 0];
    header.extend(from);
    header.extend(to);
    let sum: u32 = header.chunks(2).map(|two| u32::from(two[0]) << 8 | u32::from(two[1])).sum();
    let folded = (sum & 0xFFFF) + (sum >> 16);
    let checksum = !u16::try_from((folded & 0xFFFF) + (folded >> 16)).expect("16 bits");
    header[10..12].copy_from_slice(&checksum.to_be_bytes());
    header
}

/// Sends each of `frames` so many times as its place says, from 1.
pub(crate) fn send_raw(lab: &Lab, host: &Host, frames: &[Vec<u8>]) {
    let script = lab.write(
        "send.py",
        "import socket, sys, time\n\
         s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)\n\
         s.bind((sys.argv[1], 0))\n\
         for n, octets in enumerate(sys.argv[2:], 1):\n    \
             for _ in range(n):\n        \
                 s.send(bytes.fromhex(octets))\n        \
                 time.sleep(0.001)\n",
    );
    let hex =
        |frame: &Vec<u8>| frame.iter().map(|octet| format!("{octet:02x}")).collect::<String>();
    let frames: Vec<String> = frames.iter().map(hex).collect();
    let arguments = format!("{} {} {}", script.display(), host.dev, frames.join(" "));
    host.run("/usr/bin/python3", &arguments).success();
}

/// Frames dropped by port and cause, between two samples.
pub(crate) fn dropped_between(before: &Stats, after: &Stats) -> BTreeMap<(String, String), u64> {
    let mut dropped = BTreeMap::new();
    for (old, new) in before.ports.iter().zip(&after.ports) {
        for (cause, frames) in &new.drops {
            let meanwhile = frames - old.drops.get(cause).copied().unwrap_or_default();
            if meanwhile > 0 {
                dropped.insert((new.name.clone(), cause.clone()), meanwhile);
            }
        }
    }
    dropped
}

/// The MAC address of the first port, set so.
pub(crate) const PORT_MAC: [u8; 6] = [2, 0, 0, 0, 0, 1];

/// Host 1 and host 3.
pub(crate) const HOSTS: ([u8; 4], [u8; 4]) = ([10, 1, 1, 2], [10, 1, 3, 2]);

/// A packet of UDP in a frame for the first port.
pub(crate) fn packet(from: [u8; 4], to: [u8; 4]) -> Vec<u8> {
    frame(PORT_MAC, 0x0800, &ipv4(9, from, to))
}

/// Frames that the first port receives and that go nowhere, each for another cause, where there is
/// a route `10.66.0.0/16 blackhole`.
pub(crate) fn dead_ends() -> Vec<Vec<u8>> {
    let (from, to) = HOSTS;
    let with = |at: usize, octet: u8| {
        let mut frame = packet(from, to);
        frame[at] ^= octet;
        frame
    };
    vec![
        with(25, 1),
        with(14, 0x10),
        frame(PORT_MAC, 0x0800, &[0x45, 0, 0xFF, 0xFF]),
        frame([2, 0, 0, 0, 0, 0x77], 0x0800, &ipv4(9, from, to)),
        frame([1, 0, 0x5E, 0, 0, 9], 0x88B5, &[]),
        packet([127, 0, 0, 1], to),
        packet(from, [10, 66, 1, 1]),
        packet([10, 1, 2, 9], to),
    ]
}
