//! Filters of a capture: classic BPF, checked once, interpreted on the worker.
//!
//! A [`Filter`] is a program that was [checked](super::program): it has a bounded number of
//! instructions, a jump only goes forward and stays inside, and the last instruction returns. So a
//! program ends after at most as many steps as it has instructions; that is the budget of a frame.
//! A load beyond the frame ends the program, and the frame does not match, as in libpcap and in
//! Linux (S. McCanne, V. Jacobson: "The BSD Packet Filter", 1993).

pub(crate) use super::prefilter::HeaderPair;
use super::prefilter::Prefilter;
use super::program::{
    Arithmetic, Condition, FilterError, Instruction, Op, Operand, Size, WORDS, check,
};
use crate::frame::Frame;
use crate::limits::BurstBits;
use alloc::boxed::Box;

/// A checked program.
#[derive(Clone, Debug)]
pub struct Filter {
    ops: Box<[Op]>,
    prefilter: Prefilter,
}

impl Filter {
    /// Checks `program`.
    ///
    /// # Errors
    /// It could loop, take too long, or read what is not there; the error says where.
    pub fn new(program: &[Instruction]) -> Result<Self, FilterError> {
        let ops = check(program)?;
        let prefilter = Prefilter::of(&ops);
        Ok(Self { ops: ops.into(), prefilter })
    }

    /// Whether a frame of `frame_bytes`, which begins with `head`, matches.
    #[inline]
    pub fn matches(&self, head: &[u8], frame_bytes: usize) -> bool {
        self.prefilter.may_match(head) && self.run(head, frame_bytes)
    }

    /// Compares of which each matching frame of untagged IPv4, with a header of 20 octets, fulfills
    /// one; `None` if it is not known which.
    #[inline(always)]
    pub(crate) fn header_compares(&self) -> Option<&[HeaderPair]> {
        self.prefilter.header_compares()
    }

    /// Bit i is set if frame i matches.
    pub(super) fn matching<F: Frame>(&self, frames: &[F]) -> BurstBits {
        let may_match = self.prefilter.may_match_burst(frames);
        if may_match == 0 {
            return 0;
        }
        let frames = (0..).zip(frames).filter(|(at, _)| may_match >> at & 1 == 1);
        let matching = frames.filter(|(_, frame)| self.matches(frame.head(), frame.len()));
        matching.fold(0, |bits, (at, _): (u32, _)| bits | 1 << at)
    }

    /// [`Self::matches`] without the prefilter, which is only faster: its oracle.
    pub fn program_matches(&self, head: &[u8], frame_bytes: usize) -> bool {
        self.run(head, frame_bytes)
    }

    /// Runs the program.
    fn run(&self, head: &[u8], frame_bytes: usize) -> bool {
        self.step_through(head, frame_bytes).unwrap_or(0) != 0
    }

    /// What the program returns; `None` if it ends at a load beyond the frame or a division by 0.
    fn step_through(&self, head: &[u8], frame_bytes: usize) -> Option<u32> {
        let length = u32::try_from(frame_bytes).unwrap_or(u32::MAX);
        let (mut a, mut x, mut memory) = (0_u32, 0_u32, [0_u32; WORDS]);
        let mut at = 0;
        // Ends: jumps only go forward.
        while let Some(&op) = self.ops.get(at) {
            at += 1;
            match op {
                Op::LoadAt(size, k) => a = load(head, size, u64::from(k))?,
                Op::LoadFromX(size, k) => a = load(head, size, u64::from(x) + u64::from(k))?,
                Op::LoadConstant(k) => a = k,
                Op::LoadLength => a = length,
                Op::LoadMemory(word) => a = memory[usize::from(word) % WORDS],
                Op::LoadXConstant(k) => x = k,
                Op::LoadXLength => x = length,
                Op::LoadXMemory(word) => x = memory[usize::from(word) % WORDS],
                Op::LoadXHeaderLength(k) => x = 4 * (load(head, Size::Byte, u64::from(k))? & 0xF),
                Op::Store(word) => memory[usize::from(word) % WORDS] = a,
                Op::StoreX(word) => memory[usize::from(word) % WORDS] = x,
                Op::Compute(how, operand) => a = compute(how, a, value(operand, x))?,
                Op::Negate => a = a.wrapping_neg(),
                Op::Jump(distance) => at += usize::from(distance),
                Op::JumpIf(condition, operand, jt, jf) => {
                    let operand = value(operand, x);
                    let holds = match condition {
                        Condition::Equal => a == operand,
                        Condition::Greater => a > operand,
                        Condition::GreaterOrEqual => a >= operand,
                        Condition::AnyBit => a & operand != 0,
                    };
                    at += usize::from(if holds { jt } else { jf });
                }
                Op::Return(k) => return Some(k),
                Op::ReturnA => return Some(a),
                Op::AToX => x = a,
                Op::XToA => a = x,
            }
        }
        debug_assert!(false, "a checked program returns");
        None
    }
}

const fn value(operand: Operand, x: u32) -> u32 {
    match operand {
        Operand::Constant(k) => k,
        Operand::X => x,
    }
}

/// The big-endian number of `size` at offset `at`.
#[inline(always)]
fn load(head: &[u8], size: Size, at: u64) -> Option<u32> {
    let rest = head.get(usize::try_from(at).ok()?..)?;
    match size {
        Size::Byte => rest.first().copied().map(u32::from),
        Size::Half => rest.first_chunk().map(|&two| u32::from(u16::from_be_bytes(two))),
        Size::Word => rest.first_chunk().map(|&four| u32::from_be_bytes(four)),
    }
}

fn compute(how: Arithmetic, a: u32, b: u32) -> Option<u32> {
    Some(match how {
        Arithmetic::Add => a.wrapping_add(b),
        Arithmetic::Sub => a.wrapping_sub(b),
        Arithmetic::Mul => a.wrapping_mul(b),
        Arithmetic::Div => a.checked_div(b)?,
        Arithmetic::Mod => a.checked_rem(b)?,
        Arithmetic::And => a & b,
        Arithmetic::Or => a | b,
        Arithmetic::Xor => a ^ b,
        Arithmetic::ShiftLeft => a.checked_shl(b).unwrap_or(0),
        Arithmetic::ShiftRight => a.checked_shr(b).unwrap_or(0),
    })
}

#[cfg(test)]
#[path = "filter_tests.rs"]
mod tests;
