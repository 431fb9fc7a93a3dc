//! One port's egress: queues, schedule, transmit; and the port's state that both directions share.
//!
//! Reads: notes. Writes: VEQs, the burst that stands ready for the device. Counts: `tx_*`,
//! `ecn_marked_frames`. Ends: `lossy_tail`, `port_down`.
//!
//! A frame whose port is idle, unpaused and unpaced is *staged*: it goes straight to the burst for
//! the device and leaves at the end of the turn, or as soon as the burst is full. What the device
//! then does not take, and what is paused meanwhile, goes back to the front of its VEQ, in order.

use crate::books::Books;
use crate::counters::{DropReason, PortCounters};
use crate::device::Device;
use crate::frame::{Burst, Frame};
use crate::ids::{PortId, Priority};
use crate::limits::{BURST_MAX, FRAME_BYTES_MAX, PRIORITIES};
use crate::pfc::generator::Generator;
use crate::pfc::receiver::Receiver;
use crate::pfc::watchdog::Watchdog;
use crate::probe::Probe;
use crate::queue::ecn::{self, Dice};
use crate::queue::pacer::{CATCH_UP_NS, Pacer};
use crate::queue::scheduler::Scheduler;
use crate::queue::veq::{Held, Veq, low_32_bits};
use crate::settings::{EcnSettings, PortSettings, SwitchSettings};
use crate::staging::{Run, Staging};
use crate::time::Instant;
use crate::wire::MacAddress;
use alloc::boxed::Box;

mod at_door;
mod at_hand;
mod flow_control;
mod gauges;
mod link;
mod timers;

use at_hand::put_front;

/// Bursts that a port serves from its queues in one turn: enough to drain what several ports bring
/// in one, few enough that the turn stays short and a pause is heard soon.
const BURSTS_A_TURN: usize = 4;

/// A port, as its worker sees it.
///
/// A worker of many ports, or an emulator of many switches, finds none of this in its caches, so
/// what every frame needs lies together: a cache line of the port, which the generator's last
/// fields begin and the receiver's first ones end, and one of the frame's priority.
#[derive(Debug)]
#[repr(C, align(64))]
pub(crate) struct Port<F> {
    pub(crate) generator: Generator,
    pub(crate) id: PortId,
    pub(crate) frame_bytes_max: u16,
    pub(crate) up: bool,
    /// Priorities that PFC protects here.
    pub(crate) lossless_bits: u8,
    /// Priorities with a frame in their VEQ.
    occupied_bits: u8,
    /// Priorities that may not leave here for a reason of the port's owner, if that is another
    /// worker.
    closed_bits: u8,
    /// Priorities whose pauses are not obeyed, and of which frames are discarded: as the watchdog
    /// says.
    ignored_bits: u8,
    discarded_bits: u8,
    /// Whether frames may be staged on arrival. Where they may not, nothing stands ready.
    direct: bool,
    /// Frames wait for room only, and the worker is told when there is some.
    hears_of_room: bool,
    /// Whether the receive ring is so full that upstream is paused for it.
    pub(crate) backlogged: bool,
    is_paced: bool,
    /// Whether queues serve ingress ports in turn.
    is_fair: bool,
    /// Whether pauses name the class that they are for.
    pauses_own_class: bool,
    pub(crate) receiver: Receiver,
    queues: [Queue; PRIORITIES],
    /// The one frame that waits, where it need not be in its VEQ.
    at_hand: Option<Held<F>>,
    watchdog: Option<Box<Watchdog>>,
    scheduler: Scheduler,
    staged: Box<Staging<F>>,
    /// Frames of open runs that are still to be staged.
    announced_frames: usize,
    pacer: Option<Pacer>,
    /// By VIQ priority: the priority that a pause for it names.
    upstream: [Priority; PRIORITIES],
    pub(crate) backlog_xoff_frames: u32,
    pub(crate) mac: MacAddress,
    /// The priority of the switch's own frames: the highest that nobody can pause.
    pub(crate) control_priority: Priority,
    /// Without what `queues` and both sides of PFC count.
    pub(crate) counters: Box<PortCounters>,
}

