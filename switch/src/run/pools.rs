//! How many buffers of which size a switch needs, and how much memory that is.

use crate::dpdk::memory::Memory;
use crate::dpdk::mempool::{EAL_BYTES, Pool};
use config::SwitchConfig;
use config::switch::Hugepages;
use dataplane::frame::HEAD_BYTES;
use dataplane::links::{COMMANDS, PUNT_FRAMES};

/// Buffers that a pool keeps at hand for each lcore.
pub(super) const CACHE_FRAMES: u32 = 512;
/// What a flow-control frame may be long; they are 60 bytes.
#[expect(clippy::cast_possible_truncation, reason = "128")]
pub(super) const CONTROL_DATA_BYTES: u16 = HEAD_BYTES as u16;
/// Buffers for flow control beyond those that may stand in transmit rings.
const CONTROL_FRAMES_SPARE: u32 = 1_023;
const MB: u64 = 1 << 20;

/// How many buffers of which size.
pub(super) struct PoolSizes {
    pub(super) data_frames: u32,
    pub(super) data_bytes: u16,
    pub(super) control_frames: u32,
}

impl PoolSizes {
    /// Data: what the configuration counts, and frames on their way to and from the control thread.
    /// Control: transmit rings may be full of frames that were sent and whose place nobody needed.
    pub(super) fn of(config: &SwitchConfig) -> Self {
        let on_their_way = config.workers.count * (COMMANDS + PUNT_FRAMES);
        let sent: u32 = config.ports.iter().map(|port| port.tx_ring).sum();
        Self {
            data_frames: u32::try_from(config.memory.mbufs + on_their_way).unwrap_or(u32::MAX),
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

/// What DPDK is to take: what the configuration says, or the pools need if that is more.
pub(super) fn memory(config: &SwitchConfig, sizes: &PoolSizes) -> Memory {
    let bytes = config.memory.size_bytes.max(sizes.memory_bytes());
    let mb = u32::try_from(bytes.div_ceil(MB)).unwrap_or(u32::MAX);
    match config.memory.hugepages {
        Hugepages::Auto => Memory::Auto { mb },
        Hugepages::Always => Memory::Hugepages { mb },
        Hugepages::Never => Memory::Plain { mb },
    }
}
