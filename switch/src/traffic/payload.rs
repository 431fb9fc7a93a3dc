//! The UDP payload of a test frame, from which a receiver detects loss, reordering, duplication,
//! corruption and latency without knowledge of what was sent.
//!
//! ```text
//!  0  u16  magic 0x4B4E ("KN")
//!  2  u8   flow
//!  3  u8   priority (high 3 bits), length of the name (low 4 bits)
//!  4  u8   run: differs from one start of the sender to the next
//!  5  u40  sequence number, from 0
//! 10  u48  CLOCK_MONOTONIC when it was sent, in ns, modulo 2^48 (78 hours)
//! 16  u16  CRC-16 over everything above and the first 15 bytes below
//! 18  ..   name of the flow, as much as fits, then a pattern that depends on flow and sequence
//! ```
//!
//! All big-endian. Eighteen bytes are what a minimum frame leaves after IPv4 and UDP. The pattern
//! shifts from frame to frame, so both a flipped bit and one frame's header with another's body are
//! detected.

use crc::{CRC_16_IBM_3740, Crc};
use dataplane::ids::Priority;
use dataplane::limits::FRAME_BYTES_MAX;

/// Bytes before the name.
pub(super) const HEADER_BYTES: usize = 18;
/// The longest name a frame carries.
pub(super) const NAME_BYTES_MAX: usize = 15;
/// Sequence numbers are 40 bits: no flow sends more frames than this in a run.
pub(super) const SEQUENCES: u64 = 1 << 40;

const MAGIC: [u8; 2] = *b"KN";
const STAMP_MASK: u64 = (1 << 48) - 1;
/// How far the pattern's start moves; a power of two.
const SHIFTS: usize = 256;

/// Pseudo-random bytes (splitmix64), the same in every build.
static PATTERN: [u8; FRAME_BYTES_MAX + SHIFTS] = pattern();

#[expect(clippy::cast_possible_truncation, reason = "the low byte is what is wanted")]
const fn pattern() -> [u8; FRAME_BYTES_MAX + SHIFTS] {
    let mut bytes = [0; FRAME_BYTES_MAX + SHIFTS];
    let mut at = 0;
    while at < bytes.len() {
        let mut z = (at as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        bytes[at] = (z ^ (z >> 31)) as u8;
        at += 1;
    }
    bytes
}

/// The fixed part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TestHeader {
    /// Which flow of its sender.
    pub flow: u8,
    /// The priority the sender meant it for, and obeyed PFC for.
    pub priority: Priority,
    /// Which start of the sender.
    pub run: u8,
    /// Counted from 0, below [`SEQUENCES`].
    pub sequence: u64,
    /// CLOCK_MONOTONIC at sending, in ns; only the low 48 bits travel.
    pub sent_ns: u64,
}

impl TestHeader {
    /// Nanoseconds from sending to `now_ns` of the same clock; 0 if `now_ns` is (by the clocks'
    /// jitter) before it.
    pub(super) fn age_ns(&self, now_ns: u64) -> u64 {
        let age = now_ns.wrapping_sub(self.sent_ns) & STAMP_MASK;
        if age > STAMP_MASK / 2 { 0 } else { age }
    }
}

/// What a UDP payload turned out to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Payload<'a> {
    /// A test frame.
    Ours {
        /// Its fixed part.
        test_header: TestHeader,
        /// The name of its flow, as far as it fitted.
        name: &'a [u8],
        /// Whether the rest is the pattern that was sent.
        intact: bool,
    },
    /// It has the magic, but its header is corrupt: the flow is unknown.
    Damaged,
    /// Not a test frame.
    Foreign,
}

/// Writes a whole payload. `into` must hold at least [`HEADER_BYTES`].
#[expect(clippy::cast_possible_truncation, reason = "the name is cut to four bits of length")]
pub(super) fn write(test_header: &TestHeader, name: &[u8], into: &mut [u8]) {
    let (header, rest) = into.split_at_mut(HEADER_BYTES);
    let name = &name[..name.len().min(NAME_BYTES_MAX).min(rest.len())];
    header[0..2].copy_from_slice(&MAGIC);
    header[2] = test_header.flow;
    header[3] = test_header.priority.value() << 5 | name.len() as u8;
    header[4] = test_header.run;
    header[5..10].copy_from_slice(&test_header.sequence.to_be_bytes()[3..]);
    header[10..16].copy_from_slice(&test_header.sent_ns.to_be_bytes()[2..]);
    let (at_name, body) = rest.split_at_mut(name.len());
    at_name.copy_from_slice(name);
    body.copy_from_slice(body_of(test_header, body.len()));
    let check = check(&header[..16], rest);
    header[16..18].copy_from_slice(&check.to_be_bytes());
}

