//! The metrics of a switch for Prometheus: the page, and the HTTP server that serves it.
//!
//! `ctl metrics` and the server write the page with the same code, from one
//! [`Stats`](crate::control::stats::Stats).
//!
//! | file | idea |
//! |---|---|
//! | `page` | families and samples in either text format |
//! | `ports`, `queues`, `workers`, `whole`, `host` | what is shown of each |
//! | `accept` | which format a client wants |
//! | `listen` | the TCP or unix socket |
//! | `server` | HTTP: limits, paths, statuses |
//! | `source` | asks the control thread; keeps the page for some milliseconds |

mod accept;
mod host;
mod listen;
mod page;
mod ports;
mod queues;
mod server;
mod source;
#[cfg(test)]
mod tests;
mod whole;
mod workers;

#[cfg(feature = "dpdk")]
pub(crate) use listen::{ListenError, MetricsListener};
pub(crate) use page::Format;
#[cfg(feature = "dpdk")]
pub(crate) use server::MetricsServer;

use crate::control::stats::Stats;
use page::Page;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::DescriptorEncoder;
use std::fmt;
use std::sync::Arc;

/// The page with all metrics of a switch whose workers have answered.
pub(crate) fn text(stats: &Arc<Stats>, format: Format) -> String {
    let metrics = Metrics { stats: Some(Arc::clone(stats)), format };
    page::write(&stats.name, Box::new(metrics), format)
}

/// The page of the switch `name` whose workers do not all answer: it says that and nothing else.
fn silent_text(name: &str, format: Format) -> String {
    page::write(name, Box::new(Metrics { stats: None, format }), format)
}

/// The metrics of one answer of a switch.
#[derive(Debug)]
struct Metrics {
    /// `None` if a worker has not answered.
    stats: Option<Arc<Stats>>,
    format: Format,
}

impl Collector for Metrics {
    fn encode(&self, encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let mut page = Page::new(encoder, self.format);
        whole::answer(&mut page, self.stats.is_some())?;
        let Some(stats) = &self.stats else { return Ok(()) };
        ports::families(&mut page, stats)?;
        queues::families(&mut page, stats)?;
        whole::families(&mut page, stats)?;
        host::families(&mut page, stats)?;
        workers::families(&mut page, stats)
    }
}
