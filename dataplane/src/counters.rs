//! The counters: every outcome of a frame has a name and a counter here.
//!
//! This balance holds in each worker, to the frame, at all times:
//!
//! ```text
//! received + injected + copied + handoff_rx
//!     = sent + dropped + punted + consumed + handoff_tx + held
//! ```

use crate::ids::Priority;
use crate::limits::PRIORITIES;
use derive_more::AddAssign;
use strum::{IntoStaticStr, VariantArray};

/// Why a frame was dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "snake_case")]
#[repr(u8)]
pub enum DropReason {
    /// The frame ends before one of its headers does.
    Truncated,
    /// An IP header is inconsistent: version, header length or total length.
    BadHeader,
    /// The IPv4 header checksum is wrong.
    BadChecksum,
    /// Longer than the ingress port accepts.
    TooLong,
    /// On a routed port, not addressed to the switch.
    NotOurMac,
    /// The VLAN is not allowed on the ingress port.
    VlanNotAllowed,
    /// To a group address that a bridge must not forward, and no protocol of the switch receives
    /// it.
    ReservedAddress,
    /// From an address that belongs to another port, on a port that checks sources.
    SourceCheck,
    /// Neither IP nor for the switch, on a routed port.
    NotIp,
    /// To or from an address that may not be routed (multicast, loopback, unspecified), or from a
    /// link-local address.
    Unroutable,
    /// No route to the destination, and no room to notify the sender.
    NoRoute,
    /// The route is a discard route.
    Blackhole,
    /// TTL or hop limit expired, and no room to notify the sender.
    TtlExpired,
    /// Longer than the egress port accepts, and no room to notify the sender.
    TooBig,
    /// Bridged, or the switch's own, and on leaving longer than the egress port accepts.
    Oversize,
    /// A flood copy, and no buffer was left to make it.
    NoBuffer,
    /// The next hop's MAC address is unknown, and the frame could not wait for it: a lossy frame
    /// for lack of room, a lossless one because no answer came.
    Unresolved,
    /// For the switch itself, and the ring to the control thread is full.
    PuntFull,
    /// For the control thread, above the rate of its class: LLDP, and with TAPs every class of
    /// `[host.rates]`.
    PuntPoliced,
    /// The destination was learned on the ingress port, so the frame has already reached it.
    SourcePortFiltered,
    /// No other port is in the frame's VLAN.
    NoFloodMembers,
    /// The egress port or the ingress port is down.
    PortDown,
    /// Lossy traffic is at its buffer limit.
    IngressLimit,
    /// The lossy queue of the egress port is full.
    TailDrop,
    /// Dropped at random before the lossy queue of the egress port is full (WRED).
    WredDrop,
    /// In or for a queue in which the PFC watchdog detected a storm.
    Watchdog,
    /// A lossless frame beyond its headroom. The zero-loss guarantee is broken until this is
    /// investigated.
    HeadroomOverrun,
}

impl DropReason {
    /// All reasons, in the order of their counters.
    pub const ALL: &[Self] = Self::VARIANTS;
    /// The number of reasons.
    pub const COUNT: usize = Self::ALL.len();

    /// The counter's name, as `ctl` and `top` show it.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// Whether the drop means that a receiver lacks the frame. Not so if the frame was not
    /// addressed to this switch, or its receiver is on the link where it arrived.
    pub(crate) const fn is_loss(self) -> bool {
        !matches!(self, Self::NotOurMac | Self::SourcePortFiltered)
    }
}

/// The counters of one port. One writer: the worker that owns the port.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default))]
pub struct PortCounters {
    /// Data frames received, by ingress priority. MAC control frames are not data.
    pub rx_frames: [u64; PRIORITIES],
    /// Their bytes, without FCS.
    pub rx_bytes: [u64; PRIORITIES],
    /// Received frames that could not be parsed or were not for this port, so have no priority.
    pub rx_unclassified_frames: u64,
    /// Data frames sent, by egress priority.
    pub tx_frames: [u64; PRIORITIES],
    /// Their bytes, without FCS.
    pub tx_bytes: [u64; PRIORITIES],
    /// Frames dropped, by [`DropReason`]: on the ingress port for reasons found on arrival, on the
    /// egress port for `tail_drop`, `wred_drop` and `port_down`.
    #[cfg_attr(feature = "serde", serde(skip))]
    pub drops: [u64; DropReason::COUNT],
    /// Frames of a lossless class that were not delivered, by ingress priority and [`DropReason`],
    /// on the port where `drops` counts them. Frames that were punted because they cannot be
    /// forwarded count here too: their sender gets an answer, their receiver no frame.
    #[cfg_attr(feature = "serde", serde(skip))]
    pub lossless_drops: [[u64; DropReason::COUNT]; PRIORITIES],
    /// Frames punted to the control thread.
    pub punted_frames: u64,
    /// Frames that the control thread sent here, or returned to be received again here.
    pub injected_frames: u64,
    /// Copies made to flood a frame received here, or to resolve its next hop.
    pub copied_frames: u64,
    /// Frames marked congestion experienced (CE) on leaving here, by egress priority.
    pub ecn_marked_frames: [u64; PRIORITIES],
    /// Times that a queue with a peak rate used it up, and its burst: what it sends next waits.
    pub peak_rate_used_up: [u64; PRIORITIES],
    /// Frames into which in-band telemetry was written on leaving here.
    pub telemetry_frames: u64,
    /// Frames that had passed as many switches before as there is room for.
    pub telemetry_full_frames: u64,
    /// Frames re-marked on arrival: the port is not trusted or has a tag of its own, or DSCP and
    /// PCP were inconsistent.
    pub remarked_frames: u64,
    /// Frames whose tag a rule raised to another lossless tag.
    pub raised_frames: u64,
    /// Frames that the rules made lossy.
    pub demoted_frames: u64,
    /// MAC control counters.
    pub pfc: PfcCounters,
}

