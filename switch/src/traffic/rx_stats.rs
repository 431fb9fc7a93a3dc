//! The receiver's counters of each flow.
//!
//! No IO: the caller passes each frame and its arrival time.

use super::frame::observe;
use super::payload::{self, Payload, TestHeader};
use super::report::{FlowReceived, Latency, rate_bps};
use super::sequence::SequenceTracker;
use super::ttl_probe::{Reroutes, TtlProbe};
use dataplane::ids::Priority;
use dataplane::limits::{PRIORITIES, TAGS};
use dataplane::time::Instant;
use dataplane::wire::mac_control::MacControl;
use dataplane::wire::{MacAddress, be16, ethernet};
use hdrhistogram::Histogram;
use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;

/// The maximum number of flows, which bounds the memory; frames of more count as other frames.
const FLOWS_MAX: usize = 1_024;

/// One received frame, as the socket gave it.
#[derive(Clone, Copy, Debug)]
pub(super) struct RxFrame<'a> {
    /// The frame without its FCS.
    pub bytes: &'a [u8],
    /// The VLAN tag that the kernel took off it.
    pub tci: Option<u16>,
    /// Whether it was cut short.
    pub cut: bool,
    /// When it came.
    pub when: Instant,
    /// The same as CLOCK_MONOTONIC time.
    pub monotonic_ns: u64,
}

impl RxFrame<'_> {
    /// Length on the wire without FCS, the VLAN tag included.
    fn wire_bytes(&self) -> u64 {
        self.bytes.len() as u64 + if self.tci.is_some() { 4 } else { 0 }
    }
}

/// PFC received for one priority.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct PfcRxCount {
    /// Times above 0.
    pub xoff: u64,
    /// Times of 0.
    pub xon: u64,
}

/// Everything received.
#[derive(Debug)]
pub(super) struct RxStats {
    own: MacAddress,
    any_mac: bool,
    /// Frames of a measurement of reroutes.
    measurement_frames: u64,
    flows: HashMap<(IpAddr, u8, u8), FlowStats>,
    /// Test frames to another station's MAC: flooded or misdelivered.
    pub misdelivered: u64,
    /// Test frames with a corrupt header.
    pub damaged_headers: u64,
    /// Other frames.
    pub other: u64,
    /// PFC received, by priority.
    pub pfc: [PfcRxCount; PRIORITIES],
    /// Link-level PAUSE frames received.
    pub link_pauses: u64,
    /// When the last test frame arrived.
    pub last: Option<Instant>,
}

/// One flow, in one run of its sender.
#[derive(Debug)]
struct FlowStats {
    name: String,
    destination: IpAddr,
    priority: Priority,
    sequence: SequenceTracker,
    frames: u64,
    bytes: u64,
    payload_bytes: u64,
    first_payload_bytes: u64,
    first: Instant,
    last: Instant,
    damaged: u64,
    congested: u64,
    dscp: [u64; TAGS],
    pcp: [u64; PRIORITIES],
    ttl: (u8, u8),
    ttl_probe: TtlProbe,
    latency_ns: Histogram<u64>,
}

/// A minute: longer latencies count as this.
const LATENCY_NS_MAX: u64 = 60_000_000_000;

impl RxStats {
    /// Nothing yet. Frames to a MAC other than `own` count as misdelivered, unless `any_mac`.
    pub(super) fn new(own: MacAddress, any_mac: bool, measurement_frames: u64) -> Self {
        Self {
            own,
            any_mac,
            measurement_frames,
            flows: HashMap::new(),
            misdelivered: 0,
            damaged_headers: 0,
            other: 0,
            pfc: Default::default(),
            link_pauses: 0,
            last: None,
        }
    }

