//! A switch of the network: a real worker on an emulated device, turned when an event is for it.

use crate::checker::tags::{LOSSY, TagChangeSums};
use crate::device::SimDevice;
use crate::event::{NEVER, PS_PER_NS, Picoseconds};
use crate::frame::{Pool, SimFrame};
use crate::lldp_node::{self, LldpNode};
use crate::timer::Timer;
use agents::lldp::LldpAgent;
use dataplane::control_rings::{Command, ControlRings, connect};
use dataplane::counters::DropReason;
use dataplane::driver::EventDriven;
use dataplane::fib::{Fib, Routes};
use dataplane::frame::Frame;
use dataplane::ids::{PortId, Priority};
use dataplane::pfc::watchdog::Action;
use dataplane::pipeline::classify::TagMap;
use dataplane::punt::PuntReason;
use dataplane::report::Report;
use dataplane::rules::{RuleTable, TcamEntry};
use dataplane::settings::SwitchSettings;
use dataplane::snapshot::{PortForwarding, Snapshot};
use dataplane::time::Instant;
use dataplane::tunnel::Tunnels;
use dataplane::worker::Worker;
use std::sync::Arc;

/// The time as a worker sees it: whole nanoseconds, rounded up. A worker then sees a deadline as
/// reached when it is, or up to a nanosecond before, and never sleeps past it.
pub(crate) const fn instant(now_ps: Picoseconds) -> Instant {
    Instant::from_ns(now_ps.div_ceil(PS_PER_NS))
}

/// The time of an instant of a worker.
pub(crate) const fn picoseconds(instant: Instant) -> Picoseconds {
    if instant.ns == Instant::NEVER.ns { NEVER } else { instant.ns.saturating_mul(PS_PER_NS) }
}

/// See the module's head. What every turn needs comes first.
#[derive(Debug)]
#[repr(C, align(64))]
pub(crate) struct SwitchNode {
    pub(crate) timer: Timer,
    /// Frames delivered by wires since the last restart.
    pub(crate) delivered_frames: u64,
    /// Frames taken from the control rings. The rings are read only when the worker has counted
    /// more, since a read costs a cache line.
    collected_frames: u64,
    /// Commands were sent whose replies have not been taken.
    awaits_replies: bool,
    /// Whether the current turn is event driven, as `dataplane::event_driven` describes.
    is_event_driven: bool,
    /// Whether there is an LLDP node: a copy in the cache line that every turn reads.
    runs_lldp: bool,
    /// Has the worker poll all ports in every turn.
    #[cfg(test)]
    pub(crate) polls_all_ports: bool,
    /// The LLDP node of a switch that learns its rules.
    lldp: Option<Box<LldpNode>>,
    pub(crate) worker: Worker<SimDevice, EventDriven>,
    pub(crate) name: String,
    pub(crate) settings: SwitchSettings,
    /// Totals of the time before the last restart.
    pub(crate) past: Past,
    /// Frames punted since the start, by reason, in the order of the reasons.
    pub(crate) punted: [u64; PuntReason::ALL.len()],
    tables: TableParts,
    /// The routes of the file that it is configured by, if it is.
    pub(crate) file_routes: Option<Box<Routes>>,
    pool: Pool,
    /// When the LLDP node last changed the rules.
    pub(crate) rules_changed_at: Instant,
    /// The control thread's ends of the rings. Punted frames that are not LLDP are freed; the
    /// worker has counted them.
    control: ControlRings<SimFrame>,
}

/// The inputs of a switch's tables besides its routes.
#[derive(Debug)]
pub(crate) struct TableParts {
    pub(crate) forwarding: Vec<PortForwarding>,
    pub(crate) tags: TagMap,
    pub(crate) rules: Option<Vec<TcamEntry>>,
    pub(crate) tunnels: Tunnels,
    pub(crate) seed: u64,
    pub(crate) epoch: u64,
    /// The routes in use, kept by a switch that may install other rules with them.
    pub(crate) fib: Option<Fib>,
}

impl TableParts {
    fn snapshot(&mut self, routes: &Routes) -> Snapshot {
        let fib = routes.compile();
        if let Some(used) = &mut self.fib {
            used.clone_from(&fib);
        }
        self.with_fib(fib)
    }

