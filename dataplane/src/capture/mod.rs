//! Live capture: records of frames with what became of them, for a client of the control thread.
//!
//! | file | idea |
//! |---|---|
//! | [`program`], [`filter`], `prefilter` | which frames match |
//! | [`record`] | what is recorded |
//! | `in_hand` | the frame that goes through the stages |
//! | `arrivals` | frames of the burst in the stages, until it is known what becomes of them |
//! | `writer` | the worker's end of the ring |
//! | this one | what is wanted; the frames that a device takes |
//!
//! A frame is matched once, as it was received. From then on it is *captured*: while a stage has it
//! in hand, `InHand` says so, and in a queue its metadata has a mark ([`Capture::mark`]). So each
//! end of the frame (out, drop, punt) is recorded whatever the stages have rewritten. Without a
//! filter every frame is captured, and nothing has to be marked. If frames are sampled, some of
//! those that match are followed, and the others go as if they did not.
//!
//! A worker without a capture looks once a burst for one. The ring is bounded: a record that finds
//! no room is counted and lost, and the worker goes on.

mod arrivals;
pub mod filter;
pub(crate) mod in_hand;
mod prefilter;
pub mod program;
pub mod record;
mod writer;

use crate::frame::Frame;
use crate::ids::{PortId, Priority};
use crate::limits::{BURST_MAX, BurstBits, burst_bits};
use crate::queue::veq::FrameMeta;
use crate::rules::PortSet;
use crate::turns::Turns;
use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec;
use arrayvec::ArrayVec;
use arrivals::Arrivals;
use core::sync::atomic::{AtomicU64, Ordering};
use filter::{Filter, HeaderPair};
use in_hand::InHand;
use rand_core::SeedableRng;
use rand_xoshiro::SplitMix64;
use record::{Kind, Record};
use rtrb::{Consumer, RingBuffer};
use writer::Writer;

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
    /// One in so many of the frames that match is captured, up to [`RATE_MAX`]; 1 is each, and so
    /// is 0.
    ///
    /// [`RATE_MAX`]: crate::turns::RATE_MAX
    pub sample: u32,
}

impl CaptureSettings {
    fn is_at(&self, port: PortId) -> bool {
        self.ports.is_none_or(|ports| ports.contains(port))
    }
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
    /// What the metadata of a captured frame has above its priority.
    mark: u8,
    number: u32,
    /// Whose turn it is, of the frames that match; `None` is each one's.
    turns: Option<(Turns, SplitMix64)>,
    /// The frames in the stages.
    arrivals: Arrivals,
    offered: ArrayVec<Offered, BURST_MAX>,
    offered_bytes: Box<[u8]>,
    writer: Writer,
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
    // Neither workers nor captures skip alike.
    let mut rng = SplitMix64::seed_from_u64(u64::from(generation) << 8 | u64::from(worker));
    let turns = (settings.sample > 1).then(|| (Turns::new(settings.sample, &mut rng), rng));
    let capture = Capture {
        // 0 is no mark.
        mark: generation % (FrameMeta::MARKS - 1) + 1,
        number: 0,
        turns,
        arrivals: Arrivals::new(snap_bytes),
        offered: ArrayVec::new(),
        offered_bytes: vec![0; snap_bytes * BURST_MAX].into_boxed_slice(),
        writer: Writer::new(worker, snap_bytes, ring, Arc::clone(&missed_in_all)),
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
        self.settings.filter.is_none() && self.turns.is_none()
    }

    /// Those of the frames whose bits are set, which match, whose turn it is.
    #[inline]
    pub(crate) fn take_turns(&mut self, bits: BurstBits) -> BurstBits {
        match &mut self.turns {
            None => bits,
            Some((turns, rng)) => turns.take_among(bits, rng),
        }
    }

    /// Bit i is set if frame i, received at `port`, is to be followed through the stages: it
    /// matches, and has its turn.
    pub(crate) fn choose<F: Frame>(&mut self, port: PortId, frames: &[F]) -> BurstBits {
        let is_at = self.settings.is_at(port);
        // The ends of all frames are recorded without this; only what becomes of them is not known
        // when they arrive.
        let is_needed = if self.takes_all() {
            self.wants(Kind::In) && is_at
        } else {
            self.may_end_elsewhere() || is_at
        };
        let matching = match &self.settings.filter {
            _ if !is_needed => 0,
            None => burst_bits(frames.len()),
            Some(filter) => filter.matching(frames),
        };
        self.take_turns(matching)
    }

