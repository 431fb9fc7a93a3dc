//! State that a worker's ports share while frames move: the buffer's accounting, the frame pool,
//! the totals.

use crate::buffer::{Buffer, Ledger, LedgerWriter, ViqId};
use crate::capture::Capture;
use crate::capture::in_hand::InHand;
use crate::counters::Totals;
use crate::driver::Driver;
use crate::frame::Frame;
use crate::ids::PortId;
use crate::limits::{PORTS_MAX, PRIORITIES};
use crate::port::tx_batch::Run;
use crate::queue::ecn;
use crate::queue::veq::{FrameMeta, FramePool, QueuedFrame};
use crate::rx_queues::rx_queues;
use crate::sampling::Sampling;
use crate::settings::{DepthCurve, SwitchSettings, share_bytes};
use crate::time::Instant;
use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use rand_core::SeedableRng;
use rand_xoshiro::SplitMix64;

/// The part of a worker, besides ports and device, that every frame needs.
#[derive(Debug)]
#[repr(C, align(64))]
pub(crate) struct Accounting<F, V> {
    pub(crate) frame_pool: FramePool<F>,
    pub(crate) buffer: Buffer,
    pub(crate) totals: Totals,
    /// The time of this turn.
    pub(crate) now: Instant,
    /// Bit by index of a receive queue: those whose VIQs this worker owns.
    owned: [u64; PORTS_MAX / 64],
    pub(crate) ecn: [Option<DepthCurve>; PRIORITIES],
    /// By index of a receive queue: bit vector of lossless priorities.
    lossless_bits: [u8; PORTS_MAX],
    /// Decides which frames ECN marks and WRED drops.
    pub(crate) rng: SplitMix64,
    lossy_queue_bytes: u32,
    /// [`BufferSettings::lossy_queue_alpha_log2`](crate::settings::BufferSettings).
    lossy_queue_alpha_log2: Option<i8>,
    /// Whether frames are captured or sampled. Looked at once a burst.
    is_observed: bool,
    /// [`SwitchSettings::big_red_switch`], as it is now.
    pub(crate) big_red_switch: bool,
    /// The capture of a client, if there is one.
    pub(crate) capture: Option<Box<Capture>>,
    /// What the driver keeps of a turn, and the probe. The probe may be large, so it comes after
    /// what every frame needs.
    pub(crate) driver: V,
    /// The bytes that this worker released from other workers' VIQs.
    ledger: LedgerWriter,
    has_releases: bool,
    /// By index of a receive queue: its port.
    port_of: Vec<PortId>,
    /// Shared and lossy bytes as last published to the other workers.
    published_bytes: (u64, u64),
    /// The sampling, if there is any.
    pub(crate) sampling: Option<Box<Sampling>>,
    /// The frame that goes through the stages, if it is captured or sampled.
    pub(crate) in_hand: InHand,
    /// After what every frame needs: only lossy frames that have to wait ask for it.
    pub(crate) wred: [Option<DepthCurve>; PRIORITIES],
}

impl<F: Frame, V: Driver> Accounting<F, V> {
    pub(crate) fn new(
        settings: &SwitchSettings,
        own_queues: &[PortId],
        queues: usize,
        ledger: Arc<Ledger>,
        driver: V,
    ) -> Self {
        let mut owned = [0; PORTS_MAX / 64];
        for port in own_queues {
            owned[port.index() / 64] |= 1 << (port.index() % 64);
        }
        let mut lossless_bits = [0; PORTS_MAX];
        let rx_queues = rx_queues(settings);
        for queue in &rx_queues {
            let port = &settings.ports[queue.port.index()];
            lossless_bits[queue.id.index()] = port.lossless_bits();
        }
        Self {
            frame_pool: FramePool::new(settings.buffer.frames_max, queues),
            buffer: Buffer::new(settings),
            totals: Totals::default(),
            now: Instant::ZERO,
            rng: SplitMix64::seed_from_u64(settings.seed),
            ecn: settings.ecn,
            lossy_queue_bytes: settings.buffer.lossy_queue_bytes,
            lossy_queue_alpha_log2: settings.buffer.lossy_queue_alpha_log2,
            is_observed: false,
            big_red_switch: settings.big_red_switch,
            capture: None,
            sampling: None,
            in_hand: InHand::default(),
            wred: settings.wred,
            driver,
            ledger: LedgerWriter::new(ledger),
            has_releases: false,
            published_bytes: (0, 0),
            owned,
            lossless_bits,
            port_of: rx_queues.iter().map(|queue| queue.port).collect(),
        }
    }

    /// Sets the capture; returns the one before.
    pub(crate) fn set_capture(&mut self, capture: Option<Box<Capture>>) -> Option<Box<Capture>> {
        let before = core::mem::replace(&mut self.capture, capture);
        self.is_observed = self.capture.is_some() || self.sampling.is_some();
        before
    }

    /// Sets the sampling; returns the one before.
    pub(crate) fn set_sampling(
        &mut self,
        sampling: Option<Box<Sampling>>,
    ) -> Option<Box<Sampling>> {
        let before = core::mem::replace(&mut self.sampling, sampling);
        self.is_observed = self.capture.is_some() || self.sampling.is_some();
        before
    }

