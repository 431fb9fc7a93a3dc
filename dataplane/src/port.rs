//! One port: its egress (queues, schedule, transmit), and the state that both directions share.
//!
//! Reads: frame metadata. Writes: virtual egress queues (VEQs), the transmit batch. Counts: `tx_*`,
//! `ecn_marked_frames`. Drop reasons: `lossy_tail`, `port_down`, `watchdog`.
//!
//! A frame whose port is idle, unpaused and unpaced goes straight to the transmit batch. The batch
//! is sent at the end of the turn, or as soon as it is full. Frames that the device does not take,
//! and frames whose priority is paused meanwhile, go back to the front of their VEQ, in order.

use crate::accounting::Accounting;
use crate::counters::{DropReason, PortCounters};
use crate::device::Device;
use crate::frame::{Burst, Frame};
use crate::ids::{PortId, Priority};
use crate::limits::{BURST_MAX, FRAME_BYTES_MAX, PRIORITIES};
use crate::pfc::generator::Generator;
use crate::pfc::receiver::Receiver;
use crate::pfc::watchdog::Watchdog;
use crate::port::tx_batch::{Run, TxBatch};
use crate::probe::Probe;
use crate::queue::ecn;
use crate::queue::pacer::{CATCH_UP_NS, Pacer};
use crate::queue::scheduler::Scheduler;
use crate::queue::veq::{QueuedFrame, Veq, low_32_bits};
use crate::settings::{EcnSettings, PortSettings, SwitchSettings};
use crate::time::Instant;
use crate::wire::MacAddress;
use alloc::boxed::Box;
use rand_xoshiro::SplitMix64;

mod flow_control;
mod gauges;
mod granted;
mod link;
mod pending;
mod timers;
pub(crate) mod tx_batch;

use pending::put_front;

/// Bursts that a port serves from its queues in one turn: enough to drain what several ports
/// receive in one turn, few enough that the turn stays short and a pause takes effect soon.
const BURSTS_A_TURN: usize = 4;

/// The state of a port in its worker.
///
/// A worker of many ports, or an emulator of many switches, finds none of this in its caches. So
/// what every frame needs is in two cache lines: one of the port, which begins with the generator
/// and ends with the first fields of the receiver, and one of the frame's priority.
#[derive(Debug)]
#[repr(C, align(64))]
pub(crate) struct Port<F> {
    pub(crate) generator: Generator,
    pub(crate) id: PortId,
    pub(crate) frame_bytes_max: u16,
    pub(crate) up: bool,
    /// Priorities for which PFC is enabled at this port.
    pub(crate) lossless_bits: u8,
    /// Priorities with a frame in their VEQ.
    occupied_bits: u8,
    /// Priorities that the port's owner, if that is another worker, does not let this worker send.
    ungranted_bits: u8,
    /// Set by the watchdog: priorities whose received pauses are ignored, and priorities whose
    /// frames are discarded.
    ignored_bits: u8,
    discarded_bits: u8,
    /// Whether frames may enter the transmit batch on arrival. If not, the batch is empty.
    bypasses_queue: bool,
    /// Queued frames wait for device room only, and the device notifies the worker of room.
    awaits_tx_ready: bool,
    /// Whether the receive ring is so full that upstream is paused for it.
    pub(crate) backlogged: bool,
    is_paced: bool,
    /// Whether a pause for a VIQ names the VIQ's own priority.
    pauses_own_class: bool,
    pub(crate) receiver: Receiver,
    queues: [Queue; PRIORITIES],
    /// The only queued frame, if it is not stored in its VEQ.
    pending: Option<QueuedFrame<F>>,
    watchdog: Option<Box<Watchdog>>,
    scheduler: Scheduler,
    tx_batch: Box<TxBatch<F>>,
    /// Frames of open runs that are not in the transmit batch yet.
    reserved_frames: usize,
    pacer: Option<Pacer>,
    /// By priority of the virtual ingress queue (VIQ): the priority that a pause for it names.
    upstream: [Priority; PRIORITIES],
    pub(crate) backlog_xoff_frames: u32,
    pub(crate) mac: MacAddress,
    /// The priority of the switch's own frames: the highest that is not lossless, so that no peer
    /// can pause it.
    pub(crate) control_priority: Priority,
    /// Without the counters in `queues`, the receiver and the generator.
    pub(crate) counters: Box<PortCounters>,
}

