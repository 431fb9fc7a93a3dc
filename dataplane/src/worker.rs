//! The worker: makes one pass (a turn) over its ports, repeatedly. A CPU core or `netsim` calls it;
//! the code is the same.
//!
//! A turn, in order:
//!
//! 1. Process commands of the control thread. A new snapshot is installed here, between two bursts.
//! 2. Read what other workers released and handed off.
//! 3. Receive one burst from each port, no more than its VIQs can hold
//!    ([`backpressure`](crate::backpressure)), and run it through the stages
//!    ([`pipeline`](crate::pipeline)).
//! 4. Flow control: send PFC frames, ahead of data, for VIQs that crossed a threshold.
//! 5. Transmit, port by port: the transmit batch first, then the queues.
//! 6. Flow control again where upstream is paused. Transmission may have freed buffer, and no later
//!    event need start another turn.
//! 7. Hand off frames for other workers' ports, and publish what was released.
//!
//! VIQ: virtual ingress queue, SONiC's priority group. VEQ: virtual egress queue, an egress queue.

use crate::accounting::Accounting;
use crate::buffer::LedgerReader;
use crate::control_rings::{Command, Punted, Reply, WorkerRings};
use crate::counters::{DropReason, Totals};
use crate::device::Device;
use crate::driver::{Driver, Polling};
use crate::frame::Burst;
use crate::handoff::grants::{TxGrantWriter, TxGrants};
use crate::handoff::ring::{MacEvent, RingRx};
use crate::handoff::tx::HandoffTx;
use crate::ids::{PortId, WorkerId};
use crate::l2::{MacEntry, MacTable};
use crate::limiter::RateLimiter;
use crate::limits::{BURST_MAX, PORTS_MAX, PRIORITIES};
use crate::pipeline::outcome_groups::OutcomeGroups;
use crate::pipeline::rewrite_cache::RewriteCache;
use crate::port::Port;
use crate::queue::veq::{FrameMeta, QueuedFrame};
use crate::report::{PortReport, Report};
use crate::settings::{PortSettings, SwitchSettings};
use crate::snapshot::Snapshot;
use crate::time::Instant;
use crate::unresolved::Unresolved;
use crate::wire::ethernet;
use crate::wire::mac_control::Pfc;
use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;
use rtrb::{Consumer, Producer};

/// MAC table slots checked for age in one turn.
const AGE_SLOTS_A_TURN: usize = 16;
/// Nanoseconds between two such checks.
const AGE_EVERY_NS: u64 = 100_000;
/// Bursts read from the handoff ring of one other worker in one turn.
const HANDOFF_RX_BURSTS: usize = 4;
/// Frames of the frame pool beyond those of the buffer: bursts in flight, and the switch's own.
const SPARE_FRAMES: usize = 4096;

/// LLDP frames per second, and the burst size, that a port passes to the control thread. A neighbor
/// sends at most five at once and one per second (IEEE 802.1AB-2016, 9.2.5.22).
const LLDP_FRAMES_PER_SECOND: u32 = 32;

/// The result of a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Turn {
    /// Whether any work was done. A worker that may sleep does so only after a turn without work.
    pub busy: bool,
    /// When the next turn is due even if no frame arrives.
    pub next: Instant,
}

/// The longest frame that a port sends, in bytes: its untagged maximum plus two VLAN tags. The
/// device takes no longer ones, so they are refused before they are charged.
fn tx_frame_bytes_max(port: &PortSettings) -> u16 {
    #[expect(clippy::cast_possible_truncation, reason = "two tags are 8 bytes")]
    port.frame_bytes_max.saturating_add(2 * ethernet::TAG_BYTES as u16)
}

/// One worker: its ports and their accounting, the tables in use, and its rings. The fields that
/// every turn reads come first, here and in `Core`, in as few cache lines as possible: an emulator
/// calls many workers.
#[derive(Debug)]
#[repr(C)]
pub struct Worker<D: Device, V: Driver = Polling> {
    /// Whether the switch has other workers.
    has_others: bool,
    /// Outside `core`, so that a burst reads the tables without counting a reference.
    pub(crate) snapshot: Arc<Snapshot>,
    age_at: Instant,
    turns: u64,
    pub(crate) core: Core<D, V>,
    readers: Vec<LedgerReader>,
    id: WorkerId,
    commands: Consumer<Command<D::Frame>>,
    replies: Producer<Reply>,
    from: Vec<Option<RingRx<D::Frame>>>,
    /// By worker index: bursts read from its handoff ring.
    taken_bursts: Vec<u64>,
    tx_grants: Vec<Arc<TxGrants>>,
    tx_grant_writer: TxGrantWriter,
    /// By port slot: whether the worker polls its device for frames.
    receives: Box<[bool]>,
}

