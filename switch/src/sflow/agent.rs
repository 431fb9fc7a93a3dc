//! The agent: turns what the workers sampled and the counters of ports into datagrams. It does no
//! I/O, and has no clock.

use super::datagram::Datagrams;
use super::reasons::{Reason, punted_cause};
use super::structures::{DiscardedPacket, FlowSample, Header, IfCounters, Interface, low};
use crate::control::stats::SflowCounters;
use config::switch::Sflow;
use dataplane::capture::record::{Ending, Kind, Record};
use dataplane::counters::DropReason;
use dataplane::ids::{PortId, Priority};
use dataplane::limiter::RateLimiter;
use dataplane::limits::WORKERS_MAX;
use dataplane::punt::PuntReason;
use dataplane::sampling::Sample;
use dataplane::time::Instant;

/// A port as a source of samples.
#[derive(Clone, Debug)]
struct Source {
    rate: u32,
    flow_sequence: u32,
    counters_sequence: u32,
    /// By worker: frames that could have been sampled, and samples that found no room.
    of_workers: [(u64, u64); WORKERS_MAX],
}

/// The agent.
#[derive(Debug)]
pub(super) struct Agent {
    datagrams: Datagrams,
    /// By port index.
    sources: Vec<Source>,
    /// Of dropped frames, of all workers together.
    limiter: RateLimiter,
    discard_sequence: u32,
    /// Dropped frames that the agent itself did not report.
    suppressed: u64,
    /// A sample in the making.
    sample: Vec<u8>,
    uptime_ms: u32,
    pub(super) counters: SflowCounters,
}

impl Agent {
    /// An agent with these settings, which has sent nothing yet.
    pub(super) fn new(settings: &Sflow) -> Self {
        let source = |&rate: &u32| Source {
            rate,
            flow_sequence: 0,
            counters_sequence: 0,
            of_workers: [(0, 0); WORKERS_MAX],
        };
        Self {
            datagrams: Datagrams::new(settings.agent),
            sources: settings.sample_rates.iter().map(source).collect(),
            limiter: RateLimiter::new(settings.drops_per_second),
            discard_sequence: 0,
            suppressed: 0,
            sample: Vec::new(),
            uptime_ms: 0,
            counters: SflowCounters::default(),
        }
    }

    /// It is so long after the start.
    pub(super) const fn set_uptime_ms(&mut self, uptime_ms: u32) {
        self.uptime_ms = uptime_ms;
    }

    /// Takes what a worker has sampled. `not_reported` are the dropped frames that the workers have
    /// not reported so far.
    pub(super) fn take(&mut self, sample: &Sample, not_reported: u64) {
        let header = Header { octets: &sample.header, frame_bytes: sample.record.frame_bytes };
        if sample.record.kind == Kind::In {
            self.take_received(sample, header);
        } else {
            self.take_dropped(&sample.record, header, not_reported);
        }
    }

    fn take_received(&mut self, sample: &Sample, header: Header<'_>) {
        let record = &sample.record;
        let Some(source) = self.sources.get_mut(record.port.index()) else { return };
        if let Some(worker) = source.of_workers.get_mut(usize::from(record.worker)) {
            *worker = (sample.pool, sample.missed);
        }
        source.flow_sequence = source.flow_sequence.wrapping_add(1);
        let sums = source.of_workers.iter().fold((0, 0), |sum, it| (sum.0 + it.0, sum.1 + it.1));
        let output = output(record);
        let leaves = matches!(output, Interface::Port(_));
        let flow = FlowSample {
            sequence: source.flow_sequence,
            port: number(Some(record.port)),
            rate: source.rate,
            pool: low(sums.0),
            drops: low(sums.1),
            output,
            queue: record.out_class.filter(|_| leaves).map(queue),
            header,
        };
        self.sample.clear();
        flow.write(&mut self.sample);
        self.counters.flow_samples += 1;
        self.datagrams.add(&self.sample, self.uptime_ms);
    }

    fn take_dropped(&mut self, record: &Record, header: Header<'_>, not_reported: u64) {
        // Each worker keeps to the rate, so only several of them exceed it.
        if !self.limiter.take(Instant::from_ns(record.at_ns)) {
            self.suppressed += 1;
            self.counters.suppressed_drops += 1;
            return;
        }
        let (reason, cause) = why(record);
        self.discard_sequence = self.discard_sequence.wrapping_add(1);
        let discarded = DiscardedPacket {
            sequence: self.discard_sequence,
            drops: low(not_reported + self.suppressed),
            input: number(record.in_port),
            output: number(record.out_port.filter(|_| record.is_outbound)),
            reason: reason.code(),
            queue: record.out_class.map(queue),
            cause,
            header,
        };
        self.sample.clear();
        discarded.write(&mut self.sample);
        self.counters.drop_samples += 1;
        self.datagrams.add(&self.sample, self.uptime_ms);
    }

    /// Takes the counters of a port.
    pub(super) fn take_counters(&mut self, counters: &IfCounters) {
        let index = usize::try_from(counters.port).unwrap_or_default().wrapping_sub(1);
        let Some(source) = self.sources.get_mut(index) else { return };
        source.counters_sequence = source.counters_sequence.wrapping_add(1);
        self.sample.clear();
        counters.write(source.counters_sequence, &mut self.sample);
        self.counters.counter_samples += 1;
        self.datagrams.add(&self.sample, self.uptime_ms);
    }

    /// The datagrams to send now.
    pub(super) fn datagrams(&mut self) -> Vec<Vec<u8>> {
        self.datagrams.take(self.uptime_ms)
    }
}

/// The number that collectors know a port by; 0 is no port.
fn number(port: Option<PortId>) -> u32 {
    port.map_or(0, |port| u32::try_from(port.number()).unwrap_or_default())
}

fn queue(class: Priority) -> u32 {
    u32::from(class.value())
}

/// Where a sampled frame leaves.
fn output(record: &Record) -> Interface {
    match record.ending {
        Ending::Forwarded | Ending::Sent => Interface::Port(number(record.out_port)),
        Ending::Flooded => Interface::Several,
        Ending::Dropped => Interface::Discarded(why(record).0.code()),
        Ending::Punted => match punt_reason(record).map(Reason::of_punt) {
            Some(Some(reason)) => Interface::Discarded(reason.code()),
            // It waits in the control thread until its next hop is known.
            Some(None) if punt_reason(record) == Some(PuntReason::Unresolved) => Interface::Unknown,
            _ => Interface::Switch,
        },
        Ending::Consumed => Interface::Switch,
        Ending::Waits | Ending::Unknown => Interface::Unknown,
    }
}

fn punt_reason(record: &Record) -> Option<PuntReason> {
    PuntReason::ALL.get(usize::from(record.cause?)).copied()
}

/// Why a frame was dropped: for sFlow, and as the switch counts it.
fn why(record: &Record) -> (Reason, &'static str) {
    if record.kind == Kind::Punt {
        let punted = punt_reason(record).unwrap_or(PuntReason::Unreachable);
        let reason = Reason::of_punt(punted).unwrap_or(Reason::Unknown);
        return (reason, punted_cause(punted));
    }
    let cause = record.cause.and_then(|cause| DropReason::ALL.get(usize::from(cause)));
    cause.map_or((Reason::Unknown, "unknown"), |&cause| (Reason::of_drop(cause), cause.name()))
}
