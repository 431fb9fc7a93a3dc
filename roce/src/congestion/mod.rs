//! Congestion control of a queue pair: how fast it may send, and how much without an answer.
//!
//! The transport reports what it sends and hears, and asks for a rate and a window. It turns the
//! rate into departure times, and keeps the bytes in flight below the window.

mod dcqcn;
mod fixed;
mod hpcc;
mod swift;
mod timely;

pub use dcqcn::{Dcqcn, DcqcnParameters};
pub use hpcc::{Hpcc, HpccParameters};
pub use swift::{Swift, SwiftParameters};
pub use timely::{Timely, TimelyParameters};

use crate::time::Picoseconds;
use dataplane::wire::telemetry::Stack;

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
    /// What the switches on the path wrote into the packet, as the receiver reflects it. `None`
    /// without in-band telemetry.
    pub telemetry: Option<&'a Stack>,
}

/// What the algorithm knows of the path of a queue pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PathFacts {
    /// The speed of the port, bits a second.
    pub speed_bps: u64,
    /// From the departure of a full packet to the arrival of its acknowledgment, without queues.
    /// HPCC and Swift begin with a window of this.
    pub base_rtt_ps: Picoseconds,
    /// Payload of a full packet, bytes.
    pub packet_bytes: u32,
    /// Switches on the path. Swift's target grows with them.
    pub hops: u32,
}

/// An algorithm with its parameters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Algorithm {
    /// Line rate, and no window.
    #[default]
    None,
    /// DCQCN: the receiver notifies of marked packets.
    Dcqcn(DcqcnParameters),
    /// TIMELY: the gradient of the RTT.
    Timely(TimelyParameters),
    /// HPCC: in-band telemetry.
    Hpcc(HpccParameters),
    /// Swift: the delay against a target.
    Swift(SwiftParameters),
}

impl Algorithm {
    /// The names of all.
    pub const NAMES: [&str; 5] = ["none", "dcqcn", "timely", "hpcc", "swift"];

    /// The algorithm of this name with the parameters of its paper.
    pub fn from_name(name: &str) -> Option<Self> {
        Some(match name {
            "none" => Self::None,
            "dcqcn" => Self::Dcqcn(DcqcnParameters::default()),
            "timely" => Self::Timely(TimelyParameters::default()),
            "hpcc" => Self::Hpcc(HpccParameters::default()),
            "swift" => Self::Swift(SwiftParameters::default()),
            _ => return None,
        })
    }
}

/// The algorithm of a queue pair, with its state.
#[derive(Clone, Debug)]
pub enum Congestion {
    /// None: line rate, and no window.
    None {
        /// The port's speed, bits a second.
        speed_bps: u64,
    },
    /// See [`Algorithm::Dcqcn`].
    Dcqcn(Box<Dcqcn>),
    /// See [`Algorithm::Timely`].
    Timely(Box<Timely>),
    /// See [`Algorithm::Hpcc`].
    Hpcc(Box<Hpcc>),
    /// See [`Algorithm::Swift`].
    Swift(Box<Swift>),
}

impl Congestion {
    /// The state of a queue pair that has sent nothing.
    pub fn new(algorithm: &Algorithm, path: &PathFacts) -> Self {
        let speed_bps = path.speed_bps;
        match *algorithm {
            Algorithm::None => Self::None { speed_bps },
            Algorithm::Dcqcn(parameters) => {
                Self::Dcqcn(Box::new(Dcqcn::new(parameters, speed_bps)))
            }
            Algorithm::Timely(parameters) => {
                Self::Timely(Box::new(Timely::new(parameters, speed_bps)))
            }
            Algorithm::Hpcc(parameters) => {
                Self::Hpcc(Box::new(Hpcc::new(parameters, speed_bps, path.base_rtt_ps)))
            }
            Algorithm::Swift(parameters) => {
                let wire = (speed_bps, path.base_rtt_ps);
                Self::Swift(Box::new(Swift::new(parameters, wire, path.packet_bytes, path.hops)))
            }
        }
    }

    /// At what rate packets may depart, bits a second, counting whole frames with preamble and gap.
    /// It is up to date after [`Self::on_sent`], [`Self::on_cnp`] and [`Self::on_feedback`].
    #[inline]
    pub fn rate_bps(&self) -> u64 {
        match self {
            Self::None { speed_bps } => *speed_bps,
            Self::Dcqcn(dcqcn) => dcqcn.rate_bps(),
            Self::Timely(timely) => timely.rate_bps(),
            Self::Hpcc(hpcc) => hpcc.rate_bps(),
            Self::Swift(swift) => swift.rate_bps(),
        }
    }

    /// The most payload bytes in flight, if they are limited.
    #[inline]
    pub fn window_bytes(&self) -> Option<u64> {
        match self {
            Self::None { .. } | Self::Dcqcn(_) | Self::Timely(_) => None,
            Self::Hpcc(hpcc) => Some(hpcc.window_bytes()),
            Self::Swift(swift) => Some(swift.window_bytes()),
        }
    }

    /// Whether switches are to write telemetry into its packets.
    #[inline]
    pub(crate) const fn wants_telemetry(&self) -> bool {
        matches!(self, Self::Hpcc(_))
    }

    /// A packet departs at `now_ps`.
    #[inline]
    pub fn on_sent(&mut self, now_ps: Picoseconds, frame_bytes: u32) {
        if let Self::Dcqcn(dcqcn) = self {
            dcqcn.on_sent(now_ps, frame_bytes);
        }
    }

    /// An acknowledgment has arrived.
    #[inline]
    pub fn on_feedback(&mut self, now_ps: Picoseconds, feedback: &Feedback<'_>) {
        match self {
            Self::None { .. } | Self::Dcqcn(_) => {}
            Self::Timely(timely) => {
                timely.on_acknowledgment(feedback.rtt_ps, feedback.acknowledged_bytes);
            }
            Self::Hpcc(hpcc) => hpcc.on_feedback(feedback),
            Self::Swift(swift) => {
                swift.on_acknowledgment(now_ps, feedback.rtt_ps, feedback.acknowledged_bytes);
            }
        }
    }

    /// A congestion notification packet has arrived.
    pub fn on_cnp(&mut self, now_ps: Picoseconds) {
        if let Self::Dcqcn(dcqcn) = self {
            dcqcn.on_cnp(now_ps);
        }
    }

    /// A packet was lost: a NAK or a retransmission timeout says so.
    pub fn on_loss(&mut self, now_ps: Picoseconds) {
        if let Self::Swift(swift) = self {
            swift.on_loss(now_ps);
        }
    }
}
