//! Filters against an interpreter that is written as the specification reads, and what is refused.

use super::*;
use crate::capture::prefilter::HeaderCompare;
use crate::capture::program::INSTRUCTIONS_MAX;
use crate::limits::{BURST_MAX, BurstBits};
use crate::testing::TestFrame;
use alloc::vec::Vec;
use proptest::prelude::*;
use std::string::ToString;

const fn instruction(code: u16, jt: u8, jf: u8, k: u32) -> Instruction {
    Instruction { code, jt, jf, k }
}

/// `dst host 10.1.3.2`, as `tcpdump -ddd -y EN10MB` prints it.
const DST_HOST: [Instruction; 8] = [
    instruction(40, 0, 0, 12),
    instruction(21, 0, 2, 2048),
    instruction(32, 0, 0, 30),
    instruction(21, 2, 3, 0x0A01_0302),
    instruction(21, 1, 0, 2054),
    instruction(21, 0, 1, 32821),
    instruction(6, 0, 0, 262_144),
    instruction(6, 0, 0, 0),
];

/// Runs a program by the letter; `None` if it reads beyond the frame or divides by 0.
fn by_the_letter(program: &[Instruction], frame: &[u8], length: u32) -> Option<u32> {
    let (mut a, mut x, mut m, mut pc) = (0_u32, 0_u32, [0_u32; 16], 0_usize);
    let byte = |at: u64| frame.get(usize::try_from(at).ok()?).map(|&octet| u32::from(octet));
    let half = |at: u64| Some(byte(at)? << 8 | byte(at + 1)?);
    let word = |at: u64| Some(half(at)? << 16 | half(at + 2)?);
    loop {
        let Instruction { code, jt, jf, k } = program[pc];
        pc += 1;
        let (at, from_x) = (u64::from(k), u64::from(k) + u64::from(x));
        let b = if code & 8 != 0 { x } else { k };
        let jump = |holds: bool| usize::from(if holds { jt } else { jf });
        match code {
            0x00 => a = k,
            0x20 => a = word(at)?,
            0x28 => a = half(at)?,
            0x30 => a = byte(at)?,
            0x40 => a = word(from_x)?,
            0x48 => a = half(from_x)?,
            0x50 => a = byte(from_x)?,
            0x60 => a = m[k as usize],
            0x80 => a = length,
            0x01 => x = k,
            0x61 => x = m[k as usize],
            0x81 => x = length,
            0xB1 => x = (byte(at)? & 15) << 2,
            0x02 => m[k as usize] = a,
            0x03 => m[k as usize] = x,
            0x04 | 0x0C => a = a.wrapping_add(b),
            0x14 | 0x1C => a = a.wrapping_sub(b),
            0x24 | 0x2C => a = a.wrapping_mul(b),
            0x34 | 0x3C if b == 0 => return None,
            0x34 | 0x3C => a /= b,
            0x94 | 0x9C if b == 0 => return None,
            0x94 | 0x9C => a %= b,
            0x44 | 0x4C => a |= b,
            0x54 | 0x5C => a &= b,
            0xA4 | 0xAC => a ^= b,
            0x64 | 0x6C => a = if b > 31 { 0 } else { a << b },
            0x74 | 0x7C => a = if b > 31 { 0 } else { a >> b },
            0x84 => a = 0_u32.wrapping_sub(a),
            0x05 => pc += k as usize,
            0x15 | 0x1D => pc += jump(a == b),
            0x25 | 0x2D => pc += jump(a > b),
            0x35 | 0x3D => pc += jump(a >= b),
            0x45 | 0x4D => pc += jump(a & b != 0),
            0x06 => return Some(k),
            0x16 => return Some(a),
            0x07 => x = a,
            0x87 => a = x,
            _ => panic!("{code:#x} was not refused"),
        }
    }
}

/// Codes of all instructions that fall through, then of jumps.
const CODES: [u16; 45] = [
    0x00, 0x20, 0x28, 0x30, 0x40, 0x48, 0x50, 0x60, 0x80, 0x01, 0x61, 0x81, 0xB1, 0x02, 0x03, 0x04,
    0x0C, 0x14, 0x1C, 0x24, 0x2C, 0x34, 0x3C, 0x94, 0x9C, 0x44, 0x4C, 0x54, 0x5C, 0xA4, 0xAC, 0x64,
    0x6C, 0x74, 0x7C, 0x84, 0x07, 0x87, 0x15, 0x15, 0x15, 0x1D, 0x25, 0x35, 0x45,
];