/// The state of one priority that its frames need.
#[derive(Debug, Default)]
#[repr(C, align(64))]
struct Queue {
    veq: Veq,
    rx_frames: u64,
    rx_bytes: u64,
    tx_frames: u64,
    tx_bytes: u64,
}

const _: () = assert!(
    core::mem::offset_of!(Port<()>, receiver) == 48,
    "what every frame needs is a cache line, and two words of the receiver's are its last"
);
const _: () = assert!(size_of::<Queue>() == 64, "what a priority needs is a cache line");

impl<F: Frame> Port<F> {
    pub(crate) fn new(id: PortId, settings: &PortSettings, switch: &SwitchSettings) -> Self {
        let lossless_bits = settings.lossless_bits();
        let control = Priority::all().rev().find(|p| lossless_bits & p.bit() == 0);
        Self {
            id,
            mac: settings.mac,
            up: true,
            frame_bytes_max: settings.frame_bytes_max,
            lossless_bits,
            backlog_xoff_frames: settings.rx_backlog_xoff_frames,
            backlogged: false,
            control_priority: control.unwrap_or_default(),
            generator: flow_control::generator(settings),
            receiver: flow_control::receiver(settings, lossless_bits),
            counters: Box::default(),
            queues: core::array::from_fn(|_| Queue { veq: veq(switch), ..Queue::default() }),
            pauses_own_class: settings.upstream == Priority::EACH,
            upstream: settings.upstream,
            watchdog: settings.watchdog.map(|settings| Box::new(Watchdog::new(settings))),
            ignored_bits: 0,
            discarded_bits: 0,
            occupied_bits: 0,
            scheduler: Scheduler::new(&switch.scheduler),
            is_paced: settings.paced,
            pacer: settings.paced.then(|| Pacer::new(settings.speed, CATCH_UP_NS)),
            pending: None,
            tx_batch: Box::new(TxBatch::new()),
            reserved_frames: 0,
            bypasses_queue: false,
            ungranted_bits: 0,
            awaits_tx_ready: false,
        }
    }

    /// Whether frames of `priority` that are received here are lossless.
    #[inline(always)]
    pub(crate) const fn is_lossless(&self, priority: Priority) -> bool {
        self.lossless_bits & priority.bit() != 0
    }

    /// Counts received frames of `priority`.
    #[inline(always)]
    pub(crate) fn count_received(&mut self, priority: Priority, frames: u64, bytes: u64) {
        let queue = &mut self.queues[priority.index()];
        queue.rx_frames += frames;
        queue.rx_bytes += bytes;
    }

    /// Starts a turn: expires received pauses and decides whether frames may bypass the queues in
    /// this turn.
    #[inline(always)]
    pub(crate) fn begin<D: Device<Frame = F>>(&mut self, device: &mut D, now: Instant) {
        self.receiver.expire(now);
        self.begin_bypass(device, now);
    }

    /// Decides whether frames may enter the transmit batch on arrival in this turn.
    #[inline(always)]
    fn begin_bypass<D: Device<Frame = F>>(&mut self, device: &mut D, now: Instant) {
        self.bypasses_queue = !takes_one(self.id, device)
            && self.up
            && !self.is_paced
            && device.tx_room_bytes(self.id, now) == u32::MAX;
    }

    /// Priorities whose frames may go to the device without queuing: no eligible frame is queued,
    /// and the priority itself has no queued frames and is not blocked.
    #[inline(always)]
    fn passing_bits(&self) -> u8 {
        // A rate-limited priority is sent frame by frame; a discarded one is not sent.
        let held = self.held_bits() | self.receiver.rate_limited_bits() | self.discarded_bits;
        let nothing_first = self.bypasses_queue && self.occupied_bits & !held == 0;
        if nothing_first { !(self.occupied_bits | held) } else { 0 }
    }

