//! What the DPDK tests share: one EAL per process on plain memory, test frames.

use dataplane::device::Device;
use dataplane::frame::{Burst, Frame};
use dataplane::ids::PortId;
use dataplane::limits::BURST_MAX;
use dataplane::time::Instant;
use std::fs;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use switch::dpdk::device::{DevicePort, DpdkDevice};
use switch::dpdk::eal::{Eal, EalOptions};
use switch::dpdk::mbuf::Mbuf;
use switch::dpdk::memory::Memory;
use switch::dpdk::mempool::{DATA_ROOM_BYTES_DEFAULT, EAL_BYTES, Pool};
use switch::dpdk::port::{Port, PortOptions};

/// The EAL of this test process; tests share it, as DPDK starts once.
pub(crate) fn eal() -> &'static Arc<Eal> {
    static EAL: OnceLock<Arc<Eal>> = OnceLock::new();
    EAL.get_or_init(|| {
        Eal::init(&EalOptions::new(Memory::Plain { mb: 128 })).expect("plain memory always works")
    })
}

/// A data and a control pool.
pub(crate) struct Pools {
    pub(crate) data: Arc<Pool>,
    pub(crate) control: Arc<Pool>,
}

impl Pools {
    /// Pools whose names begin with `name`, of `frames` and 63 frames, without caches, so that
    /// their counts are exact.
    pub(crate) fn new(eal: &Arc<Eal>, name: &str, frames: u32) -> Self {
        let room = DATA_ROOM_BYTES_DEFAULT;
        let data = Pool::new(eal, &format!("{name}-data"), frames, room, 0).unwrap();
        let control = Pool::new(eal, &format!("{name}-control"), 63, room, 0).unwrap();
        Self { data, control }
    }

    /// Memory that [`Self::new`] with `frames` needs, and the EAL with it, in MB.
    pub(crate) fn memory_mb(frames: u32) -> u32 {
        let bytes = EAL_BYTES
            + Pool::memory_bytes(frames, DATA_ROOM_BYTES_DEFAULT)
            + Pool::memory_bytes(63, DATA_ROOM_BYTES_DEFAULT);
        u32::try_from(bytes.div_ceil(1 << 20)).unwrap()
    }

    /// A device with one port, number 1.
    pub(crate) fn device(
        &self,
        eal: &Arc<Eal>,
        device: &str,
        options: &PortOptions,
    ) -> (Arc<Port>, DpdkDevice) {
        let (port, queues) = Port::open(eal, device, options, &self.data).unwrap();
        let ports = vec![DevicePort { port: port_1(), queues, tx_cap: None }];
        (port, DpdkDevice::new(ports, vec![], vec![], &self.data, &self.control))
    }

    pub(crate) fn in_use(&self) -> (u32, u32) {
        (self.data.in_use(), self.control.in_use())
    }
}

pub(crate) fn port_1() -> PortId {
    PortId::from_number(1).unwrap()
}

/// Receives until `count` frames are there; fails if that takes too long.
pub(crate) fn receive(device: &mut DpdkDevice, count: usize) -> Vec<Mbuf> {
    let mut frames = Vec::new();
    let mut burst = Burst::new();
    for _ in 0..10_000 {
        device.rx_burst(port_1(), BURST_MAX, &mut burst);
        frames.extend(burst.drain(..));
        if frames.len() >= count {
            return frames;
        }
    }
    panic!("{} of {count} frames received", frames.len());
}

/// Sends all of `frames` in order; fails if the device never takes them.
pub(crate) fn send(device: &mut DpdkDevice, frames: impl IntoIterator<Item = Mbuf>) {
    let mut frames = frames.into_iter();
    let mut burst = Burst::new();
    for _ in 0..10_000 {
        burst.extend(frames.by_ref().take(burst.remaining_capacity()));
        if burst.is_empty() {
            return;
        }
        device.tx_burst(port_1(), &mut burst, Instant::ZERO);
    }
    panic!("the device does not take frames");
}

/// All bytes of a frame.
pub(crate) fn bytes(frame: &Mbuf) -> Vec<u8> {
    let bytes = frame.pieces().collect::<Vec<_>>().concat();
    assert_eq!(bytes.len(), frame.len(), "pkt_len is the sum of the pieces");
    bytes
}

/// A frame of `length` bytes that no two numbers share.
pub(crate) fn test_frame(number: usize, length: usize) -> Vec<u8> {
    let mut frame = vec![0x02, 0, 0, 0, 0, 1, 0x02, 0, 0, 0, 0, 2, 0x88, 0xb5];
    let seed = number.wrapping_mul(0x9E37_79B9) ^ length;
    frame.extend((0..length - 14).map(|at| seed.wrapping_mul(at + 1).to_le_bytes()[1]));
    frame
}

/// A folder that is removed with its contents when this is dropped.
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("knotless-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _already_gone = fs::remove_dir_all(&self.0);
    }
}
