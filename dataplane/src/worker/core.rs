//! The part of a worker that the pipeline stages use.

use crate::accounting::Accounting;
use crate::control_rings::Punted;
use crate::device::Device;
use crate::driver::Driver;
use crate::frame::Burst;
use crate::handoff::tx::HandoffTx;
use crate::host_class::HostPolicers;
use crate::l2::MacTable;
use crate::limiter::RateLimiter;
use crate::pipeline::lanes::LaneState;
use crate::pipeline::outcome_groups::OutcomeGroups;
use crate::port::Port;
use crate::rx_queues::Ingress;
use crate::tag_changes::TagChanges;
use crate::time::Instant;
use crate::unresolved::Unresolved;
use alloc::boxed::Box;
use alloc::vec::Vec;
use rtrb::Producer;

/// The part of a worker that the pipeline stages use.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Core<D: Device, V: Driver> {
    pub(crate) ports: Vec<Port<D, V>>,
    pub(super) busy_turns: u64,
    /// Frames received from a receive queue in one turn, at most.
    pub(crate) rx_burst_frames: u32,
    /// Turns in a row without frames that wait at a port.
    pub(crate) calm_turns: u32,
    /// Whether the MAC table may have entries, which have to be aged.
    pub(crate) has_addresses: bool,
    /// When the first frame that waits for its next hop expires.
    pub(crate) unresolved_until: Instant,
    pub(crate) handoff_tx: HandoffTx<D::Frame>,
    pub(crate) device: D,
    pub(crate) accounting: Accounting<D::Frame, V>,
    /// By slot: the receive queues that this worker polls. First those of its own ports.
    pub(crate) inputs: Vec<Ingress>,
    pub(crate) mac_table: MacTable,
    pub(crate) rx: Burst<D::Frame>,
    pub(crate) unresolved: Unresolved,
    /// By slot of a receive queue: frames kept until all of their flood copies can be admitted.
    pub(crate) deferred: Vec<Burst<D::Frame>>,
    pub(crate) free_burst: Burst<D::Frame>,
    pub(crate) outcomes: OutcomeGroups,
    pub(crate) lanes: Box<LaneState>,
    pub(crate) punted: Producer<Punted<D::Frame>>,
    /// By port index: the longest frame that a port sends, VLAN tags included.
    pub(crate) tx_frame_bytes_max: Vec<u16>,
    /// Frames whose tag the rules changed. After what every frame needs.
    pub(crate) tag_changes: TagChanges,
    /// By slot of a receive queue: the policer of LLDP frames from its neighbor.
    pub(crate) lldp_limits: Vec<RateLimiter>,
    /// The policers of all classes, where the host has TAPs.
    pub(crate) host_policers: Option<HostPolicers>,
}

impl<D: Device, V: Driver> Core<D, V> {
    /// Where frames come in that are received at this slot. An emulated switch, whose ports have
    /// one queue each, need not look into another cache line for it.
    #[inline(always)]
    pub(crate) fn input_of(&self, slot: usize) -> Ingress {
        if V::IS_EVENT_DRIVEN { Ingress::first_of(self.ports[slot].id) } else { self.inputs[slot] }
    }
}