    /// Records a frame; returns its priority and length if it is a test frame for this station.
    pub(super) fn record(&mut self, frame: &RxFrame<'_>) -> Option<(Priority, u64)> {
        if be16(frame.bytes, ethernet::HEADER_BYTES - 2) == Some(ethernet::MAC_CONTROL) {
            self.record_mac_control(MacControl::parse(frame.bytes));
            return None;
        }
        let Some(observed) = observe(frame.bytes) else {
            self.other += 1;
            return None;
        };
        let (test_header, name, intact) = match payload::read(observed.payload) {
            Payload::Ours { test_header, name, intact } => (test_header, name, intact),
            Payload::Damaged => {
                self.damaged_headers += 1;
                return None;
            }
            Payload::Foreign => {
                self.other += 1;
                return None;
            }
        };
        if !self.any_mac && frame.bytes.first_chunk() != Some(&self.own.0) {
            self.misdelivered += 1;
            return None;
        }
        let key = (observed.source, test_header.flow, test_header.run);
        if self.flows.len() >= FLOWS_MAX && !self.flows.contains_key(&key) {
            self.other += 1;
            return None;
        }
        self.last = Some(frame.when);
        let measurement_frames = self.measurement_frames;
        let flow = self.flows.entry(key).or_insert_with(|| {
            let payload_bytes = observed.payload.len() as u64;
            let first = FirstFrame { payload_bytes, when: frame.when, measurement_frames };
            FlowStats::new(&test_header, name, observed.destination, &first)
        });
        flow.sequence.record(test_header.sequence);
        flow.frames += 1;
        flow.bytes += frame.wire_bytes();
        flow.payload_bytes += observed.payload.len() as u64;
        flow.last = flow.last.max(frame.when);
        flow.damaged += u64::from(!intact || !observed.checksums_fit || frame.cut);
        flow.congested += u64::from(observed.congested);
        flow.dscp[usize::from(observed.dscp)] += 1;
        if let Some(tci) = frame.tci {
            flow.pcp[usize::from(tci >> 13)] += 1;
        }
        flow.ttl = (flow.ttl.0.min(observed.ttl), flow.ttl.1.max(observed.ttl));
        flow.ttl_probe.record(test_header.sequence, observed.ttl);
        flow.latency_ns.saturating_record(test_header.age_ns(frame.monotonic_ns));
        Some((test_header.priority, frame.wire_bytes()))
    }

    fn record_mac_control(&mut self, control: MacControl) {
        match control {
            MacControl::Pause => self.link_pauses += 1,
            MacControl::Unknown | MacControl::Truncated => self.other += 1,
            MacControl::Pfc(pfc) => {
                let enabled = Priority::in_bits(pfc.enabled_bits);
                for class in enabled.map(Priority::index) {
                    let record_mac_control = &mut self.pfc[class];
                    *(if pfc.quanta[class] == 0 {
                        &mut record_mac_control.xon
                    } else {
                        &mut record_mac_control.xoff
                    }) += 1;
                }
            }
        }
    }

    /// What the TTLs of all flows say.
    pub(super) fn reroutes(&self) -> Reroutes {
        let mut sum = Reroutes::default();
        self.flows.values().for_each(|flow| flow.ttl_probe.add_to(&mut sum));
        sum
    }

    /// The report of each flow, in the order of their first frames.
    pub(super) fn flows(&self) -> Vec<FlowReceived> {
        let mut flows: Vec<_> = self.flows.iter().collect();
        flows.sort_by_key(|&(&key, flow)| (flow.first, key));
        flows.into_iter().map(|(&(source, id, _), flow)| flow.report(source, id)).collect()
    }
}

/// What a flow begins with.
struct FirstFrame {
    payload_bytes: u64,
    when: Instant,
    /// Frames of a measurement of reroutes.
    measurement_frames: u64,
}

impl FlowStats {
    fn new(test_header: &TestHeader, name: &[u8], destination: IpAddr, first: &FirstFrame) -> Self {
        let Ok(latency_ns) = Histogram::new_with_max(LATENCY_NS_MAX, 3) else {
            unreachable!("three digits up to a minute are within the histogram's limits");
        };
        Self {
            name: String::from_utf8_lossy(name).into_owned(),
            destination,
            priority: test_header.priority,
            sequence: SequenceTracker::default(),
            frames: 0,
            bytes: 0,
            payload_bytes: 0,
            first_payload_bytes: first.payload_bytes,
            first: first.when,
            last: first.when,
            damaged: 0,
            congested: 0,
            dscp: [0; TAGS],
            pcp: [0; PRIORITIES],
            ttl: (u8::MAX, 0),
            ttl_probe: TtlProbe::new(first.measurement_frames),
            latency_ns,
        }
    }

