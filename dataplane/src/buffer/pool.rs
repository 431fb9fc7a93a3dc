/// Bytes of the shared buffer that are not reserved for one VIQ.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pool {
    /// What lossless VIQs share.
    pub shared: Part,
    /// What lossy traffic may use.
    pub lossy: Part,
}

/// One part of a pool, as one worker sees it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Part {
    /// Its size.
    pub size_bytes: u64,
    /// What this worker's VIQs use.
    pub bytes: u64,
    /// The most that they have used.
    pub peak_bytes: u64,
    /// What the other workers' VIQs use.
    pub(crate) others_bytes: u64,
}

impl Pool {
    /// An empty pool of `shared_size_bytes` for lossless VIQs and `lossy_size_bytes` for lossy
    /// traffic.
    pub fn new(shared_size_bytes: u64, lossy_size_bytes: u64) -> Self {
        let part = |size_bytes| Part { size_bytes, ..Part::default() };
        Self { shared: part(shared_size_bytes), lossy: part(lossy_size_bytes) }
    }
}

impl Part {
    /// Free bytes.
    #[inline(always)]
    pub(crate) const fn free_bytes(&self) -> u64 {
        self.size_bytes.saturating_sub(self.bytes + self.others_bytes)
    }

    #[inline(always)]
    pub(super) fn take(&mut self, bytes: u32) {
        self.bytes += u64::from(bytes);
        self.peak_bytes = self.peak_bytes.max(self.bytes);
    }

    #[inline(always)]
    pub(super) fn give(&mut self, bytes: u32) {
        debug_assert!(self.bytes >= u64::from(bytes), "gave back more than was taken");
        self.bytes = self.bytes.saturating_sub(u64::from(bytes));
    }
}