/// Instructions as filters have them: small offsets, values that frames have.
fn any_instruction() -> impl Strategy<Value = Instruction> {
    let code = prop_oneof![8 => proptest::sample::select(&CODES[..]), 1 => Just(0x06_u16), 1 => Just(0x16)];
    let k = prop_oneof![0..16_u32, 0..64_u32, Just(0x0800), Just(0xFF), Just(31), any::<u32>()];
    (code, 0..6_u8, 0..6_u8, k).prop_map(|(code, jt, jf, k)| instruction(code, jt, jf, k))
}

fn any_program() -> impl Strategy<Value = Vec<Instruction>> {
    proptest::collection::vec(any_instruction(), 0..24).prop_map(|mut program| {
        let tail = [0, 0, 0, 0, 0, 0x40000].map(|k| instruction(0x06, 0, 0, k));
        program.extend(tail);
        program
    })
}

/// Frames whose octets are few, so that compares hold now and then.
fn any_frame() -> impl Strategy<Value = Vec<u8>> {
    let octet = prop_oneof![Just(0_u8), Just(8), Just(0xFF), 0..4_u8, any::<u8>()];
    proptest::collection::vec(octet, 0..80)
}

/// Any frame, or one to an IPv4 host that may be the one of [`DST_HOST`].
fn frame_to_host() -> impl Strategy<Value = Vec<u8>> {
    let to_host = |(mut frame, last): (Vec<u8>, u8)| {
        frame.resize(60, 0);
        frame[12..14].copy_from_slice(&[8, 0]);
        frame[30..34].copy_from_slice(&[10, 1, 3, last]);
        frame
    };
    prop_oneof![any_frame(), (any_frame(), 0..8_u8).prop_map(to_host)]
}

/// Any program, or one that begins by a look behind the IPv4 header.
fn program_with_ports() -> impl Strategy<Value = Vec<Instruction>> {
    let behind = (any_program(), 12..18_u32, 0..4_u32, 0..2_u8).prop_map(|(rest, k, port, jf)| {
        let load = [
            instruction(0xB1, 0, 0, 14),
            instruction(0x48, 0, 0, k),
            instruction(0x15, 0, jf, port),
        ];
        load.into_iter().chain(rest).collect()
    });
    prop_oneof![any_program(), behind]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4_000, ..ProptestConfig::default() })]

    #[test]
    fn a_frame_of_plain_ipv4_that_matches_fulfills_a_compare(
        program in program_with_ports(), mut frame in any_frame(),
    ) {
        frame.resize(60, 0);
        frame[12..15].copy_from_slice(&[8, 0, 0x45]);
        let Ok(filter) = Filter::new(&program) else { return Ok(()) };
        let matches = by_the_letter(&program, &frame, 60).unwrap_or(0) != 0;
        if let Some(pairs) = filter.header_compares().filter(|_| matches) {
            let fulfills = |compare: &HeaderCompare| {
                let octets = &frame[14 + 4 * compare.word..][..4];
                let word = u32::from_le_bytes(octets.try_into().unwrap());
                word & compare.mask == compare.value
            };
            prop_assert!(pairs.iter().flatten().any(fulfills), "{pairs:?}");
        }
    }

    #[test]
    fn a_filter_has_the_verdict_of_the_letter(program in any_program(), frame in any_frame(), more in 0..3_usize) {
        let length = frame.len() + more * 700;
        if let Ok(filter) = Filter::new(&program) {
            let expected = by_the_letter(&program, &frame, length as u32).unwrap_or(0) != 0;
            prop_assert_eq!(filter.run(&frame, length), expected);
            // The prefilter passes all that matches.
            prop_assert_eq!(filter.matches(&frame, length), expected);
        }
    }

    #[test]
    fn a_burst_has_the_verdicts_of_its_frames(
        program in any_program(),
        frames in proptest::collection::vec(frame_to_host(), 0..=BURST_MAX),
    ) {
        for program in [&program[..], &DST_HOST] {
            let Ok(filter) = Filter::new(program) else { continue };
            let verdict = |(at, frame): (usize, &Vec<u8>)| {
                BurstBits::from(by_the_letter(program, frame, frame.len() as u32).unwrap_or(0) != 0) << at
            };
            let expected = frames.iter().enumerate().map(verdict).fold(0, |bits, bit| bits | bit);
            let burst: Vec<TestFrame> = frames.iter().map(|frame| TestFrame::new(frame)).collect();
            prop_assert_eq!(filter.matching(&burst), expected);
        }
    }

    #[test]
    fn any_program_is_checked_or_refused_in_a_line(
        program in proptest::collection::vec((any::<u16>(), any::<u8>(), any::<u8>(), any::<u32>()), 0..40),
        frame in any_frame(),
    ) {
        let program: Vec<_> = program.into_iter().map(|(c, jt, jf, k)| instruction(c & 0xFF, jt, jf, k)).collect();
        match Filter::new(&program) {
            Ok(filter) => {
                let expected = by_the_letter(&program, &frame, frame.len() as u32).unwrap_or(0) != 0;
                prop_assert_eq!(filter.matches(&frame, frame.len()), expected);
            }
            Err(why) => prop_assert!(!why.to_string().contains('\n')),
        }
    }

    #[test]
    fn a_host_is_found_by_its_address(octets: [u8; 4], known in 0..4_u8) {
        let filter = Filter::new(&DST_HOST).unwrap();
        let mut frame = std::vec![0; 60];
        frame[12..14].copy_from_slice(&[8, 0]);
        frame[30..34].copy_from_slice(&octets);
        frame[30..30 + usize::from(known)].copy_from_slice(&[10, 1, 3][..usize::from(known)]);
        let is_host = frame[30..34] == [10, 1, 3, 2];
        prop_assert_eq!(filter.matches(&frame, 60), is_host);
        frame[30..34].copy_from_slice(&[10, 1, 3, 2]);
        prop_assert!(filter.matches(&frame, 60));
    }
}

