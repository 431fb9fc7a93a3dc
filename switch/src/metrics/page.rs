//! Families and samples, written by `prometheus-client` in either text format.
//!
//! The two formats differ in the names of counters. In the text format 0.0.4 a family has the name
//! of its samples, with `_total`. In OpenMetrics 1.0 the family has the name without it. For a
//! counter `prometheus-client` writes the OpenMetrics form; for the other one, counters are written
//! by `encode_gauge`, which adds no suffix. The declared type stays `counter`.

use crate::histograms::Distribution;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::text::{encode_eof, encode_registry};
use prometheus_client::encoding::{
    CounterValueEncoder, DescriptorEncoder, EncodeCounterValue, EncodeGaugeValue,
    GaugeValueEncoder, MetricEncoder, NoLabelSet,
};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::Registry;
use std::fmt;

/// The text format of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    /// Prometheus text format 0.0.4.
    Text,
    /// OpenMetrics 1.0.
    OpenMetrics,
}

impl Format {
    /// Its value of the header `Content-Type`.
    pub(super) const fn content_type(self) -> &'static str {
        match self {
            Self::Text => "text/plain; version=0.0.4; charset=utf-8",
            Self::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
        }
    }
}

/// The page of `metrics`, whose samples all have the label `switch`.
pub(super) fn write(switch: &str, metrics: Box<dyn Collector>, format: Format) -> String {
    let switch = ("switch".into(), switch.to_owned().into());
    let mut registry = Registry::with_labels([switch].into_iter());
    registry.register_collector(metrics);
    let mut text = String::new();
    // Writing to a String cannot fail.
    let _infallible = encode_registry(&mut text, &registry);
    if format == Format::OpenMetrics {
        let _infallible = encode_eof(&mut text);
    }
    text
}

const NS_PER_S: f64 = 1e9;

/// The value of a sample.
#[derive(Clone, Copy, Debug)]
pub(super) enum Value {
    /// A number of something.
    Count(u64),
    /// A difference.
    Signed(i64),
    /// Nanoseconds, shown in seconds.
    Ns(u64),
}

impl From<u64> for Value {
    fn from(count: u64) -> Self {
        Self::Count(count)
    }
}

impl From<u32> for Value {
    fn from(count: u32) -> Self {
        Self::Count(u64::from(count))
    }
}

impl From<bool> for Value {
    fn from(is_true: bool) -> Self {
        Self::Count(u64::from(is_true))
    }
}

impl EncodeGaugeValue for Value {
    fn encode(&self, encoder: &mut GaugeValueEncoder<'_>) -> fmt::Result {
        match *self {
            Self::Count(count) => EncodeGaugeValue::encode(&count, encoder),
            Self::Signed(difference) => EncodeGaugeValue::encode(&difference, encoder),
            Self::Ns(ns) => EncodeGaugeValue::encode(&seconds(ns), encoder),
        }
    }
}

impl EncodeCounterValue for Value {
    fn encode(&self, encoder: &mut CounterValueEncoder<'_>) -> fmt::Result {
        match *self {
            Self::Count(count) => EncodeCounterValue::encode(&count, encoder),
            Self::Signed(difference) => EncodeCounterValue::encode(&(difference as f64), encoder),
            Self::Ns(ns) => EncodeCounterValue::encode(&seconds(ns), encoder),
        }
    }
}

fn seconds(ns: u64) -> f64 {
    ns as f64 / NS_PER_S
}

/// Labels of a sample, beside `switch`.
type Labels<'a> = &'a [(&'a str, &'a str)];

/// The samples of one family.
pub(super) struct Samples<'a> {
    metric: MetricEncoder<'a>,
    is_open_metrics_counter: bool,
}

impl Samples<'_> {
    /// Adds one.
    pub(super) fn add(&mut self, labels: Labels<'_>, value: impl Into<Value>) -> fmt::Result {
        let value = value.into();
        if !self.is_open_metrics_counter {
            return self.metric.encode_family(&labels)?.encode_gauge(&value);
        }
        let mut sample = self.metric.encode_family(&labels)?;
        sample.encode_counter::<NoLabelSet, Value, f64>(&value, None)
    }

    /// Adds all buckets of a histogram, with their count and sum. A bound is a power of two
    /// divided by `parts`; powers below `first` are left out.
    fn add_histogram(
        &mut self,
        labels: Labels<'_>,
        of: &Distribution,
        (first, last): (usize, usize),
        parts: f64,
    ) -> fmt::Result {
        let mut below = 0;
        let mut buckets = Vec::with_capacity(last - first + 2);
        for power in first..=last {
            let count = of.buckets.get(power).copied().unwrap_or(below);
            buckets.push(((1_u64 << power) as f64 / parts, count.saturating_sub(below)));
            below = count.max(below);
        }
        buckets.push((f64::INFINITY, of.count.saturating_sub(below)));
        let mut sample = self.metric.encode_family(&labels)?;
        sample.encode_histogram::<NoLabelSet>(of.sum as f64 / parts, of.count, &buckets, None)
    }

    /// Adds a histogram of times in nanoseconds, with buckets from 256 ns to 8.6 s.
    pub(super) fn add_times(&mut self, labels: Labels<'_>, of: &Distribution) -> fmt::Result {
        self.add_histogram(labels, of, (8, 33), NS_PER_S)
    }

    /// Adds a histogram of burst sizes, with buckets from 1 to 128 frames.
    pub(super) fn add_bursts(&mut self, labels: Labels<'_>, of: &Distribution) -> fmt::Result {
        self.add_histogram(labels, of, (0, 7), 1.0)
    }
}

/// The families, one after the other.
pub(super) struct Page<'a> {
    encoder: DescriptorEncoder<'a>,
    format: Format,
}

impl<'a> Page<'a> {
    pub(super) const fn new(encoder: DescriptorEncoder<'a>, format: Format) -> Self {
        Self { encoder, format }
    }

    /// A family of counters. `name` is without `_total`.
    pub(super) fn counter(
        &mut self,
        name: &str,
        help: &str,
        samples: impl FnOnce(&mut Samples<'_>) -> fmt::Result,
    ) -> fmt::Result {
        match self.format {
            Format::Text => {
                self.family(&format!("{name}_total"), help, MetricType::Counter, samples)
            }
            Format::OpenMetrics => self.family(name, help, MetricType::Counter, samples),
        }
    }

    /// A family of gauges.
    pub(super) fn gauge(
        &mut self,
        name: &str,
        help: &str,
        samples: impl FnOnce(&mut Samples<'_>) -> fmt::Result,
    ) -> fmt::Result {
        self.family(name, help, MetricType::Gauge, samples)
    }

    /// A family of histograms.
    pub(super) fn histogram(
        &mut self,
        name: &str,
        help: &str,
        samples: impl FnOnce(&mut Samples<'_>) -> fmt::Result,
    ) -> fmt::Result {
        self.family(name, help, MetricType::Histogram, samples)
    }

    fn family(
        &mut self,
        name: &str,
        help: &str,
        kind: MetricType,
        samples: impl FnOnce(&mut Samples<'_>) -> fmt::Result,
    ) -> fmt::Result {
        let is_counter = matches!(kind, MetricType::Counter);
        let is_open_metrics_counter = is_counter && self.format == Format::OpenMetrics;
        let metric = self.encoder.encode_descriptor(name, help, None, kind)?;
        samples(&mut Samples { metric, is_open_metrics_counter })
    }
}
