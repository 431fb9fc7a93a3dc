//! What a running switch can take over from changed files, and what needs a restart.
//!
//! Rules, tags, QoS maps, tunnels, routes, neighbors, addresses, VLANs and trust are a snapshot
//! that workers swap in between two turns. The thresholds of ECN and the peak rates of queues
//! change with it. What the devices, the buffer and the cores were built with stays until the next
//! start.

use super::{Memory, PortConfig, StaticRoute, SwitchConfig, Workers, assemble, old_words, routes};
use crate::error::ConfigError;
use crate::source::Source;
use crate::{message, rule_file};
use dataplane::ids::Priority;
use dataplane::settings::{PortSettings, SwitchSettings};
use ipnet::IpNet;
use std::fmt::Display;
use std::path::Path;

impl SwitchConfig {
    /// This switch with the rules of `file` and nothing else changed: SWITCH.toml and the route
    /// file are not read again.
    ///
    /// # Errors
    /// The file is wrong in itself, or does not fit this switch.
    pub fn with_rules(&self, file: &Path) -> Result<Self, ConfigError> {
        let rules = rule_file::load(file)?;
        let routes = (self.routes.clone(), self.routes_file.clone());
        assemble(&self.source, Some((file, rules)), Some(routes))
    }

    /// This switch with the routes of `file` in place of those of its route file. The `[[route]]`
    /// tables stay, and nothing else is read again.
    ///
    /// # Errors
    /// The file is wrong in itself, repeats a prefix, or has a next hop that no port leads to.
    pub fn with_routes(&self, file: &Path) -> Result<Self, ConfigError> {
        let schema = old_words::read(&self.source, &mut Vec::new())?;
        let mut routes = routes::of_tables(&self.source, &schema, &self.ports, &self.tunnels)?;
        routes::append_file(file, &self.ports, &self.tunnels, &mut routes)?;
        Ok(Self { routes, routes_file: Some(file.to_owned()), ..self.clone() })
    }

    /// This switch with a route to `to` by the gateways `via`, in the place of one that it has.
    ///
    /// # Errors
    /// The route is wrong in itself, is to a connected network, or has a next hop that no port
    /// leads to.
    pub fn with_route(&self, to: &str, via: &[String]) -> Result<Self, ConfigError> {
        let source = Source::new(Path::new("route"), &format!("{to} via {}", via.join(" ")));
        let mut routes = self.without_prefix(to);
        routes::append(&source, &self.ports, &self.tunnels, &mut routes)?;
        Ok(Self { routes, ..self.clone() })
    }

    /// This switch without its route to `to`.
    ///
    /// # Errors
    /// It has none.
    pub fn without_route(&self, to: &str) -> Result<Self, ConfigError> {
        let routes = self.without_prefix(to);
        if routes.len() == self.routes.len() {
            let source = Source::new(Path::new("route"), to);
            return Err(
                source.at(0..0, format!("there is no route to {to}; `ctl routes` lists all"))
            );
        }
        Ok(Self { routes, ..self.clone() })
    }

    fn without_prefix(&self, to: &str) -> Vec<StaticRoute> {
        let prefix = to.parse::<IpNet>();
        without(&self.routes, |other| prefix.as_ref() == Ok(other))
    }
}

/// The routes but those whose prefix `is_out`.
pub(super) fn without(routes: &[StaticRoute], is_out: impl Fn(&IpNet) -> bool) -> Vec<StaticRoute> {
    routes.iter().filter(|(to, _)| !is_out(to)).cloned().collect()
}