/// The part of a worker that the pipeline stages use.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Core<D: Device, V: Driver> {
    pub(crate) ports: Vec<Port<D::Frame, V>>,
    busy_turns: u64,
    /// Whether the MAC table may have entries, which have to be aged.
    pub(crate) has_addresses: bool,
    /// Whether the current burst was received, and counted, before.
    pub(crate) is_again: bool,
    /// When the first frame that waits for its next hop expires.
    pub(crate) unresolved_until: Instant,
    pub(crate) handoff_tx: HandoffTx<D::Frame>,
    pub(crate) device: D,
    pub(crate) accounting: Accounting<D::Frame, V>,
    pub(crate) own_ports: Vec<PortId>,
    pub(crate) mac_table: MacTable,
    pub(crate) rx: Burst<D::Frame>,
    pub(crate) unresolved: Unresolved,
    /// By own-port slot: frames kept until all of their flood copies can be admitted.
    pub(crate) kept: Vec<Burst<D::Frame>>,
    pub(crate) free_burst: Burst<D::Frame>,
    pub(crate) outcomes: OutcomeGroups,
    pub(crate) rewrite_cache: RewriteCache,
    pub(crate) punted: Producer<Punted<D::Frame>>,
    /// By port index: the longest frame that a port sends, VLAN tags included.
    pub(crate) tx_frame_bytes_max: Vec<u16>,
    /// By own-port slot: the policer of LLDP frames from its neighbor.
    pub(crate) lldp_limits: Vec<RateLimiter>,
}

impl<D: Device, V: Driver> Worker<D, V> {
    /// The worker `rings.id` of a switch with `settings`. `device` drives at least its ports.
    pub fn new(
        settings: &SwitchSettings,
        snapshot: Arc<Snapshot>,
        device: D,
        rings: WorkerRings<D::Frame>,
        mut driver: V,
    ) -> Self {
        driver.configure(settings, rings.ledgers.len());
        let own_ports: Vec<PortId> = (0..settings.ports.len())
            .filter_map(PortId::from_index)
            .filter(|port| settings.ports[port.index()].worker == rings.id)
            .collect();
        let sent_at: Vec<PortId> = (0..settings.ports.len())
            .filter_map(PortId::from_index)
            .filter(|port| !own_ports.contains(port) && !settings.ports[port.index()].paced)
            .filter(|&port| device.has_tx_queue(port))
            .collect();
        let ports: Vec<Port<D::Frame, V>> = own_ports
            .iter()
            .chain(&sent_at)
            .map(|&port| Port::new(port, &settings.ports[port.index()], settings))
            .collect();
        let receives = vec![true; ports.len()].into_boxed_slice();
        // A queue that is fair among ingress ports has one FIFO for each, and two more.
        let fifos = if settings.scheduler.fair { settings.ports.len() + 2 } else { 1 };
        // One more for the frames that wait for their next hop.
        let queues = ports.len() * PRIORITIES * fifos + rings.to.len() + 1;
        let ledger = Arc::clone(&rings.ledgers[rings.id.index()]);
        let mut sized = settings.clone();
        sized.buffer.frames_max += SPARE_FRAMES;
        let others = (0..rings.ledgers.len()).filter(|&worker| worker != rings.id.index());
        let readers = others.map(|worker| LedgerReader::new(Arc::clone(&rings.ledgers[worker])));
        let core = Core {
            device,
            accounting: Accounting::new(&sized, &own_ports, queues, ledger, driver),
            mac_table: MacTable::with_capacity(settings.mac_table, settings.seed),
            handoff_tx: HandoffTx::new(settings, &own_ports, &sent_at, rings.to),
            outcomes: OutcomeGroups::new(u32::from(settings.buffer.cell_bytes)),
            rewrite_cache: RewriteCache::default(),
            rx: Burst::new(),
            kept: own_ports.iter().map(|_| Burst::new()).collect(),
            free_burst: Burst::new(),
            punted: rings.punt,
            tx_frame_bytes_max: settings.ports.iter().map(tx_frame_bytes_max).collect(),
            lldp_limits: vec![RateLimiter::new(LLDP_FRAMES_PER_SECOND); own_ports.len()],
            busy_turns: 0,
            is_again: false,
            has_addresses: false,
            unresolved_until: Instant::NEVER,
            unresolved: Unresolved::default(),
            ports,
            own_ports,
        };
        Self {
            core,
            tx_grant_writer: TxGrantWriter::new(Arc::clone(&rings.tx_grants[rings.id.index()])),
            receives,
            taken_bursts: vec![0; rings.from.len()],
            tx_grants: rings.tx_grants,
            readers: readers.collect(),
            snapshot,
            id: rings.id,
            commands: rings.commands,
            replies: rings.replies,
            from: rings.from,
            turns: 0,
            age_at: Instant::ZERO,
            has_others: rings.ledgers.len() > 1,
        }
    }

