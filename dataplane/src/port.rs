//! One port: its egress (queues, schedule, transmit), and the state that both directions share.
//!
//! Reads: frame metadata. Writes: virtual egress queues (VEQs), the transmit batch. Counts: `tx_*`,
//! `ecn_marked_frames`, `telemetry_*`. Drop reasons: `tail_drop`, `wred_drop`, `port_down`,
//! `watchdog`.
//!
//! A frame whose port is idle, unpaused and unpaced goes straight to the transmit batch. The batch
//! is sent at the end of the turn, or as soon as it is long. A long burst that finds it empty goes
//! to the device itself. Frames that the device does not take, and frames whose priority is paused
//! meanwhile, go back to the front of their VEQ, in order.

use crate::accounting::Accounting;
use crate::counters::{DropReason, PortCounters};
use crate::device::Device;
use crate::driver::Driver;
use crate::handoff::grants::TxGrant;
use crate::handoff::pauses::PortPauses;
use crate::ids::{PortId, Priority};
use crate::limits::PRIORITIES;
use crate::pfc::generator::Generator;
use crate::pfc::receiver::Receiver;
use crate::pfc::watchdog::Watchdog;
use crate::port::telemetry::Telemetry;
use crate::port::tx_batch::TxBatch;
use crate::queue::pacer::{CATCH_UP_NS, Pacer};
use crate::queue::scheduler::Scheduler;
use crate::queue::shaper::PeakRate;
use crate::queue::veq::{QueuedFrame, Veq};
use crate::rx_queues::rx_queues;
use crate::settings::{PortSettings, SwitchSettings};
use crate::time::Instant;
use crate::wire::MacAddress;
use alloc::boxed::Box;
use core::marker::PhantomData;

mod captured;
mod enqueue;
pub(crate) mod flow_control;
mod gauges;
mod pending;
mod telemetry;
mod transmit;
pub(crate) mod tx_batch;

