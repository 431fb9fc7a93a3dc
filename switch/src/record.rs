//! Recording of what happens at the ports, for `knotless replay` and for Wireshark.
//!
//! The worker copies the start of each frame into a ring, and a thread writes the ring to the file.
//! Nothing waits: what does not fit into the ring is counted, and the recording says that it is
//! not complete.

use crate::platform::{DeviceLosses, PortDevice};
use dataplane::device::{Device, PortCommand};
use dataplane::frame::{Burst, Frame};
use dataplane::ids::PortId;
use dataplane::limits::PORTS_MAX;
use dataplane::time;
use netsim::recording::{Origin, RecordingWriter, SNAP_BYTES};
use rtrb::{Consumer, Producer, RingBuffer};
use std::fs::File;
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// Events that the ring holds: a tenth of a second at two million a second.
const RING_EVENTS: usize = 1 << 18;
/// How long the thread sleeps if the ring is empty.
const PAUSE: Duration = Duration::from_millis(1);
/// How long the end of a recording may take.
const FINISH_MAX: Duration = Duration::from_secs(30);
/// Picoseconds in a nanosecond.
const PS_PER_NS: u64 = 1_000;

#[derive(Clone, Copy, Debug)]
enum Kind {
    Received,
    Sent,
    /// The control thread sends it.
    Injected,
    /// The link is up, or down.
    Link(bool),
    /// Frames that wait in the receive ring.
    Backlog(u32),
    /// The recording ends.
    End,
}

/// An event in the ring.
#[derive(Debug)]
struct Event {
    at: time::Instant,
    /// Events before this one that found no room.
    lost: u64,
    port: PortId,
    kind: Kind,
    frame_bytes: usize,
    head_bytes: usize,
    head: [u8; SNAP_BYTES],
}

/// The worker's end.
#[derive(Debug)]
pub(crate) struct PortRecorder {
    ring: Producer<Event>,
    is_over: Arc<AtomicBool>,
    at: time::Instant,
    lost: u64,
    /// By port: what its device last said.
    backlog_frames: Box<[u32; PORTS_MAX]>,
    /// Copies of the frames of a burst that the device may take.
    offered: Vec<Snap>,
}

/// The thread that writes the file.
#[derive(Debug)]
pub(crate) struct RecordingThread {
    path: PathBuf,
    is_over: Arc<AtomicBool>,
    thread: JoinHandle<io::Result<u64>>,
}

impl RecordingThread {
    /// Begins a recording of ports with these names.
    ///
    /// # Errors
    /// The file or the thread cannot be made.
    pub(crate) fn start(
        path: &Path,
        ports: impl Iterator<Item = impl Into<String>>,
    ) -> io::Result<(Self, PortRecorder)> {
        let file = BufWriter::new(File::create(path)?);
        let writer = RecordingWriter::new(file, Origin::Devices, ports)?;
        let (ring, events) = RingBuffer::new(RING_EVENTS);
        let run = move || write_all(writer, events);
        let thread = thread::Builder::new().name("recording".into()).spawn(run)?;
        let is_over = Arc::new(AtomicBool::new(false));
        let recorder = PortRecorder {
            ring,
            is_over: Arc::clone(&is_over),
            at: time::Instant::ZERO,
            lost: 0,
            backlog_frames: Box::new([0; PORTS_MAX]),
            offered: Vec::new(),
        };
        Ok((Self { path: path.to_owned(), is_over, thread }, recorder))
    }

    /// Ends the recording before the worker's next turn, and waits until all is written; says what
    /// is missing.
    pub(crate) fn finish(self) -> Result<(), String> {
        let at = self.path.display();
        self.is_over.store(true, Ordering::Relaxed);
        let until = Instant::now() + FINISH_MAX;
        while !self.thread.is_finished() {
            if Instant::now() > until {
                return Err(format!("{at}: not complete: a worker hangs, or the disk"));
            }
            thread::sleep(PAUSE);
        }
        match self.thread.join() {
            Ok(Ok(0)) => Ok(()),
            Ok(Ok(lost)) => {
                Err(format!("{at}: {lost} events are missing: the disk was too slow for them"))
            }
            Ok(Err(error)) => Err(format!("{at}: {error}; the recording is not complete")),
            Err(_) => Err(format!("{at}: the thread that writes it failed")),
        }
    }
}

/// Writes events until the worker has dropped its end; returns how many are missing.
fn write_all(
    mut writer: RecordingWriter<BufWriter<File>>,
    mut events: Consumer<Event>,
) -> io::Result<u64> {
    let (mut lost, mut at_ps) = (0, 0);
    loop {
        // Asked before the ring is read, so that nothing comes after the last look.
        let is_over = events.is_abandoned();
        while let Ok(event) = events.pop() {
            lost += event.lost;
            at_ps = event.at.ns * PS_PER_NS;
            let port = event.port;
            let head = &event.head[..event.head_bytes];
            match event.kind {
                Kind::Received => writer.received(at_ps, port, head, event.frame_bytes)?,
                Kind::Sent => writer.sent(at_ps, port, head, event.frame_bytes)?,
                Kind::Injected => writer.injected(at_ps, port, head, event.frame_bytes)?,
                Kind::Link(up) => writer.link(at_ps, port, up)?,
                Kind::Backlog(frames) => writer.backlog(at_ps, port, frames)?,
                Kind::End => {}
            }
        }
        if is_over {
            break;
        }
        thread::sleep(PAUSE);
    }
    writer.finish(at_ps, lost)?;
    Ok(lost)
}

