//! Live capture: records of frames with what became of them, for a client of the control thread.
//!
//! | file | idea |
//! |---|---|
//! | [`program`], [`filter`], `prefilter` | which frames match |
//! | [`record`] | what is recorded |
//! | `in_hand` | the frame that goes through the stages |
//! | this one | the worker's end: what is wanted, the ring |
//!
//! A frame is matched once, as it was received. From then on it is *captured*: while a stage has it
//! in hand, `InHand` says so, and in a queue its metadata has a mark ([`Capture::mark`]). So each
//! end of the frame (out, drop, punt) is recorded whatever the stages have rewritten. Without a
//! filter every frame is captured, and nothing has to be marked.
//!
//! A worker without a capture looks once a burst for one. The ring is bounded: a record that finds
//! no room is counted and lost, and the worker goes on.

pub mod filter;
pub(crate) mod in_hand;
mod prefilter;
pub mod program;
pub mod record;

use crate::frame::Frame;
use crate::ids::{PortId, Priority};
use crate::limits::{BURST_MAX, burst_bits};
use crate::queue::veq::FrameMeta;
use crate::rules::PortSet;
use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec;
use arrayvec::ArrayVec;
use core::sync::atomic::{AtomicU64, Ordering};
use filter::{Filter, HeaderCompare};
use in_hand::InHand;
use record::{Ending, HEAD_BYTES, Kind, Record};
use rtrb::{Consumer, Producer, RingBuffer};

/// Bytes of the ring of one worker: records of a third of a second, if 100,000 frames a second are
/// captured on arrival and on departure.
pub const RING_BYTES: usize = 16 << 20;

/// What a client wants to see.
#[derive(Clone, Debug)]
pub struct CaptureSettings {
    /// Bits of [`Kind`].
    pub kinds: u8,
    /// Frames that these ports receive, send or drop; `None` is all ports.
    pub ports: Option<PortSet>,
    /// Frames of this ingress or egress priority; `None` is all.
    pub class: Option<Priority>,
    /// Frames that match; `None` is all.
    pub filter: Option<Filter>,
    /// Bytes captured of a frame, at most.
    pub snap_bytes: u16,
}

/// A frame that was offered to a device, and its record if the device takes it.
#[derive(Clone, Copy, Debug)]
struct Offered {
    /// Its index in the burst.
    at: usize,
    record: Record,
    snap_bytes: usize,
}

/// A worker's end of a capture.
#[derive(Debug)]
pub struct Capture {
    settings: CaptureSettings,
    worker: u8,
    /// What the metadata of a captured frame has above its priority.
    mark: u8,
    number: u32,
    missed: u32,
    missed_in_all: Arc<AtomicU64>,
    ring: Producer<u8>,
    /// The record of the arrival of the frame in hand, and its captured bytes.
    arrival: Option<Record>,
    arrival_bytes: Snap,
    offered: ArrayVec<Offered, BURST_MAX>,
    offered_bytes: Box<[u8]>,
    /// A whole record, for the ring.
    whole: Box<[u8]>,
}

/// The start of a frame.
#[derive(Debug)]
struct Snap {
    bytes: Box<[u8]>,
    len: usize,
}

/// The reader's end of the ring of one worker.
#[derive(Debug)]
pub struct CaptureReader {
    /// Whole records, one after the other.
    pub ring: Consumer<u8>,
    missed_in_all: Arc<AtomicU64>,
}

impl CaptureReader {
    /// Records that found no room so far.
    pub fn missed(&self) -> u64 {
        self.missed_in_all.load(Ordering::Relaxed)
    }
}

/// The ends of a capture at `worker`. `generation` differs from that of the capture before, whose
/// marks may still be in the queues.
pub fn connect(
    settings: CaptureSettings,
    worker: u8,
    generation: u8,
    ring_bytes: usize,
) -> (Box<Capture>, CaptureReader) {
    let (ring, reader) = RingBuffer::new(ring_bytes);
    let missed_in_all = Arc::new(AtomicU64::new(0));
    let snap_bytes = usize::from(settings.snap_bytes);
    let zeroed = |bytes: usize| vec![0; bytes].into_boxed_slice();
    let capture = Capture {
        worker,
        // 0 is no mark.
        mark: generation % (FrameMeta::MARKS - 1) + 1,
        number: 0,
        missed: 0,
        missed_in_all: Arc::clone(&missed_in_all),
        ring,
        arrival: None,
        arrival_bytes: Snap { bytes: zeroed(snap_bytes), len: 0 },
        offered: ArrayVec::new(),
        offered_bytes: zeroed(snap_bytes * BURST_MAX),
        whole: zeroed(HEAD_BYTES + snap_bytes),
        settings,
    };
    (Box::new(capture), CaptureReader { ring: reader, missed_in_all })
}

