//! Watches a network while it runs: samples for the time line, checks at every sample, and the
//! deadlock as soon as it is one.

use super::build::{Built, BuiltFlow};
use super::losses::{Losses, by_cause};
use crate::checker::Deadlock;
use crate::checker::tags::LOSSY;
use crate::event::Picoseconds;
use crate::flow::FlowCounters;
use crate::link::Ends;
use crate::network::Network;
use crate::outcome::{
    CycleHop, DeadlockOutcome, FlowOutcome, LinkOutcome, NodeOutcome, Outcome, PauseSpans,
    QueueSeries, TagChangeOutcome, Timeline, TopologyOutcome,
};
use crate::switch_node::SwitchNode;
use crate::switch_spec::promised_bytes;
use dataplane::counters::{DropReason, PfcCounters};
use dataplane::ids::Priority;
use dataplane::limits::PRIORITIES;
use dataplane::report::Report;
use dataplane::settings::SwitchSettings;
use std::collections::BTreeMap;

/// Flows, queues and pauses that the time line shows at the most.
const FLOWS_SHOWN: usize = 64;
const QUEUES_SHOWN: usize = 32;
const PAUSES_SHOWN: usize = 64;

/// See the module's head.
#[derive(Debug)]
pub(super) struct Observer {
    steps: u64,
    looks: u64,
    timeline: Timeline,
    /// By switch, port and priority, of VIQs that ever held anything.
    queues: BTreeMap<(usize, usize, u8), QueueSeries>,
    /// Bytes of each flow when last looked, three quarters through, and when sources stopped.
    seen_bytes: Vec<u64>,
    before_last_quarter: Vec<u64>,
    at_stop: Vec<u64>,
    deadlock: Option<DeadlockOutcome>,
    /// The first loss of lossless frames, and the first of all else that must not be.
    lost: Option<String>,
    violation: Option<String>,
}

impl Observer {
    /// Will look `steps` times while sources send for `duration_ps`, and then some.
    pub(super) fn new(built: &Built, duration_ps: Picoseconds, steps: u64) -> Self {
        let flows = built.flows.len();
        Self {
            steps,
            looks: 0,
            timeline: Timeline {
                step_ps: duration_ps / steps,
                flow_bytes: vec![Vec::new(); flows.min(FLOWS_SHOWN)],
                ..Timeline::default()
            },
            queues: BTreeMap::new(),
            seen_bytes: vec![0; flows],
            before_last_quarter: vec![0; flows],
            at_stop: vec![0; flows],
            deadlock: None,
            lost: None,
            violation: None,
        }
    }

    /// One more step is over.
    pub(super) fn look(&mut self, built: &Built) {
        self.look_at_flows(built);
        self.look_at_queues(&built.network);
        self.looks += 1;
        if self.looks == self.steps * 3 / 4 {
            self.before_last_quarter.clone_from(&self.seen_bytes);
        }
        if self.looks == self.steps {
            self.at_stop.clone_from(&self.seen_bytes);
        }
        self.look_for_deadlock(built);
        self.check(&built.network);
    }

    fn look_at_flows(&mut self, built: &Built) {
        let mut all = 0;
        for (at, flow) in built.flows.iter().enumerate() {
            let bytes = built.network.flow(flow.id).received_bytes;
            let new = bytes - std::mem::replace(&mut self.seen_bytes[at], bytes);
            all += new;
            if let Some(series) = self.timeline.flow_bytes.get_mut(at) {
                series.push(new);
            }
        }
        self.timeline.all_bytes.push(all);
    }

    fn look_at_queues(&mut self, network: &Network) {
        let looks = usize::try_from(self.looks).unwrap_or_default();
        for (number, (switch, report)) in network.switch_reports().enumerate() {
            for port in &report.ports {
                for p in Priority::all().filter(|p| port.queues[p.index()].lossless) {
                    let gauges = &port.queues[p.index()];
                    let key = (number, port.port.index(), p.value());
                    if gauges.viq_bytes == 0 && !self.queues.contains_key(&key) {
                        continue;
                    }
                    let series = self.queues.entry(key).or_insert_with(|| QueueSeries {
                        port: format!("{}:{}", switch.name, port.port),
                        priority: p.value(),
                        bytes: vec![0; looks],
                        xoff_bytes: vec![0; looks],
                    });
                    series.bytes.push(u64::from(gauges.viq_bytes));
                    let xoff_bytes = xoff_bytes(&switch.settings, &report, port.port.index(), p);
                    series.xoff_bytes.push(xoff_bytes);
                }
            }
        }
    }

