//! All safety checks of a running network.

use super::pauses::PauseWatch;
use super::tags::TagWatch;
use super::violation::Violation;
use super::{conservation, delivery, losslessness, tag_changes};
use crate::network::Network;

impl Network {
    /// Checks all safety properties; see [`checker`](crate::checker).
    ///
    /// # Errors
    /// The first violation.
    pub fn check(&self) -> Result<(), Violation> {
        self.check_losses()?;
        self.check_all_but_losses()
    }

    /// Checks that no lossless frame was lost for want of room.
    pub(crate) fn check_losses(&self) -> Result<(), Violation> {
        losslessness::check(self)
    }

    /// Checks all safety properties but the loss of lossless frames.
    ///
    /// # Errors
    /// The first violation.
    pub fn check_all_but_losses(&self) -> Result<(), Violation> {
        let sender = |wire: u32| self.endpoint_name(self.ends[wire as usize].from);
        TagWatch::check(
            &self.parts.iter().map(|part| &part.links.watch).collect::<Vec<_>>(),
            sender,
        )?;
        PauseWatch::check(
            &self.parts.iter().map(|part| &part.links.pauses).collect::<Vec<_>>(),
            sender,
        )?;
        delivery::check(self)?;
        tag_changes::check(self)?;
        conservation::check(self)
    }
}
