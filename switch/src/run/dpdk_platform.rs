//! DPDK as the switch's platform: memory, pools, ports, and the control thread's view of them.

use super::RunError;
use super::cpus::main_cpus;
use super::pools::{CACHE_FRAMES, CONTROL_DATA_BYTES, PoolSizes, memory};
use crate::dpdk::clock::Clock;
use crate::dpdk::device::{DevicePort, DpdkDevice, ForeignPort, FurtherQueue};
use crate::dpdk::device_args::PciAddress;
use crate::dpdk::eal::{Eal, EalOptions, version};
use crate::dpdk::error::DpdkError;
use crate::dpdk::mbuf::Mbuf;
use crate::dpdk::memory::MemoryInUse;
use crate::dpdk::mempool::Pool;
use crate::dpdk::pacer::{CAP_BYTES_MAX, TxCap};
use crate::dpdk::port::{Port, PortInfo, PortOptions, PortQueues};
use crate::dpdk::rx_backlog::BacklogSource;
use crate::log::{Event, Level};
use crate::platform::{
    DeviceCounters, DeviceLosses, FrameBuffers, Platform, PortDevice, PortFacts,
};
use crate::worker_loop::SharedPhase;
use config::SwitchConfig;
use config::switch::{Device, PortConfig};
use dataplane::ids::PortId;
use dataplane::time::Instant;
use std::cell::Cell;
use std::path::PathBuf;
use std::sync::Arc;

/// The DPDK platform of a switch.
#[derive(Debug)]
pub(super) struct DpdkPlatform {
    /// In the order of their numbers. Dropped before the pools, which are dropped before the EAL.
    ports: Vec<Arc<Port>>,
    /// Their names.
    names: Vec<String>,
    /// By port: why it is down for good, if it is.
    faults: Vec<Cell<Option<&'static str>>>,
    /// By port: whether its device, which was removed, has yet to be closed.
    to_close: Vec<Cell<bool>>,
    phase: SharedPhase,
    data: Arc<Pool>,
    control: Arc<Pool>,
    clock: Clock,
    eal: Arc<Eal>,
}

impl DpdkPlatform {
    /// Starts DPDK, creates the pools and opens the ports of `config`. The queues are in port
    /// order.
    ///
    /// # Errors
    /// The error of DPDK or of a device.
    pub(super) fn start(
        config: &SwitchConfig,
        verbose: bool,
        phase: &SharedPhase,
    ) -> Result<(Self, Vec<PortQueues>), RunError> {
        let sizes = PoolSizes::of(config);
        let eal = Eal::init(&EalOptions {
            memory: memory(config, &sizes),
            pci: pci_addresses(config),
            main_cpus: main_cpus(config),
            telemetry: config.telemetry,
            verbose,
        })?;
        let clock = Clock::new(&eal);
        let data = Pool::new(&eal, "data", sizes.data_frames, sizes.data_bytes, CACHE_FRAMES)?;
        let control =
            Pool::new(&eal, "control", sizes.control_frames, CONTROL_DATA_BYTES, CACHE_FRAMES)?;
        let names = config.ports.iter().map(|port| port.name.clone()).collect();
        let mut platform = Self {
            ports: Vec::new(),
            names,
            faults: vec![Cell::new(None); config.ports.len()],
            to_close: vec![Cell::new(false); config.ports.len()],
            phase: phase.clone(),
            data,
            control,
            clock,
            eal,
        };
        let mut queues = Vec::with_capacity(config.ports.len());
        for port in &config.ports {
            let opened = platform.open(config, port);
            let (port, its_queues) =
                opened.map_err(|error| RunError::Port { name: port.name.clone(), error })?;
            platform.ports.push(port);
            queues.push(its_queues);
        }
        Ok((platform, queues))
    }

    fn open(
        &self,
        config: &SwitchConfig,
        port: &PortConfig,
    ) -> Result<(Arc<Port>, PortQueues), DpdkError> {
        let (Device::Virtual(device) | Device::Pci(device)) = &port.device;
        let descriptors = |count| u16::try_from(count).unwrap_or(u16::MAX);
        let options = PortOptions {
            mtu_bytes: port.mtu,
            rx_descriptors: descriptors(port.rx_ring),
            rx_queue_frames: port.rx_queue_frames,
            tx_descriptors: descriptors(port.tx_ring),
            rx_queues: port.queues,
            tx_queues: tx_queues(config, port.id),
        };
        let opened = Port::open(&self.eal, device, &options, &self.data)?;
        // Until a worker polls it, a tap that was made before takes no frames.
        if opened.0.is_tap() {
            let _unless_it_cannot = opened.0.set_link(false);
        }
        Ok(opened)
    }

