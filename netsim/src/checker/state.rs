//! The states of the TTL paper's proof (section 1.4.3), as they are in a running network.
//!
//! A buffer state is what every queue of every node holds. It is legal if that is finite, which a
//! switch's buffer ensures; empty if it is nothing; and deadlocked if nothing is injected any more
//! and it stays the same for ever without being empty. For ever is longer than any timer of the
//! network: by then, all that can move has moved.

use crate::network::Network;
use dataplane::limits::PRIORITIES;

/// What every VIQ and VEQ of every switch holds, in bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BufferState {
    /// By switch, port and priority: the VIQ and the VEQ.
    queues: Vec<Vec<[(u32, u32); PRIORITIES]>>,
    /// By switch: whether its VIQs hold no more than its buffer.
    is_legal: bool,
    /// Frames on wires and at hosts' receivers.
    elsewhere: u64,
}

impl BufferState {
    /// The state of `network` now.
    pub(crate) fn of(network: &Network) -> Self {
        let mut state = Self { is_legal: true, ..Self::default() };
        let mut held = 0;
        for (switch, report) in network.switch_reports() {
            let gauges =
                |queue: &dataplane::report::QueueGauges| (queue.viq_bytes, queue.veq_bytes);
            let ports: Vec<_> =
                report.ports.iter().map(|port| port.queues.each_ref().map(gauges)).collect();
            let bytes: u64 = ports.iter().flatten().map(|&(viq, _)| u64::from(viq)).sum();
            state.is_legal &= bytes <= switch.settings.buffer.size_bytes;
            held += report.totals.held;
            state.queues.push(ports);
        }
        state.elsewhere = network.frames_inside().saturating_sub(held);
        state
    }

    /// Equation 11, with the buffer's size for infinity.
    pub const fn is_legal(&self) -> bool {
        self.is_legal
    }

    /// Equation 12.
    pub fn is_empty(&self) -> bool {
        self.elsewhere == 0 && self.queues.iter().flatten().flatten().all(|&queue| queue == (0, 0))
    }

    /// Equation 13, of two states between which nothing was injected and every timer ran out.
    pub fn is_deadlocked(&self, later: &Self) -> bool {
        self == later && !self.is_empty()
    }
}

impl Network {
    /// What every queue holds now.
    pub fn buffer_state(&self) -> BufferState {
        BufferState::of(self)
    }
}
