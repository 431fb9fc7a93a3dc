//! The worker: one pass over its ports, again and again. A core drives it, or `netsim`; it cannot
//! tell.
//!
//! A turn, in order:
//!
//! 1. commands of the control thread (a new snapshot is installed here, between two bursts),
//! 2. what other workers released and handed over,
//! 3. receive: each port's burst, no more than its VIQs can hold
//!    ([`backpressure`](crate::backpressure)), through the stages ([`ingress`](crate::ingress)),
//! 4. flow control: PFC frames for VIQs that crossed a threshold, ahead of data,
//! 5. transmit: what stands ready, then the queues, port by port,
//! 6. flow control again where upstream is silent: what was transmitted may have made room, and
//!    nothing else need ever happen here that would start another turn,
//! 7. hand over frames for other workers' ports, and publish what was released.

use crate::books::Books;
use crate::buffer::LedgerReader;
use crate::by_parts::Attention;
use crate::counters::{DropReason, Totals};
use crate::device::Device;
use crate::doors::{Doorkeeper, Doors};
use crate::exchange::Exchange;
use crate::fates::Fates;
use crate::frame::Burst;
use crate::handoff::{Inbox, News};
use crate::ids::{PortId, WorkerId};
use crate::l2::{MacEntry, MacTable};
use crate::limiter::RateLimiter;
use crate::limits::{BURST_MAX, PORTS_MAX, PRIORITIES};
use crate::links::{Command, Links, Punted, Reply};
use crate::pending::Pending;
use crate::port::Port;
use crate::probe::Probe;
use crate::queue::veq::{Held, Note};
use crate::recipe::Recipes;
use crate::report::{PortReport, Report};
use crate::settings::{PortSettings, SwitchSettings};
use crate::slots::Slots;
use crate::snapshot::Snapshot;
use crate::time::Instant;
use crate::wire::ethernet;
use crate::wire::mac_control::Pfc;
use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;
use rtrb::{Consumer, Producer};

/// Slots of the MAC table that are looked at for old age in one turn.
const AGE_SLOTS_A_TURN: usize = 16;
/// Nanoseconds between two looks.
const AGE_EVERY_NS: u64 = 100_000;
/// Bursts taken over from one other worker in one turn.
const TAKE_OVER_BURSTS: usize = 4;
/// Frames for the arena beyond those of the buffer: bursts in flight, and the switch's own.
const SPARE_FRAMES: usize = 4096;

/// LLDP frames a second, and at once, that a port hands to the control thread. A neighbour sends
/// five at once and one a second at the most (IEEE 802.1AB-2016, 9.2.5.22).
const LLDP_FRAMES_PER_SECOND: u32 = 32;

/// What a turn came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Turn {
    /// Whether anything moved. A worker that may rest rests only when nothing did.
    pub busy: bool,
    /// When the next turn is due even if nothing arrives.
    pub next: Instant,
}

/// The longest frame that a port sends, in bytes: two VLAN tags more than one without any. The
/// device takes no longer ones, so they are refused before they are charged.
fn tx_frame_bytes_max(port: &PortSettings) -> u16 {
    #[expect(clippy::cast_possible_truncation, reason = "two tags are 8 bytes")]
    port.frame_bytes_max.saturating_add(2 * ethernet::TAG_BYTES as u16)
}

/// One worker: a core's ports and books, the tables in use, and its rings. What every turn needs
/// comes first, here and in the core, in as few cache lines as may be: an emulator turns many.
#[derive(Debug)]
#[repr(C)]
pub struct Worker<D: Device, P> {
    pub(crate) attention: Attention,
    /// Beside the core, so that a burst reads the tables without counting a reference.
    pub(crate) snapshot: Arc<Snapshot>,
    age_at: Instant,
    turns: u64,
    pub(crate) core: Core<D, P>,
    readers: Vec<LedgerReader>,
    id: WorkerId,
    commands: Consumer<Command<D::Frame>>,
    replies: Producer<Reply>,
    from: Vec<Option<Inbox<D::Frame>>>,
    /// By worker index: bursts taken over from it.
    taken_bursts: Vec<u64>,
    doors: Vec<Arc<Doors>>,
    doorkeeper: Doorkeeper,
    /// By place of a port: whether its device is asked for frames.
    receives: Box<[bool]>,
}