    /// Compares of which each matching frame of untagged IPv4 that `port` receives fulfills one;
    /// `None` if such a frame is not told by its header, or all frames match or none is captured.
    #[inline(always)]
    pub(crate) fn header_compares(&self, port: PortId) -> Option<&[HeaderPair]> {
        let filter = self.settings.filter.as_ref()?;
        let may_be_followed = self.may_end_elsewhere() || self.settings.is_at(port);
        filter.header_compares().filter(|_| may_be_followed)
    }

    /// Whether a frame may be recorded at another port than where it came in.
    const fn may_end_elsewhere(&self) -> bool {
        self.wants(Kind::Out) || self.wants(Kind::Drop)
    }

    /// Whether a frame matches.
    pub(crate) fn matches(&self, head: &[u8], frame_bytes: usize) -> bool {
        self.settings.filter.as_ref().is_none_or(|filter| filter.matches(head, frame_bytes))
    }

    /// Whether a frame that does not come in a burst is captured.
    pub(crate) fn takes(&mut self, head: &[u8], frame_bytes: usize) -> bool {
        self.matches(head, frame_bytes) && self.take_turns(1) == 1
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

    /// The mark of the metadata of a frame that is captured.
    pub(crate) const fn own_mark(&self) -> u8 {
        self.mark
    }

    /// Keeps a record of the arrival of the frame with index `at` of its burst until it is known
    /// what becomes of it.
    pub(crate) fn arrives(&mut self, at: usize, mut record: Record, frame: &impl Frame) {
        record.frame_bytes = u32::try_from(frame.len()).unwrap_or(u32::MAX);
        record.number = self.next_number();
        self.arrivals.add(at, record, frame);
    }

    /// `way_of` tells, by index in the burst, what a frame that [arrives](Self::arrives) has in
    /// common with others that go the same way, and what becomes of it in general.
    pub(crate) fn go(&mut self, way_of: impl Fn(usize) -> (u64, InHand)) {
        self.arrivals.go(way_of);
    }

    /// A frame that goes the way `key`, which is 0 if it is alone, has been in hand so.
    pub(crate) fn has_ended(&mut self, key: u64, in_hand: InHand) {
        self.arrivals.has_ended(key, in_hand);
    }

    /// Records the arrivals of all frames of the burst; `depths_of` tells the state of the queues.
    pub(crate) fn have_arrived(&mut self, depths_of: impl Fn(&Record) -> record::Depths) {
        let mut number = 0;
        while let Some((record, bytes)) = self.arrivals.get(number) {
            let record = Record { depths: depths_of(&record), ..record };
            self.writer.push(&self.settings, &record, bytes);
            number += 1;
        }
        self.arrivals.clear();
    }

    /// Forgets them: they have to wait outside of the stages, and will arrive again.
    pub(crate) fn forget_arrivals(&mut self) {
        self.arrivals.clear();
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
        let step = usize::from(self.settings.snap_bytes);
        // One after the other: to take the whole list is to copy all the room that it has.
        for number in 0..self.offered.len() {
            let Offered { at, record, snap_bytes } = self.offered[number];
            if at < taken {
                let record = Record { number: self.next_number(), ..record };
                let bytes = &self.offered_bytes[number * step..number * step + snap_bytes];
                self.writer.push(&self.settings, &record, bytes);
            }
        }
        self.offered.clear();
    }

    /// Records an event of `frame`.
    pub(crate) fn record(&mut self, record: Record, frame: &impl Frame) {
        self.record_bytes(record, frame.head(), frame.len());
    }

    /// Records an event of a frame of `frame_bytes` that begins with `head`.
    pub(crate) fn record_bytes(&mut self, record: Record, head: &[u8], frame_bytes: usize) {
        let frame_bytes = u32::try_from(frame_bytes).unwrap_or(u32::MAX);
        let record = Record { frame_bytes, number: self.next_number(), ..record };
        let snap_bytes = head.len().min(usize::from(self.settings.snap_bytes));
        self.writer.push(&self.settings, &record, &head[..snap_bytes]);
    }

    const fn next_number(&mut self) -> u32 {
        self.number = self.number.wrapping_add(1);
        self.number
    }
}

/// Copies the start of `from`, as much as fits; returns how much.
fn copy_start(from: &[u8], to: &mut [u8]) -> usize {
    let bytes = from.len().min(to.len());
    to[..bytes].copy_from_slice(&from[..bytes]);
    bytes
}
