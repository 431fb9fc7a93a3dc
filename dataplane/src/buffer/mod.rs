//! The shared buffer: which frames are admitted, what they are charged, and when upstream must
//! stop.
//!
//! VIQ: virtual ingress queue, SONiC's priority group. This module implements DESIGN.md section 4
//! in three files: [`viq`] has the accounting and thresholds of one VIQ, [`pool`] what all VIQs
//! share, [`ledger`] what workers publish to each other. [`Buffer`] combines them for the ports of
//! one worker.

mod ledger;
mod parts;
mod pool;
mod viq;

pub use ledger::{Ledger, LedgerReader, LedgerWriter};
pub use parts::Parts;
pub(crate) use parts::SharedQueues;
pub use pool::{Part, Pool};
pub use viq::Viq;

use crate::counters::DropReason;
use crate::ids::{PortId, Priority};
use crate::limits::PRIORITIES;
use crate::pfc::generator::RateCodes;
use crate::rx_queues::rx_queues;
use crate::settings::{BufferSettings, SwitchSettings, set_aside_bytes};
use alloc::vec;
use alloc::vec::Vec;

/// Index of a VIQ: ingress port times eight, plus priority.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ViqId(u16);

impl ViqId {
    /// No VIQ: for a frame that is not charged.
    pub const NONE: Self = Self(u16::MAX);

    /// The VIQ of `port` and `priority`.
    #[inline(always)]
    pub const fn new(port: PortId, priority: Priority) -> Self {
        #[expect(
            clippy::cast_possible_truncation,
            reason = "256 ports of 8 fit, asserted in limits"
        )]
        Self((port.index() * PRIORITIES + priority.index()) as u16)
    }

    /// The packed index.
    #[inline(always)]
    pub(crate) const fn bits(self) -> u16 {
        self.0
    }

    /// The VIQ with this index.
    #[inline(always)]
    pub(crate) const fn from_bits(bits: u16) -> Self {
        Self(bits)
    }

    /// The index in an array of all VIQs.
    #[inline(always)]
    pub const fn index(self) -> usize {
        self.0 as usize
    }

    /// The ingress port's index.
    #[inline(always)]
    pub const fn port_index(self) -> usize {
        self.0 as usize / PRIORITIES
    }

    /// The ingress priority.
    #[inline(always)]
    #[expect(clippy::cast_possible_truncation, reason = "below 8")]
    pub const fn priority(self) -> Priority {
        Priority::from_low_bits((self.0 as usize % PRIORITIES) as u8)
    }
}

/// The VIQs of all receive queues. Only the worker that polls a queue uses the queue's VIQs here.
/// Where a port has several queues, each of its VIQs is in as many parts.
#[derive(Debug)]
pub struct Buffer {
    viqs: Vec<Viq>,
    /// By VIQ: the peak of all its bytes while it used headroom. Not in the VIQ's cache line, since
    /// few frames are charged to headroom.
    headroom_totals_bytes: Vec<u32>,
    /// What all VIQs share, and the other workers' use of it.
    pub pool: Pool,
    cell_bytes: u32,
}

impl Buffer {
    /// An empty buffer for `settings`, which `config` has checked.
    pub fn new(settings: &SwitchSettings) -> Self {
        let viqs: Vec<Viq> = rx_queues(settings)
            .into_iter()
            .flat_map(|queue| {
                let port = &settings.ports[queue.port.index()];
                let parts = port.further_queues.len() + 1;
                Priority::all().zip(&port.lossless).map(move |(priority, lossless)| {
                    Viq::new(priority, lossless.map(|settings| settings.part_of(parts)))
                })
            })
            .collect();
        Self {
            headroom_totals_bytes: vec![0; viqs.len()],
            viqs,
            pool: Pool::new(lossless_shared_bytes(settings), &settings.buffer),
            cell_bytes: u32::from(settings.buffer.cell_bytes),
        }
    }

    /// The cost of a frame of `bytes`: at least a cell.
    #[inline(always)]
    pub fn cost_bytes(&self, bytes: u32) -> u32 {
        bytes.max(self.cell_bytes)
    }

    /// The least cost of a frame.
    #[inline(always)]
    pub const fn cell_bytes(&self) -> u32 {
        self.cell_bytes
    }

    /// Charges one frame of `cost_bytes` to `viq`, which must be released when the frame leaves.
    ///
    /// # Errors
    /// Why it is not admitted: [`DropReason::IngressLimit`] or [`DropReason::HeadroomOverrun`].
    #[inline(always)]
    pub fn admit(&mut self, viq: ViqId, cost_bytes: u32) -> Result<(), DropReason> {
        self.viqs[viq.index()].admit(cost_bytes, &mut self.pool)
    }

    /// `viq` was charged and uses headroom: its bytes may be at their peak. The caller of the
    /// methods that charge it says so, since it looks for headroom anyway.
    #[cold]
    pub fn note_headroom(&mut self, viq: ViqId) {
        let total_bytes = self.viqs[viq.index()].bytes();
        let peak_bytes = &mut self.headroom_totals_bytes[viq.index()];
        *peak_bytes = total_bytes.max(*peak_bytes);
    }

    /// The peak of bytes in `viq`.
    pub fn peak_bytes(&self, viq: ViqId) -> u32 {
        let base_peak_bytes = self.viqs[viq.index()].base_peak_bytes();
        base_peak_bytes.max(self.headroom_totals_bytes[viq.index()])
    }