/// What differs between two configurations and cannot change while the switch runs, one line each;
/// empty if `new` can be loaded into a running `old`.
pub fn changes_needing_restart(old: &SwitchConfig, new: &SwitchConfig) -> Vec<String> {
    let mut changes = Changes(Vec::new());
    changes.compare("name", &old.name, &new.name);
    let socket = |config: &SwitchConfig| message::path(&config.socket);
    changes.compare("control.socket", &socket(old), &socket(new));
    let file = |config: &SwitchConfig| message::path(&config.changes_file);
    changes.compare("control.changes", &file(old), &file(new));
    changes.differ("groups of the control socket", &old.control_groups, &new.control_groups);
    changes.differ("security", &old.security, &new.security);
    let metrics = |config: &SwitchConfig| {
        config.metrics.as_ref().map_or_else(|| "none".to_owned(), ToString::to_string)
    };
    changes.compare("metrics.listen", &metrics(old), &metrics(new));
    changes.differ("routing", &old.fpm, &new.fpm);
    changes.differ("fleet", &old.fleet, &new.fleet);
    changes.differ("flight_recorder", &old.flight_recorder, &new.flight_recorder);
    changes.compare("dpdk.telemetry", &old.telemetry, &new.telemetry);
    changes.compare_workers(&old.workers, &new.workers);
    changes.compare_memory(&old.memory, &new.memory);
    changes.compare_settings(&old.settings, &new.settings);
    changes.differ("lldp, fabric and peer", &old.lldp, &new.lldp);
    changes.compare("number of ports", &old.ports.len(), &new.ports.len());
    for (old_port, new_port) in old.ports.iter().zip(&new.ports) {
        changes.compare_port(old_port, new_port);
    }
    for (old_port, new_port) in old.settings.ports.iter().zip(&new.settings.ports) {
        changes.compare_port_settings(old_port, new_port);
        if old.workers.count > 1 {
            changes.compare_peak_rates(old_port, new_port);
        }
    }
    changes.0
}

struct Changes(Vec<String>);

impl Changes {
    /// Of what can be said in a word or a number.
    fn compare<T: PartialEq + Display>(&mut self, what: &str, old: &T, new: &T) {
        if old != new {
            self.0.push(message::one_line(&format!("{what}: {old} -> {new}")));
        }
    }

    /// Of what takes more words than fit here.
    fn differ<T: PartialEq>(&mut self, what: &str, old: &T, new: &T) {
        if old != new {
            self.0.push(format!("{what}: changed"));
        }
    }

    fn compare_workers(&mut self, old: &Workers, new: &Workers) {
        let Workers { count, cores, idle } = old;
        self.compare("workers.count", count, &new.count);
        self.differ("workers.cores", cores, &new.cores);
        self.differ("workers.idle", idle, &new.idle);
    }

    fn compare_memory(&mut self, old: &Memory, new: &Memory) {
        let Memory { hugepages, size_bytes, mbufs, mbuf_data_bytes } = old;
        self.differ("memory.hugepages", hugepages, &new.hugepages);
        self.compare("memory.size", size_bytes, &new.size_bytes);
        // Not in the file: what rings and the buffer come to.
        self.compare("mbufs", mbufs, &new.mbufs);
        self.compare("mbuf size", mbuf_data_bytes, &new.mbuf_data_bytes);
    }

    fn compare_settings(&mut self, old: &SwitchSettings, new: &SwitchSettings) {
        // Taken apart by name, so that a field added to the settings is not forgotten here.
        let SwitchSettings {
            ports: _,
            buffer,
            scheduler,
            ecn: _,
            wred: _,
            big_red_switch: _,
            mac_table,
            telemetry,
            seed,
            host_rates,
        } = old;
        self.compare("buffer.size", &buffer.size_bytes, &new.buffer.size_bytes);
        self.compare("buffer.cell", &buffer.cell_bytes, &new.buffer.cell_bytes);
        self.compare("buffer.lossy", &buffer.lossy_bytes, &new.buffer.lossy_bytes);
        let (queue, new_queue) = (&buffer.lossy_queue_bytes, &new.buffer.lossy_queue_bytes);
        self.compare("buffer.lossy_queue", queue, new_queue);
        let (power, new_power) =
            (&buffer.lossy_queue_alpha_log2, &new.buffer.lossy_queue_alpha_log2);
        self.differ("buffer.lossy_queue_dynamic_th", power, new_power);
        let (pool, new_pool) = (&buffer.headroom_pool_bytes, &new.buffer.headroom_pool_bytes);
        self.differ("buffer.headroom_pool", pool, new_pool);
        self.differ("scheduler.strict", &scheduler.strict_bits, &new.scheduler.strict_bits);
        let (quantum, new_quantum) = (&scheduler.quantum_bytes, &new.scheduler.quantum_bytes);
        self.differ("scheduler.weights", quantum, new_quantum);
        self.compare("scheduler.fair", &scheduler.fair, &new.scheduler.fair);
        self.differ("mac_table", mac_table, &new.mac_table);
        self.differ("inband_telemetry", telemetry, &new.telemetry);
        self.compare("seed", seed, &new.seed);
        self.differ("host.rates", host_rates, &new.host_rates);
    }

