//! A port that another worker owns, as this one sees it through the owner's door.

use super::Port;
use crate::books::Books;
use crate::device::Device;
use crate::doors::Door;
use crate::frame::Frame;
use crate::ids::Priority;
use crate::probe::Probe;
use crate::time::Instant;

impl<F: Frame> Port<F> {
    /// Starts a turn of a port that another worker owns, which shows `door`.
    #[inline]
    pub(crate) fn begin_at_door<D: Device<Frame = F>, P: Probe>(
        &mut self,
        door: Door,
        device: &mut D,
        books: &mut Books<F, P>,
        now: Instant,
    ) {
        if door.up != self.up {
            self.set_link(door.up, books, now);
        }
        self.closed_bits = !door.open_bits;
        self.begin_direct(device, now);
    }

    /// What other workers may do here, as this turn leaves it.
    #[inline]
    pub(crate) fn door(&self) -> Door {
        Door { open_bits: self.passing_bits(), up: self.up }
    }

    /// Whether a frame of `priority` goes here although the port is another worker's: it may pass,
    /// or others of its priority wait here before it.
    #[inline(always)]
    pub(crate) fn takes(&self, priority: Priority) -> bool {
        self.has_waiting(priority) || self.passing_bits() & priority.bit() != 0
    }
}
