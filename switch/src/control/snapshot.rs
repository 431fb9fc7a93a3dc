//! The state of the whole switch, from the workers' last reports.

use super::fleet_status::FleetStatus;
use super::lldp::LldpControl;
use super::stats::{PortStats, Stats, WorkerStats};
use super::{Control, lossless, merge, waits};
use crate::histograms::WorkerHistograms;
use crate::platform::Platform;
use dataplane::ids::PortId;
use dataplane::report::Report;
use dataplane::time::Instant;
use std::time::{SystemTime, UNIX_EPOCH};

impl<P: Platform> Control<P> {
    pub(super) fn snapshot(&self, now: Instant) -> Stats {
        let config = self.tables.config();
        let reports = || self.workers.iter().filter_map(|worker| worker.answer());
        let workers = self.worker_stats();
        let mut histograms = WorkerHistograms::default();
        self.workers.iter().for_each(|worker| histograms.add(&worker.histograms));
        let mut agent =
            merge::agent(self.slow_path.agent.counters(), self.slow_path.agent.pending_frames());
        agent.unmade_frames = self.slow_path.unmade_frames;
        let mac_addresses = reports().map(|report| report.mac_entries as u64).max();
        let ports = self.port_stats();
        Stats {
            name: config.name.clone(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            dpdk: self.platform.version(),
            pid: std::process::id(),
            time_unix_ms: time_unix_ms(),
            uptime_ns: now.ns,
            epoch: self.workers.epoch(),
            waits: waits::find(&ports, &reports().flat_map(|r| &r.ports).collect::<Vec<_>>()),
            ports,
            buffer: merge::buffer(config, reports()),
            totals: merge::sum(&workers),
            workers,
            mbufs: self.platform.buffers(),
            agent,
            lldp: self.lldp.as_ref().map(LldpControl::stats),
            fpm: self.fpm.as_ref().map(|fpm| fpm.stats(self.tables.routes())),
            fleet: self.fleet.as_ref().map(FleetStatus::get),
            sflow: self.sflow.stats(),
            taps: self.host.as_ref().map(|host| host.stats(config)).unwrap_or_default(),
            latency_ns: histograms.latency_ns(),
            burst_frames: histograms.burst_frames(),
            tag_changes: merge::tag_changes(reports()),
            neighbors: self.slow_path.agent.neighbors(now).count() as u64,
            routes: config.routes.len() as u64,
            mac_addresses: mac_addresses.unwrap_or_default(),
        }
    }

    fn worker_stats(&self) -> Vec<WorkerStats> {
        let cores = &self.tables.config().workers.cores;
        let nothing = Report::default();
        let stats = self.workers.iter().enumerate().map(|(number, worker)| {
            let report = worker.answer().unwrap_or(&nothing);
            WorkerStats {
                number,
                core: cores.get(number).copied(),
                turns: report.turns,
                busy_turns: report.busy_turns,
                epoch: worker.epoch,
                totals: report.totals.into(),
                turn_ns: worker.histograms.turn_ns(),
                poll_gap_ns_max: worker.histograms.poll_gap_ns_max(),
                commands_lost: worker.commands_lost,
            }
        });
        stats.collect()
    }

    fn port_stats(&self) -> Vec<PortStats> {
        let config = self.tables.config();
        let mut ports: Vec<PortStats> =
            (0..config.ports.len()).map(|index| merge::configured_port(config, index)).collect();
        for (port, facts) in ports.iter_mut().zip(&self.facts) {
            port.driver.clone_from(&facts.driver);
            port.flow_control.clone_from(&facts.flow_control);
            port.tells_rx_backlog = facts.tells_rx_backlog;
            port.rx_backlog.clone_from(&facts.rx_backlog);
        }
        for (stats, id) in ports.iter_mut().zip((0..).filter_map(PortId::from_index)) {
            let port = self.links.port(id);
            stats.link = port.link;
            stats.in_service = port.in_service;
            stats.fault = self.platform.fault(id).map(str::to_owned);
            if let Some(flow_control) = self.platform.flow_control(id) {
                stats.flow_control = flow_control;
            }
            let (neighbors, refused) = self.slow_path.agent.neighbors_at(id);
            (stats.neighbors, stats.neighbors_refused) = (neighbors as u64, refused);
            stats.device_counters = self.platform.device_counters(id);
            stats.lldp = self.lldp.as_ref().and_then(|it| it.port_stats(id));
        }
        for worker in self.workers.iter() {
            for &(port, losses) in worker.losses() {
                ports[port.index()].device_losses += losses;
            }
        }
        // The owner's report sets the values; the other workers' reports are added.
        let answers = || self.workers.iter().filter_map(|worker| worker.answer());
        let reports = || answers().flat_map(|report| &report.ports);
        for is_owner in [true, false] {
            for report in reports().filter(|report| report.is_owner == is_owner) {
                merge::add_report(&mut ports[report.port.index()], report);
            }
        }
        ports.iter_mut().for_each(lossless::add_unclassified);
        ports
    }
}

fn time_unix_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