    /// The tables with the routes in use and these rules.
    fn with_rules(&mut self, rules: Vec<TcamEntry>) -> Option<Snapshot> {
        self.rules = Some(rules);
        self.fib.clone().map(|fib| self.with_fib(fib))
    }

    fn with_fib(&mut self, fib: Fib) -> Snapshot {
        let rules = self
            .rules
            .as_ref()
            .map(|entries| RuleTable::compile(entries, self.forwarding.len(), self.tags.lossy_tag));
        let tags = self.tags.clone();
        let mut snapshot = Snapshot::new(self.epoch, &self.forwarding, tags, rules, fib, self.seed);
        snapshot.tunnels = self.tunnels.clone();
        self.epoch += 1;
        snapshot
    }
}

/// Totals of a switch up to its last restart.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Past {
    /// Data frames that were dropped, punted, or lost with the switch.
    pub(crate) data_ended: u64,
    pub(crate) data_copied: u64,
    pub(crate) pfc_sent: u64,
    pub(crate) pfc_ended: u64,
    /// Where a lossless frame exceeded headroom, and in which priority.
    pub(crate) first_overrun: Option<(PortId, Priority)>,
    /// Frames dropped, by reason, and those of lossless classes among them.
    pub(crate) drops: [u64; DropReason::COUNT],
    pub(crate) lossless_drops: [u64; DropReason::COUNT],
    /// Frames that the switch held when it restarted, and those of lossless classes among them.
    pub(crate) lost_frames: u64,
    pub(crate) lost_lossless_frames: u64,
    /// Frames whose tag the rules changed.
    pub(crate) tag_changes: TagChangeSums,
}

impl SwitchNode {
    /// A switch with `settings` and these tables and routes on `device`. The ports of `down` are
    /// down. With an LLDP node, the rules are those that it derives.
    pub(crate) fn new(
        name: String,
        settings: SwitchSettings,
        mut tables: TableParts,
        routes: &Routes,
        device: SimDevice,
        down: &[PortId],
        mut lldp: Option<Box<LldpNode>>,
    ) -> Self {
        let pool = device.pool();
        if let Some(lldp) = &mut lldp {
            let ports = (0..settings.ports.len()).filter_map(PortId::from_index);
            let up = ports.filter(|port| !down.contains(port));
            up.for_each(|port| lldp.set_link(Instant::ZERO, port, true));
            tables.rules = Some(lldp.rules());
        }
        let down = down.iter().copied();
        let (worker, control) = start(&settings, tables.snapshot(routes), device, down);
        let past = Past::default();
        let punted = [0; PuntReason::ALL.len()];
        Self {
            timer: Timer::new(),
            name,
            settings,
            worker,
            delivered_frames: 0,
            past,
            punted,
            tables,
            file_routes: None,
            pool,
            runs_lldp: lldp.is_some(),
            lldp,
            rules_changed_at: Instant::ZERO,
            control,
            collected_frames: 0,
            awaits_replies: true,
            is_event_driven: false,
            #[cfg(test)]
            polls_all_ports: false,
        }
    }

    /// Whether a watchdog may send in spite of a pause.
    pub(crate) fn may_ignore_pauses(&self) -> bool {
        let watchdogs = self.settings.ports.iter().filter_map(|port| port.watchdog);
        watchdogs.into_iter().any(|watchdog| watchdog.action == Action::Forward)
    }

    /// Frames whose tag the rules changed, those before the last restart too.
    pub(crate) fn tag_changes(&self, report: &Report) -> TagChangeSums {
        let mut sums = self.past.tag_changes.clone();
        for count in &report.tag_changes {
            let is_lossless = self.tables.tags.is_lossless(count.new_tag);
            let new_tag = if is_lossless { count.new_tag.value() } else { LOSSY };
            *sums.entry((count.tag.value(), new_tag)).or_default() += count.frames;
        }
        sums
    }

