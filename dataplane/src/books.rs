//! What a worker's ports share while frames move: the buffer's books, the queues' memory, the
//! totals.

use crate::buffer::{Buffer, Ledger, LedgerWriter, ViqId};
use crate::counters::Totals;
use crate::frame::Frame;
use crate::ids::PortId;
use crate::limits::{PORTS_MAX, PRIORITIES};
use crate::queue::ecn::Dice;
use crate::queue::veq::{Arena, Note};
use crate::settings::{EcnSettings, SwitchSettings};
use crate::slots::Slots;
use crate::staging::Run;
use alloc::sync::Arc;

/// The part of a worker that is neither port nor device, what every frame needs first.
#[derive(Debug)]
#[repr(C, align(64))]
pub(crate) struct Books<F, P> {
    pub(crate) arena: Arena<F>,
    pub(crate) buffer: Buffer,
    /// By port index: whose VIQs have got smaller in this turn.
    pub(crate) released: Slots,
    pub(crate) totals: Totals,
    /// Bit by port index: whose VIQs are this worker's.
    owned: [u64; PORTS_MAX / 64],
    pub(crate) ecn: [Option<EcnSettings>; PRIORITIES],
    /// Bit vector of lossless priorities, by port index.
    lossless_bits: [u8; PORTS_MAX],
    pub(crate) dice: Dice,
    pub(crate) lossy_queue_bytes: u32,
    pub(crate) probe: P,
    /// What this worker released of other workers' VIQs.
    ledger: LedgerWriter,
    has_news: bool,
    /// Shared and lossy bytes that the others were last told of.
    published_bytes: (u64, u64),
}

impl<F: Frame, P> Books<F, P> {
    pub(crate) fn new(
        settings: &SwitchSettings,
        own_ports: &[PortId],
        queues: usize,
        ledger: Arc<Ledger>,
        probe: P,
    ) -> Self {
        let mut owned = [0; PORTS_MAX / 64];
        for port in own_ports {
            owned[port.index() / 64] |= 1 << (port.index() % 64);
        }
        let mut lossless_bits = [0; PORTS_MAX];
        for (bits, port) in lossless_bits.iter_mut().zip(&settings.ports) {
            *bits = port.lossless_bits();
        }
        Self {
            arena: Arena::new(settings.buffer.frames_max, queues),
            buffer: Buffer::new(settings),
            totals: Totals::default(),
            dice: Dice::new(settings.seed),
            ecn: settings.ecn,
            lossy_queue_bytes: settings.buffer.lossy_queue_bytes,
            probe,
            ledger: LedgerWriter::new(ledger),
            has_news: false,
            published_bytes: (0, 0),
            owned,
            released: Slots::default(),
            lossless_bits,
        }
    }

    /// Whether the frame may be dropped at the tail of its queue. The switch's own frames may not:
    /// they are few, and charged to nobody.
    #[inline]
    pub(crate) fn is_lossy(&self, note: &Note) -> bool {
        note.viq != ViqId::NONE
            && self.lossless_bits[note.viq.port_index()] & note.viq.priority().bit() == 0
    }

    /// Whether the frame is charged to a lossless VIQ.
    #[inline]
    pub(crate) fn is_lossless(&self, note: &Note) -> bool {
        note.viq != ViqId::NONE && !self.is_lossy(note)
    }

    /// The frame of `note`, as the run it is by itself.
    #[inline]
    pub(crate) fn run_of_one(&self, note: &Note) -> Run {
        Run::of_one(note, self.buffer.cell_bytes())
    }

    /// The frame of `note` has left, or was dropped after admission.
    pub(crate) fn release(&mut self, note: &Note) {
        let cost_bytes = self.buffer.cost_bytes(u32::from(note.bytes));
        self.release_bytes(note.viq, cost_bytes);
    }

    /// `cost_bytes` of `viq` have left.
    #[inline(always)]
    pub(crate) fn release_bytes(&mut self, viq: ViqId, cost_bytes: u32) {
        if viq == ViqId::NONE {
            return;
        }
        let port = viq.port_index();
        if self.owned[port / 64] >> (port % 64) & 1 == 1 {
            self.released.insert(port);
            self.buffer.release(viq, cost_bytes);
        } else {
            self.ledger.add_release(viq, cost_bytes);
            self.has_news = true;
        }
    }

    /// Lets the other workers see what happened in this turn.
    pub(crate) fn publish(&mut self) {
        let pool = self.buffer.pool();
        let used_bytes = (pool.shared_bytes(), pool.lossy_bytes());
        if used_bytes != self.published_bytes {
            self.published_bytes = used_bytes;
            self.ledger.publish_use(used_bytes.0, used_bytes.1);
        }
        if core::mem::take(&mut self.has_news) {
            self.ledger.publish_releases();
        }
    }
}
