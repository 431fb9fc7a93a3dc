//! Packets that came before one that is missing, kept by a responder of selective repeat.

use super::bitmap::Bitmap;
use crate::psn::Psn;
use crate::wire::{Selective, TransportHeaders};

/// Words of the bitmap that a NAK carries end this many packets before its newest one.
const SAID_BEFORE: u32 = u64::BITS - 1;

/// One packet, without its payload.
#[derive(Clone, Copy, Debug)]
pub(super) struct Kept {
    pub(super) headers: TransportHeaders,
    pub(super) payload_bytes: u32,
    /// Whether its payload is kept, too.
    has_payload: bool,
}

/// The packets.
#[derive(Clone, Debug)]
pub(super) struct Reorder {
    /// What has arrived, with every number that a READ takes.
    arrived: Bitmap,
    /// Empty until the first packet is kept.
    packets: Vec<Option<Kept>>,
    payloads: Vec<Vec<u8>>,
}

impl Reorder {
    pub(super) fn new(window_packets: u32) -> Self {
        let arrived = Bitmap::new(window_packets);
        Self { arrived, packets: Vec::new(), payloads: Vec::new() }
    }

    /// Keeps a packet, `numbers` long, that comes after `expected`; whether it is a new one.
    pub(super) fn keep(
        &mut self,
        headers: &TransportHeaders,
        expected: Psn,
        numbers: u32,
        payload_bytes: u32,
        payload: Option<&[u8]>,
    ) -> bool {
        let window = self.arrived.packets();
        let ahead = headers.psn.since(expected);
        if ahead >= window || self.arrived.has(headers.psn) {
            return false;
        }
        if self.packets.is_empty() {
            let len = usize::try_from(window).unwrap_or(0);
            self.packets.resize(len, None);
            self.payloads.resize(len, Vec::new());
        }
        for index in 0..numbers.min(window - ahead) {
            self.arrived.set(headers.psn.plus(index));
        }
        let slot = self.arrived.slot(headers.psn);
        if let Some(payload) = payload {
            self.payloads[slot].clear();
            self.payloads[slot].extend_from_slice(payload);
        }
        let has_payload = payload.is_some();
        self.packets[slot] = Some(Kept { headers: *headers, payload_bytes, has_payload });
        true
    }

    /// The packet of this number, if it was kept, with its payload. [`Self::give_back`] the latter.
    pub(super) fn take(&mut self, psn: Psn) -> Option<(Kept, Option<Vec<u8>>)> {
        let slot = self.arrived.slot(psn);
        let kept = self.packets.get_mut(slot)?.take_if(|kept| kept.headers.psn == psn)?;
        let payload = kept.has_payload.then(|| std::mem::take(&mut self.payloads[slot]));
        Some((kept, payload))
    }

    /// Takes the buffer back, for the next packet of this number's place.
    pub(super) fn give_back(&mut self, psn: Psn, payload: Option<Vec<u8>>) {
        let slot = self.arrived.slot(psn);
        if let (Some(payload), Some(room)) = (payload, self.payloads.get_mut(slot)) {
            *room = payload;
        }
    }

    /// The first missing number moved from `before` to `expected`.
    pub(super) fn passed(&mut self, before: Psn, expected: Psn) {
        self.arrived.clear_until(before, expected);
        if expected.since(before) <= self.arrived.packets() {
            let mut psn = before;
            while psn != expected {
                let slot = self.arrived.slot(psn);
                if let Some(kept) = self.packets.get_mut(slot) {
                    *kept = None;
                }
                psn = psn.plus(1);
            }
        } else {
            self.packets.fill(None);
        }
    }

    /// What a NAK says that was triggered by packet `newest`.
    pub(super) fn say(&self, expected: Psn, newest: Psn) -> Selective {
        let first = match newest.since(expected) > SAID_BEFORE {
            true => newest.minus(SAID_BEFORE),
            false => expected,
        };
        let bits = (0..u64::BITS).filter(|&bit| {
            let psn = first.plus(bit);
            psn.since(expected) < self.arrived.packets() && self.arrived.has(psn)
        });
        Selective { first, arrived: bits.fold(0, |word, bit| word | 1 << bit) }
    }
}
