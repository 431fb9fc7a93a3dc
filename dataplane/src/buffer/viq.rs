//! One virtual ingress queue (VIQ; SONiC: priority group): the bytes in the buffer that were
//! received on one port in one priority. A frame counts from admission until it has left the
//! switch.
//!
//! A lossless VIQ fills its reserve first, then its share of the pool up to its threshold, then its
//! headroom. Once it has used headroom, every further frame is charged to headroom until the
//! headroom is empty again. Otherwise, releases would make room below the threshold, new frames
//! would be charged there, and the headroom that upstream still needs would never be freed (a known
//! simulator bug, FACTS.md).

use super::Pool;
use crate::counters::DropReason;
use crate::ids::Priority;
use crate::settings::{Threshold, ViqSettings};

/// The accounting of one VIQ, in a cache line. A lossy VIQ has no `settings`.
#[derive(Clone, Debug, Default)]
#[repr(align(64))]
pub struct Viq {
    settings: Option<ViqSettings>,
    /// Its partition of the pool, if that is in partitions.
    priority: Priority,
    /// Bytes charged to reserve and pool.
    base_bytes: u32,
    headroom_used_bytes: u32,
    xoff: bool,
    /// The peak of `base_bytes`.
    base_peak_bytes: u32,
    headroom_peak_bytes: u32,
    /// What the other parts of the VIQ hold, if its port has several receive queues: as of the end
    /// of their workers' last turns, so it can be a burst too low.
    others_base_bytes: u32,
    others_headroom_bytes: u32,
}

const _: () = assert!(size_of::<Viq>() == 64, "what a frame is charged to is a cache line");

impl Viq {
    /// An empty VIQ of `priority`.
    pub fn new(priority: Priority, settings: Option<ViqSettings>) -> Self {
        Self { settings, priority, ..Self::default() }
    }

    /// Bytes in the buffer now.
    #[inline(always)]
    pub const fn bytes(&self) -> u32 {
        self.base_bytes + self.headroom_used_bytes
    }

    /// Bytes of headroom in use.
    pub const fn headroom_used_bytes(&self) -> u32 {
        self.headroom_used_bytes
    }

    /// Bytes charged to reserve and pool.
    pub(crate) const fn base_bytes(&self) -> u32 {
        self.base_bytes
    }

    /// Sets what the other parts of the VIQ hold.
    pub(crate) const fn set_others(&mut self, base_bytes: u32, headroom_bytes: u32) {
        self.others_base_bytes = base_bytes;
        self.others_headroom_bytes = headroom_bytes;
    }

    /// Bytes in the buffer now, of all parts.
    #[inline(always)]
    const fn all_bytes(&self) -> u32 {
        self.bytes() + self.others_base_bytes + self.others_headroom_bytes
    }

    /// Bytes charged to reserve and pool, of all parts.
    #[inline(always)]
    const fn all_base_bytes(&self) -> u32 {
        self.base_bytes + self.others_base_bytes
    }

    /// Bytes of headroom in use, of all parts.
    #[inline(always)]
    const fn all_headroom_bytes(&self) -> u32 {
        self.headroom_used_bytes + self.others_headroom_bytes
    }

    /// Free bytes of headroom, as far as `pool` has them; 0 for a lossy VIQ, which has none.
    #[inline(always)]
    pub(super) fn headroom_left_bytes(&self, pool: &Pool) -> u32 {
        self.own_headroom_left_bytes().min(pool.headroom_free_bytes())
    }

    /// The same, whatever the pool has.
    #[inline(always)]
    pub(super) fn own_headroom_left_bytes(&self) -> u32 {
        let headroom_bytes = self.settings.as_ref().map_or(0, |settings| settings.headroom_bytes);
        headroom_bytes.saturating_sub(self.all_headroom_bytes())
    }

    /// Bytes that can always be admitted at this VIQ's port, to whichever of the port's VIQs,
    /// before a frame of this VIQ, of cost `frame_bytes` at most, exceeds its headroom.
    ///
    /// Below a static threshold there is room up to the threshold, as far as the pool reaches. A
    /// dynamic threshold falls by alpha for each byte that any VIQ takes. So it is reached after
    /// `1 / (1 + alpha)` of the distance, and a shift by one more than alpha's exponent does not
    /// exceed that. The frame that crosses the threshold is charged to headroom as a whole.
    pub(super) fn room_bytes(&self, pool: &Pool, frame_bytes: u32) -> u32 {
        let Some(settings) = &self.settings else { return u32::MAX };
        let left_bytes = self.headroom_left_bytes(pool);
        if self.all_headroom_bytes() != 0 {
            return left_bytes;
        }
        let free = pool.free_bytes(self.priority);
        let below = settings.limit_bytes(free).saturating_sub(u64::from(self.all_base_bytes()));
        let below = match settings.threshold {
            Threshold::Static { .. } => below.min(free),
            Threshold::Dynamic { alpha_log2, .. } => below.min(free) >> (alpha_log2.max(0) + 1),
        };
        let below = u32::try_from(below).unwrap_or(u32::MAX).saturating_sub(frame_bytes);
        left_bytes.saturating_add(below)
    }