impl Capture {
    /// Whether events of `kind` are wanted.
    pub(crate) const fn wants(&self, kind: Kind) -> bool {
        self.settings.kinds & kind.bit() != 0
    }

    /// Whether all frames are captured.
    pub(crate) const fn takes_all(&self) -> bool {
        self.settings.filter.is_none()
    }

    /// Bit i is set if frame i, received at `port`, is to go through the stages by itself.
    pub(crate) fn to_follow<F: Frame>(&self, port: PortId, frames: &[F]) -> u64 {
        match &self.settings.filter {
            // The ends of a frame are recorded without this; only what becomes of it is not known
            // when it arrives.
            None if !self.wants(Kind::In) || !self.is_at(port) => 0,
            None => burst_bits(frames.len()),
            Some(_) if !self.may_end_elsewhere() && !self.is_at(port) => 0,
            Some(filter) => filter.matching(frames),
        }
    }

    /// Compares of which each matching frame of untagged IPv4 that `port` receives fulfills one;
    /// `None` if such a frame is not told by its header, or all frames are captured or none is.
    pub(crate) fn header_compares(&self, port: PortId) -> Option<&[HeaderCompare]> {
        let filter = self.settings.filter.as_ref()?;
        let may_be_followed = self.may_end_elsewhere() || self.is_at(port);
        filter.header_compares().filter(|_| may_be_followed)
    }

    /// Whether a frame may be recorded at another port than where it came in.
    const fn may_end_elsewhere(&self) -> bool {
        self.wants(Kind::Out) || self.wants(Kind::Drop)
    }

    fn is_at(&self, port: PortId) -> bool {
        self.settings.ports.is_none_or(|ports| ports.contains(port))
    }

    /// Whether a frame matches.
    pub(crate) fn matches(&self, head: &[u8], frame_bytes: usize) -> bool {
        self.settings.filter.as_ref().is_none_or(|filter| filter.matches(head, frame_bytes))
    }

    /// Whether the frame that a stage has, which is in no queue, is captured.
    pub(crate) const fn captures_this(&self, kind: Kind, in_hand: &InHand) -> bool {
        self.wants(kind) && (self.takes_all() || in_hand.followers.capture)
    }

    /// Whether a frame that was in a queue with `meta` is captured.
    pub(crate) fn captures_queued(&self, kind: Kind, meta: &FrameMeta) -> bool {
        self.wants(kind) && (self.takes_all() || self.is_marked(meta))
    }

    /// Whether this capture has marked `meta`.
    pub(crate) const fn is_marked(&self, meta: &FrameMeta) -> bool {
        meta.mark() == self.mark
    }

    /// Marks the metadata of a frame that is captured.
    pub(crate) fn mark(&self, meta: &mut FrameMeta) {
        meta.set_mark(self.mark);
    }

    /// Keeps a record of the arrival of the frame in hand until it is known what becomes of it.
    pub(crate) fn arrives(&mut self, mut record: Record, frame: &impl Frame) {
        record.frame_bytes = u32::try_from(frame.len()).unwrap_or(u32::MAX);
        record.number = self.next_number();
        let Snap { bytes, len } = &mut self.arrival_bytes;
        *len = copy_start(frame.head(), bytes);
        self.arrival = Some(record);
    }

    /// Writes that record; `depths_of` tells the state of the queues. Not if the frame
    /// `has_to_wait` outside of the stages and will arrive again.
    pub(crate) fn has_arrived(
        &mut self,
        in_hand: &InHand,
        has_to_wait: bool,
        depths_of: impl FnOnce(&Record) -> record::Depths,
    ) {
        let Some(mut record) = self.arrival.take() else { return };
        if has_to_wait {
            return;
        }
        let InHand { ending, cause, out, tags, .. } = *in_hand;
        record.ending = ending;
        record.cause = cause;
        record.out_port = out.map(|out| out.0);
        record.out_class = out.map(|out| out.1);
        if ending == Ending::Forwarded {
            record.out_tag = tags.map_or(record.in_tag, |tags| Some(tags.1));
        }
        record.depths = depths_of(&record);
        let bytes = core::mem::take(&mut self.arrival_bytes.bytes);
        self.push(&record, &bytes[..self.arrival_bytes.len]);
        self.arrival_bytes.bytes = bytes;
    }