#[test]
fn most_frames_are_told_by_a_compare() {
    let filter = Filter::new(&DST_HOST).unwrap();
    let mut frame = [0_u8; 60];
    frame[12..14].copy_from_slice(&[8, 0]);
    frame[30..34].copy_from_slice(&[10, 1, 3, 1]);
    assert!(!filter.prefilter.may_match(&frame));
    frame[33] = 2;
    assert!(filter.prefilter.may_match(&frame));
    assert!(filter.prefilter.may_match(&frame[..20]), "too short to tell");
}

#[test]
fn what_could_loop_or_reads_beyond_is_refused() {
    let accept = instruction(0x06, 0, 0, 1);
    let refused = |first: Instruction| Filter::new(&[first, accept]).unwrap_err();
    for (first, expected) in [
        (instruction(0x05, 0, 0, u32::MAX), FilterError::Backward { at: 0 }),
        (instruction(0x05, 0, 0, 1), FilterError::Outside { at: 0, to: 2, count: 2 }),
        (instruction(0x15, 0, 1, 7), FilterError::Outside { at: 0, to: 2, count: 2 }),
        (instruction(0x15, 255, 0, 7), FilterError::Outside { at: 0, to: 256, count: 2 }),
        (instruction(0x20, 0, 0, 9_725), FilterError::BeyondFrame { at: 0, end: 9_729 }),
        (instruction(0x30, 0, 0, u32::MAX), FilterError::BeyondFrame { at: 0, end: 1 << 32 }),
        (instruction(0x60, 0, 0, 16), FilterError::BeyondMemory { at: 0, word: 16 }),
        (instruction(0x02, 0, 0, u32::MAX), FilterError::BeyondMemory { at: 0, word: u32::MAX }),
        (instruction(0x34, 0, 0, 0), FilterError::DivisionByZero { at: 0 }),
        (instruction(0x94, 0, 0, 0), FilterError::DivisionByZero { at: 0 }),
        (instruction(0x64, 0, 0, 32), FilterError::Shift { at: 0, by: 32 }),
        (instruction(0xFFFF, 0, 0, 0), FilterError::Unknown { at: 0, code: 0xFFFF }),
        (instruction(0x0120, 0, 0, 0), FilterError::Unknown { at: 0, code: 0x0120 }),
    ] {
        let error = refused(first);
        assert_eq!(error, expected);
        assert!(!error.to_string().contains('\n'));
    }
    assert_eq!(Filter::new(&[]).unwrap_err(), FilterError::Empty);
    assert_eq!(Filter::new(&[instruction(0, 0, 0, 1)]).unwrap_err(), FilterError::NoReturn);
    let long = std::vec![accept; INSTRUCTIONS_MAX + 1];
    assert_eq!(Filter::new(&long).unwrap_err(), FilterError::TooLong(257));
    assert!(Filter::new(&long[1..]).is_ok());
}