/// What the stages work on.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Core<D: Device, P> {
    /// Places of ports that were given frames to send in this turn.
    pub(crate) sending: Slots,
    /// Places of ports by which frames came into a VIQ that uses headroom.
    pub(crate) over: Slots,
    pub(crate) ports: Vec<Port<D::Frame>>,
    busy_turns: u64,
    /// Whether the table of addresses may have some, so that they get old.
    pub(crate) has_addresses: bool,
    /// Whether the burst in hand was received before, and counted then.
    pub(crate) is_again: bool,
    /// When the first frame that waits for its next hop is given up.
    pub(crate) pending_until: Instant,
    pub(crate) exchange: Exchange<D::Frame>,
    pub(crate) device: D,
    pub(crate) books: Books<D::Frame, P>,
    pub(crate) own_ports: Vec<PortId>,
    pub(crate) mac_table: MacTable,
    pub(crate) rx: Burst<D::Frame>,
    pub(crate) pending: Pending,
    /// By place of an own port: frames that wait for room for their copies.
    pub(crate) kept: Vec<Burst<D::Frame>>,
    pub(crate) trash: Burst<D::Frame>,
    pub(crate) fates: Fates,
    pub(crate) recipes: Recipes,
    pub(crate) punted: Producer<Punted<D::Frame>>,
    /// By port index: the longest frame that a port sends, VLAN tags included.
    pub(crate) tx_frame_bytes_max: Vec<u16>,
    /// By place of an own port: LLDP frames that its neighbour may still send.
    pub(crate) lldp_limits: Vec<RateLimiter>,
}

impl<D: Device, P: Probe> Worker<D, P> {
    /// The worker `links.id` of a switch with `settings`, on `device`, which holds at least its
    /// ports.
    pub fn new(
        settings: &SwitchSettings,
        snapshot: Arc<Snapshot>,
        device: D,
        links: Links<D::Frame>,
        probe: P,
    ) -> Self {
        let own_ports: Vec<PortId> = (0..settings.ports.len())
            .filter_map(PortId::from_index)
            .filter(|port| settings.ports[port.index()].worker == links.id)
            .collect();
        let sent_at: Vec<PortId> = (0..settings.ports.len())
            .filter_map(PortId::from_index)
            .filter(|port| !own_ports.contains(port) && !settings.ports[port.index()].paced)
            .filter(|&port| device.sends_for_owner_of(port))
            .collect();
        let ports: Vec<Port<D::Frame>> = own_ports
            .iter()
            .chain(&sent_at)
            .map(|&port| Port::new(port, &settings.ports[port.index()], settings))
            .collect();
        let receives = vec![true; ports.len()].into_boxed_slice();
        let lanes = if settings.scheduler.fair { settings.ports.len() + 1 } else { 1 };
        // One more for the frames that wait for their next hop.
        let queues = ports.len() * PRIORITIES * lanes + links.to.len() + 1;
        let ledger = Arc::clone(&links.ledgers[links.id.index()]);
        let mut sized = settings.clone();
        sized.buffer.frames_max += SPARE_FRAMES;
        let others = (0..links.ledgers.len()).filter(|&worker| worker != links.id.index());
        let readers = others.map(|worker| LedgerReader::new(Arc::clone(&links.ledgers[worker])));
        let core = Core {
            device,
            books: Books::new(&sized, &own_ports, queues, ledger, probe),
            mac_table: MacTable::with_capacity(settings.mac_table, settings.seed),
            exchange: Exchange::new(settings, &own_ports, &sent_at, links.to),
            fates: Fates::new(u32::from(settings.buffer.cell_bytes)),
            recipes: Recipes::default(),
            rx: Burst::new(),
            kept: own_ports.iter().map(|_| Burst::new()).collect(),
            trash: Burst::new(),
            punted: links.punt,
            tx_frame_bytes_max: settings.ports.iter().map(tx_frame_bytes_max).collect(),
            lldp_limits: vec![RateLimiter::new(LLDP_FRAMES_PER_SECOND); own_ports.len()],
            busy_turns: 0,
            is_again: false,
            has_addresses: false,
            pending_until: Instant::NEVER,
            pending: Pending::default(),
            sending: Slots::default(),
            over: Slots::default(),
            ports,
            own_ports,
        };
        Self {
            core,
            doorkeeper: Doorkeeper::new(Arc::clone(&links.doors[links.id.index()])),
            receives,
            taken_bursts: vec![0; links.from.len()],
            doors: links.doors,
            readers: readers.collect(),
            snapshot,
            id: links.id,
            commands: links.commands,
            replies: links.replies,
            from: links.from,
            turns: 0,
            age_at: Instant::ZERO,
            attention: Attention::new(settings, links.ledgers.len() > 1),
        }
    }

