//! Metrics in the Prometheus text format 0.0.4.
//!
//! `prometheus-client` writes the text. For a counter it writes the OpenMetrics form: the family
//! without `_total`, the samples with it. A parser of 0.0.4 would read such samples as untyped.
//! Here a family has the name of its samples, and each value is written by `encode_gauge`, which
//! adds no suffix; the declared type stays `counter`.

use crate::control::stats::{ByPriority, FrameTotals, PortStats, Stats};
use crate::histograms::Distribution;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::text::encode_registry;
use prometheus_client::encoding::{DescriptorEncoder, EncodeGaugeValue, EncodeLabelSet};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::Registry;
use std::fmt;

/// All metrics of a switch.
pub(super) fn text(stats: &Stats) -> String {
    let switch = ("switch".into(), stats.name.clone().into());
    let mut registry = Registry::with_labels([switch].into_iter());
    // `ctl metrics` is a process of its own and does this once.
    registry.register_collector(Box::new(Metrics(stats.clone())));
    let mut text = String::new();
    // Writing to a String cannot fail.
    let _infallible = encode_registry(&mut text, &registry);
    text
}

/// What a family shows of a port.
type Values = fn(&PortStats) -> ByPriority;

/// The metrics of one answer of a switch.
#[derive(Debug)]
struct Metrics(Stats);

impl Collector for Metrics {
    fn encode(&self, encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let mut page = Page { encoder };
        page.ports(&self.0)?;
        page.queues(&self.0)?;
        page.switch(&self.0)
    }
}

/// The families, one after the other.
struct Page<'a> {
    encoder: DescriptorEncoder<'a>,
}

