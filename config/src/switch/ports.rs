//! `[[port]]`: one port, and what must differ between two. Its device is in `device.rs`, its
//! addresses and VLANs in `mode.rs`, its lossless queues in `viq.rs`.

use super::mode::check_networks;
use super::port_draft::{PortDraft, PortReader, VLAN_BYTES, index_of, span};
use super::rx_queue::{DeviceKind, POLL_GAP_NS, nic_rx_ring, tap_queue_frames};
use super::schema::{PortTable, SwitchFile};
use super::{PortConfig, Workers};
use crate::error::ConfigError;
use crate::source::Source;
use crate::units::Length;
use dataplane::ids::{PortId, Priority, Tag, WorkerId};
use dataplane::limits::{FRAME_BYTES_MAX, PORTS_MAX, PRIORITIES};
use dataplane::pipeline::classify::{ClassifyBy, InitialTags, PortTrust, TagMap};
use dataplane::settings::PortSettings;
use ipnet::IpNet;
use toml::Spanned;

/// Ethernet header.
const HEADER_BYTES: u16 = 14;
const RING_DEFAULT: u64 = 1_024;

/// The ports in order; VIQs and transmit limits come later.
///
/// # Errors
/// A port contradicts itself, another port, or the tags.
pub(super) fn build<'a>(
    source: &Source,
    file: &'a SwitchFile,
    tags: &TagMap,
    workers: &Workers,
    any_lossless: bool,
) -> Result<Vec<PortDraft<'a>>, ConfigError> {
    if file.port.is_empty() {
        return Err(source.at(file.name.span(), "a switch needs ports; add [[port]] tables"));
    }
    let mut ports: Vec<PortDraft<'a>> = Vec::with_capacity(file.port.len());
    for table in &file.port {
        let Some(id) = PortId::from_index(ports.len()) else {
            let message = format!("a switch has at most {PORTS_MAX} ports");
            return Err(source.at(table.span(), message));
        };
        let poll_ns = file.headroom.poll.as_ref().map_or(POLL_GAP_NS, |field| field.get_ref().0);
        let rx_gap_ns = poll_ns.max(file.workers.idle_gap_ns());
        let switch = file.name.get_ref();
        let reader =
            PortReader { source, switch, id, span: table.span(), rx_gap_ns, taps: file.host.taps };
        let port = reader.port(table, tags, workers, any_lossless)?;
        for other in &ports {
            reader.check_apart(&port, other)?;
            reader.check_tap_apart(&port, other)?;
        }
        ports.push(port);
    }
    check_networks(source, &ports)?;
    let queues: usize = ports.iter().map(|port| usize::from(port.config.queues)).sum();
    if queues > PORTS_MAX {
        let message = format!("{queues} receive queues; all ports have at most {PORTS_MAX}");
        return Err(source.at(file.name.span(), message));
    }
    Ok(ports)
}

/// The port with the name or number `name`.
pub(super) fn find(ports: &[PortConfig], name: &str) -> Result<PortId, String> {
    let names: Vec<&str> = ports.iter().map(|port| port.name.as_str()).collect();
    Ok(ports[index_of(&names, name)?].id)
}

/// Receive queues of a port at the most.
const QUEUES_MAX: u64 = 16;