    /// One pass at time `now`, which never goes back.
    pub fn turn(&mut self, now: Instant) -> Turn {
        let mut busy = false;
        let own_ports = self.core.own_ports.len();
        for port in &mut self.core.ports[..own_ports] {
            port.begin(&mut self.core.device, now);
            busy |= port.watch(&mut self.core.books, now);
        }
        self.look_at_doors(now);
        while let Ok(command) = self.commands.pop() {
            self.obey(command, now);
            busy = true;
        }
        if now >= self.core.pending_until {
            busy |= self.core.give_up_pending(now);
        }
        if self.has_others() {
            self.learn_of_releases();
            busy |= self.take_over(now);
        }
        for slot in 0..own_ports {
            if self.receives[slot] {
                busy |= self.core.receive_burst_of(&self.snapshot, slot, now);
            }
        }
        for slot in 0..own_ports {
            self.control_flow(slot, now);
        }
        for port in &mut self.core.ports {
            busy |= port.transmit(&mut self.core.device, &mut self.core.books, now);
        }
        for slot in 0..own_ports {
            if self.core.ports[slot].generator.has_told() {
                self.control_flow(slot, now);
            }
        }
        if self.has_others() {
            let Core { ports, exchange, books, .. } = &mut self.core;
            exchange.hand_over(books, |slot, priority| ports[slot].has_waiting(priority));
            self.core.books.publish();
            self.set_doors();
        }
        self.count_turn(busy, now);
        Turn { busy, next: self.next_turn(now) }
    }

    /// Whether the switch has other workers.
    #[inline(always)]
    pub(crate) const fn has_others(&self) -> bool {
        self.attention.has_others
    }

    /// What ends every turn.
    #[inline(always)]
    pub(crate) fn count_turn(&mut self, busy: bool, now: Instant) {
        if now >= self.age_at {
            self.age(now);
        }
        self.turns += 1;
        self.core.busy_turns += u64::from(busy);
    }

    /// Does what the control thread asked for.
    fn obey(&mut self, command: Command<D::Frame>, now: Instant) {
        match command {
            Command::Install(snapshot) => {
                let old = core::mem::replace(&mut self.snapshot, snapshot);
                self.reply(Reply::Retired(old));
                self.core.receive_pending(&self.snapshot, now);
            }
            Command::Report(mut report) => {
                self.report(&mut report, now);
                self.reply(Reply::Report(report));
            }
            Command::MacTable(mut slice) => {
                slice.fill(&self.core.mac_table);
                self.reply(Reply::MacTable(slice));
            }
            Command::Send(port, frame) => self.send(port, frame, now),
            Command::Receive(port, frame) => {
                let Some(slot) = self.core.exchange.slot(port) else { return };
                self.core.books.totals.injected += 1;
                self.core.ports[slot].counters.injected_frames += 1;
                self.core.rx.push(frame);
                self.core.receive_again(&self.snapshot, slot, now);
            }
            Command::Link(port, up) => self.set_link(port, up, true, now),
            Command::LinkLost(port) => self.set_link(port, false, false, now),
            Command::FlushMacTable(port) => self.flush_mac_table(port),
        }
    }

    fn set_link(&mut self, port: PortId, up: bool, receives: bool, now: Instant) {
        let Some(slot) = self.core.exchange.slot(port) else { return };
        self.receives[slot] = receives;
        self.core.ports[slot].set_link(up, &mut self.core.books, now);
        self.attention.told.set(slot, false);
        if !up {
            self.flush_mac_table(port);
        }
    }

    /// The control thread reads as many replies as it sends commands, so there is room; if it does
    /// not, the reply is dropped here, which frees a snapshot late but loses no frame.
    fn reply(&mut self, reply: Reply) {
        drop(self.replies.push(reply));
    }

    /// Sends a frame of the switch's own: charged to nobody, in a priority that nobody pauses.
    fn send(&mut self, port: PortId, frame: D::Frame, now: Instant) {
        let Some(slot) = self.core.exchange.slot(port) else { return };
        self.core.books.totals.injected += 1;
        self.core.sending.insert(slot);
        let port = &mut self.core.ports[slot];
        port.counters.injected_frames += 1;
        let note = Note::own(&frame, port.id, port.control_priority, now);
        if note.bytes > self.core.tx_frame_bytes_max[port.id.index()] {
            return self.core.drop(frame, slot, DropReason::Oversize, None);
        }
        port.enqueue_one(Held { frame, note }, &mut self.core.device, &mut self.core.books, now);
    }

    fn flush_mac_table(&mut self, port: PortId) {
        let exchange = &mut self.core.exchange;
        self.core.mac_table.flush_port(port, |entry: MacEntry| {
            exchange.announce(News::Forgotten(entry.vid, entry.mac, entry.port));
        });
    }