    fn report(&self, source: IpAddr, flow: u8) -> FlowReceived {
        // The first frame opens the interval; what came in it are the others.
        let goodput_bytes = self.payload_bytes - self.first_payload_bytes;
        // The shortest frames have no room for it.
        let name = if self.name.is_empty() { format!("flow{flow}") } else { self.name.clone() };
        let quantile = |quantile| self.latency_ns.value_at_quantile(quantile);
        FlowReceived {
            name,
            flow,
            source,
            destination: self.destination,
            priority: self.priority.value(),
            frames: self.frames,
            bytes: self.bytes,
            goodput_bps: rate_bps(goodput_bytes, self.last.ns_since(self.first)),
            highest_sequence: self.sequence.next().saturating_sub(1),
            lost: self.sequence.lost(),
            reordered: self.sequence.reordered(),
            reorder_extent_max: self.sequence.extent_max(),
            duplicates: self.sequence.duplicates(),
            corrupt: self.damaged,
            ecn_ce: self.congested,
            dscp: seen(&self.dscp),
            pcp: seen(&self.pcp),
            ttl_min: self.ttl.0,
            ttl_max: self.ttl.1,
            latency_ns: Latency {
                min: self.latency_ns.min(),
                p50: quantile(0.5),
                p99: quantile(0.99),
                p999: quantile(0.999),
                max: self.latency_ns.max(),
            },
            first_ns: self.first.ns,
            last_ns: self.last.ns,
        }
    }
}

/// The values that were seen, and how often.
fn seen(counts: &[u64]) -> BTreeMap<usize, u64> {
    counts.iter().copied().enumerate().filter(|&(_, count)| count > 0).collect()
}

#[cfg(test)]
mod tests {
    use super::super::flow::FlowSpec;
    use super::super::frame::{Addresses, FrameTemplate};
    use super::*;
    use dataplane::wire::mac_control::Pfc;

    const OWN: MacAddress = MacAddress([2, 0, 0, 0, 0, 2]);

    fn frame(spec: &str, sequence: u64) -> Vec<u8> {
        let flow: FlowSpec = spec.parse().expect(spec);
        let addresses = Addresses {
            source_mac: MacAddress([2, 0, 0, 0, 0, 1]),
            destination_mac: flow.destination_mac.unwrap_or(OWN),
            source: IpAddr::from([10, 0, 0, 1]),
            source_port: 50_000,
        };
        let test_header =
            TestHeader { flow: 4, priority: flow.priority, run: 1, sequence, sent_ns: 1_000 };
        let mut buffer = vec![0; 10_000];
        FrameTemplate::new(&flow, &addresses, "f4").write(&test_header, &mut buffer).to_vec()
    }

    fn arrive(rx_stats: &mut RxStats, bytes: &[u8], ns: u64) -> Option<(Priority, u64)> {
        let when = Instant::from_ns(ns);
        rx_stats.record(&RxFrame {
            bytes,
            tci: Some(5 << 13),
            cut: false,
            when,
            monotonic_ns: 1_000 + ns,
        })
    }

