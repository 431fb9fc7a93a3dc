//! Figures as Prometheus reads them (text exposition format 0.0.4).

use crate::control::stats::{ByPriority, FrameTotals, PortStats, Stats};
use crate::histograms::Distribution;
use std::fmt::{Display, Write};

/// All metrics of a switch.
pub(super) fn text(stats: &Stats) -> String {
    let mut page = Page { text: String::new(), switch: escape(&stats.name) };
    page.ports(stats);
    page.queues(stats);
    page.switch(stats);
    page.text
}

/// A page of metrics, one family after the other.
struct Page {
    text: String,
    switch: String,
}

/// What a family shows of a port.
type Values = fn(&PortStats) -> ByPriority;

/// What a metric counts.
#[derive(Clone, Copy)]
enum Kind {
    Counter,
    Gauge,
}

/// A label's value: quotes, backslashes and line ends are escaped.
fn escape(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

impl Page {
    fn family(&mut self, name: &str, kind: Kind, help: &str) {
        let kind = match kind {
            Kind::Counter => "counter",
            Kind::Gauge => "gauge",
        };
        // Writing to a String cannot fail.
        let _infallible = write!(self.text, "# HELP {name} {help}\n# TYPE {name} {kind}\n");
    }

    fn sample(&mut self, name: &str, labels: &[(&str, &dyn Display)], value: impl Display) {
        let _infallible = write!(self.text, "{name}{{switch=\"{}\"", self.switch);
        for (label, content) in labels {
            let _infallible = write!(self.text, ",{label}=\"{}\"", escape(&content.to_string()));
        }
        let _infallible = writeln!(self.text, "}} {value}");
    }

    /// One family with a sample for each port and priority.
    fn by_priority(
        &mut self,
        stats: &Stats,
        name: &str,
        kind: Kind,
        help: &str,
        values: impl Fn(&PortStats) -> ByPriority,
    ) {
        self.family(name, kind, help);
        for port in &stats.ports {
            for (priority, value) in values(port).into_iter().enumerate() {
                self.sample(name, &[("port", &port.name), ("priority", &priority)], value);
            }
        }
    }

    fn ports(&mut self, stats: &Stats) {
        use Kind::Counter;
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
            ("pfc_storms", "Storms that the watchdog found", |p| p.pfc.storms),
            ("pfc_restored", "Storms that ended", |p| p.pfc.restored),
            ("pfc_tx_pauses", "Times that upstream was told to stop", |p| p.pfc.tx_pauses),
            ("pfc_rx_pauses", "Times that a peer stopped us", |p| p.pfc.rx_pauses),
            ("pfc_tx_paused_ns", "Time that upstream was told to be silent", |p| {
                p.pfc.tx_paused_ns
            }),
            ("pfc_rx_paused_ns", "Time that a peer stopped us", |p| p.pfc.rx_paused_ns),
        ];
        for (name, help, values) in families {
            self.by_priority(stats, &format!("knotless_port_{name}_total"), Counter, help, values);
        }
        let name = "knotless_port_drops_total";
        self.family(name, Counter, "Frames dropped, by cause");
        for port in &stats.ports {
            for (cause, frames) in &port.drops {
                self.sample(name, &[("port", &port.name), ("cause", cause)], frames);
            }
        }
        let name = "knotless_port_lossless_drops_by_cause_total";
        self.family(name, Counter, "Lossless frames not delivered, by cause");
        for port in &stats.ports {
            for (cause, frames) in &port.lossless_drops_by_cause {
                self.sample(name, &[("port", &port.name), ("cause", cause)], frames);
            }
        }
        let name = "knotless_port_up";
        self.family(name, Kind::Gauge, "Whether frames pass");
        for port in &stats.ports {
            self.sample(name, &[("port", &port.name)], u8::from(port.up));
        }
        let name = "knotless_port_device_rx_missed_frames_total";
        self.family(name, Counter, "Frames lost in the receive ring");
        for port in &stats.ports {
            self.sample(name, &[("port", &port.name)], port.device_counters.rx_missed_frames);
        }
    }

    fn queues(&mut self, stats: &Stats) {
        let families: [(&str, &str, Values); 5] = [
            ("viq_bytes", "Bytes in the buffer that came in here", |p| {
                p.queues.map(|q| u64::from(q.viq_bytes))
            }),
            ("headroom_bytes", "Headroom in use", |p| {
                p.queues.map(|q| u64::from(q.headroom_bytes))
            }),
            ("headroom_peak_bytes", "The most headroom that was used", |p| {
                p.queues.map(|q| u64::from(q.headroom_peak_bytes))
            }),
            ("veq_bytes", "Bytes waiting to leave here", |p| {
                p.queues.map(|q| u64::from(q.veq_bytes))
            }),
            ("paused", "Whether the peer has paused us", |p| {
                p.queues.map(|q| u64::from(q.rx_paused))
            }),
        ];
        for (name, help, values) in families {
            self.by_priority(stats, &format!("knotless_queue_{name}"), Kind::Gauge, help, values);
        }
    }

    fn switch(&mut self, stats: &Stats) {
        let buffer = &stats.buffer;
        let gauges: [(&str, &str, u64); 9] = [
            ("epoch", "Number of the tables in use", stats.epoch),
            ("buffer_shared_bytes", "Shared buffer in use", buffer.shared_bytes),
            ("buffer_shared_size_bytes", "Shared buffer there is", buffer.shared_size_bytes),
            ("buffer_lossy_bytes", "Lossy bytes in use", buffer.lossy_bytes),
            ("buffer_lossy_size_bytes", "Lossy bytes there may be", buffer.lossy_size_bytes),
            ("mbufs_in_use", "Buffers that hold a frame or wait for one", stats.mbufs.data_in_use),
            ("neighbors", "Neighbours known", stats.neighbors),
            ("routes", "Static routes", stats.routes),
            ("mac_addresses", "Addresses learnt", stats.mac_addresses),
        ];
        for (name, help, value) in gauges {
            let name = format!("knotless_{name}");
            self.family(&name, Kind::Gauge, help);
            self.sample(&name, &[], value);
        }
        self.totals(&stats.totals);
        for worker in &stats.workers {
            let name = "knotless_worker_busy_turns_total";
            if worker.number == 0 {
                self.family(name, Kind::Counter, "Turns in which something moved");
            }
            self.sample(name, &[("worker", &worker.number)], worker.busy_turns);
        }
        self.quantiles("knotless_latency_ns", "Latency of frames", &stats.latency_ns);
        self.quantiles("knotless_burst_frames", "Frames of a received burst", &stats.burst_frames);
    }

    fn totals(&mut self, totals: &FrameTotals) {
        let name = "knotless_frames_total";
        self.family(name, Kind::Counter, "Frames, by where they came from and how they ended");
        let ends = [
            ("received", totals.received),
            ("injected", totals.injected),
            ("copied", totals.copied),
            ("sent", totals.sent),
            ("dropped", totals.dropped),
            ("punted", totals.punted),
            ("consumed", totals.consumed),
        ];
        for (end, frames) in ends {
            self.sample(name, &[("end", &end)], frames);
        }
        let name = "knotless_frames_imbalance";
        self.family(name, Kind::Gauge, "Frames that came minus frames that ended: always 0");
        self.sample(name, &[], totals.imbalance);
    }

    fn quantiles(&mut self, name: &str, help: &str, of: &Distribution) {
        self.family(name, Kind::Gauge, help);
        let quantiles = [("0.5", of.p50), ("0.99", of.p99), ("0.999", of.p999), ("1", of.max)];
        for (quantile, value) in quantiles {
            self.sample(name, &[("quantile", &quantile)], value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn stats() -> Stats {
        let mut port = PortStats { name: "a\"b\\c".to_owned(), ..PortStats::default() };
        port.rx_frames[3] = 17;
        port.drops.insert("no_route".to_owned(), 2);
        Stats { name: "s1".to_owned(), ports: vec![port], ..Stats::default() }
    }

    #[test]
    fn a_sample_names_its_switch_port_and_priority() {
        let page = text(&stats());
        let line = r#"knotless_port_rx_frames_total{switch="s1",port="a\"b\\c",priority="3"} 17"#;
        assert!(page.lines().any(|l| l == line), "{page}");
        let line = r#"knotless_port_drops_total{switch="s1",port="a\"b\\c",cause="no_route"} 2"#;
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