    /// Looks whether a deadlock has closed since the last look.
    pub(super) fn look_for_deadlock(&mut self, built: &Built) {
        if self.deadlock.is_some() || !built.network.some_switch_is_paused() {
            return;
        }
        if let Some(deadlock) = built.network.find_deadlock() {
            self.deadlock = Some(deadlock_outcome(&built.network, &deadlock));
        }
    }

    /// Whether all holds that must hold at any time.
    pub(super) fn check(&mut self, network: &Network) {
        // Each kind once: what went wrong goes on, and losses are counted.
        if let Err(violation) = network.check_losses() {
            self.lost.get_or_insert_with(|| violation.to_string());
        }
        if let Err(violation) = network.check_all_but_losses() {
            self.violation.get_or_insert_with(|| violation.to_string());
        }
    }

    /// The results.
    pub(super) fn finish(mut self, built: &Built, drained_ps: Option<Picoseconds>) -> Outcome {
        let network = &built.network;
        self.timeline.queues =
            deepest(std::mem::take(&mut self.queues), self.timeline.all_bytes.len());
        self.timeline.pauses = pauses(network);
        let losses = Losses::of(network);
        // Where PFC frames vanish nothing can keep what they are for.
        let lost = self.lost.filter(|_| !built.pfc_fails);
        let violations = lost.into_iter().chain(self.violation).collect();
        let flow = |(at, flow): (usize, &BuiltFlow)| {
            let late_bytes = self.at_stop[at] - self.before_last_quarter[at];
            flow_outcome(network, flow, &network.flow(flow.id), late_bytes)
        };
        Outcome {
            drained_ps,
            frames_stuck: network.frames_inside(),
            deadlock: self.deadlock,
            violations,
            lossless_drops: losses.lossless.values().sum(),
            lossless_drops_by_cause: by_cause(&losses.lossless),
            headroom_overruns: losses.overruns(),
            watchdog_drops: losses.dropped(DropReason::Watchdog),
            storms: by_priority(network, |pfc| &pfc.storms),
            tag_changes: tag_changes(network),
            lossless_priorities: built.lossless.len(),
            reserved_bytes: reserved_bytes(network),
            rate_frames: by_priority(network, |pfc| &pfc.tx_slowed),
            lossy_drops: [DropReason::IngressLimit, DropReason::TailDrop, DropReason::WredDrop]
                .map(|reason| losses.dropped(reason))
                .iter()
                .sum(),
            drops: by_cause(&losses.all),
            pfc_frames: pfc_frames(network),
            paused_ps: network.pauses().map(|s| s.to_ps - s.from_ps).sum(),
            packet_hops: network.switch_hops(),
            flows: built.flows.iter().enumerate().map(flow).collect(),
            timeline: self.timeline,
            topology: topology(network),
            trace_hash: format!("{:016x}", network.trace_hash()),
            ..Outcome::default()
        }
    }
}

fn tag_changes(network: &Network) -> Vec<TagChangeOutcome> {
    let of_switch = |(switch, report): (&SwitchNode, Report)| {
        let outcome = |((tag, new_tag), frames)| TagChangeOutcome {
            switch: switch.name.clone(),
            tag,
            new_tag: Some(new_tag).filter(|&tag| tag != LOSSY),
            frames,
        };
        switch.tag_changes(&report).into_iter().map(outcome).collect::<Vec<_>>()
    };
    network.switch_reports().flat_map(of_switch).collect()
}

/// Bytes above which a VIQ asks for silence now.
fn xoff_bytes(settings: &SwitchSettings, report: &Report, port: usize, p: Priority) -> u64 {
    let Some(viq) = settings.ports[port].lossless[p.index()] else { return 0 };
    let shared = &report.pool.shared;
    let free = shared.size_bytes.saturating_sub(shared.bytes);
    viq.limit_bytes(free)
}

fn deadlock_outcome(network: &Network, deadlock: &Deadlock) -> DeadlockOutcome {
    let closed = deadlock.hops.iter().filter_map(|hop| {
        let switch = network.switches().position(|switch| switch.name == hop.switch)?;
        let wire = network.attachment(switch, hop.output)?.wire();
        network.paused_since_ps(wire, hop.output_priority)
    });
    DeadlockOutcome {
        closed_ps: closed.max().unwrap_or_else(|| network.now_ps()),
        cycle: deadlock
            .hops
            .iter()
            .map(|hop| CycleHop {
                switch: hop.switch.clone(),
                input: hop.input.number(),
                input_priority: hop.input_priority.value(),
                output: hop.output.number(),
                output_priority: hop.output_priority.value(),
                bytes: hop.bytes,
            })
            .collect(),
    }
}

