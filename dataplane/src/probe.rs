//! The probe: events that the core reports to a driver for histograms. [`NoProbe`] costs nothing.

/// Receives the events of a turn. The methods run on the packet path: count there, and compute
/// elsewhere.
pub trait Probe {
    /// A burst was received.
    #[inline(always)]
    fn received(&mut self, _frames: usize) {}
    /// Frames were sent that had been queued for that long since they were received in an earlier
    /// turn.
    #[inline(always)]
    fn waited(&mut self, _ns: u32, _frames: usize) {}
    /// That many frames were sent in the turn in which they were received; the driver knows its
    /// duration.
    #[inline(always)]
    fn passed(&mut self, _frames: usize) {}
}

/// A probe that ignores all events.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoProbe;

impl Probe for NoProbe {}