    /// The peak of bytes charged to reserve and pool.
    pub(super) const fn base_peak_bytes(&self) -> u32 {
        self.base_peak_bytes
    }

    /// The peak of bytes in the shared pool; of a lossy VIQ, the peak of all its bytes.
    pub(crate) fn shared_peak_bytes(&self) -> u32 {
        let reserved_bytes = self.settings.as_ref().map_or(0, |settings| settings.reserved_bytes);
        beyond(self.base_peak_bytes, reserved_bytes)
    }

    /// Begins new peaks at what is in use now.
    pub(super) const fn reset_peaks(&mut self) {
        self.base_peak_bytes = self.base_bytes;
        self.headroom_peak_bytes = self.headroom_used_bytes;
    }

    /// The peak of headroom in use.
    pub const fn headroom_peak_bytes(&self) -> u32 {
        self.headroom_peak_bytes
    }

    /// Size of the headroom; 0 for a lossy VIQ.
    pub const fn headroom_size_bytes(&self) -> u32 {
        match &self.settings {
            Some(settings) => settings.headroom_bytes,
            None => 0,
        }
    }

    /// Whether this VIQ is lossless.
    pub const fn is_lossless(&self) -> bool {
        self.settings.is_some()
    }

    /// Charges `cost_bytes` to reserve and pool, or to the lossy limit, if they fit there as a
    /// whole. In a run, each frame has to fit: a dynamic threshold falls as the run's frames are
    /// charged, so they are compared with the threshold after the last one.
    #[inline(always)]
    fn admit_base(&mut self, cost_bytes: u32, is_run: bool, pool: &mut Pool) -> bool {
        let filled = self.base_bytes + cost_bytes;
        if let Some(settings) = &self.settings {
            let from_pool = beyond(filled, settings.reserved_bytes)
                - beyond(self.base_bytes, settings.reserved_bytes);
            let free = pool.free_bytes(self.priority);
            let left = if is_run { free.saturating_sub(u64::from(from_pool)) } else { free };
            // No short-circuit evaluation: a VIQ goes above its reserve and back all the time.
            let all_filled = u64::from(filled) + u64::from(self.others_base_bytes);
            let fits = (filled <= settings.reserved_bytes)
                | (all_filled <= settings.limit_bytes(left)) & (u64::from(from_pool) <= free);
            if self.all_headroom_bytes() != 0 || !fits {
                return false;
            }
            pool.take(self.priority, from_pool);
        } else {
            if u64::from(cost_bytes) > pool.lossy.free_bytes() {
                return false;
            }
            pool.lossy.take(cost_bytes);
        }
        self.base_bytes = filled;
        self.base_peak_bytes = self.base_peak_bytes.max(filled);
        true
    }

    /// Whether frames of `cost_bytes` in total are admitted in whatever order, even if part of them
    /// is charged to other VIQs: all fit without headroom, or all fit into headroom that is in use.
    #[inline]
    pub(super) fn fits(&self, cost_bytes: u32, pool: &Pool) -> bool {
        let Some(settings) = &self.settings else {
            return u64::from(cost_bytes) <= pool.lossy.free_bytes();
        };
        if self.all_headroom_bytes() != 0 {
            return cost_bytes <= self.headroom_left_bytes(pool);
        }
        let filled = self.all_base_bytes() + cost_bytes;
        let free = pool.free_bytes(self.priority);
        let left = free.saturating_sub(u64::from(cost_bytes));
        u64::from(cost_bytes) <= free && u64::from(filled) <= settings.limit_bytes(left)
    }

    /// Charges frames of `cost_bytes` in total, if the result is the same to the byte as charging
    /// them one by one: all of them fit without headroom, or all of them fit into headroom that is
    /// in use.
    #[inline(always)]
    pub(super) fn admit_run(&mut self, cost_bytes: u32, pool: &mut Pool) -> bool {
        self.admit_base(cost_bytes, true, pool)
            || self.all_headroom_bytes() != 0 && self.admit_headroom(cost_bytes, pool)
    }

