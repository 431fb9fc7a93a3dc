//! Worker handoff: frames and MAC events from one worker to another.
//!
//! [`tx`] puts frames for another worker's port on a ring, or in a queue if the ring is full.
//! [`ring`] is the ring: a single producer, a single consumer, bursts. [`rx`] takes a burst from
//! the ring to the queues of this worker's ports. [`grants`] lets a worker send at another worker's
//! port by a transmit queue of its own, without a handoff. [`pauses`] makes a pause take effect at
//! all workers within their turns.

pub(crate) mod grants;
pub(crate) mod pauses;
pub(crate) mod ring;
mod rx;
pub(crate) mod tx;