    /// Keeps the start of the frame with index `at` of a burst that is offered to a device.
    pub(crate) fn offer(&mut self, at: usize, record: Record, frame: &impl Frame) {
        let snap_bytes = usize::from(self.settings.snap_bytes);
        let from = self.offered.len() * snap_bytes;
        let Some(place) = self.offered_bytes.get_mut(from..from + snap_bytes) else { return };
        let snap_bytes = copy_start(frame.head(), place);
        let frame_bytes = u32::try_from(frame.len()).unwrap_or(u32::MAX);
        let record = Record { frame_bytes, ..record };
        // A burst has no more frames than there is room for.
        let _fits = self.offered.try_push(Offered { at, record, snap_bytes });
    }

    /// The device has taken the first `taken` frames of the burst.
    pub(crate) fn has_sent(&mut self, taken: usize) {
        if self.offered.is_empty() {
            return;
        }
        let step = usize::from(self.settings.snap_bytes);
        let bytes = core::mem::take(&mut self.offered_bytes);
        // One after the other: to take the whole list is to copy all the room that it has.
        for number in 0..self.offered.len() {
            let Offered { at, record, snap_bytes } = self.offered[number];
            if at < taken {
                let record = Record { number: self.next_number(), ..record };
                self.push(&record, &bytes[number * step..number * step + snap_bytes]);
            }
        }
        self.offered.clear();
        self.offered_bytes = bytes;
    }

    /// Records an event of `frame`.
    pub(crate) fn record(&mut self, record: Record, frame: &impl Frame) {
        self.record_bytes(record, frame.head(), frame.len());
    }

    /// Records an event of a frame of `frame_bytes` that begins with `head`.
    pub(crate) fn record_bytes(&mut self, record: Record, head: &[u8], frame_bytes: usize) {
        let frame_bytes = u32::try_from(frame_bytes).unwrap_or(u32::MAX);
        let record = Record { frame_bytes, number: self.next_number(), ..record };
        self.push(&record, &head[..head.len().min(usize::from(self.settings.snap_bytes))]);
    }

    const fn next_number(&mut self) -> u32 {
        self.number = self.number.wrapping_add(1);
        self.number
    }

    /// Puts a record into the ring, if it is of a port and a class that are wanted.
    fn push(&mut self, record: &Record, captured: &[u8]) {
        // A drop is also looked for where the frame came in.
        let from = record.in_port.filter(|_| record.kind == Kind::Drop);
        let is_of_port = self.is_at(record.port) || from.is_some_and(|port| self.is_at(port));
        let class = self.settings.class;
        let is_of_class = class.is_none() || record.in_class == class || record.out_class == class;
        if !is_of_port || !is_of_class {
            return;
        }
        let record = Record { worker: self.worker, missed: self.missed, ..*record };
        let Some((head, rest)) = self.whole.split_first_chunk_mut::<HEAD_BYTES>() else { return };
        let snap_bytes = captured.len().min(rest.len());
        record.write(u16::try_from(snap_bytes).unwrap_or(u16::MAX), head);
        rest[..snap_bytes].copy_from_slice(&captured[..snap_bytes]);
        if self.ring.push_entire_slice(&self.whole[..HEAD_BYTES + snap_bytes]).is_ok() {
            self.missed = 0;
        } else {
            self.missed = self.missed.saturating_add(1);
            // Written by this worker only.
            let missed = self.missed_in_all.load(Ordering::Relaxed) + 1;
            self.missed_in_all.store(missed, Ordering::Relaxed);
        }
    }
}

/// Copies the start of `from`, as much as fits; returns how much.
fn copy_start(from: &[u8], to: &mut [u8]) -> usize {
    let bytes = from.len().min(to.len());
    to[..bytes].copy_from_slice(&from[..bytes]);
    bytes
}