/// The state of a port in its worker.
///
/// A worker of many ports, or an emulator of many switches, finds none of this in its caches. So
/// what every frame needs is in two cache lines: one of the port, which begins with the generator
/// and ends with the first fields of the receiver, and one of the frame's priority.
#[derive(Debug)]
#[repr(C, align(64))]
pub(crate) struct Port<D: Device, V: Driver> {
    pub(crate) generator: Generator,
    pub(crate) id: PortId,
    pub(crate) frame_bytes_max: u16,
    pub(crate) up: bool,
    /// Priorities for which PFC is enabled at this port.
    pub(crate) lossless_bits: u8,
    /// Priorities with a frame in their VEQ.
    occupied_bits: u8,
    /// Priorities that the port's owner, if that is another worker, does not let this worker send,
    /// and those that another worker knows to be paused.
    ungranted_bits: u8,
    /// Set by the watchdog and the big red switch: priorities whose received pauses are ignored,
    /// and priorities whose frames are discarded.
    ignored_bits: u8,
    discarded_bits: u8,
    /// Whether frames may enter the transmit batch on arrival. If not, the batch is empty.
    bypasses_queue: bool,
    /// Queued frames wait for device room only, and the device notifies the worker of room.
    awaits_tx_ready: bool,
    /// Whether the receive ring is so full that upstream is paused for it.
    pub(crate) backlogged: bool,
    is_paced: bool,
    /// Whether each frame goes by its queue, because telemetry is written there.
    writes_telemetry: bool,
    /// Whether a pause for a VIQ names the VIQ's own priority.
    pauses_own_class: bool,
    pub(crate) receiver: Receiver,
    queues: [Queue; PRIORITIES],
    /// The only queued frame, if it is not stored in its VEQ. A polling worker neither reads nor
    /// writes it.
    pub(crate) pending: Option<QueuedFrame<D::Frame>>,
    driver: PhantomData<V>,
    watchdog: Option<Box<Watchdog>>,
    scheduler: Scheduler,
    tx_batch: Box<TxBatch<D::Frame>>,
    /// What workers tell each other of pauses here; `None` of a worker without others.
    pauses: Option<Box<PortPauses>>,
    /// Frames of open runs that are not in the transmit batch yet.
    reserved_frames: usize,
    pacer: Option<Pacer>,
    telemetry: Option<Box<Telemetry>>,
    /// By priority of the virtual ingress queue (VIQ): the priority that a pause for it names.
    upstream: [Priority; PRIORITIES],
    /// The one priority that pauses of the host at this port name, if it has only one.
    host_priority: Option<Priority>,
    pub(crate) backlog_xoff_frames: u32,
    /// The longest frame, VLAN tags included.
    longest_bytes: u32,
    /// Whether this is a further receive queue of a port: it receives only, and its id is that of
    /// the queue. An emulated switch has none.
    pub(crate) is_further_queue: bool,
    /// Whether another receive queue of the port is backlogged.
    pub(crate) is_backlogged_elsewhere: bool,
    /// Whether the peer is paused in all lossless priorities, because the switch is to stop.
    pub(crate) pauses_peer: bool,
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

const _: () = assert!(size_of::<Queue>() == 64, "what a priority needs is a cache line");

impl<D: Device, V: Driver> Port<D, V> {
    pub(crate) fn new(id: PortId, settings: &PortSettings, switch: &SwitchSettings) -> Self {
        const {
            assert!(
                core::mem::offset_of!(Self, receiver) == 48,
                "what every frame needs is a cache line, and two words of the receiver's are its last"
            );
        }
        let lossless_bits = settings.lossless_bits();
        let control = Priority::all().rev().find(|p| lossless_bits & p.bit() == 0);
        let mut generator = Generator::new(settings.speed);
        let mut receiver = Receiver::new(lossless_bits, settings.speed);
        if let Some(gfc) = settings.gfc {
            generator = generator.gfc(gfc.period_ns);
            receiver = receiver.gfc(gfc.form, gfc.catch_up_ns);
        }
        let longest_bytes = settings.longest_bytes();
        for (priority, peak) in Priority::all().zip(settings.peak_rates) {
            receiver.set_peak_rate(priority, peak, longest_bytes, Instant::ZERO);
        }
        let upstream = settings.host_priority.map_or(settings.upstream, |host| [host; PRIORITIES]);
        let mut port = Self {
            id,
            mac: settings.mac,
            up: true,
            frame_bytes_max: settings.frame_bytes_max,
            lossless_bits,
            backlog_xoff_frames: settings.rx_backlog_xoff_frames,
            longest_bytes,
            backlogged: false,
            control_priority: control.unwrap_or_default(),
            generator,
            receiver,
            counters: Box::default(),
            queues: core::array::from_fn(|_| Queue { veq: veq(switch), ..Queue::default() }),
            pauses_own_class: upstream == Priority::EACH,
            is_further_queue: false,
            is_backlogged_elsewhere: false,
            pauses_peer: false,
            upstream,
            host_priority: settings.host_priority,
            watchdog: settings.watchdog.map(|settings| Box::new(Watchdog::new(settings))),
            ignored_bits: 0,
            discarded_bits: 0,
            occupied_bits: 0,
            scheduler: Scheduler::new(&switch.scheduler),
            is_paced: settings.paced,
            writes_telemetry: switch.telemetry.is_some(),
            telemetry: switch
                .telemetry
                .map(|telemetry| Box::new(Telemetry::new(telemetry, settings.speed))),
            pacer: settings.paced.then(|| Pacer::new(settings.speed, CATCH_UP_NS)),
            pending: None,
            driver: PhantomData,
            tx_batch: Box::new(TxBatch::new()),
            pauses: None,
            reserved_frames: 0,
            bypasses_queue: false,
            ungranted_bits: 0,
            awaits_tx_ready: false,
        };
        port.set_storm_bits(switch.big_red_switch);
        port
    }