    /// Makes one turn at time `now`, which never goes back.
    pub fn turn(&mut self, now: Instant) -> Turn {
        let mut busy = false;
        let own_ports = self.core.own_ports.len();
        for port in &mut self.core.ports[..own_ports] {
            port.begin(&mut self.core.device, now);
            busy |= port.watch(&mut self.core.accounting, now);
        }
        self.apply_tx_grants(now);
        while let Ok(command) = self.commands.pop() {
            self.process_command(command, now);
            busy = true;
        }
        if now >= self.core.unresolved_until {
            busy |= self.core.give_up_unresolved(now);
        }
        if self.has_others {
            self.learn_of_releases();
            busy |= self.handoff_rx(now);
        }
        for slot in 0..own_ports {
            if self.receives[slot] {
                busy |= self.core.receive_burst_of(&self.snapshot, slot, now);
            }
        }
        for slot in 0..own_ports {
            self.pfc_tx(slot, now);
        }
        for port in &mut self.core.ports {
            busy |= port.transmit(&mut self.core.device, &mut self.core.accounting, now);
        }
        for slot in 0..own_ports {
            if self.core.ports[slot].generator.has_sent_pause() {
                self.pfc_tx(slot, now);
            }
        }
        if self.has_others {
            let Core { ports, handoff_tx, accounting, .. } = &mut self.core;
            handoff_tx.flush(accounting, |slot, priority| ports[slot].has_waiting(priority));
            self.core.accounting.publish();
            self.publish_tx_grants();
        }
        self.count_turn(busy, now);
        Turn { busy, next: self.next_turn(now) }
    }

    /// Common end of all turns: ages the MAC table and counts the turn.
    #[inline(always)]
    pub(crate) fn count_turn(&mut self, busy: bool, now: Instant) {
        if now >= self.age_at {
            self.age(now);
        }
        self.turns += 1;
        self.core.busy_turns += u64::from(busy);
    }

