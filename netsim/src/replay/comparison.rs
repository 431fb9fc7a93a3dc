//! What a replay sends, compared with what was recorded: at each port the same frames in the same
//! order.

use super::device::is_mac_control;
use crate::recording::RecordedFrame;
use dataplane::frame::HEAD_BYTES;
use dataplane::ids::PortId;
use dataplane::time::Instant;
use std::collections::VecDeque;
use std::fmt;

/// Who has what the other one does not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The recording has a frame that was not sent in the replay.
    Recorded,
    /// A frame was sent in the replay that the recording does not have.
    Replayed,
    /// Both have a frame, and these differ.
    Both,
    /// The replay left frames in the receive ring that were taken when it was recorded.
    Left,
}

/// A difference between a recording and its replay.
#[derive(Clone, Debug)]
pub struct Difference {
    /// When, on the recorded clock.
    pub at: Instant,
    /// Where.
    pub port: PortId,
    /// Who has what the other one does not.
    pub side: Side,
    /// The recorded frame, if there is one.
    pub recorded: Option<RecordedFrame>,
    /// The replayed frame, if there is one.
    pub replayed: Option<RecordedFrame>,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self.side {
            Side::Recorded => "a frame was recorded that the replay does not send",
            Side::Replayed => "the replay sends a frame that was not recorded",
            Side::Both => "the replay sends another frame than was recorded",
            Side::Left => "the replay leaves frames in the receive ring that were taken",
        };
        write!(f, "port {} at {} ns: {what}", self.port, self.at.ns)?;
        for (name, frame) in [("recorded", &self.recorded), ("replayed", &self.replayed)] {
            if let Some(frame) = frame {
                write!(f, "; {name} {} B ", frame.frame_bytes)?;
                frame.head.iter().take(64).try_for_each(|octet| write!(f, "{octet:02x}"))?;
            }
        }
        Ok(())
    }
}

/// The comparison so far.
#[derive(Debug)]
pub(super) struct Comparison {
    /// By port: recorded frames that the replay has not sent yet.
    waiting: Vec<VecDeque<(Instant, RecordedFrame)>>,
    /// By port: control frames that the replay has sent and that were not recorded yet. In the
    /// emulator they wait for their wire in the device, and are recorded when they leave.
    early: Vec<VecDeque<(Instant, RecordedFrame)>>,
    count: u64,
    first: Option<Difference>,
}

impl Comparison {
    pub(super) fn new(ports: usize) -> Self {
        let none = || vec![VecDeque::new(); ports];
        Self { waiting: none(), early: none(), count: 0, first: None }
    }

    /// `frame` was recorded at `port`.
    pub(super) fn recorded(&mut self, at: Instant, port: PortId, frame: &RecordedFrame) {
        let early = &mut self.early[port.index()];
        let replayed = if is_mac_control(&frame.head) { early.pop_front() } else { None };
        match replayed {
            Some((at, replayed)) => self.compare(at, port, frame, &replayed),
            None => self.waiting[port.index()].push_back((at, frame.clone())),
        }
    }

    /// `frame` was replayed at `port`.
    pub(super) fn sent(&mut self, at: Instant, port: PortId, frame: &RecordedFrame) {
        match self.waiting[port.index()].pop_front() {
            Some((_, recorded)) => self.compare(at, port, &recorded, frame),
            None if is_mac_control(&frame.head) => {
                self.early[port.index()].push_back((at, frame.clone()));
            }
            None => self.add_replayed(at, port, frame.clone()),
        }
    }

    fn compare(
        &mut self,
        at: Instant,
        port: PortId,
        recorded: &RecordedFrame,
        replayed: &RecordedFrame,
    ) {
        if !is_same(recorded, replayed) {
            let (recorded, replayed) = (Some(recorded.clone()), Some(replayed.clone()));
            self.add(Difference { at, port, side: Side::Both, recorded, replayed });
        }
    }

    fn add_replayed(&mut self, at: Instant, port: PortId, frame: RecordedFrame) {
        let (side, replayed) = (Side::Replayed, Some(frame));
        self.add(Difference { at, port, side, recorded: None, replayed });
    }

    /// After a turn the replay has left frames of these ports in receive rings.
    pub(super) fn left(&mut self, at: Instant, frames: usize) {
        if frames > 0 {
            let (port, side) = (PortId::FIRST, Side::Left);
            self.add(Difference { at, port, side, recorded: None, replayed: None });
        }
    }

    /// The recording is over: what still waits was not replayed.
    pub(super) fn end(&mut self) {
        let ports = (0..).map_while(PortId::from_index);
        for (port, frames) in ports.clone().zip(std::mem::take(&mut self.early)) {
            frames.into_iter().for_each(|(at, frame)| self.add_replayed(at, port, frame));
        }
        let waiting = std::mem::take(&mut self.waiting);
        for (port, frames) in ports.zip(waiting) {
            for (at, frame) in frames {
                let (side, recorded) = (Side::Recorded, Some(frame));
                self.add(Difference { at, port, side, recorded, replayed: None });
            }
        }
    }

    fn add(&mut self, difference: Difference) {
        self.count += 1;
        self.first.get_or_insert(difference);
    }

    pub(super) fn into_differences(self) -> (u64, Option<Difference>) {
        (self.count, self.first)
    }
}

/// Whether both are the same, as far as a switch reads and writes a frame.
fn is_same(one: &RecordedFrame, other: &RecordedFrame) -> bool {
    let compared = one.head.len().min(other.head.len()).min(HEAD_BYTES);
    let whole = compared >= one.frame_bytes.min(HEAD_BYTES);
    whole && one.frame_bytes == other.frame_bytes && one.head[..compared] == other.head[..compared]
}
