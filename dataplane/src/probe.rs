//! The probe: events that the core reports to a driver for histograms. [`NoProbe`] costs nothing.

/// Receives the events of a turn. The methods run on the packet path: count there, and compute
/// elsewhere.
pub trait Probe {
    /// A burst of `frames` was received.
    fn received(&mut self, frames: usize);
    /// `frames` frames were sent that had been queued for `ns` nanoseconds since they were received
    /// in an earlier turn.
    fn waited(&mut self, ns: u32, frames: usize);
    /// `frames` frames were sent in the turn in which they were received; the driver knows its
    /// duration.
    fn passed(&mut self, frames: usize);
}

/// A probe that ignores all events.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoProbe;

impl Probe for NoProbe {
    #[inline(always)]
    fn received(&mut self, _frames: usize) {}
    #[inline(always)]
    fn waited(&mut self, _ns: u32, _frames: usize) {}
    #[inline(always)]
    fn passed(&mut self, _frames: usize) {}
}
