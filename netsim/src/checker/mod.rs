//! What must hold in every run, one file for each property, so that a failure names what was
//! broken.
//!
//! Safety holds at every instant between two events ([`Network::check`](crate::network::Network::check)): no
//! lossless frame dropped, every frame accounted for, tags that never fall, frames in order and
//! where they belong. Liveness holds once the sources have stopped
//! ([`Network::drain`](crate::network::Network::drain)): everything drains, or the [`Deadlock`] that it cannot
//! get out of is named.

mod check;
mod conservation;
mod deadlock;
mod delivery;
mod losslessness;
pub(crate) mod pauses;
mod progress;
mod state;
pub(crate) mod tags;
mod violation;

pub use deadlock::{Deadlock, DeadlockHop};
pub use progress::Stuck;
pub use state::BufferState;
pub use violation::Violation;

#[cfg(test)]
mod tests;
