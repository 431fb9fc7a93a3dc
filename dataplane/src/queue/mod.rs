//! Virtual egress queues and who is served next.
//!
//! [`veq`] holds the frames, in one FIFO or in lanes for ingress ports, [`scheduler`] chooses among
//! priorities, [`pacer`] holds a port to its speed, [`ecn`] marks what leaves a long queue.

pub mod ecn;
mod lanes;
pub mod pacer;
pub mod scheduler;
pub mod veq;
