//! The event-driven turn: the caller passes events in, and the worker visits only their ports.
//!
//! A polling worker visits every port in every turn. An emulator knows which frame arrived at which
//! port, and which port has room to transmit; usually there is only one such event. It passes the
//! events in port order and ends the turn. The cost depends on the number of events, not of ports.
//! The result is that of [`Worker::turn`], in the same order and by the same code. Left out is only
//! what would find nothing to do:
//!
//! - A pause expires, or is due for a refresh, only at a time known beforehand. From that time on,
//!   the worker makes a whole turn instead.
//! - A VIQ (virtual ingress queue; SONiC: priority group) is over a static threshold only while it
//!   uses headroom. It takes more headroom only when frames arrive, and returns to XON only after
//!   frames of it left. A dynamic threshold can be crossed at any time, and a rate changes with
//!   every frame.
//! - A port transmits only if frames were queued on it, it received a MAC control frame, or its
//!   device now has room for frames that waited for it.

use crate::device::Device;
use crate::driver::EventDriven;
use crate::ids::PortId;
use crate::limits::PORTS_MAX;
use crate::port_mask::PortMask;
use crate::time::Instant;
use crate::worker::{Core, Turn, Worker};

impl<D: Device> Worker<D, EventDriven> {
    /// Whether the turn at `now` may be event-driven. If not, the caller leaves the frames in the
    /// device and calls [`turn`](Self::turn).
    #[inline(always)]
    pub const fn may_turn_event_driven(&self, now: Instant) -> bool {
        let driver = &self.core.accounting.driver;
        now.ns < driver.timers_at.ns && now.ns < self.core.unresolved_until.ns && !self.has_others
    }

    /// Handles `frame`, the only one that arrived at `port`.
    #[inline(always)]
    pub fn on_rx(&mut self, port: PortId, frame: D::Frame, now: Instant) {
        let Some(slot) = self.core.handoff_tx.slot(port) else {
            debug_assert!(false, "a worker without others owns all ports");
            return;
        };
        self.core.accounting.now = now;
        self.core.accounting.driver.rx_ports.insert(slot);
        self.core.receive_single(&self.snapshot, slot, frame);
    }

    /// The device has room at `port`, as [requested](Device::notify_tx_ready).
    #[inline(always)]
    pub fn on_tx_ready(&mut self, port: PortId) {
        if let Some(slot) = self.core.handoff_tx.slot(port) {
            self.core.accounting.driver.tx_ready_ports.insert(slot);
        }
    }

    /// Bytes of the first frame queued at `port`. Loads what [`Self::on_tx_ready`] will need.
    #[inline(always)]
    pub fn prefetch_head(&self, port: PortId) -> u32 {
        let slot = self.core.handoff_tx.slot(port);
        slot.map_or(0, |slot| self.core.ports[slot].prefetch_head(&self.core.accounting.frame_pool))
    }

    /// Completes the turn: flow control, transmit, and flow control again.
    #[inline(always)]
    pub fn end_turn(&mut self, now: Instant) -> Turn {
        self.core.accounting.now = now;
        let driver = &mut self.core.accounting.driver;
        let rx_ports = core::mem::take(&mut driver.rx_ports);
        let tx_ready_ports = core::mem::take(&mut driver.tx_ready_ports);
        let (mut touched, mut busy) = (PortMask::default(), !rx_ports.is_empty());
        let ports = self.core.ports.len();
        for slot in self.may_go_over(rx_ports).iter(ports) {
            if self.pfc_tx(slot) {
                touched.insert(slot);
            }
        }
        let tx_ports =
            core::mem::take(&mut self.core.accounting.driver.tx_ports).union(tx_ready_ports);
        for slot in tx_ports.iter(ports) {
            // A port that only waits for room in the device need not try before there is some.
            if !self.core.ports[slot].awaits_tx_ready() || tx_ready_ports.contains(slot) {
                busy |= self.transmit(slot);
            }
            self.add_timer(slot);
        }
        let may_resume = self.may_resume();
        for slot in touched.union(may_resume).iter(ports) {
            if may_resume.contains(slot) {
                self.pfc_tx(slot);
            }
            self.add_timer(slot);
        }
        self.count_turn(busy);
        Turn { busy, next: self.next_timer(self.core.accounting.driver.timers_at) }
    }

    /// Includes the timer of the port at `slot`, which was visited.
    #[inline(always)]
    fn add_timer(&mut self, slot: usize) {
        let wanted = self.core.ports[slot].wants_turn_at(self.core.accounting.now);
        let timers_at = &mut self.core.accounting.driver.timers_at;
        *timers_at = (*timers_at).min(wanted);
    }

    /// Lets the port at `slot` transmit; returns whether it did. A pause that expired while the
    /// port had no frames started no turn, so it ends here.
    #[inline(always)]
    fn transmit(&mut self, slot: usize) -> bool {
        let Core { ports, device, accounting, .. } = &mut self.core;
        ports[slot].receiver.expire(accounting.now);
        ports[slot].transmit(device, accounting)
    }

    /// Ports whose upstream may now have to be paused or slowed down.
    #[inline(always)]
    fn may_go_over(&mut self, rx_ports: PortMask) -> PortMask {
        let driver = &mut self.core.accounting.driver;
        let headroom_ports = core::mem::take(&mut driver.headroom_ports);
        match driver {
            EventDriven { has_dynamic: true, .. } => PortMask::first(self.core.ports.len()),
            EventDriven { sends_rates: true, .. } => rx_ports,
            _ => headroom_ports,
        }
    }

    /// Ports whose paused upstream may now be resumed.
    #[inline(always)]
    fn may_resume(&mut self) -> PortMask {
        let driver = &mut self.core.accounting.driver;
        let released = core::mem::take(&mut driver.released);
        let xoff_ports = driver.xoff_ports;
        if driver.has_dynamic {
            return xoff_ports;
        }
        if self.core.handoff_tx.owns_all() {
            return released.intersection(xoff_ports);
        }
        if xoff_ports.is_empty() {
            return xoff_ports;
        }
        let mut may_resume = PortMask::default();
        for port in released.iter(PORTS_MAX) {
            let port = PortId::from_index(port);
            if let Some(slot) = port.and_then(|port| self.core.handoff_tx.slot(port))
                && xoff_ports.contains(slot)
            {
                may_resume.insert(slot);
            }
        }
        may_resume
    }
}