    /// The device of the worker that owns these ports.
    pub(super) fn device(
        &self,
        config: &SwitchConfig,
        queues: Vec<(PortId, PortQueues)>,
        further: Vec<FurtherQueue>,
        foreign: Vec<ForeignPort>,
    ) -> DpdkDevice {
        let ports = queues.into_iter().map(|(port, queues)| {
            let tx_cap = tx_cap(config, port);
            DevicePort { port, queues, tx_cap }
        });
        DpdkDevice::new(ports.collect(), further, foreign, &self.data, &self.control)
    }

    pub(super) const fn eal(&self) -> &Arc<Eal> {
        &self.eal
    }

    pub(super) const fn clock(&self) -> Clock {
        self.clock
    }

    /// The memory in use.
    pub(super) fn memory(&self) -> MemoryInUse {
        self.eal.memory()
    }

    /// DPDK's telemetry socket, if there is one.
    pub(super) fn telemetry_socket(&self) -> Option<PathBuf> {
        self.eal.telemetry_socket()
    }

    /// In port order.
    pub(super) fn infos(&self) -> impl Iterator<Item = &PortInfo> {
        self.ports.iter().map(|port| port.info())
    }

    /// In port order.
    pub(super) fn facts(&self) -> Vec<PortFacts> {
        let facts = self.infos().map(|info| PortFacts {
            driver: info.driver.clone(),
            flow_control: info.flow_control.to_string(),
            tells_rx_backlog: info.rx_backlog == BacklogSource::Driver,
            rx_backlog: info.rx_backlog.to_string(),
        });
        facts.collect()
    }

    /// Buffers that the data pool is short of the shared buffer, because devices hold more than
    /// their rings: `net_pcap` holds all frames that it replays.
    pub(super) fn missing_frames(&self, config: &SwitchConfig) -> u32 {
        let sent: u32 = self.infos().map(|info| u32::from(info.tx_descriptors)).sum();
        let counted = u32::try_from(config.settings.buffer.frames_max).unwrap_or(u32::MAX);
        counted.saturating_add(sent).saturating_sub(self.data.available())
    }

    /// Ports whose devices took more buffers than they have receive descriptors: name, buffers,
    /// descriptors.
    pub(super) fn oversized_ports(&self) -> impl Iterator<Item = (&str, u32, u32)> {
        let descriptors =
            |info: &PortInfo| u32::from(info.rx_queues) * u32::from(info.rx_descriptors);
        let ports = self.names.iter().zip(self.infos());
        let oversized = ports.filter(move |(_, info)| info.rx_buffers > descriptors(info));
        oversized.map(move |(name, info)| (name.as_str(), info.rx_buffers, descriptors(info)))
    }

    /// Closes the ports; returns the buffers that are not back in their pools, and the total.
    pub(super) fn close(mut self) -> (u32, u32) {
        self.ports.clear();
        self.eal.remove_telemetry_socket();
        let missing = self.data.in_use() + self.control.in_use();
        (missing, self.data.frames() + self.control.frames())
    }
}

fn pci_addresses(config: &SwitchConfig) -> Vec<PciAddress> {
    let pci = config.ports.iter().filter_map(|port| match &port.device {
        // The configuration has checked its form.
        Device::Pci(address) => address.parse().ok(),
        Device::Virtual(_) => None,
    });
    pci.collect()
}

/// Only a NIC has a queue behind its ring, at a known speed.
fn tx_cap(config: &SwitchConfig, port: PortId) -> Option<TxCap> {
    let (settings, port) = (&config.settings.ports[port.index()], &config.ports[port.index()]);
    match port.device {
        Device::Pci(_) => Some(TxCap {
            speed: settings.speed,
            bytes: u32::try_from(port.tx_limit_bytes).unwrap_or(u32::MAX).min(CAP_BYTES_MAX),
        }),
        Device::Virtual(_) => None,
    }
}

