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
use crate::backpressure::SHORT_BURST_FRAMES;
use crate::buffer::{LedgerReader, SharedQueues};
use crate::control_rings::{Command, Reply, WorkerRings};
use crate::device::Device;
use crate::driver::{Driver, Polling};
use crate::frame::Burst;
use crate::handoff::grants::{TxGrantWriter, TxGrants};
use crate::handoff::pauses::{ForeignPauses, PortPauses};
use crate::handoff::ring::{MacEvent, RingRx};
use crate::handoff::tx::HandoffTx;
use crate::host_class::HostPolicers;
use crate::ids::{PortId, WorkerId};
use crate::l2::MacTable;
use crate::limiter::RateLimiter;
use crate::limits::PRIORITIES;
use crate::pipeline::outcome_groups::OutcomeGroups;
use crate::port::Port;
use crate::rx_queues::{Ingress, RxQueue, rx_queues};
use crate::settings::{PortSettings, SwitchSettings};
use crate::snapshot::Snapshot;
use crate::tag_changes::TagChanges;
use crate::time::Instant;
use crate::unresolved::Unresolved;
use crate::wire::ethernet;
use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;
use rtrb::{Consumer, Producer};

mod commands;
mod core;
mod others;
mod pfc_tx;
mod state;
mod static_macs;

pub(crate) use self::core::Core;