/// What frames of one priority need of a port.
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
            is_fair: switch.scheduler.fair,
            pauses_own_class: settings.upstream == Priority::EACH,
            upstream: settings.upstream,
            watchdog: settings.watchdog.map(|settings| Box::new(Watchdog::new(settings))),
            ignored_bits: 0,
            discarded_bits: 0,
            occupied_bits: 0,
            scheduler: Scheduler::new(&switch.scheduler),
            is_paced: settings.paced,
            pacer: settings.paced.then(|| Pacer::new(settings.speed, CATCH_UP_NS)),
            at_hand: None,
            staged: Box::new(Staging::new()),
            announced_frames: 0,
            direct: false,
            closed_bits: 0,
            hears_of_room: false,
        }
    }

    /// Counts received frames of `priority`.
    #[inline(always)]
    pub(crate) fn count_received(&mut self, priority: Priority, frames: u64, bytes: u64) {
        let queue = &mut self.queues[priority.index()];
        queue.rx_frames += frames;
        queue.rx_bytes += bytes;
    }

    /// Starts a turn: pauses that have run out end, and it is settled whether frames may pass
    /// straight through in this turn.
    #[inline(always)]
    pub(crate) fn begin<D: Device<Frame = F>>(&mut self, device: &mut D, now: Instant) {
        self.receiver.expire(now);
        self.begin_direct(device, now);
    }

    /// Settles whether frames may be staged on arrival in this turn.
    #[inline(always)]
    fn begin_direct<D: Device<Frame = F>>(&mut self, device: &mut D, now: Instant) {
        self.direct = !takes_one(self.id, device)
            && self.up
            && !self.is_paced
            && device.tx_room_bytes(self.id, now) == u32::MAX;
    }

    /// Priorities of which a frame may go to the device without waiting: nothing that could go
    /// first waits, and nothing of its own priority waits or must.
    #[inline(always)]
    fn passing_bits(&self) -> u8 {
        // What is held to a rate goes one by one, and what is discarded does not go at all.
        let held = self.held_bits() | self.receiver.slowed_bits() | self.discarded_bits;
        let nothing_first = self.direct && self.occupied_bits & !held == 0;
        if nothing_first { !(self.occupied_bits | held) } else { 0 }
    }

    /// Priorities that may not leave now.
    #[inline(always)]
    const fn held_bits(&self) -> u8 {
        self.receiver.paused_bits() & !self.ignored_bits | self.closed_bits
    }

    /// Priorities that have frames which may leave at `now`, as far as the peer is concerned.
    #[inline(always)]
    fn eligible_bits(&self, now: Instant) -> u8 {
        self.occupied_bits & !(self.held_bits() | self.receiver.limited_bits(now))
    }

    /// Whether frames of `priority` are discarded.
    #[inline(always)]
    pub(crate) const fn discards(&self, priority: Priority) -> bool {
        self.discarded_bits & priority.bit() != 0
    }

    /// Whether frames of `priority` wait here, so that others of it must wait behind them.
    #[inline(always)]
    pub(crate) const fn has_waiting(&self, priority: Priority) -> bool {
        self.occupied_bits & priority.bit() != 0
    }

    /// Makes room for `run`, admitted frames of one priority that leave here: the number under
    /// which each is then [staged](Port::stage), or `None` if they have to wait. `burst_frames` is
    /// the length of the burst in hand, all fates together.
    #[inline(always)]
    pub(crate) fn open_run<D: Device<Frame = F>, P: Probe>(
        &mut self,
        run: Run,
        burst_frames: usize,
        device: &mut D,
        books: &mut Books<F, P>,
        now: Instant,
    ) -> Option<u8> {
        if !self.may_pass(run.priority) {
            return None;
        }
        // The first run of a burst makes room for all of it: nothing is handed over between a run's
        // opening and its last frame.
        if self.announced_frames == 0 && self.staged.room() < burst_frames {
            self.flush(device, books, now);
            if !self.may_pass(run.priority) {
                return None;
            }
        }
        self.announced_frames += usize::from(run.frames);
        Some(self.staged.open(run))
    }

    /// Adds a frame of an open run to what stands ready.
    #[inline(always)]
    pub(crate) fn stage(&mut self, frame: F, run: u8) {
        self.announced_frames -= 1;
        self.staged.push(frame, run);
    }

    /// Adds a whole burst of frames of open runs, whose numbers are in `run_of`.
    #[inline(always)]
    pub(crate) fn stage_burst(&mut self, frames: &mut Burst<F>, run_of: &[u8]) {
        self.announced_frames -= frames.len();
        self.staged.push_burst(frames, run_of);
    }

    /// If what stands ready is a whole burst, hands it to the device at once, while the caches
    /// still have it.
    #[inline(always)]
    pub(crate) fn flush_if_full<D: Device<Frame = F>, P: Probe>(
        &mut self,
        device: &mut D,
        books: &mut Books<F, P>,
        now: Instant,
    ) {
        if self.staged.room() == 0 {
            self.flush(device, books, now);
        }
    }

    /// Takes one admitted frame that leaves here.
    pub(crate) fn enqueue_one<D: Device<Frame = F>, P: Probe>(
        &mut self,
        held: Held<F>,
        device: &mut D,
        books: &mut Books<F, P>,
        now: Instant,
    ) {
        match self.open_run(books.run_of_one(&held.note), 1, device, books, now) {
            Some(run) => self.stage(held.frame, run),
            None => self.enqueue_waiting(held, books),
        }
    }

    /// Whether a frame of `priority` may go to the device without waiting.
    #[inline(always)]
    fn may_pass(&self, priority: u8) -> bool {
        self.passing_bits() >> (priority & 7) & 1 == 1
    }

    /// The frame has to wait in its VEQ.
    pub(crate) fn enqueue_waiting<P: Probe>(&mut self, held: Held<F>, books: &mut Books<F, P>) {
        let priority = usize::from(held.note.priority & 7);
        if !self.up {
            return drop_held(held, DropReason::PortDown, &mut self.counters, books);
        }
        if self.discarded_bits >> priority & 1 == 1 {
            return drop_held(held, DropReason::Watchdog, &mut self.counters, books);
        }
        self.put_away(books);
        let over = self.queues[priority].veq.bytes() + u32::from(held.note.bytes)
            > books.lossy_queue_bytes;
        if over && books.is_lossy(&held.note) {
            return drop_held(held, DropReason::LossyTail, &mut self.counters, books);
        }
        self.queue(held, books);
    }

    /// Puts admitted frames of `priority` at the end of its VEQ.
    #[inline(always)]
    pub(crate) fn queue_burst<P: Probe>(
        &mut self,
        priority: Priority,
        frames: impl Iterator<Item = Held<F>>,
        books: &mut Books<F, P>,
    ) {
        self.put_away(books);
        let mut refused: Burst<Held<F>> = Burst::new();
        let veq = &mut self.queues[priority.index()].veq;
        veq.extend(&mut books.arena, frames, |held| refused.push(held));
        self.occupied_bits |= priority.bit();
        for held in refused {
            drop_held(held, DropReason::LossyTail, &mut self.counters, books);
        }
    }

    /// Puts an admitted frame at the end of its VEQ.
    #[inline(always)]
    pub(crate) fn queue<P: Probe>(&mut self, held: Held<F>, books: &mut Books<F, P>) {
        self.put_away(books);
        let priority = usize::from(held.note.priority & 7);
        match self.queues[priority].veq.push_back(&mut books.arena, held) {
            Ok(()) => self.occupied_bits |= 1 << priority,
            Err(held) => drop_held(held, DropReason::LossyTail, &mut self.counters, books),
        }
    }

    /// Hands over what stands ready, then serves the queues for as long as the device, the pace and
    /// the peer's pauses allow. Whether anything left.
    #[inline(always)]
    pub(crate) fn transmit<D: Device<Frame = F>, P: Probe>(
        &mut self,
        device: &mut D,
        books: &mut Books<F, P>,
        now: Instant,
    ) -> bool {
        let before = books.totals.sent;
        // The first of these spares some devices a look at what stands ready, which is far away.
        let all_gone = takes_one(self.id, device)
            || !self.direct
            || self.staged.is_empty()
            || self.flush(device, books, now);
        if let Some(held) = self.at_hand.take() {
            self.serve_at_hand(held, device, books, now);
        } else if all_gone && self.up && self.eligible_bits(now) != 0 {
            self.serve(device, books, now);
        }
        self.hears_of_room = self.waits_for_room(now) && device.wait_for_room(self.id);
        books.totals.sent != before
    }

    /// Whether the worker is told when there is room for what waits here.
    #[inline(always)]
    pub(crate) const fn hears_of_room(&self) -> bool {
        self.hears_of_room
    }

    /// Whether frames wait here that nothing holds back but the device.
    #[inline(always)]
    fn waits_for_room(&self, now: Instant) -> bool {
        !self.is_paced && self.up && self.eligible_bits(now) != 0
    }

    fn serve<D: Device<Frame = F>, P: Probe>(
        &mut self,
        device: &mut D,
        books: &mut Books<F, P>,
        now: Instant,
    ) {
        if takes_one(self.id, device) {
            return self.serve_alone(device, books, now);
        }
        let mut room_bytes = device.tx_room_bytes(self.id, now);
        let has_pace = self.is_paced || self.receiver.slowed_bits() != 0;
        let is_free = room_bytes == u32::MAX && !has_pace;
        for _ in 0..BURSTS_A_TURN {
            let frames_max = device.tx_room_frames(self.id).min(BURST_MAX);
            if is_free {
                self.stage_alone(frames_max, books);
            }
            while self.staged.frames.len() < frames_max {
                let Some(held) = self.next(room_bytes, books, now) else { break };
                room_bytes = room_bytes.saturating_sub(u32::from(held.note.bytes));
                let run = books.run_of_one(&held.note);
                let run = self.staged.open(run);
                self.staged.push(held.frame, run);
            }
            let is_last = self.staged.frames.len() < BURST_MAX;
            if self.staged.is_empty() || !self.flush(device, books, now) || is_last {
                return;
            }
        }
    }

    /// Stages frames of the one priority that can leave, if there is just one: nobody competes, so
    /// the scheduler has nothing to say.
    #[inline]
    fn stage_alone<P: Probe>(&mut self, frames_max: usize, books: &mut Books<F, P>) {
        let eligible = self.occupied_bits & !self.held_bits();
        if !eligible.is_power_of_two() {
            return;
        }
        let priority = eligible.trailing_zeros() as usize % PRIORITIES;
        let (ecn, cell_bytes) = (books.ecn[priority], books.buffer.cell_bytes());
        let mut room = frames_max.saturating_sub(self.staged.frames.len());
        let (veq, staged) = (&mut self.queues[priority].veq, &mut self.staged);
        while room > 0 && !veq.is_empty() {
            let mut depth_bytes = veq.bytes();
            let places = veq.front_frames(&mut books.arena, room);
            let (took, dice) = (places.len(), &mut books.dice);
            staged.take_waiting(places, cell_bytes, |frame, note| {
                if let Some(settings) = &ecn {
                    let marked = mark(settings, depth_bytes, note.l3, frame, dice);
                    self.counters.ecn_marked_frames[priority] += u64::from(marked);
                }
                depth_bytes -= u32::from(note.bytes);
            });
            let bytes = veq.bytes() - depth_bytes;
            veq.took(&mut books.arena, took, bytes);
            room -= took;
        }
        self.took_from(priority);
    }

    /// Frames were taken from the VEQ of `priority`, perhaps the last ones.
    #[inline]
    fn took_from(&mut self, priority: usize) {
        if self.queues[priority].veq.is_empty() {
            self.occupied_bits &= !(1 << priority);
            self.scheduler.emptied(priority);
        }
    }

    /// The next frame to leave.
    #[inline]
    fn next<P: Probe>(
        &mut self,
        room_bytes: u32,
        books: &mut Books<F, P>,
        now: Instant,
    ) -> Option<Held<F>> {
        let eligible = self.eligible_bits(now);
        if eligible == 0 || self.pacer.as_ref().is_some_and(|pacer| !pacer.is_free(now)) {
            return None;
        }
        let (queues, arena) = (&self.queues, &books.arena);
        let front_bytes =
            |p: usize| queues[p].veq.front(arena).map_or(0, |note| u32::from(note.bytes));
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
        let mut held = veq.pop_front(&mut books.arena)?;
        self.took_from(priority);
        self.departs(&mut held, depth_bytes, books, now);
        Some(held)
    }

    /// A frame is about to leave a queue of `depth_bytes`: it is charged to what it is held to, and
    /// marked if the queue is long.
    #[inline(always)]
    fn departs<P: Probe>(
        &mut self,
        held: &mut Held<F>,
        depth_bytes: u32,
        books: &mut Books<F, P>,
        now: Instant,
    ) {
        let Held { frame, note } = held;
        let priority = Priority::from_low_bits(note.priority);
        if self.is_paced
            && let Some(pacer) = &mut self.pacer
        {
            pacer.send(u32::from(note.bytes), now);
        }
        self.receiver.sent(priority, u32::from(note.bytes), now);
        let p = priority.index();
        if let Some(settings) = &books.ecn[p] {
            let marked = mark(settings, depth_bytes, note.l3, frame, &mut books.dice);
            self.counters.ecn_marked_frames[p] += u64::from(marked);
        }
    }

    /// Hands the staged burst to the device and books what it took; whether it took all.
    #[inline(always)]
    fn flush<D: Device<Frame = F>, P: Probe>(
        &mut self,
        device: &mut D,
        books: &mut Books<F, P>,
        now: Instant,
    ) -> bool {
        let staged = self.staged.frames.len();
        device.tx_burst(self.id, &mut self.staged.frames, now);
        let cell_bytes = books.buffer.cell_bytes();
        let queues = &mut self.queues;
        self.staged.book_sent(staged, cell_bytes, |run| book_run(run, queues, books, now));
        let all = self.staged.is_empty();
        if !all {
            self.direct = false;
            self.unstage(0xFF, books);
        }
        all
    }

    /// Puts staged frames whose priority is in `bits` back to the front of their VEQs.
    pub(crate) fn unstage<P: Probe>(&mut self, bits: u8, books: &mut Books<F, P>) {
        self.put_away(books);
        let Self { staged, queues, occupied_bits, counters, id, .. } = self;
        staged.take_back(bits, *id, |held| {
            put_front(held, queues, occupied_bits, counters, books);
        });
    }
}