/// One for each worker, if workers may send without the owner; one only where a pace or a cap must
/// be kept by one sender.
fn tx_queues(config: &SwitchConfig, port: PortId) -> u16 {
    let is_counted = config.settings.ports[port.index()].paced || tx_cap(config, port).is_some();
    if is_counted { 1 } else { u16::try_from(config.workers.count).unwrap_or(1) }
}

impl DpdkPlatform {
    /// Finds out whether `port` is down for good, says so, and has the workers give up a device
    /// that was removed.
    fn find_fault(&self, id: PortId, port: &Port) {
        let (fault, advice) = if port.is_removed() {
            self.to_close[id.index()].set(true);
            self.phase.count_removal();
            (DEVICE_REMOVED, "plug one in and restart the switch")
        } else if port.is_deleted() {
            (INTERFACE_DELETED, "restart the switch to make it again")
        } else {
            return;
        };
        self.faults[id.index()].set(Some(fault));
        let text = format!(": {fault}; {advice}");
        Event::of_port(Level::Error, "device", &self.names[id.index()], &text).log();
    }
}

const DEVICE_REMOVED: &str = "its device was removed (hot unplug)";
const INTERFACE_DELETED: &str = "its interface was deleted";

impl Platform for DpdkPlatform {
    type Frame = Mbuf;

    fn version(&self) -> String {
        version()
    }

    fn now(&self) -> Instant {
        self.clock.now()
    }

    fn frame(&self, bytes: &[u8]) -> Option<Mbuf> {
        self.data.alloc_with(bytes)
    }

    fn read(&self, frame: &Mbuf, into: &mut Vec<u8>) {
        frame.pieces().for_each(|piece| into.extend_from_slice(piece));
    }

    fn is_link_up(&self, id: PortId) -> bool {
        let Some(port) = self.ports.get(id.index()) else { return false };
        let (link, name) = (port.is_up(), &self.names[id.index()]);
        if !link && self.faults[id.index()].get().is_none() {
            self.find_fault(id, port);
        }
        if self.to_close[id.index()].get() && Port::close_removed(port) {
            self.to_close[id.index()].set(false);
        }
        if let Some(fault) = port.take_watch_fault() {
            let text =
                format!(": its interface cannot be watched, so its link stays as it is: {fault}");
            Event::of_port(Level::Error, "device", name, &text).log();
        }
        if let Some(flow_control) = port.watch_flow_control(link) {
            let text = format!(": {flow_control}");
            Event::of_port(Level::Info, "flow_control", name, &text).log();
        }
        link
    }

    fn has_peer(&self, port: PortId) -> bool {
        self.ports.get(port.index()).is_some_and(|port| port.has_peer())
    }

    fn set_links(&self, up: bool) {
        for port in &self.ports {
            let _unless_it_cannot = port.set_link(up);
        }
    }

    fn set_link(&self, port: PortId, up: bool) -> bool {
        self.ports.get(port.index()).is_some_and(|port| port.set_link(up))
    }

    fn fault(&self, port: PortId) -> Option<&'static str> {
        self.faults.get(port.index())?.get()
    }

    fn flow_control(&self, port: PortId) -> Option<String> {
        self.ports.get(port.index()).map(|port| port.flow_control().to_string())
    }

    fn device_counters(&self, port: PortId) -> DeviceCounters {
        self.ports.get(port.index()).map(|port| port.counters()).unwrap_or_default()
    }

    fn buffers(&self) -> FrameBuffers {
        FrameBuffers {
            data_total: u64::from(self.data.frames()),
            data_in_use: u64::from(self.data.in_use()),
            control_total: u64::from(self.control.frames()),
            control_in_use: u64::from(self.control.in_use()),
        }
    }
}

impl PortDevice for DpdkDevice {
    fn losses(&self, port: PortId) -> DeviceLosses {
        let drops = self.drops(port);
        DeviceLosses {
            rx_unreadable_frames: drops.rx_unreadable_frames,
            tx_segmented_frames: drops.tx_segmented_frames,
            ..DeviceLosses::default()
        }
    }

    fn release_removed(&mut self) {
        self.release_removed();
    }
}