    /// Charges `frames` frames of `cost_bytes` each, as if one by one. Returns false and charges
    /// nothing if not all of them can be admitted.
    #[inline]
    pub(super) fn admit_equal(&mut self, frames: u32, cost_bytes: u32, pool: &mut Pool) -> bool {
        let (mut left, mut run) = (frames, frames);
        // Runs of frames, each half as long as the last one that did not fit below the threshold.
        while left > 0 && self.all_headroom_bytes() == 0 {
            run = run.min(left);
            if self.admit_run(run * cost_bytes, pool) {
                left -= run;
            } else if run > 1 {
                run /= 2;
            } else if self.admit(cost_bytes, pool).is_ok() {
                left -= 1;
            } else {
                break;
            }
        }
        // Once headroom is in use, all that follow are charged to headroom.
        let is_admitted = left == 0 || self.admit_headroom(left * cost_bytes, pool);
        if !is_admitted {
            self.release((frames - left) * cost_bytes, pool);
        }
        is_admitted
    }

    #[inline]
    fn admit_headroom(&mut self, cost_bytes: u32, pool: &mut Pool) -> bool {
        let Some(settings) = &self.settings else { return false };
        let used_bytes = self.headroom_used_bytes + cost_bytes;
        if used_bytes + self.others_headroom_bytes > settings.headroom_bytes
            || u64::from(cost_bytes) > pool.headroom.free_bytes()
        {
            return false;
        }
        pool.headroom.take(cost_bytes);
        self.headroom_used_bytes = used_bytes;
        self.headroom_peak_bytes = self.headroom_peak_bytes.max(used_bytes);
        true
    }

    #[inline]
    pub(super) fn admit(&mut self, cost_bytes: u32, pool: &mut Pool) -> Result<(), DropReason> {
        if self.admit_base(cost_bytes, false, pool) {
            return Ok(());
        }
        if self.settings.is_none() {
            return Err(DropReason::IngressLimit);
        }
        let is_admitted = self.admit_headroom(cost_bytes, pool);
        if is_admitted { Ok(()) } else { Err(DropReason::HeadroomOverrun) }
    }

    /// Releases headroom first, then the share of the pool, then the reserve.
    #[inline(always)]
    pub(super) fn release(&mut self, cost_bytes: u32, pool: &mut Pool) {
        debug_assert!(self.bytes() >= cost_bytes, "released more than was admitted");
        let Some(settings) = &self.settings else {
            pool.lossy.give(cost_bytes);
            self.base_bytes = self.base_bytes.saturating_sub(cost_bytes);
            return;
        };
        let from_headroom = self.headroom_used_bytes.min(cost_bytes);
        // Mostly none is in use.
        if from_headroom != 0 {
            self.headroom_used_bytes -= from_headroom;
            pool.headroom.give(from_headroom);
        }
        let left = self.base_bytes.saturating_sub(cost_bytes - from_headroom);
        pool.give(
            self.priority,
            beyond(self.base_bytes, settings.reserved_bytes)
                - beyond(left, settings.reserved_bytes),
        );
        self.base_bytes = left;
    }

    /// The rate code to send upstream when `sent` was sent last; 0 for none.
    pub(super) fn rate_code(&self, sent: u16) -> u16 {
        let rate_map = self.settings.as_ref().and_then(|settings| settings.rate_map);
        rate_map.map_or(0, |rate_map| rate_map.code(self.all_bytes(), sent))
    }

    /// Whether upstream must be paused: from the first byte over the threshold until the VIQ is at
    /// [`ViqSettings::xon_limit_bytes`]. An empty VIQ always resumes.
    #[inline(always)]
    pub(super) fn xoff(&mut self, pool: &Pool) -> bool {
        let Some(settings) = &self.settings else { return false };
        if self.all_bytes() == 0 {
            self.xoff = false;
            return false;
        }
        let limit = settings.limit_bytes(pool.free_bytes(self.priority));
        let base_bytes = self.all_base_bytes();
        if self.all_headroom_bytes() > 0 {
            self.xoff = true;
        } else if self.xoff {
            self.xoff = u64::from(base_bytes) > settings.xon_limit_bytes(limit);
        } else {
            self.xoff = u64::from(base_bytes) > limit && base_bytes > settings.reserved_bytes;
        }
        self.xoff
    }
}

/// Bytes beyond the reserve: those that the pool must hold.
#[inline(always)]
const fn beyond(bytes: u32, reserved_bytes: u32) -> u32 {
    bytes.saturating_sub(reserved_bytes)
}
