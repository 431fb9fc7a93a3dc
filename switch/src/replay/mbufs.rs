//! DPDK's buffers for a replay.

use crate::dpdk::eal::{Eal, EalOptions};
use crate::dpdk::error::DpdkError;
use crate::dpdk::mbuf::Mbuf;
use crate::dpdk::memory::Memory;
use crate::dpdk::mempool::{DATA_ROOM_BYTES_DEFAULT, EAL_BYTES, Pool};
use config::SwitchConfig;
use netsim::replay::FrameMaker;
use std::sync::Arc;

/// Buffers beyond those that the switch may hold: those of a turn.
const SPARE_FRAMES: usize = 16_384;
/// Buffers that a CPU keeps for itself.
const CACHE_FRAMES: u32 = 256;
const MB: u64 = 1 << 20;

/// Makes frames of DPDK's buffers.
#[derive(Debug)]
pub(super) struct Mbufs {
    pool: Arc<Pool>,
    bytes: Vec<u8>,
}

impl Mbufs {
    /// Starts DPDK with as many buffers as the switch may use.
    ///
    /// # Errors
    /// DPDK's.
    pub(super) fn new(config: &SwitchConfig) -> Result<Self, DpdkError> {
        let frames = config.settings.buffer.frames_max + SPARE_FRAMES;
        let frames = u32::try_from(frames).unwrap_or(u32::MAX);
        let needed = Pool::memory_bytes(frames, DATA_ROOM_BYTES_DEFAULT) + EAL_BYTES;
        let mb = u32::try_from(needed.div_ceil(MB)).unwrap_or(u32::MAX);
        let eal = Eal::init(&EalOptions::new(Memory::Auto { mb }))?;
        let pool = Pool::new(&eal, "replay", frames, DATA_ROOM_BYTES_DEFAULT, CACHE_FRAMES)?;
        Ok(Self { pool, bytes: Vec::new() })
    }
}

impl FrameMaker for Mbufs {
    type Frame = Mbuf;

    fn make(&mut self, head: &[u8], frame_bytes: usize) -> Option<Mbuf> {
        self.bytes.clear();
        self.bytes.extend_from_slice(head);
        self.bytes.resize(frame_bytes.max(head.len()), 0);
        self.pool.alloc_with(&self.bytes)
    }
}