    /// Restarts: all frames are lost, and all ports are down.
    pub(crate) fn restart(&mut self, device: SimDevice, routes: &Routes, now_ps: Picoseconds) {
        let mut report = Report::default();
        self.worker.report(&mut report, instant(now_ps));
        self.past.tag_changes = self.tag_changes(&report);
        let (totals, past) = (&report.totals, &mut self.past);
        past.data_copied += totals.copied + totals.injected;
        past.data_ended += totals.dropped + totals.punted + totals.held;
        past.lost_frames += totals.held;
        let held = self.worker.lossless_held();
        past.lost_lossless_frames += held.iter().map(|&(_, frames)| frames).sum::<u64>();
        past.pfc_ended += self.worker.device().ahead_frames() as u64;
        for port in &report.ports {
            past.pfc_sent += port.counters.pfc.tx_frames;
            past.pfc_ended += port.counters.pfc.rx_consumed();
            for priority in Priority::all() {
                let overruns = port.counters.headroom_overruns(priority);
                if overruns != 0 && past.first_overrun.is_none() {
                    past.first_overrun = Some((port.port, priority));
                }
            }
            for &reason in DropReason::ALL {
                past.drops[reason as usize] += port.counters.dropped(reason);
                past.lossless_drops[reason as usize] += port.counters.lossless_dropped_for(reason);
            }
        }
        let ports = (0..self.settings.ports.len()).filter_map(PortId::from_index);
        if let Some(lldp) = &mut self.lldp {
            lldp.restart();
            self.tables.rules = Some(lldp.rules());
        }
        let snapshot = self.tables.snapshot(routes);
        let (worker, control) = start(&self.settings, snapshot, device, ports);
        (self.worker, self.control, self.delivered_frames) = (worker, control, 0);
        (self.collected_frames, self.awaits_replies) = (0, true);
    }

    /// Uses these routes from the next turn on.
    pub(crate) fn install(&mut self, routes: &Routes) {
        let snapshot = self.tables.snapshot(routes);
        self.command(Command::Install(Arc::new(snapshot)));
    }

    /// The link at `port` went up or down.
    pub(crate) fn set_link(&mut self, port: PortId, up: bool, now_ps: Picoseconds) {
        if let Some(lldp) = &mut self.lldp {
            lldp.set_link(instant(now_ps), port, up);
            // The rules that follow are in use before frames arrive by the link.
            self.apply_lldp_actions(instant(now_ps));
        }
        self.command(Command::Link(port, up));
    }

    fn command(&mut self, command: Command<SimFrame>) {
        let pushed = self.control.commands.push(command);
        debug_assert!(pushed.is_ok(), "a worker is turned before hundreds of commands wait");
        self.awaits_replies = true;
    }

    /// Begins a turn at `now_ps`: event driven if the worker allows it, else with all ports polled.
    #[inline(always)]
    pub(crate) fn begin(&mut self, now_ps: Picoseconds, now: Instant) {
        debug_assert!(!self.worker.device().has_arrivals(), "a turn takes all of them");
        // An event-driven turn does not read commands.
        self.is_event_driven = !self.awaits_replies && self.worker.may_turn_event_driven(now);
        #[cfg(test)]
        if self.polls_all_ports {
            self.is_event_driven = false;
        }
        self.worker.device_mut().begin(now_ps);
    }

    /// Begins a turn at `now_ps` that polls all ports.
    pub(crate) fn begin_whole(&mut self, now_ps: Picoseconds) {
        self.is_event_driven = false;
        self.worker.device_mut().begin(now_ps);
    }

    /// A frame has arrived whole at `port`. It is the only one there in this turn, and follows
    /// those at lower ports.
    #[inline(always)]
    pub(crate) fn on_rx(&mut self, port: PortId, frame: SimFrame, now: Instant) {
        self.delivered_frames += 1;
        if self.is_event_driven {
            self.worker.on_rx(port, frame, now);
        } else {
            self.worker.device_mut().arrive(port, frame);
        }
    }

    /// Frames have arrived at these ports, in any order.
    pub(crate) fn take_frames(&mut self, arrived: &mut Vec<(PortId, SimFrame)>, now: Instant) {
        arrived.sort_unstable_by_key(|&(port, _)| port.index());
        arrived.drain(..).for_each(|(port, frame)| self.on_rx(port, frame, now));
    }

    /// The wire of `port` is free.
    #[inline(always)]
    pub(crate) fn on_tx_ready(&mut self, port: PortId, now_ps: Picoseconds) {
        self.worker.device_mut().free(port, now_ps);
        if self.is_event_driven {
            self.worker.on_tx_ready(port);
        }
    }

