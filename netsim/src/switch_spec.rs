//! The settings of a switch: buffer, thresholds, scheduler. Headroom follows from its links.

use crate::build_error::BuildError;
use crate::link::LinkSpec;
use crate::topology::{SwitchId, mac};
use config::headroom::{Link, Software, needed_bytes};
pub(crate) use config::scenario::FRAME_BYTES_MOST;
use config::scenario::Gfc;
use dataplane::ids::{PortId, Priority, WorkerId};
use dataplane::limits::PRIORITIES;
use dataplane::pfc::watchdog::WatchdogSettings;
use dataplane::settings::{
    BufferSettings, DepthCurve, GfcSettings, MacTableSettings, PortSettings, SchedulerSettings,
    SwitchSettings, TelemetrySettings, Threshold, ViqSettings,
};
use dataplane::time::Speed;
use dataplane::wire::telemetry::SWITCH_NUMBERS;

/// A switch's buffer and queues.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SwitchSpec {
    /// The whole buffer.
    pub buffer_bytes: u64,
    /// The size of a cell: the least that a frame occupies.
    pub cell_bytes: u16,
    /// Bytes that all lossy frames together may hold.
    pub lossy_bytes: u64,
    /// Bytes that one lossy queue may hold.
    pub lossy_queue_bytes: u32,
    /// The threshold at which a lossless VIQ sends XOFF.
    pub threshold: Threshold,
    /// How far below the threshold it sends XON; `None` for two longest frames.
    pub xon_offset_bytes: Option<u32>,
    /// Bytes a round that each priority may send.
    pub quantum_bytes: [u32; PRIORITIES],
    /// Whether a queue serves ingress ports by deficit round robin.
    pub fair: bool,
    /// How rates follow queues (gentle flow control), if they do.
    pub rate_map: Option<Gfc>,
    /// The watchdog of pauses from peers, if any.
    pub watchdog: Option<WatchdogSettings>,
    /// ECN marking by egress priority.
    pub ecn: [Option<DepthCurve>; PRIORITIES],
    /// Whether it writes in-band telemetry.
    pub writes_telemetry: bool,
    /// Whether each lossless priority has a part of the shared pool of its own, of equal size.
    pub partitions: bool,
}

impl Default for SwitchSpec {
    /// 12 MB, a quarter of them for lossy traffic, and a static threshold of 40 KB: the switch of
    /// the reconfiguration paper, section 2.3.
    fn default() -> Self {
        Self {
            buffer_bytes: 12_000_000,
            cell_bytes: 256,
            lossy_bytes: 3_000_000,
            lossy_queue_bytes: 512_000,
            threshold: Threshold::Static { xoff_bytes: 40_000 },
            xon_offset_bytes: None,
            quantum_bytes: [FRAME_BYTES_MOST.into(); PRIORITIES],
            fair: false,
            rate_map: None,
            watchdog: None,
            ecn: [None; PRIORITIES],
            writes_telemetry: false,
            partitions: false,
        }
    }
}

/// What holds for every switch of a network.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Common {
    pub(crate) lossless_bits: u8,
    pub(crate) upstream: [Priority; PRIORITIES],
    /// The priority of hosts that have only one, where pauses of theirs are translated.
    pub(crate) host_priority: Option<Priority>,
    pub(crate) gfc: Option<GfcSettings>,
    pub(crate) frame_bytes_max: u16,
    pub(crate) seed: u64,
}

