//! Ports that receive the same templates for ever and take everything: the core without a driver.

use dataplane::device::Device;
use dataplane::frame::{Burst, Frame};
use dataplane::ids::PortId;
use dataplane::time::Instant;

const FRONT_BYTES: u16 = 64;
/// An odd number of cache lines, as DPDK lays out its pools: else all headers would compete for a
/// few sets of the first-level cache.
const BUFFER_BYTES: usize = 33 * 64;

#[derive(Clone, Debug)]
#[repr(align(64))]
struct Buffer([u8; BUFFER_BYTES]);

/// A frame in a buffer of its own, as an mbuf is. Buffers live as long as the bench.
#[derive(Debug)]
pub struct LoopFrame {
    buffer: &'static mut [u8; BUFFER_BYTES],
    start: u16,
    length: u16,
}

impl LoopFrame {
    /// `count` empty frames.
    pub fn many(count: usize) -> Vec<Self> {
        let buffers = vec![Buffer([0; BUFFER_BYTES]); count].leak();
        let frame = |buffer: &'static mut Buffer| Self {
            buffer: &mut buffer.0,
            start: FRONT_BYTES,
            length: 0,
        };
        buffers.iter_mut().map(frame).collect()
    }

    fn fill(&mut self, bytes: &[u8]) {
        self.start = FRONT_BYTES;
        self.length = u16::try_from(bytes.len()).expect("a frame");
        self.buffer[usize::from(FRONT_BYTES)..][..bytes.len()].copy_from_slice(bytes);
    }
}

impl Frame for LoopFrame {
    #[inline(always)]
    fn head(&self) -> &[u8] {
        &self.buffer[usize::from(self.start)..][..usize::from(self.length)]
    }
    #[inline(always)]
    fn head_mut(&mut self) -> &mut [u8] {
        &mut self.buffer[usize::from(self.start)..][..usize::from(self.length)]
    }
    #[inline(always)]
    fn len(&self) -> usize {
        usize::from(self.length)
    }
    fn grow_front(&mut self, bytes: usize) -> bool {
        let Ok(bytes) = u16::try_from(bytes) else { return false };
        let enough = self.start >= bytes;
        if enough {
            self.start -= bytes;
            self.length += bytes;
        }
        enough
    }
    fn shrink_front(&mut self, bytes: usize) -> bool {
        let Ok(bytes) = u16::try_from(bytes) else { return false };
        let enough = self.length >= bytes;
        if enough {
            self.start += bytes;
            self.length -= bytes;
        }
        enough
    }
}

/// See the module's head.
#[derive(Debug)]
pub struct LoopDevice {
    stock: Vec<LoopFrame>,
    /// By port index: the frames it receives, over and over, and which is next.
    templates: Vec<(Vec<Vec<u8>>, usize)>,
    /// Frames a call to `rx_burst` yields.
    pub burst_frames: usize,
    /// By port index: frames taken.
    pub taken: Vec<u64>,
    /// By port index: whether the port takes anything.
    pub open: Vec<bool>,
    /// Frames that a port takes in a turn, which begins when it is asked for frames.
    pub tx_frames_a_turn: usize,
    /// By port index: what is left of that.
    tx_free_frames: Vec<usize>,
    /// The last frame each port took.
    pub last: Vec<Vec<u8>>,
    /// Whether `last` is kept, which a bench turns off.
    pub keep_last: bool,
}

impl LoopDevice {
    /// A device with `frames` buffers, whose ports receive what is in `templates`.
    pub fn new(templates: Vec<Vec<Vec<u8>>>, frames: usize, burst_frames: usize) -> Self {
        let ports = templates.len();
        Self {
            stock: LoopFrame::many(frames),
            templates: templates.into_iter().map(|frames| (frames, 0)).collect(),
            burst_frames,
            taken: vec![0; ports],
            open: vec![true; ports],
            tx_frames_a_turn: usize::MAX,
            tx_free_frames: vec![usize::MAX; ports],
            last: vec![Vec::new(); ports],
            keep_last: false,
        }
    }

    /// Moves `count` buffers, as far as there are so many, to `into`.
    pub fn give(&mut self, count: usize, into: &mut Vec<LoopFrame>) {
        into.extend(self.stock.drain(self.stock.len().saturating_sub(count)..));
    }

    /// Takes buffers over.
    pub fn stock(&mut self, frames: impl Iterator<Item = LoopFrame>) {
        self.stock.extend(frames);
    }

    /// Buffers at home.
    pub fn available(&self) -> usize {
        self.stock.len()
    }
}

impl Device for LoopDevice {
    type Frame = LoopFrame;

    #[inline(always)]
    fn rx_burst(&mut self, port: PortId, frames_max: usize, into: &mut Burst<LoopFrame>) {
        self.tx_free_frames[port.index()] = self.tx_frames_a_turn;
        let (templates, next) = &mut self.templates[port.index()];
        if templates.is_empty() {
            return;
        }
        for _ in 0..self.burst_frames.min(frames_max) {
            let Some(mut frame) = self.stock.pop() else { return };
            frame.fill(&templates[*next]);
            *next = if *next + 1 == templates.len() { 0 } else { *next + 1 };
            into.push(frame);
        }
    }

    #[inline(always)]
    fn tx_room_bytes(&mut self, port: PortId, _now: Instant) -> u32 {
        if self.open[port.index()] { u32::MAX } else { 0 }
    }

    #[inline(always)]
    fn tx_free_frames(&self, port: PortId) -> usize {
        self.tx_free_frames[port.index()]
    }

    #[inline(always)]
    fn tx_burst(&mut self, port: PortId, from: &mut Burst<LoopFrame>, _now: Instant) {
        if !self.open[port.index()] {
            return;
        }
        // A PFC frame goes out ahead of data, and takes nobody's place.
        let is_control = from.len() == 1 && from[0].head()[12..14] == [0x88, 0x08];
        let room = if is_control { &mut 1 } else { &mut self.tx_free_frames[port.index()] };
        let count = from.len().min(*room);
        *room -= count;
        self.taken[port.index()] += count as u64;
        if self.keep_last
            && let Some(frame) = from.last()
        {
            self.last[port.index()] = frame.head().to_vec();
        }
        self.stock.extend(from.drain(..count));
    }

    fn make_control(&mut self, bytes: &[u8]) -> Option<LoopFrame> {
        let mut frame = self.stock.pop()?;
        frame.fill(bytes);
        Some(frame)
    }

    fn copy(&mut self, frame: &LoopFrame) -> Option<LoopFrame> {
        let mut copy = self.stock.pop()?;
        copy.fill(frame.head());
        Some(copy)
    }

    fn recycle(&mut self, frames: &mut Burst<LoopFrame>) {
        self.stock.extend(frames.drain(..));
    }

    fn rx_backlog_frames(&mut self, _port: PortId) -> Option<u32> {
        None
    }
}