    /// Priorities that a pause in effect or a missing grant of the port's owner blocks.
    #[inline(always)]
    const fn held_bits(&self) -> u8 {
        self.receiver.paused_bits() & !self.ignored_bits | self.ungranted_bits
    }

    /// Priorities with queued frames that are neither blocked nor held by a received rate at `now`.
    #[inline(always)]
    fn eligible_bits(&self, now: Instant) -> u8 {
        self.occupied_bits & !(self.held_bits() | self.receiver.limited_bits(now))
    }

    /// Whether the watchdog discards frames of `priority`.
    #[inline(always)]
    pub(crate) const fn discards(&self, priority: Priority) -> bool {
        self.discarded_bits & priority.bit() != 0
    }

    /// Whether frames of `priority` are queued here, so that later ones must queue behind them.
    #[inline(always)]
    pub(crate) const fn has_waiting(&self, priority: Priority) -> bool {
        self.occupied_bits & priority.bit() != 0
    }

    /// Reserves room for `run`, admitted frames of one priority that leave here. Returns the run
    /// index with which each frame is then [added](Port::batch), or `None` if the frames must be
    /// queued. `burst_frames` is the length of the current burst, all outcomes together.
    #[inline(always)]
    pub(crate) fn open_run<D: Device<Frame = F>, P: Probe>(
        &mut self,
        run: Run,
        burst_frames: usize,
        device: &mut D,
        accounting: &mut Accounting<F, P>,
        now: Instant,
    ) -> Option<u8> {
        if !self.may_pass(run.priority) {
            return None;
        }
        // The first run of a burst reserves room for the whole burst: the batch must not be flushed
        // between the opening of a run and its last frame.
        if self.reserved_frames == 0 && self.tx_batch.room() < burst_frames {
            self.flush(device, accounting, now);
            if !self.may_pass(run.priority) {
                return None;
            }
        }
        self.reserved_frames += usize::from(run.frames);
        Some(self.tx_batch.open(run))
    }

    /// Adds a frame of an open run to the transmit batch.
    #[inline(always)]
    pub(crate) fn batch(&mut self, frame: F, run: u8) {
        self.reserved_frames -= 1;
        self.tx_batch.push(frame, run);
    }

    /// Adds a whole burst of frames of open runs; `run_of` has their run indexes.
    #[inline(always)]
    pub(crate) fn batch_burst(&mut self, frames: &mut Burst<F>, run_of: &[u8]) {
        self.reserved_frames -= frames.len();
        self.tx_batch.push_burst(frames, run_of);
    }

    /// Sends the transmit batch at once if it is full, while its frames are still in the caches.
    #[inline(always)]
    pub(crate) fn flush_if_full<D: Device<Frame = F>, P: Probe>(
        &mut self,
        device: &mut D,
        accounting: &mut Accounting<F, P>,
        now: Instant,
    ) {
        if self.tx_batch.room() == 0 {
            self.flush(device, accounting, now);
        }
    }

    /// Takes one admitted frame that leaves here.
    pub(crate) fn enqueue_one<D: Device<Frame = F>, P: Probe>(
        &mut self,
        queued: QueuedFrame<F>,
        device: &mut D,
        accounting: &mut Accounting<F, P>,
        now: Instant,
    ) {
        match self.open_run(accounting.run_of_one(&queued.meta), 1, device, accounting, now) {
            Some(run) => self.batch(queued.frame, run),
            None => self.enqueue_waiting(queued, accounting),
        }
    }

    /// Whether a frame of `priority` may go to the device without queuing.
    #[inline(always)]
    fn may_pass(&self, priority: u8) -> bool {
        self.passing_bits() >> (priority & 7) & 1 == 1
    }

