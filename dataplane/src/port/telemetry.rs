//! Writes in-band telemetry into packets that leave: the stage of [`wire::telemetry`](telemetry).
//!
//! It says what the queues are when the packet leaves them. So at a port that writes telemetry each
//! frame goes by its queue, also if it could go to the device at once. A port that does not pays a
//! look at one bit.

use crate::frame::Frame;
use crate::limits::WIRE_OVERHEAD_BYTES;
use crate::settings::TelemetrySettings;
use crate::time::{Instant, Speed};
use crate::wire::telemetry::{self, BYTES, Hop, SPEED_UNKNOWN, Stack, UDP_PORT};
use crate::wire::{array_at, be16};

const UDP: u8 = 17;
const UDP_BYTES: usize = 8;

/// The telemetry of one port.
#[derive(Debug)]
pub(super) struct Telemetry {
    switch: u16,
    speed: u8,
    /// Bytes that have left by the port, as long as they are on the wire.
    sent_bytes: u64,
}

impl Telemetry {
    pub(super) fn new(settings: TelemetrySettings, speed: Speed) -> Self {
        let speed = telemetry::speed_code(speed).unwrap_or(SPEED_UNKNOWN);
        Self { switch: settings.switch, speed, sent_bytes: 0 }
    }

    /// A frame leaves at `now`, with its IP header at `l3` (0: none), and `queued_bytes` stay
    /// behind. Says whether there was room for what this switch says; `None` if the frame carries
    /// no telemetry.
    pub(super) fn departs<F: Frame>(
        &mut self,
        frame: &mut F,
        l3: u8,
        queued_bytes: u32,
        now: Instant,
    ) -> Option<bool> {
        let sent_bytes = self.sent_bytes;
        self.sent_bytes = sent_bytes.wrapping_add(wire_bytes(frame));
        let hop = Hop::new(self.speed, now, sent_bytes, queued_bytes);
        change(frame, l3, |stack| stack.push(self.switch, hop))
    }

    /// The frame did not leave after all: it is as it was before [`Self::departs`]. Says what that
    /// said.
    pub(super) fn stays<F: Frame>(&mut self, frame: &mut F, l3: u8) -> Option<bool> {
        self.sent_bytes = self.sent_bytes.wrapping_sub(wire_bytes(frame));
        change(frame, l3, |stack| stack.pop(self.switch))
    }
}

fn wire_bytes<F: Frame>(frame: &F) -> u64 {
    (frame.len() + WIRE_OVERHEAD_BYTES) as u64
}

/// Changes the telemetry of a frame, if it has any.
fn change<F: Frame>(frame: &mut F, l3: u8, how: impl FnOnce(&mut Stack) -> bool) -> Option<bool> {
    let bytes = stack_of(frame, l3)?;
    let mut stack = Stack::read(bytes)?;
    let had_room = how(&mut stack);
    *bytes = *stack.as_bytes();
    Some(had_room)
}

/// Where telemetry stands in a frame that has room for it: UDP to its port, not a fragment, without
/// a checksum, which would be wrong afterward.
fn stack_of<F: Frame>(frame: &mut F, l3: u8) -> Option<&mut [u8; BYTES]> {
    if l3 == 0 {
        return None;
    }
    let ip = frame.head_mut().get_mut(usize::from(l3)..)?;
    let first = *ip.first()?;
    let (protocol, udp_at) = match first >> 4 {
        4 if be16(ip, 6)? & 0x3FFF == 0 => (*ip.get(9)?, usize::from(first & 0x0F) * 4),
        6 => (*ip.get(6)?, 40),
        _ => return None,
    };
    if protocol != UDP || be16(ip, udp_at + 2)? != UDP_PORT {
        return None;
    }
    let is_room = usize::from(be16(ip, udp_at + 4)?) >= UDP_BYTES + BYTES;
    let has_checksum = *array_at::<2>(ip, udp_at + 6)? != [0, 0];
    if !is_room || has_checksum {
        return None;
    }
    ip.get_mut(udp_at + UDP_BYTES..)?.first_chunk_mut()
}
