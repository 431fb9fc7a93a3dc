//! Virtual egress queues (VEQs: a port's egress queues) and the order in which they are served.
//!
//! [`veq`] stores the frames, in one FIFO or one for each ingress port; [`scheduler`] selects the
//! priority; [`pacer`] limits a port to its speed, [`shaper`] a queue to its peak rate; [`ecn`]
//! marks frames that leave a long queue, by the same curve of the depth as WRED drops them.

mod chunk;
mod depth_curve;
pub mod ecn;
mod fifo;
mod frame_meta;
mod ingress_drr;
pub mod pacer;
pub mod scheduler;
pub mod shaper;
pub mod veq;