/// Reads a payload of any origin.
pub(super) fn read(payload: &[u8]) -> Payload<'_> {
    if payload.len() < HEADER_BYTES || payload[0..2] != MAGIC {
        return Payload::Foreign;
    }
    let (header, rest) = payload.split_at(HEADER_BYTES);
    if check(&header[..16], rest) != u16::from_be_bytes([header[16], header[17]]) {
        return Payload::Damaged;
    }
    let Some((name, body)) = rest.split_at_checked(usize::from(header[3] & 0x0F)) else {
        return Payload::Damaged;
    };
    let test_header = TestHeader {
        flow: header[2],
        priority: Priority::from_low_bits(header[3] >> 5),
        run: header[4],
        sequence: number(&header[5..10]),
        sent_ns: number(&header[10..16]),
    };
    let intact = body.len() <= FRAME_BYTES_MAX && body == body_of(&test_header, body.len());
    Payload::Ours { test_header, name, intact }
}

fn number(big_endian: &[u8]) -> u64 {
    big_endian.iter().fold(0, |number, &byte| number << 8 | u64::from(byte))
}

#[expect(clippy::cast_possible_truncation, reason = "only the low bits choose the shift")]
fn body_of(test_header: &TestHeader, bytes: usize) -> &'static [u8] {
    let shift = (test_header.sequence as usize)
        .wrapping_mul(8)
        .wrapping_add(usize::from(test_header.flow) * 3);
    &PATTERN[shift % SHIFTS..][..bytes]
}

static CRC: Crc<u16> = Crc::<u16>::new(&CRC_16_IBM_3740);

/// Covers as many bytes after the header as a name may have, whatever the name's length is: damage
/// to the length itself must not change what is covered.
fn check(header: &[u8], rest: &[u8]) -> u16 {
    let mut digest = CRC.digest();
    digest.update(header);
    digest.update(&rest[..rest.len().min(NAME_BYTES_MAX)]);
    digest.finalize()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn test_headers() -> impl Strategy<Value = TestHeader> {
        (any::<u8>(), 0_u8..8, any::<u8>(), 0..SEQUENCES, 0..=STAMP_MASK).prop_map(
            |(flow, priority, run, sequence, sent_ns)| TestHeader {
                flow,
                priority: Priority::from_low_bits(priority),
                run,
                sequence,
                sent_ns,
            },
        )
    }

    proptest! {
        #[test]
        fn what_was_written_is_read(test_header in test_headers(), name in "[a-z]{0,20}", room in 0_usize..9_000) {
            let mut payload = vec![0xEE; HEADER_BYTES + room];
            write(&test_header, name.as_bytes(), &mut payload);
            let carried = &name.as_bytes()[..name.len().min(NAME_BYTES_MAX).min(room)];
            prop_assert_eq!(read(&payload), Payload::Ours { test_header, name: carried, intact: true });
        }

        #[test]
        fn no_flipped_bit_goes_unnoticed(test_header in test_headers(), at in 0_usize..200, bit in 0_u8..8) {
            let mut payload = vec![0; 200];
            write(&test_header, b"f1", &mut payload);
            payload[at] ^= 1 << bit;
            match read(&payload) {
                Payload::Foreign => prop_assert!(at < 2, "at {at}"),
                Payload::Damaged => prop_assert!((2..HEADER_BYTES + NAME_BYTES_MAX).contains(&at)),
                Payload::Ours { intact, .. } => {
                    prop_assert!(!intact && at >= HEADER_BYTES + NAME_BYTES_MAX);
                }
            }
        }

        #[test]
        fn any_bytes_are_read_without_a_panic(payload in prop::collection::vec(any::<u8>(), 0..80)) {
            let mut ours = payload.clone();
            if ours.len() > 1 {
                ours[..2].copy_from_slice(&MAGIC);
            }
            let _ = (read(&payload), read(&ours));
        }

        #[test]
        fn age_is_the_difference_even_over_the_wrap(sent in any::<u64>(), age in 0_u64..=STAMP_MASK / 2) {
            let priority = Priority::default();
            let sent_ns = sent & STAMP_MASK;
            let test_header = TestHeader { flow: 0, priority, run: 0, sequence: 0, sent_ns };
            prop_assert_eq!(test_header.age_ns(sent.wrapping_add(age)), age);
        }
    }

    #[test]
    fn a_clock_slightly_behind_gives_no_age() {
        let test_header = TestHeader {
            flow: 0,
            priority: Priority::default(),
            run: 0,
            sequence: 0,
            sent_ns: 1_000,
        };
        assert_eq!(test_header.age_ns(999), 0);
    }

    #[test]
    fn another_frames_body_is_damage() {
        let test_header = |sequence| TestHeader {
            flow: 1,
            priority: Priority::default(),
            run: 9,
            sequence,
            sent_ns: 5,
        };
        let (mut first, mut second) = (vec![0; 300], vec![0; 300]);
        write(&test_header(1), b"", &mut first);
        write(&test_header(2), b"", &mut second);
        first[128..].copy_from_slice(&second[128..]);
        assert!(matches!(read(&first), Payload::Ours { intact: false, .. }));
        first[HEADER_BYTES..].copy_from_slice(&second[HEADER_BYTES..]);
        assert_eq!(read(&first), Payload::Damaged, "even its name's place is another's");
    }
}
