//! A turn made piece by piece, for what is known to have happened.
//!
//! A worker that polls looks at every port in every turn. An emulator knows what happened: which
//! frame has come at which port, and which port has room; mostly it is one of these. It hands over
//! just that, in the order of the ports, and ends the turn, which then costs what happened and not
//! how many ports there are. It does what [`Worker::turn`] would, in the same order, with the same
//! code, less what would find nothing:
//!
//! - a pause runs out, or one is to be refreshed, only at a time known before: then a turn by parts
//!   does not begin;
//! - a VIQ is over a static threshold only if it uses headroom, of which it takes more only when
//!   frames come in, and comes down only when frames of it left; a dynamic threshold may be crossed
//!   at any time, and a rate changes with every frame;
//! - a port sends only if it was given frames, heard a MAC control frame or was waited for.

use crate::device::Device;
use crate::ids::PortId;
use crate::limits::PORTS_MAX;
use crate::probe::Probe;
use crate::settings::SwitchSettings;
use crate::slots::Slots;
use crate::time::Instant;
use crate::worker::{Core, Turn, Worker};

/// What a worker remembers for turns by parts.
#[derive(Debug)]
pub(crate) struct Attention {
    /// Before this no port has anything to do of which the worker is not told.
    pub(crate) timers_at: Instant,
    /// Places of ports whose upstream was told to be silent.
    pub(crate) told: Slots,
    /// Of the turn in hand: places of ports where a frame came in, and of those that have room for
    /// what waits.
    came_in: Slots,
    has_room: Slots,
    /// Whether a VIQ's threshold can move without anything happening at its port.
    has_dynamic: bool,
    /// Whether each frame that comes in may change what upstream should be told.
    tells_rates: bool,
    /// Whether the switch has other workers.
    pub(crate) has_others: bool,
}

impl Attention {
    /// None so far: the first turn looks at all ports.
    pub(crate) fn new(settings: &SwitchSettings, has_others: bool) -> Self {
        Self {
            timers_at: Instant::ZERO,
            told: Slots::default(),
            came_in: Slots::default(),
            has_room: Slots::default(),
            has_dynamic: settings.has_dynamic_thresholds(),
            tells_rates: settings.tells_rates(),
            has_others,
        }
    }
}

impl<D: Device, P: Probe> Worker<D, P> {
    /// Whether the turn at `now` may be made of frames and room at ports alone. If not, frames
    /// belong to the device, and the worker wants a whole [turn](Self::turn).
    #[inline(always)]
    pub const fn may_turn_by_parts(&self, now: Instant) -> bool {
        now.ns < self.attention.timers_at.ns
            && now.ns < self.core.pending_until.ns
            && !self.has_others()
    }

    /// `frame` has come in at `port`: the only one there.
    #[inline(always)]
    pub fn take_frame(&mut self, port: PortId, frame: D::Frame, now: Instant) {
        let Some(slot) = self.core.exchange.slot(port) else {
            debug_assert!(false, "a worker without others owns all ports");
            return;
        };
        self.attention.came_in.insert(slot);
        self.core.receive_alone(&self.snapshot, slot, frame, now);
    }

    /// The device has room at `port`, which [waited](Device::wait_for_room) for it.
    #[inline(always)]
    pub fn take_room(&mut self, port: PortId) {
        if let Some(slot) = self.core.exchange.slot(port) {
            self.attention.has_room.insert(slot);
        }
    }

    /// Bytes of the first frame that waits at `port`: a look at what [`Self::take_room`] will need,
    /// before it does.
    #[inline(always)]
    pub fn first_bytes(&self, port: PortId) -> u32 {
        let slot = self.core.exchange.slot(port);
        slot.map_or(0, |slot| self.core.ports[slot].first_bytes(&self.core.books.arena))
    }

    /// The rest of the turn.
    #[inline(always)]
    pub fn end_turn_by_parts(&mut self, now: Instant) -> Turn {
        let came_in = core::mem::take(&mut self.attention.came_in);
        let has_room = core::mem::take(&mut self.attention.has_room);
        let (mut touched, mut busy) = (Slots::default(), !came_in.is_empty());
        let ports = self.core.ports.len();
        for slot in self.may_go_over(came_in).each(ports) {
            if self.control_flow(slot, now) {
                touched.insert(slot);
            }
        }
        let sending = core::mem::take(&mut self.core.sending).and(has_room);
        for slot in sending.each(ports) {
            // What only waits for room need not try before there is some.
            if !self.core.ports[slot].hears_of_room() || has_room.contains(slot) {
                busy |= self.transmit(slot, now);
            }
            self.wait_for(slot, now);
        }
        let may_resume = self.may_resume();
        for slot in touched.and(may_resume).each(ports) {
            if may_resume.contains(slot) {
                self.control_flow(slot, now);
            }
            self.wait_for(slot, now);
        }
        self.count_turn(busy, now);
        Turn { busy, next: self.next_timer() }
    }

    /// Has the port at `slot` send; whether it did.
    #[inline(always)]
    fn transmit(&mut self, slot: usize, now: Instant) -> bool {
        let Core { ports, device, books, .. } = &mut self.core;
        ports[slot].transmit(device, books, now)
    }

    /// Ports whose upstream perhaps must be silent now, or slower.
    #[inline(always)]
    fn may_go_over(&mut self, came_in: Slots) -> Slots {
        let over = core::mem::take(&mut self.core.over);
        match &self.attention {
            Attention { has_dynamic: true, .. } => Slots::first(self.core.ports.len()),
            Attention { tells_rates: true, .. } => came_in,
            _ => over,
        }
    }

    /// Ports whose upstream is silent and may perhaps send again.
    #[inline(always)]
    fn may_resume(&mut self) -> Slots {
        let released = core::mem::take(&mut self.core.books.released);
        let told = self.attention.told;
        if self.attention.has_dynamic {
            return told;
        }
        if self.core.exchange.owns_all() {
            return released.both(told);
        }
        if told.is_empty() {
            return told;
        }
        let mut may_resume = Slots::default();
        for port in released.each(PORTS_MAX) {
            let port = PortId::from_index(port);
            if let Some(slot) = port.and_then(|port| self.core.exchange.slot(port))
                && told.contains(slot)
            {
                may_resume.insert(slot);
            }
        }
        may_resume
    }
}
