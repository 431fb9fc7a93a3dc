//! The shared buffer: who may come in, what they are charged for, and when upstream must stop.
//!
//! DESIGN.md section 4 in three files: [`viq`] holds one virtual ingress queue's books and
//! thresholds, [`pool`] what all of them share, [`ledger`] what crosses workers. [`Buffer`] ties
//! them together for the ports of one worker.

mod ledger;
mod pool;
mod viq;

pub use ledger::{Ledger, LedgerReader, LedgerWriter};
pub use pool::Pool;
pub use viq::Viq;

use crate::ids::{PortId, Priority};
use crate::limits::PRIORITIES;
use crate::pfc::generator::Slowing;
use crate::settings::{BufferSettings, SwitchSettings};
use alloc::vec::Vec;

/// Index of a VIQ: ingress port times eight, plus priority.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ViqId(u16);

impl ViqId {
    /// No VIQ: of a frame that is not charged to any.
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

    /// The index, as it is packed.
    #[inline(always)]
    pub(crate) const fn bits(self) -> u16 {
        self.0
    }

    /// The VIQ with this index.
    #[inline(always)]
    pub(crate) const fn from_bits(bits: u16) -> Self {
        Self(bits)
    }

    /// Its place in an array of all VIQs.
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

/// Whether a frame may come in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admission {
    /// Charged; it must be released when it leaves.
    Admitted,
    /// Lossy traffic holds all it may.
    LossyFull,
    /// Beyond the headroom of a lossless VIQ.
    LosslessOverrun,
}

/// The VIQs of all ports; the worker that owns a port is the only one that touches its VIQs here.
#[derive(Debug)]
pub struct Buffer {
    viqs: Vec<Viq>,
    pool: Pool,
    cell_bytes: u32,
}

impl Buffer {
    /// An empty buffer for `settings`, which `config` has checked.
    pub fn new(settings: &SwitchSettings) -> Self {
        let viqs = settings
            .ports
            .iter()
            .flat_map(|port| port.lossless.iter().map(|lossless| Viq::new(*lossless)))
            .collect();
        Self {
            viqs,
            pool: Pool::new(lossless_shared_bytes(settings), settings.buffer.lossy_bytes),
            cell_bytes: u32::from(settings.buffer.cell_bytes),
        }
    }

    /// What a frame of `bytes` costs: at least a cell.
    #[inline(always)]
    pub fn cost_bytes(&self, bytes: u32) -> u32 {
        bytes.max(self.cell_bytes)
    }

    /// What a frame costs at the least.
    #[inline(always)]
    pub const fn cell_bytes(&self) -> u32 {
        self.cell_bytes
    }

    /// Charges one frame of `cost_bytes` to `viq`, or says why it cannot come in.
    #[inline(always)]
    pub fn admit(&mut self, viq: ViqId, cost_bytes: u32) -> Admission {
        self.viqs[viq.index()].admit(cost_bytes, &mut self.pool)
    }

    /// Charges frames of `cost_bytes` together to `viq` if that is the same to the byte as charging
    /// each; false, and nothing is charged, if each must be looked at.
    #[inline(always)]
    pub fn admit_run(&mut self, viq: ViqId, cost_bytes: u32) -> bool {
        self.viqs[viq.index()].admit_run(cost_bytes, &mut self.pool)
    }

    /// Charges `frames` frames of a cell each to `viq`; false, and nothing is charged, if not all
    /// of them may come in.
    #[inline]
    pub fn admit_cells(&mut self, viq: ViqId, frames: u32) -> bool {
        self.viqs[viq.index()].admit_equal(frames, self.cell_bytes, &mut self.pool)
    }

    /// Takes `cost_bytes` off `viq`: a frame left the switch, or was dropped after admission.
    #[inline(always)]
    pub fn release(&mut self, viq: ViqId, cost_bytes: u32) {
        self.viqs[viq.index()].release(cost_bytes, &mut self.pool);
    }

    /// The priorities of `port`, among `lossless_bits`, whose upstream should be silent now;
    /// remembers the answer, since XON comes later than XOFF went.
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

    /// How fast the upstream of `port` should send, by priority, when it was last told `told`;
    /// nothing of those in `xoff_bits`, which it stops.
    pub fn slowing(&self, port: PortId, xoff_bits: u8, told: &Slowing) -> Slowing {
        let first = port.index() * PRIORITIES;
        let viqs = &self.viqs[first..first + PRIORITIES];
        let code = |p: usize| if xoff_bits >> p & 1 == 1 { 0 } else { viqs[p].slowing(told.0[p]) };
        Slowing(core::array::from_fn(code))
    }

    /// Headroom left to the fullest of the VIQs of `port` in `bits`, which are lossless. So much
    /// may certainly come in, whatever is left below the thresholds.
    #[inline(always)]
    pub(crate) fn headroom_left_bytes(&self, port: PortId, bits: u8) -> u32 {
        let first = port.index() * PRIORITIES;
        let viqs = &self.viqs[first..first + PRIORITIES];
        Priority::in_bits(bits)
            .map(|priority| viqs[priority.index()].headroom_left_bytes())
            .min()
            .unwrap_or(u32::MAX)
    }

    /// Bytes, headroom included, that may certainly come in at `port`, in whichever of its VIQs in
    /// `bits`, which are lossless, and in frames that cost `frame_bytes` at the most.
    pub(crate) fn room_bytes(&self, port: PortId, bits: u8, frame_bytes: u32) -> u32 {
        let viqs = Priority::in_bits(bits).map(|priority| self.viq_of(port, priority));
        viqs.map(|viq| viq.room_bytes(&self.pool, frame_bytes)).min().unwrap_or(u32::MAX)
    }

    /// The VIQ of `port` and `priority`.
    pub(crate) fn viq_of(&self, port: PortId, priority: Priority) -> &Viq {
        self.viq(ViqId::new(port, priority))
    }

    /// The books of one VIQ, to be shown.
    pub fn viq(&self, viq: ViqId) -> &Viq {
        &self.viqs[viq.index()]
    }

    /// What all VIQs share, to be shown and to be told of other workers' use.
    pub const fn pool(&self) -> &Pool {
        &self.pool
    }

    /// Tells the pool what the other workers' VIQs hold of it.
    pub const fn set_others_bytes(&mut self, shared_bytes: u64, lossy_bytes: u64) {
        self.pool.set_others_bytes(shared_bytes, lossy_bytes);
    }
}

/// What is left of the buffer for lossless VIQs to share, after reserves, headrooms and lossy
/// traffic.
pub fn lossless_shared_bytes(settings: &SwitchSettings) -> u64 {
    let set_aside: u64 = settings
        .ports
        .iter()
        .flat_map(|port| port.lossless.iter().flatten())
        .map(|viq| u64::from(viq.reserved_bytes) + u64::from(viq.headroom_bytes))
        .sum();
    let BufferSettings { size_bytes, lossy_bytes, .. } = settings.buffer;
    size_bytes.saturating_sub(lossy_bytes).saturating_sub(set_aside)
}

#[cfg(test)]
mod tests;
