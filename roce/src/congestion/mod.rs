//! Congestion control of a queue pair: how fast it may send, and how much without an answer.
//!
//! The transport reports what it sends and hears, and asks for a rate and a window. It turns the
//! rate into departure times, and keeps the bytes in flight below the window.

use crate::time::{NEVER, Picoseconds};

/// What the requester learns from an acknowledgment.
#[derive(Clone, Copy, Debug)]
pub struct Feedback<'a> {
    /// From the departure of the packet that is acknowledged to the acknowledgment's arrival.
    pub rtt_ps: Picoseconds,
    /// Bytes that this acknowledgment newly covers.
    pub acknowledged_bytes: u64,
    /// First byte of the queue pair's stream that is not acknowledged.
    pub acknowledged_to: u64,
    /// First byte of the queue pair's stream that has not been sent.
    pub sent_to: u64,
    /// What the switches on the path wrote into the packet, as the receiver reflects it, the first
    /// hop first. Empty without in-band telemetry.
    pub hops: &'a [Hop],
}

/// What one switch wrote about the egress port that the packet left by (HPCC, section 4.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hop {
    /// When the packet was dequeued, by the switch's clock.
    pub at_ps: Picoseconds,
    /// Bytes the port has sent until then.
    pub sent_bytes: u64,
    /// Bytes that were queued behind the packet.
    pub queued_bytes: u64,
    /// The port's speed, bits a second.
    pub speed_bps: u64,
}

/// The algorithm of a queue pair, with its state.
#[derive(Clone, Debug)]
pub enum Congestion {
    /// None: line rate, and no window.
    None {
        /// The port's speed, bits a second.
        speed_bps: u64,
    },
}

impl Congestion {
    /// At what rate packets may depart, bits a second, counting whole frames with preamble and gap.
    pub const fn rate_bps(&self) -> u64 {
        match self {
            Self::None { speed_bps } => *speed_bps,
        }
    }

    /// The most payload bytes in flight, if they are limited.
    pub const fn window_bytes(&self) -> Option<u64> {
        match self {
            Self::None { .. } => None,
        }
    }

    /// A packet departs at `now_ps`.
    pub const fn on_sent(&mut self, _now_ps: Picoseconds, _frame_bytes: u32) {}

    /// An acknowledgment has arrived.
    pub const fn on_feedback(&mut self, _now_ps: Picoseconds, _feedback: &Feedback<'_>) {}

    /// A congestion notification packet has arrived.
    pub const fn on_cnp(&mut self, _now_ps: Picoseconds) {}

    /// A packet was lost: a NAK or a retransmission timeout says so.
    pub const fn on_loss(&mut self, _now_ps: Picoseconds) {}

    /// When [`Self::on_timer`] is due next; [`NEVER`] if nothing is.
    pub const fn timer_ps(&self) -> Picoseconds {
        NEVER
    }

    /// Does what is due at `now_ps`.
    pub const fn on_timer(&mut self, _now_ps: Picoseconds) {}
}
