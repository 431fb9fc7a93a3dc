//! The two ways to drive a worker: [`Polling`], by a CPU core that visits every port in every turn,
//! and [`EventDriven`], by an emulator that passes events in.
//!
//! What only event-driven turns need is a part of their driver: [`Polling`] has no state for it,
//! and its methods are empty. The place of a port's pending frame is the one exception: every port
//! has it, and a polling worker neither reads nor writes it.

use crate::port_mask::PortMask;
use crate::probe::{NoProbe, Probe};
use crate::settings::SwitchSettings;
use crate::time::Instant;
use core::fmt::Debug;

/// How a worker is driven, and the probe that observes it.
pub trait Driver: Debug {
    /// The probe.
    type Probe: Probe;
    /// Whether the caller passes events in.
    const IS_EVENT_DRIVEN: bool;

    /// The probe.
    fn probe(&mut self) -> &mut Self::Probe;

    /// Called once, by the worker.
    fn configure(&mut self, _settings: &SwitchSettings) {}

    /// The port at `slot` was given frames to transmit, or its peer's flow control changed.
    #[inline(always)]
    fn mark_tx(&mut self, _slot: usize) {}

    /// A frame was charged to a VIQ (virtual ingress queue) of the port at `slot` that uses
    /// headroom.
    #[inline(always)]
    fn mark_headroom(&mut self, _slot: usize) {}

    /// A VIQ of the port with this index has shrunk.
    #[inline(always)]
    fn mark_released(&mut self, _port: usize) {}

    /// XOFF, or a rate, is in effect at the upstream of the port at `slot`, or no longer is.
    #[inline(always)]
    fn mark_xoff(&mut self, _slot: usize, _is_in_effect: bool) {}

    /// A turn visited all ports; the earliest of their timers is `timers_at`.
    #[inline(always)]
    fn visited_all(&mut self, _timers_at: Instant) {}
}

/// A worker that visits every port in every turn.
#[derive(Clone, Copy, Debug)]
pub struct Polling<P = NoProbe> {
    probe: P,
}

impl Default for Polling {
    fn default() -> Self {
        Self::new(NoProbe)
    }
}

const _: () = assert!(size_of::<Polling>() == 0, "it has no state but its probe's");

impl<P> Polling<P> {
    /// Polling, observed by `probe`.
    pub const fn new(probe: P) -> Self {
        Self { probe }
    }
}

impl<P: Probe + Debug> Driver for Polling<P> {
    type Probe = P;
    const IS_EVENT_DRIVEN: bool = false;

    #[inline(always)]
    fn probe(&mut self) -> &mut P {
        &mut self.probe
    }
}

/// A worker that is told what happened, and visits only the ports concerned; see
/// [`event_driven`](crate::event_driven).
#[derive(Clone, Copy, Debug, Default)]
pub struct EventDriven {
    probe: NoProbe,
    /// Slots of ports that were given frames to transmit in this turn.
    pub(crate) tx_ports: PortMask,
    /// Slots of ports where frames were charged to a VIQ that uses headroom.
    pub(crate) headroom_ports: PortMask,
    /// By port index: ports whose VIQs have shrunk in this turn.
    pub(crate) released: PortMask,
    /// Slots of ports to whose upstream XOFF, or a rate, was sent.
    pub(crate) xoff_ports: PortMask,
    /// In the current turn: slots of ports where a frame arrived, and of ports whose device has
    /// room for queued frames.
    pub(crate) rx_ports: PortMask,
    pub(crate) tx_ready_ports: PortMask,
    /// Earliest pending port timer. At first, a time at which all ports have to be visited.
    pub(crate) timers_at: Instant,
    /// Whether a VIQ's threshold can change without an event at its port.
    pub(crate) has_dynamic: bool,
    /// Whether each received frame may change the rate that is sent upstream.
    pub(crate) sends_rates: bool,
}

impl Driver for EventDriven {
    type Probe = NoProbe;
    const IS_EVENT_DRIVEN: bool = true;

    #[inline(always)]
    fn probe(&mut self) -> &mut NoProbe {
        &mut self.probe
    }

    fn configure(&mut self, settings: &SwitchSettings) {
        self.has_dynamic = settings.has_dynamic_thresholds();
        self.sends_rates = settings.sends_rates();
    }

    #[inline(always)]
    fn mark_tx(&mut self, slot: usize) {
        self.tx_ports.insert(slot);
    }

    #[inline(always)]
    fn mark_headroom(&mut self, slot: usize) {
        self.headroom_ports.insert(slot);
    }

    #[inline(always)]
    fn mark_released(&mut self, port: usize) {
        self.released.insert(port);
    }

    #[inline(always)]
    fn mark_xoff(&mut self, slot: usize, is_in_effect: bool) {
        self.xoff_ports.set(slot, is_in_effect);
    }

    #[inline(always)]
    fn visited_all(&mut self, timers_at: Instant) {
        self.timers_at = timers_at;
        self.tx_ports = PortMask::default();
        self.headroom_ports = PortMask::default();
        self.released = PortMask::default();
    }
}
