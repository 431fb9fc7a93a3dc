//! Every way a frame can end has a name here, and a counter.
//!
//! The balance that always holds, to the frame, in each worker:
//!
//! ```text
//! received + injected + copied + taken over
//!     = sent + dropped + punted + consumed + handed over + held
//! ```

use crate::ids::Priority;
use crate::limits::PRIORITIES;
use alloc::vec::Vec;

macro_rules! drop_reasons {
    ($($(#[doc = $doc:literal])+ $variant:ident => $name:literal,)+) => {
        /// Why a frame was dropped.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u8)]
        pub enum DropReason { $($(#[doc = $doc])+ $variant,)+ }

        impl DropReason {
            /// All of them, in the order of their counters.
            pub const ALL: &[Self] = &[$(Self::$variant,)+];
            /// How many there are.
            pub const COUNT: usize = Self::ALL.len();

            /// The counter's name, as `ctl` and `top` show it.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)+ }
            }

            /// What it means, in a sentence.
            pub const fn meaning(self) -> &'static str {
                match self { $(Self::$variant => concat!($($doc,)+),)+ }
            }
        }
    };
}

drop_reasons! {
    /// A header ends after the frame does.
    Truncated => "truncated",
    /// An IP header contradicts itself: version, header length or total length.
    BadHeader => "bad_header",
    /// The IPv4 header checksum does not hold.
    BadChecksum => "bad_checksum",
    /// Longer than the ingress port carries.
    TooLong => "too_long",
    /// On a routed port, not addressed to the switch.
    NotOurMac => "not_our_mac",
    /// The VLAN is not allowed on the ingress port.
    VlanNotAllowed => "vlan_not_allowed",
    /// To a group address that a bridge must keep to itself, with nobody here to take it.
    ReservedAddress => "reserved_address",
    /// Neither IP nor for the switch, on a routed port.
    NotIp => "not_ip",
    /// To or from an address that may not be routed: multicast, loopback, unspecified; or from one
    /// of a single link.
    Unroutable => "unroutable",
    /// No route to the destination, and no room to tell the sender.
    NoRoute => "no_route",
    /// The route says discard.
    Blackhole => "blackhole",
    /// TTL or hop limit used up, and no room to tell the sender.
    TtlExpired => "ttl_expired",
    /// Longer than the egress port carries, and no room to tell the sender.
    TooBig => "too_big",
    /// Bridged, or the switch's own, and as it would leave longer than the egress port carries.
    Oversize => "oversize",
    /// A copy that flooding needed, and no buffer was left to make it.
    NoBuffer => "no_buffer",
    /// The next hop's MAC address is unknown and the frame could not wait for it: a lossy one for
    /// want of room, a lossless one because nobody answered.
    Unresolved => "unresolved",
    /// For the switch itself, and the control thread is behind.
    PuntFull => "punt_full",
    /// LLDP, and more of it than a neighbour needs to send.
    PuntLimited => "punt_limited",
    /// Learnt to be on the port it came from, so it has arrived already.
    SamePort => "same_port",
    /// No other port is in the frame's VLAN.
    NowhereToFlood => "nowhere_to_flood",
    /// The egress port is down, or the port it came in by.
    PortDown => "port_down",
    /// Lossy traffic holds all it may hold.
    LossyFull => "lossy_full",
    /// The lossy queue of the egress port is full.
    LossyTail => "lossy_tail",
    /// Of or for a queue that the PFC watchdog found in a storm.
    Watchdog => "watchdog",
    /// A lossless frame beyond its headroom: a promise broken. Never zero-loss again until looked
    /// at.
    LosslessOverrun => "lossless_overrun",
}

impl DropReason {
    /// Whether a frame that ends so is missing at its receiver. One that was not addressed to this
    /// switch, or whose receiver is on the link that it came from, is not.
    pub const fn is_loss(self) -> bool {
        !matches!(self, Self::NotOurMac | Self::SamePort)
    }
}

/// What a port counts. One writer: the worker that owns the port.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PortCounters {
    /// Data frames received, by ingress priority. MAC control frames are not data.
    pub rx_frames: [u64; PRIORITIES],
    /// Their bytes, without FCS.
    pub rx_bytes: [u64; PRIORITIES],
    /// Frames received that could not be read or were not for this port, so have no priority.
    pub rx_unclassified_frames: u64,
    /// Data frames sent, by egress priority.
    pub tx_frames: [u64; PRIORITIES],
    /// Their bytes, without FCS.
    pub tx_bytes: [u64; PRIORITIES],
    /// Frames dropped, by [`DropReason`]: reasons found on arrival on the ingress port,
    /// `lossy_tail` and `port_down` on the egress port.
    pub drops: [u64; DropReason::COUNT],
    /// Frames of a lossless class that were not delivered, by ingress priority and
    /// [`DropReason`], on the port where `drops` counts them. Frames that were punted because they
    /// cannot be forwarded count here too: their sender gets an answer, their receiver nothing.
    pub lossless_drops: [[u64; DropReason::COUNT]; PRIORITIES],
    /// Frames handed to the control thread.
    pub punted_frames: u64,
    /// Frames of the control thread sent or received again here.
    pub injected_frames: u64,
    /// Copies made to flood a frame that came in here, or to ask for its next hop.
    pub copied_frames: u64,
    /// Frames marked congestion experienced on leaving here, by egress priority.
    pub ecn_marked_frames: [u64; PRIORITIES],
    /// Frames re-marked on arrival: the port is not trusted or has a tag of its own, or DSCP and
    /// PCP contradicted each other.
    pub remarked_frames: u64,
    /// Frames that a rule moved to another lossless tag.
    pub raised_frames: u64,
    /// Frames that the rules made lossy.
    pub demoted_frames: u64,
    /// MAC control frames.
    pub pfc: PfcCounters,
}

/// What a port counts of flow control.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PfcCounters {
    /// PFC frames received.
    pub rx_frames: u64,
    /// PFC frames received that pause this priority (time above 0).
    pub rx_xoff: [u64; PRIORITIES],
    /// PFC frames received that resume this priority (time 0).
    pub rx_xon: [u64; PRIORITIES],
    /// PFC frames that addressed a priority this port does not protect, and so were not obeyed.
    pub rx_ignored: [u64; PRIORITIES],
    /// PFC frames received that set this priority a rate (gentle flow control).
    pub rx_slowed: [u64; PRIORITIES],
    /// Times this priority went from sending to paused.
    pub rx_pauses: [u64; PRIORITIES],
    /// Nanoseconds this priority has been paused by its peer, in all.
    pub rx_paused_ns: [u64; PRIORITIES],
    /// Link PAUSE frames received, which a PFC port does not obey.
    pub rx_link_pause_frames: u64,
    /// MAC control frames with another opcode or address.
    pub rx_unknown_frames: u64,
    /// MAC control frames cut short.
    pub rx_truncated_frames: u64,
    /// PFC frames sent.
    pub tx_frames: u64,
    /// PFC frames sent that pause this priority, refreshes included.
    pub tx_xoff: [u64; PRIORITIES],
    /// PFC frames sent that resume this priority.
    pub tx_xon: [u64; PRIORITIES],
    /// PFC frames sent that set this priority's upstream a rate (gentle flow control).
    pub tx_slowed: [u64; PRIORITIES],
    /// Times this priority's upstream was told to stop.
    pub tx_pauses: [u64; PRIORITIES],
    /// Nanoseconds this priority's upstream has been told to be silent, in all.
    pub tx_paused_ns: [u64; PRIORITIES],
    /// Storms that the watchdog found: this priority paused without a break for too long.
    pub storms: [u64; PRIORITIES],
    /// Storms that ended.
    pub restored: [u64; PRIORITIES],
}

impl PfcCounters {
    /// MAC control frames received, all kinds: they are consumed here.
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
    pub const fn count_drop(&mut self, reason: DropReason) {
        self.drops[reason as usize] += 1;
    }

    /// Counts one frame of the lossless class `priority` that is not delivered for `reason`.
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

    /// Frames that came in beyond the headroom of their VIQ, by ingress priority.
    pub fn headroom_overruns(&self, priority: Priority) -> u64 {
        self.lossless_drops[priority.index()][DropReason::LosslessOverrun as usize]
    }

    /// Frames dropped for `reason`.
    pub const fn dropped(&self, reason: DropReason) -> u64 {
        self.drops[reason as usize]
    }

    /// Every counter that is not zero, with its name: what a test compares to say which counters
    /// moved and that no other did, and what `ctl` prints.
    pub fn nonzero(&self) -> Vec<(alloc::string::String, u64)> {
        let mut list = List::default();
        list.by_priority("rx_frames", &self.rx_frames);
        list.by_priority("rx_bytes", &self.rx_bytes);
        list.one("rx_unclassified_frames", self.rx_unclassified_frames);
        list.by_priority("tx_frames", &self.tx_frames);
        list.by_priority("tx_bytes", &self.tx_bytes);
        for &reason in DropReason::ALL {
            list.one(&alloc::format!("drop.{}", reason.name()), self.dropped(reason));
        }
        for (priority, drops) in self.lossless_drops.iter().enumerate() {
            for &reason in DropReason::ALL {
                let name = alloc::format!("lossless_drops.{}[{priority}]", reason.name());
                list.one(&name, drops[reason as usize]);
            }
        }
        list.one("punted_frames", self.punted_frames);
        list.one("injected_frames", self.injected_frames);
        list.one("copied_frames", self.copied_frames);
        list.by_priority("ecn_marked_frames", &self.ecn_marked_frames);
        list.one("remarked_frames", self.remarked_frames);
        list.one("raised_frames", self.raised_frames);
        list.one("demoted_frames", self.demoted_frames);
        self.pfc.list(&mut list);
        list.0
    }
}

impl PfcCounters {
    fn list(&self, list: &mut List) {
        list.one("pfc.rx_frames", self.rx_frames);
        list.by_priority("pfc.rx_xoff", &self.rx_xoff);
        list.by_priority("pfc.rx_xon", &self.rx_xon);
        list.by_priority("pfc.rx_ignored", &self.rx_ignored);
        list.by_priority("pfc.rx_slowed", &self.rx_slowed);
        list.by_priority("pfc.rx_pauses", &self.rx_pauses);
        list.by_priority("pfc.rx_paused_ns", &self.rx_paused_ns);
        list.one("pfc.rx_link_pause_frames", self.rx_link_pause_frames);
        list.one("pfc.rx_unknown_frames", self.rx_unknown_frames);
        list.one("pfc.rx_truncated_frames", self.rx_truncated_frames);
        list.one("pfc.tx_frames", self.tx_frames);
        list.by_priority("pfc.tx_xoff", &self.tx_xoff);
        list.by_priority("pfc.tx_xon", &self.tx_xon);
        list.by_priority("pfc.tx_slowed", &self.tx_slowed);
        list.by_priority("pfc.tx_pauses", &self.tx_pauses);
        list.by_priority("pfc.tx_paused_ns", &self.tx_paused_ns);
        list.by_priority("pfc.storms", &self.storms);
        list.by_priority("pfc.restored", &self.restored);
    }
}

#[derive(Default)]
struct List(Vec<(alloc::string::String, u64)>);

impl List {
    fn one(&mut self, name: &str, value: u64) {
        if value != 0 {
            self.0.push((name.into(), value));
        }
    }

    fn by_priority(&mut self, name: &str, values: &[u64; PRIORITIES]) {
        for (priority, &value) in values.iter().enumerate() {
            self.one(&alloc::format!("{name}[{priority}]"), value);
        }
    }
}

/// Frames of one worker, by where they came from and how they ended: the balance of the module's
/// head.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Frames received from devices.
    pub received: u64,
    /// Frames that the control thread sent or gave back.
    pub injected: u64,
    /// Copies made for flooding.
    pub copied: u64,
    /// Frames taken over from other workers.
    pub taken_over: u64,
    /// Data and control-thread frames taken by devices.
    pub sent: u64,
    /// Frames dropped, all reasons.
    pub dropped: u64,
    /// Frames given to the control thread.
    pub punted: u64,
    /// MAC control frames, which end here.
    pub consumed: u64,
    /// Frames handed to other workers.
    pub handed_over: u64,
    /// Frames still in the worker's queues.
    pub held: u64,
}

impl Totals {
    /// Frames that came minus frames that ended: 0, or the books are wrong.
    pub const fn imbalance(&self) -> i64 {
        let came = self.received + self.injected + self.copied + self.taken_over;
        let ended =
            self.sent + self.dropped + self.punted + self.consumed + self.handed_over + self.held;
        came.cast_signed() - ended.cast_signed()
    }
}