impl Page<'_> {
    /// One family: labels and value of each sample.
    fn family<L: EncodeLabelSet, V: EncodeGaugeValue>(
        &mut self,
        name: &str,
        kind: MetricType,
        help: &str,
        samples: impl IntoIterator<Item = (L, V)>,
    ) -> fmt::Result {
        let mut metric = self.encoder.encode_descriptor(name, help, None, kind)?;
        for (labels, value) in samples {
            metric.encode_family(&labels)?.encode_gauge(&value)?;
        }
        Ok(())
    }

    /// One family with one sample.
    fn single(
        &mut self,
        name: &str,
        kind: MetricType,
        help: &str,
        value: impl EncodeGaugeValue,
    ) -> fmt::Result {
        self.family(name, kind, help, [([("", ""); 0], value)])
    }

    /// One family with a sample for each port and priority.
    fn by_priority(
        &mut self,
        stats: &Stats,
        name: &str,
        kind: MetricType,
        help: &str,
        values: Values,
    ) -> fmt::Result {
        let samples = stats.ports.iter().flat_map(|port| {
            let values = (0_u64..).zip(values(port));
            values.map(|(priority, value)| {
                ([("port", port.name.clone()), ("priority", priority.to_string())], value)
            })
        });
        self.family(name, kind, help, samples)
    }

    fn ports(&mut self, stats: &Stats) -> fmt::Result {
        use MetricType::Counter;
        let families: [(&str, &str, Values); 18] = [
            ("rx_frames", "Data frames received", |p| p.rx_frames),
            ("rx_bytes", "Bytes of data frames received", |p| p.rx_bytes),
            ("tx_frames", "Data frames sent", |p| p.tx_frames),
            ("tx_bytes", "Bytes of data frames sent", |p| p.tx_bytes),
            ("lossless_drops", "Lossless frames not delivered", |p| p.lossless_drops),
            ("ecn_marked_frames", "Frames marked congestion experienced", |p| p.ecn_marked_frames),
            ("pfc_tx_xoff", "PFC frames sent that pause", |p| p.pfc.tx_xoff),
            ("pfc_tx_xon", "PFC frames sent that resume", |p| p.pfc.tx_xon),
            ("pfc_rx_xoff", "PFC frames received that pause", |p| p.pfc.rx_xoff),
            ("pfc_rx_xon", "PFC frames received that resume", |p| p.pfc.rx_xon),
            ("pfc_tx_slowed", "PFC frames sent that set a rate", |p| p.pfc.tx_slowed),
            ("pfc_rx_slowed", "PFC frames received that set a rate", |p| p.pfc.rx_slowed),
            ("pfc_storms", "PFC storms that the watchdog detected", |p| p.pfc.storms),
            ("pfc_restored", "PFC storms that ended", |p| p.pfc.restored),
            ("pfc_tx_pauses", "Transitions of the peer from running to paused by this port", |p| {
                p.pfc.tx_pauses
            }),
            ("pfc_rx_pauses", "Transitions of this port from running to paused by the peer", |p| {
                p.pfc.rx_pauses
            }),
            ("pfc_tx_paused_ns", "Time for which this port paused the peer", |p| {
                p.pfc.tx_paused_ns
            }),
            ("pfc_rx_paused_ns", "Time for which the peer paused this priority", |p| {
                p.pfc.rx_paused_ns
            }),
        ];
        for (name, help, values) in families {
            let name = format!("knotless_port_{name}_total");
            self.by_priority(stats, &name, Counter, help, values)?;
        }
        let drops = stats.ports.iter().flat_map(|port| by_cause(port, port.drops.iter()));
        self.family("knotless_port_drops_total", Counter, "Frames dropped, by cause", drops)?;
        let name = "knotless_port_lossless_drops_by_cause_total";
        let drops = stats.ports.iter();
        let drops = drops.flat_map(|port| by_cause(port, port.lossless_drops_by_cause.iter()));
        self.family(name, Counter, "Lossless frames not delivered, by cause", drops)?;
        let up = stats.ports.iter().map(|port| (port_label(port), u64::from(port.up)));
        self.family("knotless_port_up", MetricType::Gauge, "Whether the port forwards frames", up)?;
        let name = "knotless_port_device_rx_missed_frames_total";
        let missed = |port: &PortStats| (port_label(port), port.device_counters.rx_missed_frames);
        let help = "Frames lost because the receive ring was full";
        self.family(name, Counter, help, stats.ports.iter().map(missed))
    }

    fn queues(&mut self, stats: &Stats) -> fmt::Result {
        let families: [(&str, &str, Values); 5] = [
            ("viq_bytes", "Bytes in the buffer that this port received", |p| {
                p.queues.map(|q| u64::from(q.viq_bytes))
            }),
            ("headroom_bytes", "Headroom in use", |p| {
                p.queues.map(|q| u64::from(q.headroom_bytes))
            }),
            ("headroom_peak_bytes", "The most headroom that was used", |p| {
                p.queues.map(|q| u64::from(q.headroom_peak_bytes))
            }),
            ("veq_bytes", "Bytes queued for transmission at this port", |p| {
                p.queues.map(|q| u64::from(q.veq_bytes))
            }),
            ("paused", "Whether the peer has paused this priority", |p| {
                p.queues.map(|q| u64::from(q.rx_paused))
            }),
        ];
        for (name, help, values) in families {
            let name = format!("knotless_queue_{name}");
            self.by_priority(stats, &name, MetricType::Gauge, help, values)?;
        }
        Ok(())
    }

    fn switch(&mut self, stats: &Stats) -> fmt::Result {
        let buffer = &stats.buffer;
        let gauges: [(&str, &str, u64); 9] = [
            ("epoch", "Version of the tables in use", stats.epoch),
            ("buffer_shared_bytes", "Shared buffer in use", buffer.shared_bytes),
            ("buffer_shared_size_bytes", "Size of the shared buffer", buffer.shared_size_bytes),
            ("buffer_lossy_bytes", "Buffer in use by lossy traffic", buffer.lossy_bytes),
            ("buffer_lossy_size_bytes", "Buffer limit of lossy traffic", buffer.lossy_size_bytes),
            ("mbufs_in_use", "mbufs that hold a frame or are in a ring", stats.mbufs.data_in_use),
            ("neighbors", "Neighbors known", stats.neighbors),
            ("routes", "Static routes", stats.routes),
            ("mac_addresses", "MAC addresses learned", stats.mac_addresses),
        ];
        for (name, help, value) in gauges {
            self.single(&format!("knotless_{name}"), MetricType::Gauge, help, value)?;
        }
        self.totals(&stats.totals)?;
        let changes = stats.tag_changes.iter().map(|change| {
            let labels = [("tag", change.tag.to_string()), ("new_tag", change.new_tag.to_string())];
            (labels, change.frames)
        });
        let help = "Lossless frames whose tag the rules changed";
        self.family("knotless_tag_changes_total", MetricType::Counter, help, changes)?;
        let workers = stats.workers.iter();
        let busy =
            workers.map(|worker| ([("worker", worker.number.to_string())], worker.busy_turns));
        let help = "Worker turns that moved a frame";
        self.family("knotless_worker_busy_turns_total", MetricType::Counter, help, busy)?;
        self.quantiles("knotless_latency_ns", "Latency of frames", &stats.latency_ns)?;
        self.quantiles("knotless_burst_frames", "Frames of a received burst", &stats.burst_frames)
    }

    fn totals(&mut self, totals: &FrameTotals) -> fmt::Result {
        let ends = [
            ("received", totals.received),
            ("injected", totals.injected),
            ("copied", totals.copied),
            ("sent", totals.sent),
            ("dropped", totals.dropped),
            ("punted", totals.punted),
            ("consumed", totals.consumed),
        ];
        let samples = ends.map(|(end, frames)| ([("end", end)], frames));
        let help = "Frames by their source and their end";
        self.family("knotless_frames_total", MetricType::Counter, help, samples)?;
        let help = "Frames received minus frames sent, dropped or queued: always 0";
        self.single("knotless_frames_imbalance", MetricType::Gauge, help, totals.imbalance)
    }

    fn quantiles(&mut self, name: &str, help: &str, of: &Distribution) -> fmt::Result {
        let quantiles = [("0.5", of.p50), ("0.99", of.p99), ("0.999", of.p999), ("1", of.max)];
        let samples = quantiles.map(|(quantile, value)| ([("quantile", quantile)], value));
        self.family(name, MetricType::Gauge, help, samples)
    }
}

