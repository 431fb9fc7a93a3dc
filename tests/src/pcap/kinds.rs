//! The three kinds of frames that a switch sends at a port. Each kind has an order of its own;
//! between kinds there is none, since different threads make them.

use super::file::Bytes;
use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv6Addr};

/// What a frame is to the switch that sends it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Passed on, made by somebody else.
    Forwarded,
    /// PFC, made by the worker.
    FlowControl,
    /// ARP, neighbor discovery, ICMP, made by the control thread.
    Own,
}

impl Kind {
    /// All of them, in the order in which files hold them.
    pub const ALL: [Self; 3] = [Self::Forwarded, Self::FlowControl, Self::Own];

    /// The name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Forwarded => "forwarded",
            Self::FlowControl => "flow-control",
            Self::Own => "own",
        }
    }
}

/// Who a switch is: its addresses, by which its own frames are known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Identity {
    macs: BTreeSet<[u8; 6]>,
    addresses: BTreeSet<IpAddr>,
}

const ETHERTYPE: usize = 12;
const IPV4: [u8; 2] = [0x08, 0x00];
const ARP: [u8; 2] = [0x08, 0x06];
const VLAN: [u8; 2] = [0x81, 0x00];
const IPV6: [u8; 2] = [0x86, 0xDD];
const MAC_CONTROL: [u8; 2] = [0x88, 0x08];

impl Identity {
    /// Adds a routed port with its MAC address and its addresses.
    pub(super) fn add(&mut self, mac: [u8; 6], addresses: impl IntoIterator<Item = IpAddr>) {
        let [a, b, c, d, e, f] = mac;
        let link_local = [0xFE, 0x80, 0, 0, 0, 0, 0, 0, a ^ 2, b, c, 0xFF, 0xFE, d, e, f];
        self.macs.insert(mac);
        self.addresses.insert(Ipv6Addr::from(link_local).into());
        self.addresses.extend(addresses);
    }

    /// The kind of a frame that the switch has sent.
    pub(super) fn kind(&self, frame: &[u8]) -> Kind {
        let mut at = ETHERTYPE;
        if frame[at.min(frame.len())..].starts_with(&VLAN) {
            at += 4;
        }
        let Some((ethertype, packet)) = frame.get(at..).and_then(|rest| rest.split_first_chunk())
        else {
            return Kind::Forwarded;
        };
        let is_ours = match *ethertype {
            MAC_CONTROL => return Kind::FlowControl,
            ARP => frame[6..].first_chunk().is_some_and(|mac| self.macs.contains(mac)),
            IPV4 => source::<4>(packet, 12).is_some_and(|source| self.owns(source.into())),
            IPV6 => source::<16>(packet, 8).is_some_and(|source| self.owns(source.into())),
            _ => false,
        };
        if is_ours { Kind::Own } else { Kind::Forwarded }
    }

    /// Of `frames`, those of `kind`, in order.
    pub(super) fn of_kind(&self, frames: &[Bytes], kind: Kind) -> Vec<Bytes> {
        frames.iter().filter(|frame| self.kind(frame) == kind).cloned().collect()
    }

    fn owns(&self, address: IpAddr) -> bool {
        self.addresses.contains(&address)
    }
}

fn source<const N: usize>(packet: &[u8], at: usize) -> Option<[u8; N]> {
    packet.get(at..)?.first_chunk().copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    const OURS: [u8; 6] = [2, 0, 0, 0, 0, 1];
    const THEIRS: [u8; 6] = [2, 0, 0, 1, 1, 1];

    fn frame(source: [u8; 6], tags: &[u8], ethertype: [u8; 2], packet: &[u8]) -> Bytes {
        [&[0xFF; 6], &source[..], tags, &ethertype, packet].concat()
    }

    #[test]
    fn a_switch_knows_its_own_frames_from_those_it_passes_on() {
        let mut identity = Identity::default();
        identity.add(OURS, ["10.0.1.254".parse().unwrap()]);
        let mut ours = [0; 20];
        ours[12..16].copy_from_slice(&[10, 0, 1, 254]);
        let mut link_local = [0; 40];
        link_local[8..24]
            .copy_from_slice(&[0xFE, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFE, 0, 0, 1]);
        for (kind, frame) in [
            (Kind::Own, frame(OURS, &[], IPV4, &ours)),
            (Kind::Own, frame(OURS, &[0x81, 0, 0, 9], IPV4, &ours)),
            (Kind::Own, frame(OURS, &[], IPV6, &link_local)),
            (Kind::Own, frame(OURS, &[], ARP, &[0; 28])),
            (Kind::Forwarded, frame(OURS, &[], IPV4, &[0; 20])),
            (Kind::Forwarded, frame(OURS, &[], IPV4, &ours[..15])),
            (Kind::Forwarded, frame(THEIRS, &[], ARP, &[0; 28])),
            (Kind::Forwarded, frame(THEIRS, &[], [0x88, 0xB5], &[])),
            (Kind::FlowControl, frame(OURS, &[], MAC_CONTROL, &[])),
        ] {
            assert_eq!(identity.kind(&frame), kind, "{frame:02x?}");
        }
        for length in 0..14 {
            assert_eq!(identity.kind(&[0x81; 14][..length]), Kind::Forwarded);
        }
    }
}