    /// Takes off the books what the other workers sent of this worker's VIQs.
    fn learn_of_releases(&mut self) {
        let (mut shared_bytes, mut lossy_bytes) = (0, 0);
        for reader in &mut self.readers {
            reader.collect(&self.core.own_ports, &mut self.core.books.buffer);
            let used = reader.used_bytes();
            shared_bytes += used.0;
            lossy_bytes += used.1;
        }
        self.core.books.buffer.set_others_bytes(shared_bytes, lossy_bytes);
    }

    /// Finds out at which ports of others this worker may send by itself in this turn, and sends
    /// there what has been waiting to cross. Nothing may cross before that in a turn.
    fn look_at_doors(&mut self, now: Instant) {
        let Core { ports, own_ports, exchange, device, books, .. } = &mut self.core;
        if ports.len() == own_ports.len() {
            return;
        }
        for port in &mut ports[own_ports.len()..] {
            let (owner, sent_bursts) = exchange.sent_bursts(port.id);
            let door = self.doors[owner.index()].look(port.id, self.id, sent_bursts);
            port.begin_at_door(door, device, books, now);
        }
        for worker in 0..self.doors.len() {
            while let Some((held, slot)) =
                exchange.pop_waiting(worker, books, |slot, priority| ports[slot].takes(priority))
            {
                ports[slot].enqueue_one(held, device, books, now);
            }
        }
    }

    /// Tells the others at which of this worker's ports they may send by themselves.
    fn set_doors(&mut self) {
        for port in &self.core.ports[..self.core.own_ports.len()] {
            self.doorkeeper.set_door(port.id, port.door());
        }
        for (worker, &bursts) in self.taken_bursts.iter().enumerate() {
            self.doorkeeper.set_taken(worker, bursts);
        }
    }

    /// Takes over what other workers have for this one.
    fn take_over(&mut self, now: Instant) -> bool {
        let mut any = false;
        for (inbox, taken) in self.from.iter_mut().zip(&mut self.taken_bursts) {
            let Some(inbox) = inbox else { continue };
            while let Ok(news) = inbox.news.pop() {
                any = true;
                match news {
                    News::Learnt(vid, mac, port, since) => {
                        self.core.has_addresses = true;
                        self.core.mac_table.remote_learn(vid, mac, port, since);
                    }
                    News::Forgotten(vid, mac, port) => {
                        self.core.mac_table.remote_forget(vid, mac, port);
                    }
                }
            }
            for _ in 0..TAKE_OVER_BURSTS {
                let (mut frames, mut numbers) = (Burst::new(), [0; BURST_MAX]);
                let Some(crossings) = inbox.take(&mut frames, &mut numbers) else { break };
                any = true;
                *taken += 1;
                self.core.take_over(&mut frames, &crossings, &numbers, now);
            }
        }
        any
    }

    /// Flow control of one port: tells upstream, ahead of data, what its VIQs and its receive ring
    /// need; whether there was anything to tell.
    #[inline(always)]
    pub(crate) fn control_flow(&mut self, slot: usize, now: Instant) -> bool {
        let port = &mut self.core.ports[slot];
        if port.lossless_bits == 0 || !port.up {
            return false;
        }
        if let Some(backlog) = self.core.device.rx_backlog_frames(port.id) {
            // Resumed at half, so that a ring that hovers at the mark does not make a frame a turn.
            port.backlogged = backlog > port.backlog_xoff_frames
                || port.backlogged && backlog > port.backlog_xoff_frames / 2;
        }
        let mut xoff_bits = self.core.books.buffer.xoff_bits(port.id, port.lossless_bits);
        if port.backlogged {
            xoff_bits |= port.lossless_bits;
        }
        let paused_bits = port.paused_upstream(xoff_bits);
        let slowing = port.slowing(xoff_bits, &self.core.books);
        let Some(pfc) = port.generator.poll(paused_bits, &slowing, now) else { return false };
        self.tell(slot, &pfc, now);
        true
    }

    /// Tells upstream, if the device takes it.
    #[inline(never)]
    fn tell(&mut self, slot: usize, pfc: &Pfc, now: Instant) {
        let port = &mut self.core.ports[slot];
        let Some(frame) = self.core.device.make_control(&pfc.to_frame(port.mac)) else { return };
        let mut burst: Burst<D::Frame> = Burst::new();
        burst.push(frame);
        self.core.device.tx_burst(port.id, &mut burst, now);
        if burst.is_empty() {
            port.generator.sent(pfc, now);
            self.attention.told.set(slot, port.generator.has_told());
        } else {
            self.core.device.recycle(&mut burst);
        }
    }