fn port_label(port: &PortStats) -> [(&'static str, String); 1] {
    [("port", port.name.clone())]
}

/// A sample for each cause of a port.
fn by_cause<'a>(
    port: &'a PortStats,
    causes: impl Iterator<Item = (&'a String, &'a u64)>,
) -> impl Iterator<Item = ([(&'static str, String); 2], u64)> {
    causes.map(|(cause, &frames)| ([("port", port.name.clone()), ("cause", cause.clone())], frames))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::stats::{TagChange, WorkerStats};
    use dataplane::counters::Totals;
    use dataplane::limits::PRIORITIES;
    use std::collections::BTreeSet;

    /// The exposition of [`stats`] as it was before `prometheus-client` wrote it.
    const RECORDED: &str = include_str!("metrics_recorded.txt");

    /// Two ports, one with a name to be escaped, and two workers; every value is another.
    fn stats() -> Stats {
        let mut next = 0_u64;
        let mut value = || {
            next += 1;
            next
        };
        let mut port = |name: &str| {
            let mut port = PortStats { name: name.to_owned(), up: true, ..PortStats::default() };
            for priority in 0..PRIORITIES {
                let counters = &mut port.counters;
                let pfc = &mut counters.pfc;
                for values in [
                    &mut counters.rx_frames,
                    &mut counters.rx_bytes,
                    &mut counters.tx_frames,
                    &mut counters.tx_bytes,
                    &mut port.lossless_drops,
                    &mut counters.ecn_marked_frames,
                    &mut pfc.tx_xoff,
                    &mut pfc.tx_xon,
                    &mut pfc.rx_xoff,
                    &mut pfc.rx_xon,
                    &mut pfc.tx_slowed,
                    &mut pfc.rx_slowed,
                    &mut pfc.storms,
                    &mut pfc.restored,
                    &mut pfc.tx_pauses,
                    &mut pfc.rx_pauses,
                    &mut pfc.tx_paused_ns,
                    &mut pfc.rx_paused_ns,
                ] {
                    values[priority] = value();
                }
                let queue = &mut port.queues[priority];
                queue.viq_bytes = u32::try_from(value()).unwrap();
                queue.headroom_bytes = u32::try_from(value()).unwrap();
                queue.headroom_peak_bytes = u32::try_from(value()).unwrap();
                queue.veq_bytes = u32::try_from(value()).unwrap();
                queue.rx_paused = priority == 3;
            }
            port.drops.insert("no_route".to_owned(), value());
            port.drops.insert("ttl_expired".to_owned(), value());
            port.lossless_drops_by_cause.insert("watchdog".to_owned(), value());
            port.device_counters.rx_missed_frames = value();
            port
        };
        let ports = vec![port("a\"b\\c"), port("up1")];
        let mut distribution = || Distribution {
            p50: value(),
            p99: value(),
            p999: value(),
            max: value(),
            ..Distribution::default()
        };
        let (latency_ns, burst_frames) = (distribution(), distribution());
        let mut stats = Stats { name: "s\"1".to_owned(), ports, ..Stats::default() };
        (stats.latency_ns, stats.burst_frames) = (latency_ns, burst_frames);
        let worker =
            |number, busy_turns| WorkerStats { number, busy_turns, ..WorkerStats::default() };
        stats.workers = vec![worker(0, value()), worker(1, value())];
        stats.epoch = value();
        stats.buffer.shared_bytes = value();
        stats.buffer.shared_size_bytes = value();
        stats.buffer.lossy_bytes = value();
        stats.buffer.lossy_size_bytes = value();
        stats.mbufs.data_in_use = value();
        (stats.neighbors, stats.routes, stats.mac_addresses) = (value(), value(), value());
        let frames = Totals {
            received: value(),
            injected: value(),
            copied: value(),
            sent: value(),
            dropped: value(),
            punted: value(),
            consumed: value(),
            ..Totals::default()
        };
        stats.totals = FrameTotals { frames, imbalance: -7 };
        let change = |tag, new_tag, frames| TagChange { tag, new_tag, frames };
        stats.tag_changes = vec![change(1, 2, value()), change(2, 0, value())];
        stats
    }

    fn lines(page: &str) -> BTreeSet<&str> {
        page.lines().collect()
    }

    /// Names, labels and help are what dashboards and the book's reference rely on; a change shows
    /// here. `KNOTLESS_WRITE=1` records it.
    #[test]
    fn the_metrics_are_those_of_the_recording() {
        let page = text(&stats());
        if std::env::var_os("KNOTLESS_WRITE").is_some() {
            let recording = concat!(env!("CARGO_MANIFEST_DIR"), "/src/ctl/metrics_recorded.txt");
            return std::fs::write(recording, page).unwrap();
        }
        let (now, recorded) = (lines(&page), lines(RECORDED));
        assert_eq!(now.len(), page.lines().count(), "no line comes twice");
        let missing: Vec<_> = recorded.difference(&now).collect();
        let added: Vec<_> = now.difference(&recorded).collect();
        assert!(missing.is_empty() && added.is_empty(), "missing {missing:#?}, added {added:#?}");
    }

    #[test]
    fn a_sample_names_its_switch_port_and_priority() {
        let page = text(&stats());
        let line = r#"knotless_port_rx_frames_total{switch="s\"1",port="a\"b\\c",priority="0"} 1"#;
        assert!(page.lines().any(|l| l == line), "{page}");
    }

    #[test]
    fn every_sample_belongs_to_the_family_before_it_and_families_come_once() {
        let page = text(&stats());
        let (mut seen, mut family) = (BTreeSet::new(), String::new());
        for line in page.lines() {
            let mut words = line.split(' ');
            match (words.next(), words.next()) {
                (Some("#"), Some("HELP")) => {
                    family = words.next().unwrap().to_owned();
                    assert!(seen.insert(family.clone()), "{family} comes twice");
                }
                (Some("#"), Some("TYPE")) => assert_eq!(words.next(), Some(family.as_str())),
                _ => {
                    let name = line.split('{').next().unwrap();
                    assert_eq!(name, family);
                    let value = line.rsplit(' ').next().unwrap();
                    assert!(value.parse::<i64>().is_ok(), "{line}");
                }
            }
        }
        assert!(page.ends_with('\n') && seen.len() > 25);
    }
}