/// Whether the device takes frames one at a time, so that nothing is made ready for it.
#[inline(always)]
fn takes_one<D: Device>(port: PortId, device: &D) -> bool {
    device.tx_room_frames(port) == 1
}

/// A queue of a port.
fn veq(switch: &SwitchSettings) -> Veq {
    if switch.scheduler.fair { Veq::fair(switch.ports.len()) } else { Veq::default() }
}

/// Marks a frame that leaves a queue of `depth_bytes`, if it is due; whether it was.
#[inline]
fn mark<F: Frame>(
    settings: &EcnSettings,
    depth_bytes: u32,
    l3: u8,
    frame: &mut F,
    dice: &mut Dice,
) -> bool {
    l3 != 0 && ecn::is_due(settings, depth_bytes, dice) && ecn::mark(frame, l3)
}

/// A frame ends at this port after it was admitted.
#[cold]
pub(crate) fn drop_held<F: Frame, P: Probe>(
    held: Held<F>,
    reason: DropReason,
    counters: &mut PortCounters,
    books: &mut Books<F, P>,
) {
    books.release(&held.note);
    books.totals.dropped += 1;
    counters.count_drop(reason);
    if books.is_lossless(&held.note) {
        counters.count_lossless_drop(held.note.viq.priority(), reason);
    }
}

/// Counts and releases frames that have left.
#[inline(always)]
fn book_run<F: Frame, P: Probe>(
    run: &Run,
    queues: &mut [Queue; PRIORITIES],
    books: &mut Books<F, P>,
    now: Instant,
) {
    let frames = usize::from(run.frames);
    let queue = &mut queues[usize::from(run.priority & 7)];
    queue.tx_frames += frames as u64;
    queue.tx_bytes += u64::from(run.bytes);
    books.totals.sent += frames as u64;
    books.release_bytes(run.viq, run.cost_bytes);
    match low_32_bits(now).wrapping_sub(run.arrived_ns) {
        0 => books.probe.passed(frames),
        ns => books.probe.waited(ns, frames),
    }
}
