//! Virtual egress queues and who is served next.
//!
//! [`veq`] holds the frames, [`scheduler`] chooses among priorities, [`pacer`] holds a port to its
//! speed, [`ecn`] marks what leaves a long queue.

pub mod ecn;
pub mod pacer;
pub mod scheduler;
pub mod veq;
