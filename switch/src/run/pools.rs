//! The number and size of the mbufs that a switch needs, and their memory.

use crate::dpdk::device_args::PciAddress;
use crate::dpdk::memory::Memory;
use crate::dpdk::mempool::{EAL_BYTES, Pool};
use crate::dpdk::pci::buffers_per_descriptor;
use config::SwitchConfig;
use config::switch::{Device, Hugepages, PortConfig};
use dataplane::control_rings::COMMANDS;
use dataplane::frame::HEAD_BYTES;
use dataplane::limits::PUNT_FRAMES;

/// The per-lcore cache of a pool.
pub(super) const CACHE_FRAMES: u32 = 512;
/// The room of a control buffer; flow-control frames have 60 bytes.
#[expect(clippy::cast_possible_truncation, reason = "128")]
pub(super) const CONTROL_DATA_BYTES: u16 = HEAD_BYTES as u16;
/// Buffers for flow control beyond those in transmit rings.
const CONTROL_FRAMES_SPARE: u32 = 1_023;
const MB: u64 = 1 << 20;

/// How many buffers of which size.
pub(super) struct PoolSizes {
    pub(super) data_frames: u32,
    pub(super) data_bytes: u16,
    pub(super) control_frames: u32,
}

impl PoolSizes {
    /// Data: what the configuration counts, including a buffer for each receive descriptor; what
    /// drivers with a second receive ring take beyond that; and frames to and from the control
    /// thread. Control: transmit rings may be full of sent frames that are not yet reclaimed.
    pub(super) fn of(config: &SwitchConfig) -> Self {
        let on_their_way = config.workers.count * (COMMANDS + PUNT_FRAMES);
        let second_rings: usize =
            config.ports.iter().map(|port| second_ring_frames(port, buffers_per_descriptor)).sum();
        let sent: u32 = config.ports.iter().map(|port| port.tx_ring).sum();
        Self {
            data_frames: u32::try_from(config.memory.mbufs + second_rings + on_their_way)
                .unwrap_or(u32::MAX),
            data_bytes: u16::try_from(config.memory.mbuf_data_bytes).unwrap_or(u16::MAX),
            control_frames: sent + CONTROL_FRAMES_SPARE,
        }
    }

    fn memory_bytes(&self) -> u64 {
        Pool::memory_bytes(self.data_frames, self.data_bytes)
            + Pool::memory_bytes(self.control_frames, CONTROL_DATA_BYTES)
            + EAL_BYTES
    }
}

/// Buffers that the driver of `port` takes beyond one for each receive descriptor.
fn second_ring_frames(port: &PortConfig, per_descriptor: impl Fn(PciAddress) -> u32) -> usize {
    let Device::Pci(address) = &port.device else { return 0 };
    let per_descriptor = address.parse().map_or(1, per_descriptor);
    port.rx_ring_frames() * (per_descriptor as usize - 1)
}

/// The memory for DPDK: as configured, or what the pools need if that is more.
pub(super) fn memory(config: &SwitchConfig, sizes: &PoolSizes) -> Memory {
    let bytes = config.memory.size_bytes.max(sizes.memory_bytes());
    let mb = u32::try_from(bytes.div_ceil(MB)).unwrap_or(u32::MAX);
    match config.memory.hugepages {
        Hugepages::Auto => Memory::Auto { mb },
        Hugepages::Always => Memory::Hugepages { mb },
        Hugepages::Never => Memory::Plain { mb },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_receive_ring_is_reckoned_with_at_the_ports_that_have_one() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("SWITCH.toml");
        let text = r#"
name = "s"
[[port]]
pci = "0000:00:04.0"
speed = "10G"
rx_desc = 512
addresses = ["10.0.1.1/24"]
[[port]]
pci = "0000:00:05.0"
speed = "10G"
rx_desc = 512
addresses = ["10.0.2.1/24"]
[[port]]
device = "net_ring0"
addresses = ["10.0.3.1/24"]
"#;
        std::fs::write(&file, text).unwrap();
        let config = SwitchConfig::load(&file).unwrap();
        let rings = |address: PciAddress| {
            if address.to_string() == "0000:00:04.0" { 2 } else { 1 }
        };
        let more: Vec<usize> =
            config.ports.iter().map(|port| second_ring_frames(port, rings)).collect();
        assert_eq!(more, [512, 0, 0]);
    }
}