    /// Whether frames are captured or sampled. Nobody does that in the emulator.
    #[inline(always)]
    pub(crate) const fn is_observed(&self) -> bool {
        !V::IS_EVENT_DRIVEN && self.is_observed
    }

    /// Whether the frame in hand is captured or sampled.
    #[inline(always)]
    pub(crate) const fn has_in_hand(&self) -> bool {
        self.is_observed() && self.in_hand.followers.any()
    }

    /// Whether a client captures. Nobody captures in the emulator.
    #[inline(always)]
    pub(crate) const fn is_capturing(&self) -> bool {
        !V::IS_EVENT_DRIVEN && self.capture.is_some()
    }

    /// The capture, if a client captures.
    #[inline(always)]
    pub(crate) fn capturing(&mut self) -> Option<&mut Capture> {
        if V::IS_EVENT_DRIVEN { None } else { self.capture.as_deref_mut() }
    }

    /// Whether frames that are charged to `viq` may be tail-dropped. The switch's own frames may
    /// not: they are few, and charged to no VIQ.
    #[inline]
    pub(crate) fn is_lossy(&self, viq: ViqId) -> bool {
        viq != ViqId::NONE && self.lossless_bits[viq.port_index()] & viq.priority().bit() == 0
    }

    /// The ingress port of frames that are charged to `viq`, which is that of a receive queue.
    pub(crate) fn port_of(&self, viq: ViqId) -> PortId {
        self.port_of.get(viq.port_index()).copied().unwrap_or_default()
    }

    /// Whether the limit of a lossy queue moves with what others hold.
    #[inline(always)]
    pub(crate) const fn has_moving_lossy_limit(&self) -> bool {
        self.lossy_queue_alpha_log2.is_some()
    }

    /// What a lossy queue may hold, the frame included that is charged already and would join it.
    #[inline]
    pub(crate) fn lossy_queue_limit_bytes(&self, meta: &FrameMeta) -> u32 {
        let Some(alpha_log2) = self.lossy_queue_alpha_log2 else { return self.lossy_queue_bytes };
        // As if the frame had not come yet: the limit is what it finds.
        let own_bytes = u64::from(self.buffer.cost_bytes(u32::from(meta.bytes)));
        let free_bytes = self.buffer.pool.lossy.free_bytes() + own_bytes;
        let limit_bytes = share_bytes(free_bytes, alpha_log2).min(self.lossy_queue_bytes.into());
        u32::try_from(limit_bytes).unwrap_or(self.lossy_queue_bytes)
    }

    /// Whether WRED drops a lossy frame that would join a queue of `depth_bytes`.
    #[inline]
    pub(crate) fn drops_early(&mut self, queued: &QueuedFrame<F>, depth_bytes: u32) -> bool {
        let priority = usize::from(queued.meta.priority & 7);
        let Some(curve) = &self.wred[priority] else { return false };
        let is_marked = || self.ecn[priority].is_some() && ecn::is_capable(queued);
        curve.is_due(depth_bytes, &mut self.rng) && !is_marked()
    }

    /// Whether the frame is charged to a lossless VIQ.
    #[inline]
    pub(crate) fn is_lossless(&self, meta: &FrameMeta) -> bool {
        meta.viq != ViqId::NONE && !self.is_lossy(meta.viq)
    }

    /// The run of a single frame with `meta`.
    #[inline]
    pub(crate) fn run_of_one(&self, meta: &FrameMeta) -> Run {
        Run::of_one(meta, self.buffer.cell_bytes())
    }

    /// Releases the frame of `meta`, which was sent, or dropped after admission.
    pub(crate) fn release(&mut self, meta: &FrameMeta) {
        let cost_bytes = self.buffer.cost_bytes(u32::from(meta.bytes));
        self.release_bytes(meta.viq, cost_bytes);
    }

    /// Releases `cost_bytes` of `viq`.
    #[inline(always)]
    pub(crate) fn release_bytes(&mut self, viq: ViqId, cost_bytes: u32) {
        if viq == ViqId::NONE {
            return;
        }
        let port = viq.port_index();
        if self.owned[port / 64] >> (port % 64) & 1 == 1 {
            self.driver.mark_released(port);
            self.buffer.release(viq, cost_bytes);
        } else {
            self.ledger.add_release(viq, cost_bytes);
            self.has_releases = true;
        }
    }

    /// Publishes this turn's buffer use and releases to the other workers.
    pub(crate) fn publish(&mut self) {
        let pool = &self.buffer.pool;
        let used_bytes = (pool.shared.bytes, pool.lossy.bytes);
        if used_bytes != self.published_bytes || pool.partitions.is_some() {
            self.published_bytes = used_bytes;
            self.ledger.publish_use(used_bytes.0, used_bytes.1);
            if pool.partitions.is_some() {
                self.ledger.publish_partition_use(&pool.partition_use());
            }
        }
        if pool.shares_headroom() {
            self.ledger.publish_headroom_use(pool.headroom.bytes);
        }
        if core::mem::take(&mut self.has_releases) {
            self.ledger.publish_releases();
        }
    }
}