impl PortCounters {
    /// Adds what another worker received from the port by a further receive queue, except drops.
    pub fn add_received(&mut self, other: &Self) {
        for priority in 0..PRIORITIES {
            self.rx_frames[priority] += other.rx_frames[priority];
            self.rx_bytes[priority] += other.rx_bytes[priority];
        }
        self.rx_unclassified_frames += other.rx_unclassified_frames;
        self.punted_frames += other.punted_frames;
        self.injected_frames += other.injected_frames;
        self.copied_frames += other.copied_frames;
        self.remarked_frames += other.remarked_frames;
        self.raised_frames += other.raised_frames;
        self.demoted_frames += other.demoted_frames;
    }
}

/// The flow-control counters of one port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default))]
pub struct PfcCounters {
    /// PFC frames received.
    pub rx_frames: u64,
    /// PFC frames received that pause this priority (time above 0).
    pub rx_xoff: [u64; PRIORITIES],
    /// PFC frames received that resume this priority (time 0).
    pub rx_xon: [u64; PRIORITIES],
    /// PFC frames that named a priority that is lossy on this port, and so were ignored for it.
    pub rx_ignored: [u64; PRIORITIES],
    /// PFC frames received that set a rate for this priority (gentle flow control).
    pub rx_slowed: [u64; PRIORITIES],
    /// Times this priority went from sending to paused.
    pub rx_pauses: [u64; PRIORITIES],
    /// Total nanoseconds for which the peer has paused this priority.
    pub rx_paused_ns: [u64; PRIORITIES],
    /// Link PAUSE frames (IEEE 802.3) received, which a PFC port ignores.
    pub rx_link_pause_frames: u64,
    /// MAC control frames with another opcode or address.
    pub rx_unknown_frames: u64,
    /// Truncated MAC control frames.
    pub rx_truncated_frames: u64,
    /// PFC frames sent.
    pub tx_frames: u64,
    /// PFC frames sent that pause this priority, refreshes included.
    pub tx_xoff: [u64; PRIORITIES],
    /// PFC frames sent that resume this priority.
    pub tx_xon: [u64; PRIORITIES],
    /// PFC frames sent that set a rate for this priority's upstream (gentle flow control).
    pub tx_slowed: [u64; PRIORITIES],
    /// Times this priority's upstream went from sending to paused.
    pub tx_pauses: [u64; PRIORITIES],
    /// Total nanoseconds for which this priority's upstream was paused.
    pub tx_paused_ns: [u64; PRIORITIES],
    /// Storms that the watchdog detected: this priority was paused too long without a break.
    pub storms: [u64; PRIORITIES],
    /// Storms that ended.
    pub restored: [u64; PRIORITIES],
}

impl PfcCounters {
    /// MAC control frames received, all kinds. They are consumed here.
    pub const fn rx_consumed(&self) -> u64 {
        self.rx_frames
            + self.rx_link_pause_frames
            + self.rx_unknown_frames
            + self.rx_truncated_frames
    }
}

impl PortCounters {
    /// Counts one frame dropped for `reason`.
    #[inline(always)]
    pub(crate) const fn count_drop(&mut self, reason: DropReason) {
        self.drops[reason as usize] += 1;
    }

    /// Counts one frame of the lossless class `priority` that was not delivered, for `reason`.
    #[inline(always)]
    pub const fn count_lossless_drop(&mut self, priority: Priority, reason: DropReason) {
        if reason.is_loss() {
            self.lossless_drops[priority.index()][reason as usize] += 1;
        }
    }

    /// Frames of the lossless class `priority` that were not delivered, all reasons.
    pub fn lossless_dropped(&self, priority: Priority) -> u64 {
        self.lossless_drops[priority.index()].iter().sum()
    }

    /// Frames of lossless classes that were not delivered for `reason`.
    pub fn lossless_dropped_for(&self, reason: DropReason) -> u64 {
        self.lossless_drops.iter().map(|drops| drops[reason as usize]).sum()
    }

    /// Frames that exceeded the headroom of their VIQ (virtual ingress queue), by ingress priority.
    pub fn headroom_overruns(&self, priority: Priority) -> u64 {
        self.lossless_drops[priority.index()][DropReason::HeadroomOverrun as usize]
    }

    /// Frames dropped for `reason`.
    pub const fn dropped(&self, reason: DropReason) -> u64 {
        self.drops[reason as usize]
    }
}

/// Frames of one worker, by origin and by outcome: the balance in the module comment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, AddAssign)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default))]
pub struct Totals {
    /// Frames received from devices.
    pub received: u64,
    /// Frames that the control thread sent or returned.
    pub injected: u64,
    /// Copies made for flooding.
    pub copied: u64,
    /// Frames received by handoff from other workers.
    pub handoff_rx: u64,
    /// Data frames and the switch's own frames that devices took for transmission.
    pub sent: u64,
    /// Frames dropped, all reasons.
    pub dropped: u64,
    /// Frames punted to the control thread.
    pub punted: u64,
    /// MAC control frames, which are consumed here.
    pub consumed: u64,
    /// Frames handed off to other workers.
    pub handoff_tx: u64,
    /// Frames still queued in the worker.
    pub held: u64,
}

impl Totals {
    /// Frames received minus frames with an outcome: 0 unless the accounting is wrong.
    pub const fn imbalance(&self) -> i64 {
        let came = self.received + self.injected + self.copied + self.handoff_rx;
        let ended =
            self.sent + self.dropped + self.punted + self.consumed + self.handoff_tx + self.held;
        came.cast_signed() - ended.cast_signed()
    }
}
