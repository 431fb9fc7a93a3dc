//! Where a driver listens in on the core: what it needs for histograms, and nothing that costs when
//! it does not listen.

/// Told of what happens in a turn. The methods are called on the packet path: count, do not
/// compute.
pub trait Probe {
    /// A burst of `frames` was received.
    fn received(&mut self, frames: usize);
    /// `frames` frames left that had waited `ns` in a queue since they were received in an earlier
    /// turn.
    fn waited(&mut self, ns: u32, frames: usize);
    /// `frames` frames left in the turn in which they came; how long that took, the driver knows.
    fn passed(&mut self, frames: usize);
}

/// Does not listen.
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
