//! What VIQs share: the lossless pool and the lossy limit.
//!
//! Each worker counts its own VIQs' use here, and reads once a turn what the others use. Between
//! two turns that figure is stale by at most what the other workers admit in one turn: a burst from
//! each of their ports. The frame pool holds that many more frames than the buffer
//! (`BufferSettings::frames_max` does not include them). So a stale figure can make the shared pool
//! overshoot by so much, and never takes a frame's memory or another VIQ's headroom.

/// Bytes of the shared buffer that are not reserved for one VIQ.
#[derive(Clone, Debug)]
pub struct Pool {
    shared_size_bytes: u64,
    shared_bytes: u64,
    others_shared_bytes: u64,
    lossy_size_bytes: u64,
    lossy_bytes: u64,
    others_lossy_bytes: u64,
    shared_peak_bytes: u64,
    lossy_peak_bytes: u64,
}

impl Pool {
    /// An empty pool of `shared_size_bytes` for lossless VIQs and `lossy_size_bytes` for lossy
    /// traffic.
    pub const fn new(shared_size_bytes: u64, lossy_size_bytes: u64) -> Self {
        Self {
            shared_size_bytes,
            shared_bytes: 0,
            others_shared_bytes: 0,
            lossy_size_bytes,
            lossy_bytes: 0,
            others_lossy_bytes: 0,
            shared_peak_bytes: 0,
            lossy_peak_bytes: 0,
        }
    }

    /// Free bytes of the lossless pool.
    #[inline(always)]
    pub(crate) const fn shared_free_bytes(&self) -> u64 {
        self.shared_size_bytes.saturating_sub(self.shared_bytes + self.others_shared_bytes)
    }

    /// Free bytes below the lossy limit.
    #[inline(always)]
    pub(crate) const fn lossy_free_bytes(&self) -> u64 {
        self.lossy_size_bytes.saturating_sub(self.lossy_bytes + self.others_lossy_bytes)
    }

    /// Shared bytes that this worker's VIQs use.
    pub const fn shared_bytes(&self) -> u64 {
        self.shared_bytes
    }

    /// Lossy bytes that this worker's VIQs use.
    pub const fn lossy_bytes(&self) -> u64 {
        self.lossy_bytes
    }

    /// The peak of shared bytes.
    pub const fn shared_peak_bytes(&self) -> u64 {
        self.shared_peak_bytes
    }

    /// The peak of lossy bytes.
    pub const fn lossy_peak_bytes(&self) -> u64 {
        self.lossy_peak_bytes
    }

    /// Size of the lossless pool.
    pub const fn shared_size_bytes(&self) -> u64 {
        self.shared_size_bytes
    }

    #[inline(always)]
    pub(super) fn take_shared(&mut self, bytes: u32) {
        self.shared_bytes += u64::from(bytes);
        self.shared_peak_bytes = self.shared_peak_bytes.max(self.shared_bytes);
    }

    #[inline(always)]
    pub(super) fn give_shared(&mut self, bytes: u32) {
        debug_assert!(self.shared_bytes >= u64::from(bytes), "gave back more than was taken");
        self.shared_bytes = self.shared_bytes.saturating_sub(u64::from(bytes));
    }

    #[inline(always)]
    pub(super) fn take_lossy(&mut self, bytes: u32) {
        self.lossy_bytes += u64::from(bytes);
        self.lossy_peak_bytes = self.lossy_peak_bytes.max(self.lossy_bytes);
    }

    #[inline(always)]
    pub(super) fn give_lossy(&mut self, bytes: u32) {
        debug_assert!(self.lossy_bytes >= u64::from(bytes), "gave back more than was taken");
        self.lossy_bytes = self.lossy_bytes.saturating_sub(u64::from(bytes));
    }

    pub(super) const fn set_others_bytes(&mut self, shared_bytes: u64, lossy_bytes: u64) {
        self.others_shared_bytes = shared_bytes;
        self.others_lossy_bytes = lossy_bytes;
    }
}