    /// Ends the turn; returns when the next one is due without an event.
    #[inline(always)]
    pub(crate) fn end(&mut self, now: Instant) -> Picoseconds {
        let next = if self.is_event_driven {
            self.worker.end_turn(now).next
        } else {
            self.turn_worker(now)
        };
        self.end_turn(next, now)
    }

    /// The end of every turn; the worker is due again at `next`.
    #[inline(always)]
    fn end_turn(&mut self, mut next: Instant, now: Instant) -> Picoseconds {
        let has_punted = self.worker.punted_frames() != self.collected_frames;
        if self.awaits_replies || has_punted || self.runs_lldp {
            next = self.run_control(next, now);
        }
        debug_assert!(next > now, "a port that waits for its wire gets an event");
        picoseconds(next)
    }

    /// Runs the control thread's part: punted frames, LLDP, replies. Returns when the worker must
    /// be turned again, which was `next`.
    #[inline(never)]
    fn run_control(&mut self, mut next: Instant, now: Instant) -> Instant {
        while self.take_punted(now) {
            next = self.turn_worker(now);
        }
        self.collected_frames = self.worker.punted_frames();
        self.awaits_replies = false;
        while let Ok(retired) = self.control.replies.pop() {
            drop(retired);
        }
        self.lldp.as_ref().map_or(next, |lldp| next.min(lldp.poll_timeout()))
    }

    #[inline(never)]
    fn turn_worker(&mut self, now: Instant) -> Instant {
        loop {
            let turn = self.worker.turn(now);
            if !self.worker.device_mut().has_arrivals() {
                return turn.next;
            }
        }
    }

    /// Takes the punted frames; returns whether commands for the worker followed.
    fn take_punted(&mut self, now: Instant) -> bool {
        while let Ok(punted) = self.control.punted.pop() {
            self.punted[punted.reason as usize] += 1;
            if let Some(lldp) = &mut self.lldp
                && punted.reason == PuntReason::Lldp
            {
                lldp.handle_frame(now, punted.port, punted.frame.head());
            }
            self.pool.give(punted.frame);
        }
        if let Some(lldp) = &mut self.lldp {
            lldp.handle_timeout(now);
            return self.apply_lldp_actions(now);
        }
        false
    }

    /// Applies the actions of the LLDP node; returns whether there were any.
    fn apply_lldp_actions(&mut self, now: Instant) -> bool {
        let mut any = false;
        while let Some(action) = self.lldp.as_mut().and_then(|lldp| lldp.poll_action()) {
            any = true;
            match action {
                lldp_node::Action::Send(port, bytes) => {
                    let frame = self.pool.take(&bytes, 0);
                    debug_assert_eq!(frame.head(), bytes, "the whole frame is stored");
                    self.command(Command::Send(port, frame));
                }
                lldp_node::Action::Rules(rules) => {
                    self.rules_changed_at = now;
                    if let Some(snapshot) = self.tables.with_rules(rules) {
                        self.command(Command::Install(Arc::new(snapshot)));
                    }
                }
            }
        }
        any
    }

    /// What the switch has learned, if it runs LLDP.
    pub(crate) fn learned(&self) -> Option<(&LldpAgent, &[TcamEntry])> {
        let rules = self.tables.rules.as_deref().unwrap_or_default();
        self.lldp.as_ref().map(|lldp| (lldp.agent(), rules))
    }
}

/// A worker with these tables. The ports of `down` are down.
fn start(
    settings: &SwitchSettings,
    snapshot: Snapshot,
    device: SimDevice,
    down: impl Iterator<Item = PortId>,
) -> (Worker<SimDevice, EventDriven>, ControlRings<SimFrame>) {
    let (mut links, mut control) = connect(1, settings.ports.len());
    let (links, mut control) = (links.remove(0), control.remove(0));
    for port in down {
        let pushed = control.commands.push(Command::Link(port, false));
        debug_assert!(pushed.is_ok(), "the ring holds a command for every port");
    }
    (Worker::new(settings, Arc::new(snapshot), device, links, EventDriven::default()), control)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_is_rounded_up_and_comes_back_as_it_was() {
        assert_eq!(
            (instant(0).ns, instant(1).ns, instant(1_000).ns, instant(1_001).ns),
            (0, 1, 1, 2)
        );
        assert_eq!(picoseconds(Instant::from_ns(7)), 7_000);
        assert_eq!(picoseconds(Instant::NEVER), NEVER);
    }
}