/// MAC table slots checked for age in one turn.
const AGE_SLOTS_A_TURN: usize = 16;
/// Nanoseconds between two such checks.
const AGE_EVERY_NS: u64 = 100_000;
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
    pub(crate) has_others: bool,
    /// Outside `core`, so that a burst reads the tables without counting a reference.
    pub(crate) snapshot: Arc<Snapshot>,
    age_at: Instant,
    turns: u64,
    pub(crate) core: Core<D, V>,
    readers: Vec<LedgerReader>,
    /// The receive queues that the worker polls.
    own_queues: Vec<PortId>,
    shared_queues: SharedQueues,
    id: WorkerId,
    commands: Consumer<Command<D::Frame>>,
    replies: Producer<Reply>,
    from: Vec<Option<RingRx<D::Frame>>>,
    /// By worker index: bursts read from its handoff ring.
    taken_bursts: Vec<u64>,
    tx_grants: Vec<Arc<TxGrants>>,
    tx_grant_writer: TxGrantWriter,
    /// By slot: whether the worker polls its device for frames.
    receives: Box<[bool]>,
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
        driver.configure(settings);
        let queues = rx_queues(settings);
        let own: Vec<RxQueue> =
            queues.iter().copied().filter(|queue| queue.worker == rings.id).collect();
        let own_queues: Vec<PortId> = own.iter().map(|queue| queue.id).collect();
        let sent_at: Vec<PortId> = (0..settings.ports.len())
            .filter_map(PortId::from_index)
            .filter(|port| !own_queues.contains(port) && !settings.ports[port.index()].paced)
            .filter(|&port| device.has_tx_queue(port))
            .collect();
        let received_at = own.iter().map(|queue| {
            let of_port = &settings.ports[queue.port.index()];
            let new = if queue.is_further() { Port::further_queue } else { Port::new };
            new(queue.id, of_port, settings)
        });
        let sends_at =
            sent_at.iter().map(|&port| Port::new(port, &settings.ports[port.index()], settings));
        let mut ports: Vec<Port<D, V>> = received_at.chain(sends_at).collect();
        if rings.ledgers.len() > 1 {
            for port in ports.iter_mut().filter(|port| !port.is_further_queue) {
                let of_port = &settings.ports[port.id.index()];
                port.share_pauses(PortPauses::new(&rings.pauses, port.id, of_port, rings.id));
            }
        }
        let foreign_pauses = ForeignPauses::new(rings.pauses, settings, rings.id);
        let receives = vec![true; ports.len()].into_boxed_slice();
        // A queue that is fair among ingress ports has one FIFO for each, and two more.
        let fifos = if settings.scheduler.fair { queues.len() + 2 } else { 1 };
        // One more for the frames that wait for their next hop.
        let fifos = ports.len() * PRIORITIES * fifos + rings.to.len() + 1;
        let ledger = Arc::clone(&rings.ledgers[rings.id.index()]);
        let mut sized = settings.clone();
        sized.buffer.frames_max += SPARE_FRAMES;
        let others = (0..rings.ledgers.len()).filter(|&worker| worker != rings.id.index());
        let readers = others.map(|worker| LedgerReader::new(Arc::clone(&rings.ledgers[worker])));
        let mut core = Core {
            device,
            accounting: Accounting::new(&sized, &own_queues, fifos, ledger, driver),
            mac_table: MacTable::with_capacity(settings.mac_table, settings.seed),
            handoff_tx: HandoffTx::new(&queues, &own_queues, &sent_at, rings.to, foreign_pauses),
            outcomes: OutcomeGroups::new(u32::from(settings.buffer.cell_bytes)),
            lanes: Box::default(),
            rx: Burst::new(),
            deferred: own_queues.iter().map(|_| Burst::new()).collect(),
            free_burst: Burst::new(),
            punted: rings.punt,
            tx_frame_bytes_max: queues
                .iter()
                .map(|queue| tx_frame_bytes_max(&settings.ports[queue.port.index()]))
                .collect(),
            tag_changes: TagChanges::default(),
            lldp_limits: vec![RateLimiter::new(LLDP_FRAMES_PER_SECOND); own_queues.len()],
            host_policers: settings
                .host_rates
                .as_ref()
                .map(|rates| HostPolicers::new(rates, own_queues.len())),
            busy_turns: 0,
            rx_burst_frames: SHORT_BURST_FRAMES,
            calm_turns: 0,
            has_addresses: false,
            unresolved_until: Instant::NEVER,
            unresolved: Unresolved::default(),
            ports,
            inputs: own.iter().map(|queue| Ingress { port: queue.port, queue: queue.id }).collect(),
        };
        core.put_static_macs(&snapshot.static_macs);
        let lossless_bits = |port: PortId| settings.ports[port.index()].lossless_bits();
        let shared_queues = SharedQueues::new(rings.parts, &queues, &own, lossless_bits);
        Self {
            core,
            own_queues,
            shared_queues,
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
        self.core.accounting.now = now;
        let mut busy = false;
        let own_ports = self.core.inputs.len();
        for port in &mut self.core.ports[..own_ports] {
            port.begin(&mut self.core.device, now);
            busy |= port.watch(&mut self.core.accounting);
        }
        if self.has_others {
            self.apply_tx_grants();
        }
        while let Ok(command) = self.commands.pop() {
            self.process_command(command);
            busy = true;
        }
        if now >= self.core.unresolved_until {
            busy |= self.core.give_up_unresolved();
        }
        if self.has_others {
            self.collect_releases();
            busy |= self.handoff_rx();
        }
        if !self.shared_queues.is_empty() {
            self.read_shared_queues();
        }
        self.core.set_rx_burst_frames();
        for slot in 0..own_ports {
            if self.receives[slot] {
                busy |= self.core.receive_burst_of(&self.snapshot, slot);
            }
        }
        for slot in 0..own_ports {
            self.pfc_tx(slot);
        }
        for port in &mut self.core.ports {
            busy |= port.transmit(&mut self.core.device, &mut self.core.accounting);
        }
        for slot in 0..own_ports {
            if self.core.ports[slot].generator.has_sent_pause() {
                self.pfc_tx(slot);
            }
        }
        if !self.shared_queues.is_empty() {
            self.publish_shared_queues();
        }
        if self.has_others {
            let Core { ports, handoff_tx, accounting, .. } = &mut self.core;
            handoff_tx.flush(accounting, |slot, priority| ports[slot].has_waiting(priority));
            self.core.accounting.publish();
            self.publish_tx_grants();
        }
        self.count_turn(busy);
        Turn { busy, next: self.next_turn() }
    }

    /// Common end of all turns: ages the MAC table and counts the turn.
    #[inline(always)]
    pub(crate) fn count_turn(&mut self, busy: bool) {
        if self.core.accounting.now >= self.age_at {
            self.age();
        }
        self.turns += 1;
        self.core.busy_turns += u64::from(busy);
    }

    #[inline(never)]
    fn age(&mut self) {
        self.age_at = self.core.accounting.now + AGE_EVERY_NS;
        let handoff_tx = &mut self.core.handoff_tx;
        self.core.mac_table.age(self.core.accounting.now, AGE_SLOTS_A_TURN, |entry| {
            handoff_tx.push_event(MacEvent::Forgotten(entry.vid, entry.mac, entry.port));
        });
        self.core.has_addresses = !self.core.mac_table.is_empty();
    }

    /// The earliest timer of all ports and of the worker, after a turn that visited all ports.
    fn next_turn(&mut self) -> Instant {
        let timers =
            self.core.ports.iter().map(|port| port.wants_turn_at(self.core.accounting.now));
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

    /// What the device of this worker drives: the receive queues that it polls, then the ports of
    /// other workers at which it may transmit. Each by its number, with its port.
    pub fn driven(&self) -> impl Iterator<Item = (PortId, PortId)> {
        let inputs = &self.core.inputs;
        let port = |(slot, id): (usize, PortId)| (id, inputs.get(slot).map_or(id, |it| it.port));
        self.core.ports.iter().map(|port| port.id).enumerate().map(port)
    }

    /// Whether the worker owns `port`.
    pub fn owns(&self, port: PortId) -> bool {
        self.own_queues.contains(&port)
    }

    /// The worker's id.
    pub const fn id(&self) -> WorkerId {
        self.id
    }
}
