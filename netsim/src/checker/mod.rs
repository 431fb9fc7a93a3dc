//! The properties that must hold in every run, one file each.
//!
//! Safety holds between any two events ([`Network::check`](crate::network::Network::check)): no
//! lossless frame is dropped, every frame is accounted for, tags never fall, switches count each
//! change of a tag, and frames arrive in order and at their destination. Liveness holds once the
//! sources have stopped ([`Network::drain`](crate::network::Network::drain)): the network drains,
//! or the [`Deadlock`] is reported.

mod check;
mod conservation;
mod deadlock;
mod delivery;
mod losslessness;
pub(crate) mod pauses;
mod progress;
mod state;
mod tag_changes;
pub(crate) mod tags;
mod violation;

pub use deadlock::{Deadlock, DeadlockHop};
pub use progress::Stuck;
pub use state::BufferState;
pub use violation::Violation;

#[cfg(test)]
mod tests;