    fn compare_port(&mut self, old: &PortConfig, new: &PortConfig) {
        let field = |name: &str| format!("port {}: {name}", old.name);
        let PortConfig {
            id: _,
            name: _,
            device,
            addresses: _,
            mode: _,
            trust: _,
            qos_map: _,
            checks_source: _,
            mtu: _,
            length: _,
            rx_ring,
            // These two follow from the rest.
            rx_queue_frames: _,
            promise: _,
            // In the settings, too.
            queues: _,
            tx_ring,
            tx_limit_bytes,
            tap,
        } = old;
        self.compare(&field("device"), &device.text(), &new.device.text());
        self.compare(&field("rx_desc"), rx_ring, &new.rx_ring);
        self.compare(&field("tx_desc"), tx_ring, &new.tx_ring);
        self.compare(&field("tx_byte_limit"), tx_limit_bytes, &new.tx_limit_bytes);
        self.differ(&field("tap"), tap, &new.tap);
    }

    /// What other workers have queued at a port would wait for ever once the queue is shaped, as
    /// only the port's owner sends from a shaped queue.
    fn compare_peak_rates(&mut self, old: &PortSettings, new: &PortSettings) {
        for priority in Priority::all() {
            let [before, after] = [old, new].map(|port| port.peak_rates[priority.index()]);
            if before.is_none() && after.is_some() {
                let name = &old.name;
                self.0.push(message::one_line(&format!(
                    "port {name}: shaper of priority {priority}: new, and there are several workers"
                )));
            }
        }
    }

    fn compare_port_settings(&mut self, old: &PortSettings, new: &PortSettings) {
        let field = |name: &str| format!("port {}: {name}", old.name);
        let PortSettings {
            name,
            mac,
            speed,
            paced,
            frame_bytes_max,
            worker,
            further_queues,
            lossless,
            upstream,
            host_priority,
            peak_rates: _,
            gfc,
            watchdog: _,
            rx_backlog_xoff_frames,
        } = old;
        self.compare(&field("name"), name, &new.name);
        self.compare(&field("mac"), mac, &new.mac);
        self.compare(&field("speed in bps"), &speed.bps(), &new.speed.bps());
        self.compare(&field("pace"), paced, &new.paced);
        self.compare(&field("mtu"), frame_bytes_max, &new.frame_bytes_max);
        self.compare(&field("worker"), &worker.index(), &new.worker.index());
        self.compare(
            &field("queues"),
            &(further_queues.len() + 1),
            &(new.further_queues.len() + 1),
        );
        self.differ(&field("lossless thresholds"), lossless, &new.lossless);
        self.differ(&field("ttl.classes"), upstream, &new.upstream);
        self.differ(&field("ttl.host_priority"), host_priority, &new.host_priority);
        self.differ(&field("gfc"), gfc, &new.gfc);
        self.compare(&field("rx_backlog"), rx_backlog_xoff_frames, &new.rx_backlog_xoff_frames);
    }
}