    #[test]
    fn every_field_of_a_flow_report_is_filled() {
        let mut rx_stats = RxStats::new(OWN, false, 100);
        let spec = "dst-ip=10.0.0.2,dscp=26,size=142,ttl=9";
        for (sequence, ns) in [(0, 1_000), (2, 2_000), (1, 3_000), (1, 4_000), (5, 9_000)] {
            let message = arrive(&mut rx_stats, &frame(spec, sequence), ns);
            assert_eq!(message, Some((Priority::from_low_bits(3), 146)), "its tag is four bytes");
        }
        let marked = frame("dst-ip=10.0.0.2,dscp=26,size=142,ttl=7,ecn=3", 6);
        arrive(&mut rx_stats, &marked, 11_000);
        let flows = rx_stats.flows();
        let wanted = FlowReceived {
            name: "f4".to_owned(),
            flow: 4,
            source: IpAddr::from([10, 0, 0, 1]),
            destination: IpAddr::from([10, 0, 0, 2]),
            priority: 3,
            frames: 6,
            bytes: 6 * 146,
            goodput_bps: 400_000_000,
            highest_sequence: 6,
            lost: 2,
            reordered: 1,
            reorder_extent_max: 1,
            duplicates: 1,
            corrupt: 0,
            ecn_ce: 1,
            dscp: BTreeMap::from([(26, 6)]),
            pcp: BTreeMap::from([(5, 6)]),
            ttl_min: 7,
            ttl_max: 9,
            latency_ns: Latency { min: 1_000, p50: 3_001, p99: 11_007, p999: 11_007, max: 11_007 },
            first_ns: 1_000,
            last_ns: 11_000,
        };
        assert_eq!(flows, [wanted]);
        assert_eq!((rx_stats.other, rx_stats.damaged_headers, rx_stats.misdelivered), (0, 0, 0));
    }

    #[test]
    fn every_frame_is_counted_in_one_place() {
        let mut rx_stats = RxStats::new(OWN, false, 100);
        let good = frame("dst-ip=10.0.0.2", 0);
        let mut body = good.clone();
        body[500] ^= 1;
        let mut header = good.clone();
        header[50] ^= 1;
        let astray = frame("dst-ip=10.0.0.2,dst-mac=02:00:00:00:00:09", 0);
        for bytes in [&good[..], &body, &header, &astray, b"short", &[0; 60]] {
            arrive(&mut rx_stats, bytes, 1);
        }
        let flows = rx_stats.flows();
        assert_eq!((flows.len(), flows[0].frames, flows[0].corrupt), (1, 2, 1));
        assert_eq!((rx_stats.damaged_headers, rx_stats.misdelivered, rx_stats.other), (1, 1, 2));
        let mut any = RxStats::new(OWN, true, 100);
        arrive(&mut any, &astray, 1);
        assert_eq!((any.flows().len(), any.misdelivered), (1, 0));
    }

    #[test]
    fn pfc_is_counted_apart_from_data() {
        let mut rx_stats = RxStats::new(OWN, false, 100);
        let pfc = Pfc { enabled_bits: 0b0001_1000, quanta: [0, 0, 0, 7, 0, 9, 0, 0] };
        arrive(&mut rx_stats, &pfc.to_frame(OWN), 1);
        assert_eq!(rx_stats.pfc[3], PfcRxCount { xoff: 1, xon: 0 });
        assert_eq!(rx_stats.pfc[4], PfcRxCount { xoff: 0, xon: 1 });
        assert_eq!(rx_stats.pfc[5], PfcRxCount::default(), "its bit is not set");
        assert_eq!((rx_stats.other, rx_stats.flows().len(), rx_stats.last), (0, 0, None));
    }

    #[test]
    fn two_runs_of_a_sender_are_two_flows_and_the_number_of_flows_is_limited() {
        let mut rx_stats = RxStats::new(OWN, false, 100);
        let flow: FlowSpec = "dst-ip=10.0.0.2,size=60".parse().expect("whole");
        let mut buffer = vec![0; 60];
        for index in 0..FLOWS_MAX as u64 + 3 {
            let [low, high, ..] = index.to_le_bytes();
            let addresses = Addresses {
                source_mac: MacAddress::default(),
                destination_mac: OWN,
                source: IpAddr::from([10, 1, high, low]),
                source_port: 1,
            };
            let test_header =
                TestHeader { flow: 0, priority: flow.priority, run: low, sequence: 0, sent_ns: 0 };
            let bytes =
                FrameTemplate::new(&flow, &addresses, "").write(&test_header, &mut buffer).to_vec();
            arrive(&mut rx_stats, &bytes, index);
        }
        assert_eq!((rx_stats.flows().len(), rx_stats.other), (FLOWS_MAX, 3));
        assert_eq!(rx_stats.flows()[0].name, "flow0", "60 bytes have no room for a name");
    }
}