/// A frame's length, how much of it was copied, and the copy.
type Snap = (usize, usize, [u8; SNAP_BYTES]);

/// Of an event without a frame.
const NO_FRAME: Snap = (0, 0, [0; SNAP_BYTES]);

fn snap(frame: &impl Frame) -> Snap {
    let mut head = [0; SNAP_BYTES];
    let bytes = frame.head();
    let head_bytes = bytes.len().min(SNAP_BYTES);
    head[..head_bytes].copy_from_slice(&bytes[..head_bytes]);
    (frame.len(), head_bytes, head)
}

impl PortRecorder {
    fn push(&mut self, port: PortId, kind: Kind, (frame_bytes, head_bytes, head): Snap) {
        let (at, lost) = (self.at, self.lost);
        let event = Event { at, lost, port, kind, frame_bytes, head_bytes, head };
        self.lost = if self.ring.push(event).is_ok() { 0 } else { lost + 1 };
    }

    #[cold]
    fn backlog(&mut self, port: PortId, frames: u32) {
        let before = &mut self.backlog_frames[port.index()];
        if *before != frames {
            *before = frames;
            self.push(port, Kind::Backlog(frames), NO_FRAME);
        }
    }

    #[cold]
    fn received(&mut self, port: PortId, frames: &[impl Frame]) {
        frames.iter().for_each(|frame| self.push(port, Kind::Received, snap(frame)));
    }

    /// Keeps copies of `frames`, which are offered to the device.
    #[cold]
    fn offer(&mut self, frames: &[impl Frame]) {
        self.offered.clear();
        self.offered.extend(frames.iter().map(snap));
    }

    /// The device has taken the first `taken` of the frames that were offered to it.
    #[cold]
    fn sent(&mut self, port: PortId, taken: usize) {
        for frame in std::mem::take(&mut self.offered).into_iter().take(taken) {
            self.push(port, Kind::Sent, frame);
        }
    }
}

/// `device`, recorded if there is a recorder.
#[derive(Debug)]
pub(crate) struct Recorded<D> {
    device: D,
    recorder: Option<Box<PortRecorder>>,
}

impl<D> Recorded<D> {
    /// `device`, recorded by `recorder` if there is one.
    pub(crate) fn new(device: D, recorder: Option<PortRecorder>) -> Self {
        Self { device, recorder: recorder.map(Box::new) }
    }
}

impl<D: PortDevice> PortDevice for Recorded<D> {
    fn losses(&self, port: PortId) -> DeviceLosses {
        self.device.losses(port)
    }

    fn release_removed(&mut self) {
        self.device.release_removed();
    }

    #[inline(always)]
    fn begin_turn(&mut self, now: time::Instant) {
        if let Some(recorder) = &mut self.recorder {
            recorder.at = now;
            if recorder.is_over.load(Ordering::Relaxed) {
                recorder.push(PortId::FIRST, Kind::End, NO_FRAME);
                self.recorder = None;
            }
        }
    }
}

impl<D: Device> Device for Recorded<D> {
    type Frame = D::Frame;

    fn has_tx_queue(&self, port: PortId) -> bool {
        self.device.has_tx_queue(port)
    }

    #[inline(always)]
    fn has_rx_ring(&self, port: PortId) -> bool {
        self.device.has_rx_ring(port)
    }

    #[inline(always)]
    fn rx_burst(&mut self, port: PortId, frames_max: usize, into: &mut Burst<D::Frame>) {
        let before = into.len();
        self.device.rx_burst(port, frames_max, into);
        if let Some(recorder) = &mut self.recorder {
            recorder.received(port, &into[before..]);
        }
    }

    #[inline(always)]
    fn tx_room_bytes(&mut self, port: PortId, now: time::Instant) -> u32 {
        self.device.tx_room_bytes(port, now)
    }

    #[inline(always)]
    fn tx_free_frames(&self, port: PortId) -> usize {
        self.device.tx_free_frames(port)
    }

    #[inline(always)]
    fn tx_burst(&mut self, port: PortId, from: &mut Burst<D::Frame>, now: time::Instant) {
        let before = from.len();
        if let Some(recorder) = &mut self.recorder {
            recorder.offer(from);
        }
        self.device.tx_burst(port, from, now);
        if let Some(recorder) = &mut self.recorder {
            recorder.sent(port, before - from.len());
        }
    }

    #[inline(always)]
    fn make_control(&mut self, bytes: &[u8]) -> Option<D::Frame> {
        self.device.make_control(bytes)
    }

    #[inline(always)]
    fn copy(&mut self, frame: &D::Frame) -> Option<D::Frame> {
        self.device.copy(frame)
    }

    #[inline(always)]
    fn recycle(&mut self, frames: &mut Burst<D::Frame>) {
        self.device.recycle(frames);
    }

    fn commanded(&mut self, port: PortId, command: PortCommand<'_, D::Frame>) {
        if let Some(recorder) = &mut self.recorder {
            match command {
                PortCommand::Send(frame) => recorder.push(port, Kind::Injected, snap(frame)),
                PortCommand::Link(up) => recorder.push(port, Kind::Link(up), NO_FRAME),
            }
        }
    }

    #[inline(always)]
    fn rx_backlog_frames(&mut self, port: PortId) -> Option<u32> {
        let frames = self.device.rx_backlog_frames(port);
        if let Some(recorder) = &mut self.recorder
            && let Some(frames) = frames
        {
            recorder.backlog(port, frames);
        }
        frames
    }
}