    #[inline(never)]
    fn age(&mut self, now: Instant) {
        self.age_at = now + AGE_EVERY_NS;
        let exchange = &mut self.core.exchange;
        self.core.mac_table.age(now, AGE_SLOTS_A_TURN, |entry| {
            exchange.announce(News::Forgotten(entry.vid, entry.mac, entry.port));
        });
        self.core.has_addresses = !self.core.mac_table.is_empty();
    }

    /// The earliest of what any port waits for.
    fn next_turn(&mut self, now: Instant) -> Instant {
        self.attention.timers_at = Instant::NEVER;
        self.core.sending = Slots::default();
        self.core.over = Slots::default();
        self.core.books.released = Slots::default();
        (0..self.core.ports.len()).for_each(|slot| self.wait_for(slot, now));
        self.next_timer()
    }

    /// The port at `slot` has been looked at: the worker waits for what it waits for now, too.
    #[inline(always)]
    pub(crate) fn wait_for(&mut self, slot: usize, now: Instant) {
        let wanted = self.core.ports[slot].wants_turn_at(now);
        self.attention.timers_at = self.attention.timers_at.min(wanted);
    }

    /// The earliest of what the worker waits for.
    #[inline(always)]
    pub(crate) fn next_timer(&self) -> Instant {
        let ageing = if self.core.has_addresses { self.age_at } else { Instant::NEVER };
        self.attention.timers_at.min(ageing).min(self.core.pending_until)
    }

    /// The balance of this worker's frames, as of now.
    pub fn totals(&self) -> Totals {
        let queued: u64 = self.core.ports.iter().map(Port::held).sum();
        let waiting = self.core.pending.len() + self.core.kept_frames();
        let held = queued + self.core.exchange.held() + waiting;
        Totals { held, ..self.core.books.totals }
    }

    /// Frames handed to the control thread so far.
    pub const fn punted_frames(&self) -> u64 {
        self.core.books.totals.punted
    }

    /// The notes of the frames that wait in the queues of this worker's ports: which VIQ each is
    /// charged to and which VEQ it waits in, which together are what waits for what.
    pub fn held_notes(&self) -> impl Iterator<Item = &Note> {
        self.core.ports.iter().flat_map(|port| port.notes(&self.core.books.arena))
    }

    /// Lossless frames that are held, by the port where they came in.
    pub fn lossless_held(&self) -> Vec<(PortId, u64)> {
        let Core { books, pending, .. } = &self.core;
        let mut frames = [0; PORTS_MAX];
        let notes = self.held_notes().chain(pending.notes(&books.arena));
        for note in notes.filter(|note| books.is_lossless(note)) {
            frames[note.viq.port_index()] += 1;
        }
        let ports = (0..).map_while(PortId::from_index).zip(frames);
        ports.filter(|&(_, frames)| frames != 0).collect()
    }

    /// Writes the state as of now into `report`, in whose memory the ports' part is kept.
    pub fn report(&self, report: &mut Report, now: Instant) {
        let pool = self.core.books.buffer.pool();
        report.at = now;
        report.epoch = self.snapshot.epoch;
        report.turns = self.turns;
        report.busy_turns = self.core.busy_turns;
        report.totals = self.totals();
        report.shared_bytes = pool.shared_bytes();
        report.shared_peak_bytes = pool.shared_peak_bytes();
        report.shared_size_bytes = pool.shared_size_bytes();
        report.lossy_bytes = pool.lossy_bytes();
        report.lossy_peak_bytes = pool.lossy_peak_bytes();
        report.mac_entries = self.core.mac_table.len();
        report.pending_frames = self.core.pending.len();
        report.ports.clear();
        let entries = self.core.ports.iter().zip(0..).map(|(port, slot)| PortReport {
            is_owner: self.core.exchange.is_own(slot),
            ..port.report(&self.core.books, now)
        });
        report.ports.extend(entries);
    }

    /// The device, to be looked at.
    pub const fn device(&self) -> &D {
        &self.core.device
    }

    /// The device, for a driver that has business of its own with it.
    pub const fn device_mut(&mut self) -> &mut D {
        &mut self.core.device
    }

    /// The probe, to be read.
    pub const fn probe_mut(&mut self) -> &mut P {
        &mut self.core.books.probe
    }

    /// The worker's ports, then those of others that it sends at.
    pub fn ports(&self) -> impl Iterator<Item = PortId> {
        self.core.ports.iter().map(|port| port.id)
    }

    /// The worker's ports.
    pub fn own_ports(&self) -> &[PortId] {
        &self.core.own_ports
    }

    /// Which worker this is.
    pub const fn id(&self) -> WorkerId {
        self.id
    }
}