fn deepest(queues: BTreeMap<(usize, usize, u8), QueueSeries>, looks: usize) -> Vec<QueueSeries> {
    let mut queues: Vec<QueueSeries> = queues.into_values().collect();
    let peak = |series: &QueueSeries| series.bytes.iter().copied().max().unwrap_or(0);
    queues.sort_by_key(|series| std::cmp::Reverse(peak(series)));
    queues.truncate(QUEUES_SHOWN);
    debug_assert!(queues.iter().all(|series| series.bytes.len() == looks));
    queues
}

fn pauses(network: &Network) -> Vec<PauseSpans> {
    let mut rows: BTreeMap<(u32, u8), Vec<(Picoseconds, Picoseconds)>> = BTreeMap::new();
    for span in network.pauses() {
        rows.entry((span.wire, span.priority)).or_default().push((span.from_ps, span.to_ps));
    }
    let length = |spans: &[(Picoseconds, Picoseconds)]| {
        spans.iter().map(|(from_ps, to_ps)| to_ps - from_ps).sum::<u64>()
    };
    let mut rows: Vec<_> = rows.into_iter().collect();
    rows.sort_by_key(|(_, spans)| std::cmp::Reverse(length(spans)));
    rows.truncate(PAUSES_SHOWN);
    let row = |((wire, priority), spans_ps): ((u32, u8), Vec<_>)| {
        let Ends { from, to } = network.ends[wire as usize];
        let (sender, by) = (network.endpoint_name(from), network.endpoint_name(to));
        PauseSpans { sender, by, priority, spans_ps }
    };
    rows.into_iter().map(row).collect()
}

/// A counter of all switches' ports, over all priorities.
fn by_priority(network: &Network, counter: impl Fn(&PfcCounters) -> &[u64; PRIORITIES]) -> u64 {
    let reports = network.switch_reports().map(|(_, report)| report);
    let sum = |report: Report| {
        report.ports.iter().flat_map(|port| counter(&port.counters.pfc)).sum::<u64>()
    };
    reports.map(sum).sum()
}

/// What the switch that reserves most sets aside.
fn reserved_bytes(network: &Network) -> u64 {
    let reserved =
        |switch: &SwitchNode| promised_bytes(&switch.settings) - switch.settings.buffer.lossy_bytes;
    network.switches().map(reserved).max().unwrap_or_default()
}

fn pfc_frames(network: &Network) -> u64 {
    let switches = network.switch_reports().map(|(switch, report)| {
        report.ports.iter().map(|port| port.counters.pfc.tx_frames).sum::<u64>()
            + switch.past.pfc_sent
    });
    switches.sum::<u64>() + network.hosts().map(|host| host.counters().pfc.tx_frames).sum::<u64>()
}

fn flow_outcome(
    network: &Network,
    flow: &BuiltFlow,
    counters: &FlowCounters,
    late_bytes: u64,
) -> FlowOutcome {
    FlowOutcome {
        name: flow.name.clone(),
        from: network.host_node(flow.from.0).name.clone(),
        to: network.host_node(flow.to.0).name.clone(),
        start_ps: flow.start_ps,
        finished_ps: counters.finished_ps,
        ideal_ps: network.ideal_ps.get(&flow.id).copied(),
        size_bytes: flow.size_bytes,
        sent_frames: counters.sent_frames,
        received_frames: counters.received_frames,
        received_bytes: counters.received_bytes,
        marked_frames: counters.marked_frames,
        late_bytes,
        missing_frames: counters.missing_frames(),
    }
}

fn topology(network: &Network) -> TopologyOutcome {
    let levels = network.topology.levels();
    let switch = |(node, level): (&SwitchNode, u32)| NodeOutcome {
        name: node.name.clone(),
        is_host: false,
        level,
    };
    let nodes = network.switches().zip(levels).map(switch);
    let hosts = network.hosts().map(|host| NodeOutcome {
        name: host.name.clone(),
        is_host: true,
        level: 0,
    });
    let link = |number: usize| {
        let wires = [2 * number, 2 * number + 1];
        let one = network.wire_from(wires[0]);
        LinkOutcome {
            ends: wires.map(|wire| network.endpoint_name(network.ends[wire].from)),
            nodes: wires.map(|wire| network.ends[wire].from.node()),
            bits_per_second: one.speed.bps(),
            is_down: !one.is_up(),
            bytes: wires.map(|wire| network.wire_to(wire).arrived_bytes),
        }
    };
    let links = (0..network.ends.len() / 2).map(link).collect();
    TopologyOutcome { nodes: nodes.chain(hosts).collect(), links }
}
