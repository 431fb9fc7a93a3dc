//! How busy a network is, which decides whether threads are worth their meetings.

/// How many events a window has in all parts, on average over some sixty windows.
#[derive(Debug, Default)]
pub(crate) struct Load {
    sum: u64,
    /// Of the last window, in this part.
    pub(crate) own_events: u64,
}

impl Load {
    const WINDOWS: u64 = 64;

    /// The average.
    pub(crate) const fn events(&self) -> u64 {
        self.sum / Self::WINDOWS
    }

    /// One more window had so many events in all parts.
    pub(crate) const fn add(&mut self, events: u64) {
        self.sum = self.sum - self.sum / Self::WINDOWS + events;
    }
}