    /// Queues a frame in its VEQ, or drops it if the port or the queue does not accept it.
    pub(crate) fn enqueue_waiting<P: Probe>(
        &mut self,
        queued: QueuedFrame<F>,
        accounting: &mut Accounting<F, P>,
    ) {
        let priority = usize::from(queued.meta.priority & 7);
        if !self.up {
            return drop_queued(queued, DropReason::PortDown, &mut self.counters, accounting);
        }
        if self.discarded_bits >> priority & 1 == 1 {
            return drop_queued(queued, DropReason::Watchdog, &mut self.counters, accounting);
        }
        self.spill_pending(accounting);
        let over = self.queues[priority].veq.bytes() + u32::from(queued.meta.bytes)
            > accounting.lossy_queue_bytes;
        if over && accounting.is_lossy(&queued.meta) {
            return drop_queued(queued, DropReason::LossyTail, &mut self.counters, accounting);
        }
        self.queue(queued, accounting);
    }

    /// Puts admitted frames of `priority` at the end of its VEQ.
    #[inline(always)]
    pub(crate) fn queue_burst<P: Probe>(
        &mut self,
        priority: Priority,
        frames: impl Iterator<Item = QueuedFrame<F>>,
        accounting: &mut Accounting<F, P>,
    ) {
        self.spill_pending(accounting);
        let mut refused: Burst<QueuedFrame<F>> = Burst::new();
        let veq = &mut self.queues[priority.index()].veq;
        veq.extend(&mut accounting.frame_pool, frames, |queued| refused.push(queued));
        self.occupied_bits |= priority.bit();
        for queued in refused {
            drop_queued(queued, DropReason::LossyTail, &mut self.counters, accounting);
        }
    }

    /// Puts an admitted frame at the end of its VEQ.
    #[inline(always)]
    pub(crate) fn queue<P: Probe>(
        &mut self,
        queued: QueuedFrame<F>,
        accounting: &mut Accounting<F, P>,
    ) {
        self.spill_pending(accounting);
        let priority = usize::from(queued.meta.priority & 7);
        match self.queues[priority].veq.push_back(&mut accounting.frame_pool, queued) {
            Ok(()) => self.occupied_bits |= 1 << priority,
            Err(queued) => {
                drop_queued(queued, DropReason::LossyTail, &mut self.counters, accounting)
            }
        }
    }

    /// Sends the transmit batch, then serves the queues as far as the device, the pacer and the
    /// peer's pauses allow. Returns whether any frame was sent.
    #[inline(always)]
    pub(crate) fn transmit<D: Device<Frame = F>, P: Probe>(
        &mut self,
        device: &mut D,
        accounting: &mut Accounting<F, P>,
        now: Instant,
    ) -> bool {
        let before = accounting.totals.sent;
        // The first condition lets some devices skip the read of the batch, which is a cache miss.
        let all_gone = takes_one(self.id, device)
            || !self.bypasses_queue
            || self.tx_batch.is_empty()
            || self.flush(device, accounting, now);
        if let Some(queued) = self.pending.take() {
            self.serve_pending(queued, device, accounting, now);
        } else if all_gone && self.up && self.eligible_bits(now) != 0 {
            self.serve(device, accounting, now);
        }
        self.awaits_tx_ready = self.is_tx_ready_limited(now) && device.notify_tx_ready(self.id);
        accounting.totals.sent != before
    }

    /// Whether the device notifies the worker of room for the frames that are queued here.
    #[inline(always)]
    pub(crate) const fn awaits_tx_ready(&self) -> bool {
        self.awaits_tx_ready
    }

    /// Whether frames are queued here that only lack of device room holds back.
    #[inline(always)]
    fn is_tx_ready_limited(&self, now: Instant) -> bool {
        !self.is_paced && self.up && self.eligible_bits(now) != 0
    }

    fn serve<D: Device<Frame = F>, P: Probe>(
        &mut self,
        device: &mut D,
        accounting: &mut Accounting<F, P>,
        now: Instant,
    ) {
        if takes_one(self.id, device) {
            return self.serve_one(device, accounting, now);
        }
        let mut room_bytes = device.tx_room_bytes(self.id, now);
        let has_pace = self.is_paced || self.receiver.rate_limited_bits() != 0;
        let is_free = room_bytes == u32::MAX && !has_pace;
        for _ in 0..BURSTS_A_TURN {
            let frames_max = device.tx_free_frames(self.id).min(BURST_MAX);
            if is_free {
                self.batch_only_priority(frames_max, accounting);
            }
            while self.tx_batch.frames.len() < frames_max {
                let Some(queued) = self.next(room_bytes, accounting, now) else { break };
                room_bytes = room_bytes.saturating_sub(u32::from(queued.meta.bytes));
                let run = accounting.run_of_one(&queued.meta);
                let run = self.tx_batch.open(run);
                self.tx_batch.push(queued.frame, run);
            }
            let is_last = self.tx_batch.frames.len() < BURST_MAX;
            if self.tx_batch.is_empty() || !self.flush(device, accounting, now) || is_last {
                return;
            }
        }
    }