    /// A further receive queue of a port with `settings`.
    pub(crate) fn further_queue(
        id: PortId,
        settings: &PortSettings,
        switch: &SwitchSettings,
    ) -> Self {
        let settings = PortSettings {
            watchdog: None,
            gfc: None,
            peak_rates: [None; PRIORITIES],
            ..settings.clone()
        };
        Self { is_further_queue: true, ..Self::new(id, &settings, switch) }
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
    pub(crate) fn begin(&mut self, device: &mut D, now: Instant) {
        self.receiver.expire(now);
        self.begin_bypass(device, now);
    }

    /// Decides whether frames may enter the transmit batch on arrival in this turn.
    #[inline(always)]
    fn begin_bypass(&mut self, device: &mut D, now: Instant) {
        self.bypasses_queue = !self.takes_one(device)
            && self.up
            && !self.is_paced
            && !self.writes_telemetry
            && device.tx_room_bytes(self.id, now) == u32::MAX
            && !self.has_free_rate_limited(now);
    }

    /// Whether frames of a rate-limited priority are queued that may leave now. None of this turn
    /// may pass them by, so that the scheduler decides.
    #[inline(always)]
    fn has_free_rate_limited(&self, now: Instant) -> bool {
        let bits = self.receiver.rate_limited_bits() & self.occupied_bits;
        bits != 0 && bits & self.eligible_bits(now) != 0
    }

    /// Priorities whose frames may go to the device without queuing: no eligible frame is queued,
    /// and the priority itself has no queued frames and is not blocked.
    #[inline(always)]
    fn passing_bits(&self) -> u8 {
        // A rate-limited priority is sent frame by frame, and by the port's owner alone; a
        // discarded one is not sent.
        let held = self.held_bits() | self.receiver.rate_limited_bits() | self.discarded_bits;
        let nothing_first = self.bypasses_queue && self.occupied_bits & !held == 0;
        if nothing_first { !(self.occupied_bits | held) } else { 0 }
    }

    /// Whether a frame of `priority` may go to the transmit batch, past the queues.
    pub(crate) fn passes(&self, priority: Priority) -> bool {
        self.passing_bits() & priority.bit() != 0
    }

    /// Priorities that a pause in effect or a missing grant of the port's owner blocks.
    #[inline(always)]
    const fn held_bits(&self) -> u8 {
        self.receiver.paused_bits() & !self.ignored_bits | self.ungranted_bits
    }

    /// Priorities with queued frames that are neither blocked nor held by a rate at `now`.
    #[inline(always)]
    fn eligible_bits(&self, now: Instant) -> u8 {
        self.occupied_bits & !(self.held_bits() | self.receiver.limited_bits(now))
    }

    /// From now on, the queue of `priority` has this peak rate, or none.
    pub(crate) fn set_peak_rate(
        &mut self,
        priority: Priority,
        peak: Option<PeakRate>,
        now: Instant,
    ) {
        self.receiver.set_peak_rate(priority, peak, self.longest_bytes, now);
    }

    /// Starts a turn of a port that another worker owns, under `grant`.
    #[inline]
    pub(crate) fn begin_granted(
        &mut self,
        grant: TxGrant,
        device: &mut D,
        accounting: &mut Accounting<D::Frame, V>,
    ) {
        if grant.up != self.up {
            self.set_link(grant.up, accounting);
        }
        self.ungranted_bits = !grant.granted_bits | self.paused_elsewhere_bits();
        self.begin_bypass(device, accounting.now);
    }

    /// The grant that other workers get for this port from now on.
    #[inline]
    pub(crate) fn grant(&self) -> TxGrant {
        TxGrant { granted_bits: self.passing_bits(), up: self.up }
    }

    /// Whether a frame of `priority` is sent or queued here although another worker owns the port:
    /// the priority is granted, or earlier frames of it are queued here.
    #[inline(always)]
    pub(crate) fn takes(&self, priority: Priority) -> bool {
        self.has_waiting(priority) || self.passes(priority)
    }

    /// Sets the link up or down. At link down, the queued frames are dropped: they cannot leave,
    /// and they would occupy their VIQs' buffers forever. In both cases the pauses of both
    /// directions are reset: the peer resets them too, and pauses that are still needed are sent
    /// again after link up.
    pub(crate) fn set_link(&mut self, up: bool, accounting: &mut Accounting<D::Frame, V>) {
        if self.up == up {
            return;
        }
        self.up = up;
        self.receiver.reset(accounting.now);
        self.generator.reset(accounting.now);
        if let Some(watchdog) = &mut self.watchdog {
            watchdog.reset();
        }
        self.set_storm_bits(accounting.big_red_switch);
        if up {
            return;
        }
        self.bypasses_queue = false;
        self.unbatch(0xFF, accounting);
        Priority::all().for_each(|p| self.drop_queue(p, DropReason::PortDown, accounting));
    }

    /// Drops all queued frames of `priority`.
    fn drop_queue(
        &mut self,
        priority: Priority,
        reason: DropReason,
        accounting: &mut Accounting<D::Frame, V>,
    ) {
        self.spill_pending(accounting);
        while let Some(queued) =
            self.queues[priority.index()].veq.pop_front(&mut accounting.frame_pool)
        {
            self.drop_queued(queued, reason, accounting);
        }
        self.scheduler.emptied(priority.index());
        self.occupied_bits &= !priority.bit();
    }

    /// When this port needs a turn although nothing arrives: for the pacer, the end of a pause, a
    /// pause refresh, a rate (the peer's or a peak rate) or the watchdog.
    #[inline(always)]
    pub(crate) fn wants_turn_at(&self, now: Instant) -> Instant {
        let is_empty = self.occupied_bits == 0;
        let expires_at = if is_empty { Instant::NEVER } else { self.receiver.expires_at() };
        let other_at = self.rate_or_watchdog_at(self.occupied_bits & !self.held_bits(), now);
        expires_at.min(self.generator.refresh_at()).min(self.sends_at(now)).min(other_at)
    }

    /// `now`, or when the pacer lets the next eligible frame leave. Never, if no frame is eligible
    /// or the device notifies the worker of room.
    #[inline(always)]
    fn sends_at(&self, now: Instant) -> Instant {
        let is_told = self.awaits_tx_ready | (self.eligible_bits(now) == 0);
        let free_at = if self.is_paced { self.paced_at(now) } else { now };
        // The condition is unpredictable, so a branch would often be mispredicted.
        core::hint::select_unpredictable(is_told, Instant::NEVER, free_at)
    }

    /// When the pacer lets the next frame leave.
    #[inline(never)]
    fn paced_at(&self, now: Instant) -> Instant {
        self.pacer.as_ref().map_or(now, |pacer| pacer.free_at().max(now))
    }

    /// When a rate-limited priority of `bits` may send, or the watchdog is due, if earlier.
    #[inline(always)]
    fn rate_or_watchdog_at(&self, bits: u8, now: Instant) -> Instant {
        let watch_at = self.watchdog.as_ref().map_or(Instant::NEVER, |w| w.due(&self.receiver));
        if bits & self.receiver.rate_limited_bits() == 0 {
            return watch_at;
        }
        // A class that may send already waits for room or for another class, and needs no timer.
        let free_at = self.receiver.free_at(bits);
        if free_at > now { watch_at.min(free_at) } else { watch_at }
    }

    /// Drops a frame at this port after admission: releases it and counts the drop.
    #[cold]
    pub(crate) fn drop_queued(
        &mut self,
        queued: QueuedFrame<D::Frame>,
        reason: DropReason,
        accounting: &mut Accounting<D::Frame, V>,
    ) {
        if accounting.is_observed() {
            self.capture_drop_queued(&queued, reason, accounting);
        }
        accounting.release(&queued.meta);
        accounting.totals.dropped += 1;
        self.counters.count_drop(reason);
        if accounting.is_lossless(&queued.meta) {
            self.counters.count_lossless_drop(queued.meta.viq.priority(), reason);
        }
    }

    /// Puts a frame to the front of its VEQ, whether it came from there or bypassed it.
    #[inline(never)]
    fn put_front(
        &mut self,
        queued: QueuedFrame<D::Frame>,
        accounting: &mut Accounting<D::Frame, V>,
    ) {
        let priority = usize::from(queued.meta.priority & 7);
        match self.queues[priority].veq.push_front(&mut accounting.frame_pool, queued) {
            Ok(()) => self.occupied_bits |= 1 << priority,
            Err(queued) => self.drop_queued(queued, DropReason::TailDrop, accounting),
        }
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

    /// Whether frames are queued here.
    #[inline(always)]
    pub(crate) const fn has_queued(&self) -> bool {
        self.occupied_bits != 0
    }

    /// Whether the device takes frames one at a time, so that no transmit batch is built for it. A
    /// polling worker builds one for every device.
    #[inline(always)]
    fn takes_one(&self, device: &D) -> bool {
        V::IS_EVENT_DRIVEN && device.tx_free_frames(self.id) == 1
    }
}

/// The VEQ of one priority, as the scheduler settings require.
fn veq(switch: &SwitchSettings) -> Veq {
    if switch.scheduler.fair { Veq::fair(rx_queues(switch).len()) } else { Veq::default() }
}