    /// Executes one command of the control thread.
    fn process_command(&mut self, command: Command<D::Frame>, now: Instant) {
        match command {
            Command::Install(snapshot) => {
                let old = core::mem::replace(&mut self.snapshot, snapshot);
                self.reply(Reply::Retired(old));
                self.core.receive_unresolved(&self.snapshot, now);
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
                let Some(slot) = self.core.handoff_tx.slot(port) else { return };
                self.core.accounting.totals.injected += 1;
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
        let Some(slot) = self.core.handoff_tx.slot(port) else { return };
        self.receives[slot] = receives;
        self.core.ports[slot].set_link(up, &mut self.core.accounting, now);
        let is_paused = self.core.ports[slot].generator.has_sent_pause();
        self.core.accounting.driver.mark_xoff(slot, is_paused);
        if !up {
            self.flush_mac_table(port);
        }
    }

    /// The control thread reads as many replies as it sends commands, so there is room. If it does
    /// not, the reply is dropped here, which frees a snapshot late but loses no frame.
    fn reply(&mut self, reply: Reply) {
        drop(self.replies.push(reply));
    }

    /// Sends a frame of the switch's own: charged to no VIQ, in a priority that is never paused.
    fn send(&mut self, port: PortId, frame: D::Frame, now: Instant) {
        let Some(slot) = self.core.handoff_tx.slot(port) else { return };
        self.core.accounting.totals.injected += 1;
        self.core.accounting.driver.mark_tx(slot);
        let port = &mut self.core.ports[slot];
        port.counters.injected_frames += 1;
        let meta = FrameMeta::own(&frame, port.id, port.control_priority, now);
        if meta.bytes > self.core.tx_frame_bytes_max[port.id.index()] {
            return self.core.drop(frame, slot, DropReason::Oversize, None);
        }
        port.enqueue_one(
            QueuedFrame { frame, meta },
            &mut self.core.device,
            &mut self.core.accounting,
            now,
        );
    }

    fn flush_mac_table(&mut self, port: PortId) {
        let handoff_tx = &mut self.core.handoff_tx;
        self.core.mac_table.flush_port(port, |entry: MacEntry| {
            handoff_tx.announce(MacEvent::Forgotten(entry.vid, entry.mac, entry.port));
        });
    }

    /// Releases, in this worker's accounting, what other workers sent of its VIQs.
    fn learn_of_releases(&mut self) {
        let (mut shared_bytes, mut lossy_bytes) = (0, 0);
        for reader in &mut self.readers {
            reader.collect(&self.core.own_ports, &mut self.core.accounting.buffer);
            let used = reader.used_bytes();
            shared_bytes += used.0;
            lossy_bytes += used.1;
        }
        self.core.accounting.buffer.set_others_bytes(shared_bytes, lossy_bytes);
    }

    /// Reads the transmit grants for other workers' ports, and sends there the frames that wait for
    /// handoff. No frame may be handed off earlier in a turn.
    fn apply_tx_grants(&mut self, now: Instant) {
        let Core { ports, own_ports, handoff_tx, device, accounting, .. } = &mut self.core;
        if ports.len() == own_ports.len() {
            return;
        }
        for port in &mut ports[own_ports.len()..] {
            let (owner, sent_bursts) = handoff_tx.sent_bursts(port.id);
            let grant = self.tx_grants[owner.index()].read(port.id, self.id, sent_bursts);
            port.begin_granted(grant, device, accounting, now);
        }
        for worker in 0..self.tx_grants.len() {
            while let Some((queued, slot)) =
                handoff_tx
                    .pop_waiting(worker, accounting, |slot, priority| ports[slot].takes(priority))
            {
                ports[slot].enqueue_one(queued, device, accounting, now);
            }
        }
    }

    /// Publishes at which of this worker's ports the other workers may transmit.
    fn publish_tx_grants(&mut self) {
        for port in &self.core.ports[..self.core.own_ports.len()] {
            self.tx_grant_writer.set_grant(port.id, port.grant());
        }
        for (worker, &bursts) in self.taken_bursts.iter().enumerate() {
            self.tx_grant_writer.set_taken_bursts(worker, bursts);
        }
    }

    /// Reads the MAC events and bursts that other workers handed off; returns whether there were
    /// any.
    fn handoff_rx(&mut self, now: Instant) -> bool {
        let mut any = false;
        for (ring, taken) in self.from.iter_mut().zip(&mut self.taken_bursts) {
            let Some(ring) = ring else { continue };
            while let Ok(mac_events) = ring.mac_events.pop() {
                any = true;
                match mac_events {
                    MacEvent::Learned(vid, mac, port, since) => {
                        self.core.has_addresses = true;
                        self.core.mac_table.remote_learn(vid, mac, port, since);
                    }
                    MacEvent::Forgotten(vid, mac, port) => {
                        self.core.mac_table.remote_forget(vid, mac, port);
                    }
                }
            }
            for _ in 0..HANDOFF_RX_BURSTS {
                let (mut frames, mut numbers) = (Burst::new(), [0; BURST_MAX]);
                let Some(descriptors) = ring.take(&mut frames, &mut numbers) else { break };
                any = true;
                *taken += 1;
                self.core.handoff_rx(&mut frames, &descriptors, &numbers, now);
            }
        }
        any
    }

    /// Sends upstream, ahead of data, the PFC frame that the VIQs and the receive ring of one port
    /// require; returns whether one was due.
    #[inline(always)]
    pub(crate) fn pfc_tx(&mut self, slot: usize, now: Instant) -> bool {
        let port = &mut self.core.ports[slot];
        if port.lossless_bits == 0 || !port.up {
            return false;
        }
        if let Some(backlog) = self.core.device.rx_backlog_frames(port.id) {
            // Resumed at half: a ring that hovers at the mark causes no PFC frame every turn.
            port.backlogged = backlog > port.backlog_xoff_frames
                || port.backlogged && backlog > port.backlog_xoff_frames / 2;
        }
        let mut xoff_bits = self.core.accounting.buffer.xoff_bits(port.id, port.lossless_bits);
        if port.backlogged {
            xoff_bits |= port.lossless_bits;
        }
        let paused_bits = port.paused_upstream(xoff_bits);
        let slowing = port.slowing(xoff_bits, &self.core.accounting);
        let Some(pfc) = port.generator.poll(paused_bits, &slowing, now) else { return false };
        self.send_pfc(slot, &pfc, now);
        true
    }

    /// Sends `pfc` upstream, if the device has room for it.
    #[inline(never)]
    fn send_pfc(&mut self, slot: usize, pfc: &Pfc, now: Instant) {
        let port = &mut self.core.ports[slot];
        let Some(frame) = self.core.device.make_control(&pfc.to_frame(port.mac)) else { return };
        let mut burst: Burst<D::Frame> = Burst::new();
        burst.push(frame);
        self.core.device.tx_burst(port.id, &mut burst, now);
        if burst.is_empty() {
            port.generator.sent(pfc, now);
            let is_paused = port.generator.has_sent_pause();
            self.core.accounting.driver.mark_xoff(slot, is_paused);
        } else {
            self.core.device.recycle(&mut burst);
        }
    }

    #[inline(never)]
    fn age(&mut self, now: Instant) {
        self.age_at = now + AGE_EVERY_NS;
        let handoff_tx = &mut self.core.handoff_tx;
        self.core.mac_table.age(now, AGE_SLOTS_A_TURN, |entry| {
            handoff_tx.announce(MacEvent::Forgotten(entry.vid, entry.mac, entry.port));
        });
        self.core.has_addresses = !self.core.mac_table.is_empty();
    }

    /// The earliest timer of all ports and of the worker, after a turn that visited all ports.
    fn next_turn(&mut self, now: Instant) -> Instant {
        let timers = self.core.ports.iter().map(|port| port.wants_turn_at(now));
        let timers_at = timers.fold(Instant::NEVER, Instant::min);
        self.core.accounting.driver.visited_all(timers_at);
        self.next_timer(timers_at)
    }

    /// The earliest timer of the worker, whose ports' earliest is `timers_at`.
    #[inline(always)]
    pub(crate) fn next_timer(&self, timers_at: Instant) -> Instant {
        let ageing = if self.core.has_addresses { self.age_at } else { Instant::NEVER };
        timers_at.min(ageing).min(self.core.unresolved_until)
    }

    /// The frame balance of this worker, as of now.
    pub fn totals(&self) -> Totals {
        let queued: u64 = self.core.ports.iter().map(Port::held).sum();
        let waiting = self.core.unresolved.len() + self.core.kept_frames();
        let held = queued + self.core.handoff_tx.held() + waiting;
        Totals { held, ..self.core.accounting.totals }
    }

    /// Frames punted to the control thread so far.
    pub const fn punted_frames(&self) -> u64 {
        self.core.accounting.totals.punted
    }

    /// The metadata of the frames queued at this worker's ports: the VIQ that each is charged to
    /// and the VEQ that it waits in. Together they are the wait-for relation of the queues.
    pub fn queued_metas(&self) -> impl Iterator<Item = &FrameMeta> {
        self.core.ports.iter().flat_map(|port| port.metas(&self.core.accounting.frame_pool))
    }

    /// Lossless frames in the worker, by ingress port.
    pub fn lossless_held(&self) -> Vec<(PortId, u64)> {
        let Core { accounting, unresolved, .. } = &self.core;
        let mut frames = [0; PORTS_MAX];
        let metas = self.queued_metas().chain(unresolved.metas(&accounting.frame_pool));
        for meta in metas.filter(|meta| accounting.is_lossless(meta)) {
            frames[meta.viq.port_index()] += 1;
        }
        let ports = (0..).map_while(PortId::from_index).zip(frames);
        ports.filter(|&(_, frames)| frames != 0).collect()
    }

    /// Writes the state as of now into `report`, and reuses the memory of its port list.
    pub fn report(&self, report: &mut Report, now: Instant) {
        let pool = self.core.accounting.buffer.pool();
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
        report.pending_frames = self.core.unresolved.len();
        report.ports.clear();
        let entries = self.core.ports.iter().zip(0..).map(|(port, slot)| PortReport {
            is_owner: self.core.handoff_tx.is_own(slot),
            ..port.report(&self.core.accounting, now)
        });
        report.ports.extend(entries);
    }

    /// The device.
    pub const fn device(&self) -> &D {
        &self.core.device
    }

    /// The device, for a driver that also uses it directly.
    pub const fn device_mut(&mut self) -> &mut D {
        &mut self.core.device
    }

    /// The probe.
    pub fn probe_mut(&mut self) -> &mut V::Probe {
        self.core.accounting.driver.probe()
    }

    /// The worker's ports, then those of other workers at which it may transmit.
    pub fn ports(&self) -> impl Iterator<Item = PortId> {
        self.core.ports.iter().map(|port| port.id)
    }

    /// The ports that the worker owns.
    pub fn own_ports(&self) -> &[PortId] {
        &self.core.own_ports
    }

    /// The worker's id.
    pub const fn id(&self) -> WorkerId {
        self.id
    }
}