    /// If just one priority is eligible, fills the transmit batch from it. The scheduler is not
    /// needed then.
    #[inline]
    fn batch_only_priority<P: Probe>(
        &mut self,
        frames_max: usize,
        accounting: &mut Accounting<F, P>,
    ) {
        let eligible = self.occupied_bits & !self.held_bits();
        if !eligible.is_power_of_two() {
            return;
        }
        let priority = eligible.trailing_zeros() as usize % PRIORITIES;
        let (ecn, cell_bytes) = (accounting.ecn[priority], accounting.buffer.cell_bytes());
        let mut room = frames_max.saturating_sub(self.tx_batch.frames.len());
        let (veq, tx_batch) = (&mut self.queues[priority].veq, &mut self.tx_batch);
        while room > 0 && !veq.is_empty() {
            let mut depth_bytes = veq.bytes();
            let places = veq.front_frames(&mut accounting.frame_pool, room);
            let (took, rng) = (places.len(), &mut accounting.rng);
            tx_batch.take_waiting(places, cell_bytes, |frame, meta| {
                if let Some(settings) = &ecn {
                    let marked = mark(settings, depth_bytes, meta.l3, frame, rng);
                    self.counters.ecn_marked_frames[priority] += u64::from(marked);
                }
                depth_bytes -= u32::from(meta.bytes);
            });
            let bytes = veq.bytes() - depth_bytes;
            veq.took(&mut accounting.frame_pool, took, bytes);
            room -= took;
        }
        self.took_from(priority);
    }

    /// Updates the state of `priority` after frames were taken from its VEQ, perhaps the last ones.
    #[inline]
    fn took_from(&mut self, priority: usize) {
        if self.queues[priority].veq.is_empty() {
            self.occupied_bits &= !(1 << priority);
            self.scheduler.emptied(priority);
        }
    }

    /// Takes the next frame to send from the queues.
    #[inline]
    fn next<P: Probe>(
        &mut self,
        room_bytes: u32,
        accounting: &mut Accounting<F, P>,
        now: Instant,
    ) -> Option<QueuedFrame<F>> {
        let eligible = self.eligible_bits(now);
        if eligible == 0 || self.pacer.as_ref().is_some_and(|pacer| !pacer.is_free(now)) {
            return None;
        }
        let (queues, frame_pool) = (&self.queues, &accounting.frame_pool);
        let front_bytes =
            |p: usize| queues[p].veq.front(frame_pool).map_or(0, |meta| u32::from(meta.bytes));
        if (room_bytes as usize) < FRAME_BYTES_MAX {
            // A device with a limit takes a frame only if there is room for the longest one.
            let longest = (0..PRIORITIES).filter(|p| eligible >> p & 1 == 1).map(front_bytes).max();
            if longest.unwrap_or(0) > room_bytes {
                return None;
            }
        }
        let priority = self.scheduler.pick(eligible, front_bytes)? % PRIORITIES;
        let veq = &mut self.queues[priority].veq;
        let depth_bytes = veq.bytes();
        let mut queued = veq.pop_front(&mut accounting.frame_pool)?;
        self.took_from(priority);
        self.departs(&mut queued, depth_bytes, accounting, now);
        Some(queued)
    }