impl PortReader<'_> {
    fn port<'a>(
        &self,
        spanned: &'a Spanned<PortTable>,
        tags: &TagMap,
        workers: &Workers,
        any_lossless: bool,
    ) -> Result<PortDraft<'a>, ConfigError> {
        let table = spanned.get_ref();
        let name = self.name(table)?;
        let device = self.device(table)?;
        let (speed, paced) = self.speed(table, &device)?;
        let mode = self.mode(table)?;
        let addresses = self.addresses(table)?;
        let mtu = self.mtu(table, &addresses)?;
        let rx_queue_frames = (device.kind() == DeviceKind::Tap).then(|| tap_queue_frames(speed));
        let ring_default = match device.kind() {
            DeviceKind::Nic if any_lossless => nic_rx_ring(speed, self.rx_gap_ns).into(),
            _ => RING_DEFAULT,
        };
        let rx_ring = self.count(&table.rx_desc, ring_default, 32, 32_768, "rx_desc")?;
        let tx_ring = self.count(&table.tx_desc, RING_DEFAULT, 32, 32_768, "tx_desc")?;
        let held = rx_queue_frames.unwrap_or(rx_ring);
        let backlog_default = device.kind().backlog_xoff_frames(held);
        let backlog_max = u64::from(held) - 1;
        let rx_backlog =
            self.count(&table.rx_backlog, backlog_default.into(), 1, backlog_max, "rx_backlog")?;
        let pfc = self.pfc(table, any_lossless)?;
        let worker = self.worker(table, workers)?;
        let queues = self.count(&table.queues, 1, 1, QUEUES_MAX, "queues")?;
        let trust = self.trust(table, tags, pfc)?;
        let settings = PortSettings {
            name: name.clone(),
            mac: self.mac(table)?,
            speed,
            paced,
            frame_bytes_max: mtu + HEADER_BYTES,
            worker,
            further_queues: further_queues(worker, queues, workers.count),
            lossless: [None; PRIORITIES],
            upstream: Priority::EACH,
            host_priority: None,
            peak_rates: [None; PRIORITIES],
            gfc: None,
            watchdog: None,
            rx_backlog_xoff_frames: rx_backlog,
        };
        let length =
            table.cable_length.as_ref().map_or(Length::from_metres(10), |field| field.get_ref().0);
        let config = PortConfig {
            id: self.id,
            tap: self.tap(table, &name, &device)?,
            name,
            device,
            addresses,
            mode,
            trust,
            qos_map: None,
            checks_source: table.source_check,
            mtu,
            length,
            queues: u16::try_from(queues).unwrap_or(u16::MAX),
            rx_ring,
            rx_queue_frames,
            tx_ring,
            tx_limit_bytes: 0,
            promise: None,
        };
        Ok(PortDraft { settings, config, pfc, table: spanned })
    }

    fn name(&self, table: &PortTable) -> Result<String, ConfigError> {
        let Some(field) = &table.name else { return Ok(self.id.to_string()) };
        let name = field.get_ref();
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_./".contains(c);
        if name.is_empty() || name.len() > 63 || !name.chars().all(plain) {
            let message =
                format!("`{name}` is no name; use letters, digits, `-`, `_`, `.` and `/`");
            return self.wrong(field.span(), message);
        }
        if name.parse().is_ok_and(|number: usize| number != self.id.number()) {
            let message = format!(
                "port {} cannot be named `{name}`, which is the number of another; use a letter in it",
                self.id
            );
            return self.wrong(field.span(), message);
        }
        Ok(name.clone())
    }

    fn mtu(&self, table: &PortTable, addresses: &[IpNet]) -> Result<u16, ConfigError> {
        let Some(field) = &table.mtu else { return Ok(1_500) };
        let (mtu, most) =
            (*field.get_ref(), FRAME_BYTES_MAX as u64 - u64::from(HEADER_BYTES + VLAN_BYTES));
        let six = addresses.iter().any(|network| matches!(network, IpNet::V6(_)));
        let least = if six { 1_280 } else { 68 };
        match u16::try_from(mtu) {
            Ok(mtu) if (least..=most).contains(&u64::from(mtu)) => Ok(mtu),
            _ => {
                let why = if six { " for IPv6" } else { "" };
                self.wrong(field.span(), format!("an `mtu` of {mtu}; it is {least} to {most}{why}"))
            }
        }
    }

    /// A whole number with a default and bounds.
    fn count(
        &self,
        field: &Option<Spanned<u64>>,
        default: u64,
        least: u64,
        most: u64,
        name: &str,
    ) -> Result<u32, ConfigError> {
        let (value, span) = match field {
            Some(field) => (*field.get_ref(), field.span()),
            None => (default, self.span.clone()),
        };
        match u32::try_from(value) {
            Ok(count) if (least..=most).contains(&value) => Ok(count),
            _ => self.wrong(span, format!("`{name}` is {value}; it is {least} to {most}")),
        }
    }

    fn pfc(&self, table: &PortTable, any_lossless: bool) -> Result<bool, ConfigError> {
        match &table.pfc {
            Some(field) if *field.get_ref() && !any_lossless => self.wrong(
                field.span(),
                "no priority is lossless, so there is no PFC; add a [[lossless]] table",
            ),
            Some(field) => Ok(*field.get_ref()),
            None => Ok(any_lossless),
        }
    }

    fn trust(&self, table: &PortTable, tags: &TagMap, pfc: bool) -> Result<PortTrust, ConfigError> {
        let by = table.classify.unwrap_or_default();
        let default_tag =
            table.default_tag.as_ref().map_or(tags.lossy_tag, |field| field.get_ref().0);
        if tags.is_lossless(default_tag) && !pfc {
            return self.wrong(
                span(&table.default_tag).unwrap_or_default(),
                format!("tag {default_tag} is lossless, and nothing is on a port with pfc = false"),
            );
        }
        if let Some((low, high)) = shared_pcp(tags).filter(|_| by == ClassifyBy::Pcp) {
            let message = format!(
                "the PCP cannot tell tag {low} from {high}, and this port goes by it; give each a `pcp` of \
                 its own in [[tag]]"
            );
            return self.wrong(self.span.clone(), message);
        }
        let initial = InitialTags::NONE;
        Ok(PortTrust { by, trusted: table.trusted, default_tag, initial })
    }

    fn worker(&self, table: &PortTable, workers: &Workers) -> Result<WorkerId, ConfigError> {
        let count = workers.count;
        let Some(field) = &table.worker else {
            return Ok(WorkerId(narrow(self.id.index() % count)));
        };
        match usize::try_from(*field.get_ref()) {
            Ok(worker) if worker < count => Ok(WorkerId(narrow(worker))),
            _ => {
                let last = count - 1;
                let message = format!(
                    "there is no worker {}; [workers] has {count}, numbered 0 to {last}",
                    field.get_ref()
                );
                self.wrong(field.span(), message)
            }
        }
    }

    /// Nothing that must differ between two ports is the same.
    fn check_apart(&self, port: &PortDraft<'_>, other: &PortDraft<'_>) -> Result<(), ConfigError> {
        let table = port.table.get_ref();
        let name_span = span(&table.name).unwrap_or_else(|| self.span.clone());
        if port.name() == other.name() {
            let message = format!("port {} is named `{}` already", other.config.id, port.name());
            return self.wrong(name_span, message);
        }
        if port.config.device.key() == other.config.device.key() {
            let key = port.config.device.key();
            let message =
                format!("port {} has {key} already; a device is one port", other.config.id);
            let span = span(&table.device).or_else(|| span(&table.pci));
            return self.wrong(span.unwrap_or_default(), message);
        }
        if port.settings.mac == other.settings.mac {
            let message = format!(
                "port {} has the MAC address {} already",
                other.config.id, other.settings.mac
            );
            return self.wrong(span(&table.mac).unwrap_or_else(|| self.span.clone()), message);
        }
        Ok(())
    }
}

/// Two lossless tags that the same PCP carries.
fn shared_pcp(tags: &TagMap) -> Option<(Tag, Tag)> {
    let lossless = || Tag::all().filter(|&tag| tags.is_lossless(tag));
    let same =
        |low: Tag, high: &Tag| *high > low && tags.pcp[high.index()] == tags.pcp[low.index()];
    lossless().find_map(|low| Some((low, lossless().find(|high| same(low, high))?)))
}

/// The workers that poll the receive queues after the first: the next ones after `owner`, in turn.
fn further_queues(owner: WorkerId, queues: u32, workers: usize) -> Vec<WorkerId> {
    let number = |queue: usize| WorkerId(narrow((owner.index() + queue) % workers));
    (1..queues as usize).map(number).collect()
}

fn narrow(worker: usize) -> u8 {
    u8::try_from(worker).unwrap_or(u8::MAX)
}