    /// Begins new peaks at what is in use now.
    pub(crate) fn reset_peaks(&mut self) {
        self.pool.reset_peaks();
        for (viq, total_bytes) in self.viqs.iter_mut().zip(&mut self.headroom_totals_bytes) {
            viq.reset_peaks();
            *total_bytes = viq.bytes();
        }
    }

    /// Whether frames of `cost_bytes` in total, part of which are charged to `viq`, are admitted in
    /// whatever order.
    #[inline]
    pub(crate) fn fits(&self, viq: ViqId, cost_bytes: u32) -> bool {
        self.viqs[viq.index()].fits(cost_bytes, &self.pool)
    }

    /// Charges frames of `cost_bytes` in total to `viq`, if the result is the same to the byte as
    /// charging them one by one. Otherwise returns false and charges nothing.
    #[inline(always)]
    pub fn admit_run(&mut self, viq: ViqId, cost_bytes: u32) -> bool {
        self.viqs[viq.index()].admit_run(cost_bytes, &mut self.pool)
    }

    /// Charges `frames` frames of a cell each to `viq`. Returns false and charges nothing if not
    /// all of them can be admitted.
    #[inline]
    pub(crate) fn admit_cells(&mut self, viq: ViqId, frames: u32) -> bool {
        self.viqs[viq.index()].admit_equal(frames, self.cell_bytes, &mut self.pool)
    }

    /// Releases `cost_bytes` of `viq`: a frame was sent, or dropped after admission.
    #[inline(always)]
    pub fn release(&mut self, viq: ViqId, cost_bytes: u32) {
        self.viqs[viq.index()].release(cost_bytes, &mut self.pool);
    }

    /// The priorities of `port`, among `lossless_bits`, whose upstream must be paused now. Stores
    /// the result, because the XON threshold is below the XOFF threshold.
    #[inline(always)]
    pub fn xoff_bits(&mut self, port: PortId, lossless_bits: u8) -> u8 {
        let first = port.index() * PRIORITIES;
        let viqs = &mut self.viqs[first..first + PRIORITIES];
        let (mut left, mut xoff_bits) = (lossless_bits, 0);
        while left != 0 {
            let priority = left.trailing_zeros() as usize % PRIORITIES;
            left &= left - 1;
            xoff_bits |= u8::from(viqs[priority].xoff(&self.pool)) << priority;
        }
        xoff_bits
    }

    /// The rates to send upstream of `port`, by priority, when `sent` was sent last; 0 for the
    /// priorities in `xoff_bits`, which are paused.
    pub(crate) fn rate_codes(&self, port: PortId, xoff_bits: u8, sent: &RateCodes) -> RateCodes {
        let first = port.index() * PRIORITIES;
        let viqs = &self.viqs[first..first + PRIORITIES];
        let code =
            |p: usize| if xoff_bits >> p & 1 == 1 { 0 } else { viqs[p].rate_code(sent.0[p]) };
        RateCodes(core::array::from_fn(code))
    }

    /// The least free headroom among the VIQs of `port` in `bits`, which are lossless. So many
    /// bytes can always be admitted, whatever is left below the thresholds.
    #[inline(always)]
    pub(crate) fn headroom_left_bytes(&self, port: PortId, bits: u8) -> u32 {
        let first = port.index() * PRIORITIES;
        let viqs = &self.viqs[first..first + PRIORITIES];
        // Every burst asks. A loop stays in its caller, where a chain of iterators is a call.
        let (mut left, mut least_bytes) = (bits, self.pool.headroom_free_bytes());
        while left != 0 {
            let priority = left.trailing_zeros() as usize % PRIORITIES;
            left &= left - 1;
            least_bytes = least_bytes.min(viqs[priority].own_headroom_left_bytes());
        }
        least_bytes
    }

    /// Bytes, headroom included, that can always be admitted at `port`, to whichever of its VIQs in
    /// `bits`, which are lossless, in frames that cost at most `frame_bytes`.
    pub(crate) fn room_bytes(&self, port: PortId, bits: u8, frame_bytes: u32) -> u32 {
        let viqs = Priority::in_bits(bits).map(|priority| self.viq_of(port, priority));
        viqs.map(|viq| viq.room_bytes(&self.pool, frame_bytes)).min().unwrap_or(u32::MAX)
    }

    /// The VIQ of `port` and `priority`.
    pub(crate) fn viq_of(&self, port: PortId, priority: Priority) -> &Viq {
        self.viq(ViqId::new(port, priority))
    }

    /// Sets what the other parts of a VIQ hold: bytes of reserve and pool, and of headroom.
    pub(crate) fn set_others(&mut self, viq: ViqId, base_bytes: u32, headroom_bytes: u32) {
        self.viqs[viq.index()].set_others(base_bytes, headroom_bytes);
    }

    /// The accounting of one VIQ.
    pub fn viq(&self, viq: ViqId) -> &Viq {
        &self.viqs[viq.index()]
    }
}

/// What is left of the buffer for lossless VIQs to share, after reserves, headroom and lossy
/// traffic.
pub fn lossless_shared_bytes(settings: &SwitchSettings) -> u64 {
    let BufferSettings { size_bytes, lossy_bytes, headroom_pool_bytes, .. } = settings.buffer;
    let set_aside = set_aside_bytes(settings.ports.iter(), headroom_pool_bytes);
    size_bytes.saturating_sub(lossy_bytes).saturating_sub(set_aside)
}

#[cfg(test)]
mod tests;
