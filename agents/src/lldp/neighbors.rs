//! The neighbors of a port (IEEE 802.1AB-2016, 9.2.7): new, changed and expired ones.

use super::pdu::Pdu;
use super::settings::{LldpSettings, SECOND_NS};
use alloc::vec::Vec;
use dataplane::time::Instant;

/// A neighbor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Neighbor {
    /// Its last LLDPDU.
    pub pdu: Pdu,
    /// When its first LLDPDU was received.
    pub since: Instant,
    /// When its last LLDPDU was received.
    pub heard_at: Instant,
    /// When its last LLDPDU expires.
    pub expires_at: Instant,
}

/// The effect of an LLDPDU on the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Change {
    /// A neighbor was added.
    Added,
    /// The LLDPDU of a known neighbor, unchanged.
    Unchanged,
    /// The LLDPDU of a known neighbor, changed.
    Changed,
    /// A neighbor was removed by its shutdown LLDPDU.
    Removed,
    /// A shutdown LLDPDU of an unknown neighbor.
    Unknown,
    /// A new neighbor was refused because the table is full.
    Refused,
}

/// The neighbors of one port.
#[derive(Clone, Debug, Default)]
pub(super) struct Neighbors {
    entries: Vec<Neighbor>,
    /// Until when a neighbor exists that was refused (tooManyNeighborsTimer).
    table_full_until: Instant,
}

impl Neighbors {
    /// Applies a received LLDPDU.
    pub(super) fn update(&mut self, now: Instant, pdu: Pdu, settings: &LldpSettings) -> Change {
        let is_it = |one: &Neighbor| (&one.pdu.chassis, &one.pdu.port) == (&pdu.chassis, &pdu.port);
        let place = self.entries.iter().position(is_it);
        let expires_at = now + u64::from(pdu.ttl_s) * SECOND_NS;
        match place {
            None if pdu.ttl_s == 0 => Change::Unknown,
            Some(at) if pdu.ttl_s == 0 => {
                self.entries.remove(at);
                Change::Removed
            }
            Some(at) => {
                let entries = &mut self.entries[at];
                (entries.heard_at, entries.expires_at) = (now, expires_at);
                if entries.pdu == pdu {
                    return Change::Unchanged;
                }
                entries.pdu = pdu;
                Change::Changed
            }
            // Known neighbors stay, so forged LLDPDUs with many names evict none.
            None if self.entries.len() >= settings.neighbors_max.max(1) => {
                self.table_full_until = self.table_full_until.max(expires_at);
                Change::Refused
            }
            None => {
                self.entries.push(Neighbor { pdu, since: now, heard_at: now, expires_at });
                Change::Added
            }
        }
    }

    /// Removes neighbors that have expired. Returns how many.
    pub(super) fn expire(&mut self, now: Instant) -> u64 {
        let before = self.entries.len();
        self.entries.retain(|neighbor| neighbor.expires_at > now);
        (before - self.entries.len()) as u64
    }

    /// Removes all neighbors. Returns how many.
    pub(super) fn clear(&mut self) -> u64 {
        let count = self.entries.len() as u64;
        *self = Self::default();
        count
    }

    /// When the next neighbor expires, or the last refused one would have expired.
    pub(super) fn next_at(&self, now: Instant) -> Option<Instant> {
        let crowded = Some(self.table_full_until).filter(|&until| until > now);
        self.entries.iter().map(|neighbor| neighbor.expires_at).chain(crowded).min()
    }

    pub(super) fn is_table_full(&self, now: Instant) -> bool {
        self.table_full_until > now
    }

    pub(super) fn entries(&self) -> &[Neighbor] {
        &self.entries
    }
}

#[cfg(test)]
mod tests {
    use super::super::pdu::Id;
    use super::*;
    use alloc::string::ToString;
    use dataplane::wire::MacAddress;

    fn at(seconds: u64) -> Instant {
        Instant::from_ns(seconds * SECOND_NS)
    }

    fn pdu(name: u8, ttl_s: u16) -> Pdu {
        Pdu::new(Id::chassis(MacAddress([2, 0, 0, 0, 0, name])), Id::port("1"), ttl_s)
    }

    #[test]
    fn neighbors_are_added_changed_expired_and_removed() {
        let (settings, mut table) = (LldpSettings::default(), Neighbors::default());
        assert_eq!(table.update(at(0), pdu(1, 0), &settings), Change::Unknown);
        assert_eq!(table.update(at(1), pdu(1, 120), &settings), Change::Added);
        assert_eq!(table.update(at(31), pdu(1, 120), &settings), Change::Unchanged);
        let mut other = pdu(1, 120);
        other.system_name = Some("other".to_string());
        assert_eq!(table.update(at(40), other, &settings), Change::Changed);
        let entries = &table.entries()[0];
        assert_eq!((entries.since, entries.heard_at, entries.expires_at), (at(1), at(40), at(160)));
        assert_eq!((table.expire(at(159)), table.next_at(at(159))), (0, Some(at(160))));
        assert_eq!((table.expire(at(160)), table.entries().len()), (1, 0));
        table.update(at(200), pdu(2, 9), &settings);
        assert_eq!(table.update(at(201), pdu(2, 0), &settings), Change::Removed);
        assert_eq!((table.clear(), table.next_at(at(201))), (0, None));
    }

    #[test]
    fn known_neighbors_are_not_evicted() {
        let (settings, mut table) = (LldpSettings::default(), Neighbors::default());
        for name in 0..4 {
            assert_eq!(table.update(at(0), pdu(name, 120), &settings), Change::Added);
        }
        for name in 4..200 {
            assert_eq!(table.update(at(1), pdu(name, 60), &settings), Change::Refused);
        }
        assert_eq!(table.update(at(2), pdu(3, 120), &settings), Change::Unchanged);
        assert!(table.is_table_full(at(60)) && !table.is_table_full(at(61)));
        assert_eq!((table.entries().len(), table.next_at(at(2))), (4, Some(at(61))));
    }
}
