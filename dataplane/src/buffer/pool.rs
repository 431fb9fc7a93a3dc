//! What the VIQs of a switch share, beyond their reserves, and beyond their headroom unless they
//! share that, too.

use crate::ids::Priority;
use crate::limits::PRIORITIES;
use crate::settings::BufferSettings;

/// Bytes of the shared buffer that are not for one VIQ alone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pool {
    /// What lossless VIQs share: all of it, also in partitions.
    pub shared: Part,
    /// What lossy traffic may use.
    pub lossy: Part,
    /// What the VIQs of one priority share, by priority, if the pool is in partitions.
    pub(crate) partitions: Option<[Part; PRIORITIES]>,
    /// The headroom of lossless VIQs. Without end if they do not share it: then each VIQ's own
    /// limit decides.
    pub headroom: Part,
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
    /// An empty pool of `shared_size_bytes` for lossless VIQs, beside what `settings` say.
    pub fn new(shared_size_bytes: u64, settings: &BufferSettings) -> Self {
        let part = |size_bytes| Part { size_bytes, ..Part::default() };
        Self {
            shared: part(shared_size_bytes),
            lossy: part(settings.lossy_bytes),
            partitions: settings.partition_bytes.map(|sizes| sizes.map(part)),
            headroom: part(settings.headroom_pool_bytes.unwrap_or(u64::MAX)),
        }
    }

    /// Whether lossless VIQs share their headroom.
    pub(crate) const fn shares_headroom(&self) -> bool {
        self.headroom.size_bytes != u64::MAX
    }

    /// Free bytes of headroom that lossless VIQs share; `u32::MAX` if each has its own.
    #[inline(always)]
    pub(super) fn headroom_free_bytes(&self) -> u32 {
        u32::try_from(self.headroom.free_bytes()).unwrap_or(u32::MAX)
    }

    /// Free bytes for lossless VIQs of `priority`.
    #[inline(always)]
    pub(super) fn free_bytes(&self, priority: Priority) -> u64 {
        match &self.partitions {
            None => self.shared.free_bytes(),
            Some(parts) => parts[priority.index()].free_bytes().min(self.shared.free_bytes()),
        }
    }

    #[inline(always)]
    pub(super) fn take(&mut self, priority: Priority, bytes: u32) {
        self.shared.take(bytes);
        if let Some(parts) = &mut self.partitions {
            parts[priority.index()].take(bytes);
        }
    }

    #[inline(always)]
    pub(super) fn give(&mut self, priority: Priority, bytes: u32) {
        self.shared.give(bytes);
        if let Some(parts) = &mut self.partitions {
            parts[priority.index()].give(bytes);
        }
    }

    /// Begins new peaks at what is in use now.
    pub(super) const fn reset_peaks(&mut self) {
        self.shared.peak_bytes = self.shared.bytes;
        self.lossy.peak_bytes = self.lossy.bytes;
        self.headroom.peak_bytes = self.headroom.bytes;
    }

    /// The shared bytes in use by priority; 0 for all of them if there are no partitions.
    pub(crate) fn partition_use(&self) -> [u64; PRIORITIES] {
        self.partitions.map_or([0; PRIORITIES], |parts| parts.map(|part| part.bytes))
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
