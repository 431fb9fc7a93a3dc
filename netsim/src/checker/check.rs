//! All safety checks of a running network.

use super::violation::Violation;
use super::{conservation, delivery, losslessness};
use crate::network::Network;

impl Network {
    /// Whether everything holds that must hold at any time; see [`checker`](crate::checker).
    ///
    /// # Errors
    /// The first thing that does not.
    pub fn check(&self) -> Result<(), Violation> {
        self.check_losses()?;
        self.check_all_but_losses()
    }

    /// Whether no lossless frame was lost for want of room.
    pub(crate) fn check_losses(&self) -> Result<(), Violation> {
        losslessness::check(self)
    }

    /// The same where lossless frames may be lost: whether everything else holds.
    ///
    /// # Errors
    /// The first thing that does not.
    pub fn check_all_but_losses(&self) -> Result<(), Violation> {
        self.links.watch.check(|wire| self.endpoint_name(self.links.wires[wire as usize].from))?;
        self.links.pauses.check(|wire| self.endpoint_name(self.links.wires[wire as usize].from))?;
        delivery::check(self)?;
        conservation::check(self)
    }
}