impl SwitchSpec {
    /// The settings of switch `id`, called `name`, with these links at its ports, and hosts at some
    /// of them.
    ///
    /// # Errors
    /// The buffer is smaller than what reserves, headrooms and the lossy limit add up to.
    pub(crate) fn settings(
        &self,
        id: SwitchId,
        name: &str,
        links: &[Option<LinkSpec>],
        host_ports: &[PortId],
        common: &Common,
    ) -> Result<SwitchSettings, BuildError> {
        let ports = (0..).map_while(PortId::from_index).zip(links);
        let ports = ports
            .map(|(port, link)| {
                let is_host = host_ports.contains(&port);
                self.port(id, port, *link, is_host, common)
            })
            .collect();
        let mut settings = SwitchSettings {
            ports,
            buffer: BufferSettings {
                size_bytes: self.buffer_bytes,
                cell_bytes: self.cell_bytes,
                lossy_bytes: self.lossy_bytes,
                lossy_queue_bytes: self.lossy_queue_bytes,
                lossy_queue_alpha_log2: None,
                // A frame costs a cell at the least, so bytes are used up with or before frames.
                frames_max: frames(self.buffer_bytes, self.cell_bytes),
                partition_bytes: None,
                headroom_pool_bytes: None,
            },
            scheduler: SchedulerSettings {
                strict_bits: 0,
                quantum_bytes: self.quantum_bytes,
                fair: self.fair,
            },
            ecn: self.ecn,
            wred: [None; PRIORITIES],
            big_red_switch: false,
            mac_table: MacTableSettings { entries_max: 0, age_ns: 0, hold_ns: 0 },
            telemetry: self.writes_telemetry.then(|| telemetry(common.seed)),
            seed: common.seed,
            host_rates: None,
        };
        let promised_bytes = promised_bytes(&settings);
        if promised_bytes > self.buffer_bytes {
            let (switch, buffer_bytes) = (name.to_owned(), self.buffer_bytes);
            return Err(BuildError::BufferTooSmall { switch, buffer_bytes, promised_bytes });
        }
        if self.partitions {
            let classes = u64::from(common.lossless_bits.count_ones()).max(1);
            let part = (self.buffer_bytes - promised_bytes) / classes;
            let size = |p: Priority| if common.lossless_bits & p.bit() == 0 { 0 } else { part };
            settings.buffer.partition_bytes = Some(Priority::EACH.map(size));
        }
        Ok(settings)
    }

    fn port(
        &self,
        id: SwitchId,
        port: PortId,
        link: Option<LinkSpec>,
        is_host: bool,
        common: &Common,
    ) -> PortSettings {
        let mut lossless = [None; PRIORITIES];
        if let Some(link) = link {
            let viq = Some(self.viq(link, common.frame_bytes_max));
            let is_lossless = |p: Priority| common.lossless_bits & p.bit() != 0;
            lossless = Priority::EACH.map(|p| viq.filter(|_| is_lossless(p)));
        }
        PortSettings {
            name: port.to_string(),
            mac: mac(id.0, port),
            speed: link.map_or(Speed::from_gbps(1), |link| link.speed),
            paced: false,
            frame_bytes_max: common.frame_bytes_max,
            worker: WorkerId(0),
            further_queues: Vec::new(),
            lossless,
            upstream: common.upstream,
            host_priority: link.and(common.host_priority).filter(|_| is_host),
            peak_rates: [None; PRIORITIES],
            gfc: common.gfc,
            watchdog: self.watchdog,
            rx_backlog_xoff_frames: u32::MAX,
        }
    }

    /// Reserves one longest frame, resumes two below the threshold unless set otherwise, and has
    /// the headroom of 802.3 on this link. Nodes here react at once and hand over one frame at a
    /// time, so software adds no headroom.
    fn viq(&self, link: LinkSpec, frame_bytes_max: u16) -> ViqSettings {
        let frame_cost = u32::from(frame_bytes_max.max(self.cell_bytes));
        let on_wire = Link::new(link.speed, link.length, u32::from(frame_bytes_max));
        let headroom = needed_bytes(&on_wire, &Software::default(), self.cell_bytes);
        let mut viq = ViqSettings {
            reserved_bytes: frame_cost,
            threshold: self.threshold,
            xon_offset_bytes: self.xon_offset_bytes.unwrap_or(2 * frame_cost),
            headroom_bytes: u32::try_from(headroom).unwrap_or(u32::MAX),
            rate_map: None,
        };
        // `config` has checked the bound, unless the check is turned off.
        if let (Some(gfc), Threshold::Static { xoff_bytes }) = (&self.rate_map, self.threshold)
            && let Ok(queue) = gfc.queue(&on_wire, xoff_bytes, frame_cost, headroom)
        {
            viq.threshold = Threshold::Static { xoff_bytes: queue.xoff_bytes };
            viq.rate_map = queue.rate_map;
        }
        viq
    }
}

pub(crate) fn promised_bytes(settings: &SwitchSettings) -> u64 {
    let viqs = settings.ports.iter().flat_map(|port| port.lossless.iter().flatten());
    let lossless: u64 =
        viqs.map(|viq| u64::from(viq.reserved_bytes) + u64::from(viq.headroom_bytes)).sum();
    lossless + settings.buffer.lossy_bytes
}

fn frames(buffer_bytes: u64, cell_bytes: u16) -> usize {
    usize::try_from(buffer_bytes.div_ceil(u64::from(cell_bytes.max(1)))).unwrap_or(usize::MAX)
}
/// Numbers are drawn, so that those of two paths seldom add up to the same.
fn telemetry(seed: u64) -> TelemetrySettings {
    let switch = seed % u64::from(SWITCH_NUMBERS);
    TelemetrySettings { switch: u16::try_from(switch).unwrap_or(0) }
}
