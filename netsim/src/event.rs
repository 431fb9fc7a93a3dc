//! Virtual time, and events: what happens to a node at a time.
//!
//! At one node, events occur in the order of their time. At one instant they occur in a fixed
//! order: arrivals by wire number, then ports whose wires become free, then the node's timer.

use dataplane::ids::PortId;

/// Picoseconds in a nanosecond, the unit the dataplane counts in.
pub(crate) const PS_PER_NS: u64 = 1_000;

/// Picoseconds since the start of the run; 64 bits last 213 days.
pub type Picoseconds = u64;

/// Later than any event.
pub(crate) const NEVER: Picoseconds = u64::MAX;

/// Bits of a key: the node, the offset in its lookahead window, the kind, and the wire or port.
const NODE_BITS: u32 = 19;
const OFFSET_BITS: u32 = 22;
const KIND_BITS: u32 = 2;
const WIRE_BITS: u32 = 21;
const _: () = assert!(NODE_BITS + OFFSET_BITS + KIND_BITS + WIRE_BITS == u64::BITS);

/// Nodes that a network may have.
pub(crate) const NODES_MAX: usize = 1 << NODE_BITS;
/// Wires that a network may have.
pub(crate) const WIRES_MAX: usize = 1 << WIRE_BITS;
/// The longest lookahead window: 4 us. Longer windows would save little more.
pub(crate) const LOOKAHEAD_PS_MAX: Picoseconds = 1 << OFFSET_BITS;

/// What happens to a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EventKind {
    /// The oldest frame in flight on this wire has arrived whole.
    Arrival(u32),
    /// The wire of this port of the node is free again, and the node waits for it.
    Free(PortId),
    /// The node's timer is due.
    Wake,
}

/// An event, as the queue gives it out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Event {
    /// Index of the node: switches first, then hosts.
    pub(crate) node: u32,
    pub(crate) at_ps: Picoseconds,
    pub(crate) kind: EventKind,
    /// Whether the same node has another event at this instant.
    pub(crate) has_more: bool,
}

/// An event of a lookahead window in one word, so that sorting words sorts events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key(pub(crate) u64);

impl Key {
    pub(crate) const ARRIVAL: u64 = 0;
    pub(crate) const FREE: u64 = 1;
    pub(crate) const WAKE: u64 = 2;

    #[inline(always)]
    pub(crate) fn new(node: u32, offset_ps: u64, kind: EventKind) -> Self {
        let (kind, at) = match kind {
            EventKind::Arrival(wire) => (Self::ARRIVAL, wire),
            EventKind::Free(port) => (Self::FREE, u32::from(port.index_u16())),
            EventKind::Wake => (Self::WAKE, 0),
        };
        let place = u64::from(node) << OFFSET_BITS | offset_ps;
        Self((place << KIND_BITS | kind) << WIRE_BITS | u64::from(at))
    }

    #[inline(always)]
    pub(crate) const fn node(self) -> u32 {
        (self.0 >> (u64::BITS - NODE_BITS)) as u32
    }

    /// Whether both are of one node and one instant.
    #[inline(always)]
    pub(crate) const fn is_simultaneous_with(self, other: Self) -> bool {
        (self.0 ^ other.0) >> (KIND_BITS + WIRE_BITS) == 0
    }

    #[inline(always)]
    pub(crate) const fn offset_ps(self) -> u64 {
        self.0 >> (KIND_BITS + WIRE_BITS) & (LOOKAHEAD_PS_MAX - 1)
    }

    #[inline(always)]
    pub(crate) const fn kind_bits(self) -> u64 {
        self.0 >> WIRE_BITS & 3
    }

    /// The wire or port.
    #[inline(always)]
    #[expect(clippy::cast_possible_truncation, reason = "the low bits")]
    pub(crate) const fn at(self) -> u32 {
        (self.0 & (WIRES_MAX as u64 - 1)) as u32
    }

    #[inline(always)]
    pub(crate) fn port(self) -> PortId {
        PortId::from_index(self.at() as usize).unwrap_or(PortId::FIRST)
    }

    #[inline(always)]
    pub(crate) fn kind(self) -> EventKind {
        match self.kind_bits() {
            Self::ARRIVAL => EventKind::Arrival(self.at()),
            Self::FREE => EventKind::Free(self.port()),
            _ => EventKind::Wake,
        }
    }
}