    /// Accounts for a frame that leaves a queue of `depth_bytes`: charges the pacer and the
    /// received rate, and marks the frame if ECN requires it.
    #[inline(always)]
    fn departs<P: Probe>(
        &mut self,
        queued: &mut QueuedFrame<F>,
        depth_bytes: u32,
        accounting: &mut Accounting<F, P>,
        now: Instant,
    ) {
        let QueuedFrame { frame, meta } = queued;
        let priority = Priority::from_low_bits(meta.priority);
        if self.is_paced
            && let Some(pacer) = &mut self.pacer
        {
            pacer.send(u32::from(meta.bytes), now);
        }
        self.receiver.sent(priority, u32::from(meta.bytes), now);
        let p = priority.index();
        if let Some(settings) = &accounting.ecn[p] {
            let marked = mark(settings, depth_bytes, meta.l3, frame, &mut accounting.rng);
            self.counters.ecn_marked_frames[p] += u64::from(marked);
        }
    }

    /// Sends the transmit batch and accounts for the frames that the device took. Returns whether
    /// it took all.
    #[inline(always)]
    fn flush<D: Device<Frame = F>, P: Probe>(
        &mut self,
        device: &mut D,
        accounting: &mut Accounting<F, P>,
        now: Instant,
    ) -> bool {
        let tx_batch = self.tx_batch.frames.len();
        device.tx_burst(self.id, &mut self.tx_batch.frames, now);
        let cell_bytes = accounting.buffer.cell_bytes();
        let queues = &mut self.queues;
        self.tx_batch.book_sent(tx_batch, cell_bytes, |run| book_run(run, queues, accounting, now));
        let all = self.tx_batch.is_empty();
        if !all {
            self.bypasses_queue = false;
            self.unbatch(0xFF, accounting);
        }
        all
    }

    /// Puts batched frames whose priority is in `bits` back to the front of their VEQs.
    pub(crate) fn unbatch<P: Probe>(&mut self, bits: u8, accounting: &mut Accounting<F, P>) {
        self.spill_pending(accounting);
        let Self { tx_batch, queues, occupied_bits, counters, id, .. } = self;
        tx_batch.take_back(bits, *id, |queued| {
            put_front(queued, queues, occupied_bits, counters, accounting);
        });
    }
}

/// Whether the device takes frames one at a time, so that no transmit batch is built for it.
#[inline(always)]
fn takes_one<D: Device>(port: PortId, device: &D) -> bool {
    device.tx_free_frames(port) == 1
}

/// The VEQ of one priority, as the scheduler settings require.
fn veq(switch: &SwitchSettings) -> Veq {
    if switch.scheduler.fair { Veq::fair(switch.ports.len()) } else { Veq::default() }
}

/// Marks a frame that leaves a queue of `depth_bytes`, if it is due. Returns whether it was marked.
#[inline]
fn mark<F: Frame>(
    settings: &EcnSettings,
    depth_bytes: u32,
    l3: u8,
    frame: &mut F,
    rng: &mut SplitMix64,
) -> bool {
    l3 != 0 && ecn::is_due(settings, depth_bytes, rng) && ecn::mark(frame, l3)
}

/// Drops a frame at this port after admission: releases it and counts the drop.
#[cold]
pub(crate) fn drop_queued<F: Frame, P: Probe>(
    queued: QueuedFrame<F>,
    reason: DropReason,
    counters: &mut PortCounters,
    accounting: &mut Accounting<F, P>,
) {
    accounting.release(&queued.meta);
    accounting.totals.dropped += 1;
    counters.count_drop(reason);
    if accounting.is_lossless(&queued.meta) {
        counters.count_lossless_drop(queued.meta.viq.priority(), reason);
    }
}

/// Counts and releases the frames of a run that was sent.
#[inline(always)]
fn book_run<F: Frame, P: Probe>(
    run: &Run,
    queues: &mut [Queue; PRIORITIES],
    accounting: &mut Accounting<F, P>,
    now: Instant,
) {
    let frames = usize::from(run.frames);
    let queue = &mut queues[usize::from(run.priority & 7)];
    queue.tx_frames += frames as u64;
    queue.tx_bytes += u64::from(run.bytes);
    accounting.totals.sent += frames as u64;
    accounting.release_bytes(run.viq, run.cost_bytes);
    match low_32_bits(now).wrapping_sub(run.arrived_ns) {
        0 => accounting.probe.passed(frames),
        ns => accounting.probe.waited(ns, frames),
    }
}
