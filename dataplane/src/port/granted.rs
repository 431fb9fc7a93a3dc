//! A port that another worker owns, to which this worker sends under the owner's transmit grant.

use super::Port;
use crate::accounting::Accounting;
use crate::device::Device;
use crate::driver::Driver;
use crate::frame::Frame;
use crate::handoff::grants::TxGrant;
use crate::ids::Priority;
use crate::time::Instant;

impl<F: Frame, V: Driver> Port<F, V> {
    /// Starts a turn of a port that another worker owns, under `grant`.
    #[inline]
    pub(crate) fn begin_granted<D: Device<Frame = F>>(
        &mut self,
        grant: TxGrant,
        device: &mut D,
        accounting: &mut Accounting<F, V>,
        now: Instant,
    ) {
        if grant.up != self.up {
            self.set_link(grant.up, accounting, now);
        }
        self.ungranted_bits = !grant.granted_bits;
        self.begin_bypass(device, now);
    }

    /// The grant that other workers get for this port from now on.
    #[inline]
    pub(crate) fn grant(&self) -> TxGrant {
        TxGrant { granted_bits: self.passing_bits(), up: self.up }
    }

    /// Whether a frame of `priority` is sent or queued here although another worker owns the port:
    /// the priority is granted, or earlier frames of it are queued here.
    #[inline(always)]
    pub(crate) fn takes(&self, priority: Priority) -> bool {
        self.has_waiting(priority) || self.passing_bits() & priority.bit() != 0
    }
}
