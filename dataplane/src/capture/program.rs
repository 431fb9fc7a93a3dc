//! Programs of classic BPF, as a client sends them, and what is checked of one before it runs.

use crate::limits::FRAME_BYTES_MAX;
use alloc::vec::Vec;

/// Instructions of a program, and so the steps that it takes for one frame, at the most.
pub(crate) const INSTRUCTIONS_MAX: usize = 256;
/// Words of scratch memory.
pub(super) const WORDS: usize = 16;

/// An instruction as `pcap_compile` makes it and `tcpdump -ddd` prints it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Instruction {
    /// What it does.
    pub code: u16,
    /// Instructions to skip if a condition holds.
    pub jt: u8,
    /// Instructions to skip if it does not.
    pub jf: u8,
    /// A constant: an offset, an operand, a distance.
    pub k: u32,
}

/// Why a program is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FilterError {
    /// There is nothing to run.
    #[error("the filter has no instruction; it needs at least a return")]
    Empty,
    /// It would take too long for one frame.
    #[error(
        "the filter has {0} instructions, a worker runs {INSTRUCTIONS_MAX} for a frame; ask for less"
    )]
    TooLong(usize),
    /// Classic BPF has no such instruction.
    #[error("instruction {at}: {code:#06x} is no instruction of classic BPF")]
    Unknown {
        /// Its index.
        at: usize,
        /// The code.
        code: u16,
    },
    /// It goes back, so that the program might never end.
    #[error("instruction {at}: it jumps back, so the filter could loop; a jump must go forward")]
    Backward {
        /// Its index.
        at: usize,
    },
    /// It leaves the program.
    #[error("instruction {at}: it jumps to {to}, behind the last of {count} instructions")]
    Outside {
        /// Its index.
        at: usize,
        /// Where to.
        to: usize,
        /// How many instructions there are.
        count: usize,
    },
    /// A path ends without a verdict.
    #[error("the last instruction must return a verdict")]
    NoReturn,
    /// It reads where no frame has bytes.
    #[error(
        "instruction {at}: it reads {end} bytes of a frame, and the longest has {FRAME_BYTES_MAX}"
    )]
    BeyondFrame {
        /// Its index.
        at: usize,
        /// Bytes from the start of the frame to the end of what it reads.
        end: u64,
    },
    /// It reads or writes where the scratch memory has no word.
    #[error("instruction {at}: word {word} of the scratch memory, which has {WORDS}")]
    BeyondMemory {
        /// Its index.
        at: usize,
        /// The word.
        word: u32,
    },
    /// The quotient does not exist.
    #[error("instruction {at}: it divides by 0")]
    DivisionByZero {
        /// Its index.
        at: usize,
    },
    /// The result is not defined.
    #[error("instruction {at}: it shifts by {by} bits, and a word has 32")]
    Shift {
        /// Its index.
        at: usize,
        /// By how many bits.
        by: u32,
    },
}

/// How many bytes a load takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Size {
    Byte,
    Half,
    Word,
}

impl Size {
    pub(super) const fn bytes(self) -> usize {
        match self {
            Self::Byte => 1,
            Self::Half => 2,
            Self::Word => 4,
        }
    }
}

/// The second operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operand {
    Constant(u32),
    X,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Arithmetic {
    Add,
    Sub,
    Mul,
    Div,
    Mod,
    And,
    Or,
    Xor,
    ShiftLeft,
    ShiftRight,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Condition {
    Equal,
    Greater,
    GreaterOrEqual,
    /// A common bit.
    AnyBit,
}

/// A checked instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Op {
    LoadAt(Size, u32),
    LoadFromX(Size, u32),
    LoadConstant(u32),
    LoadLength,
    LoadMemory(u8),
    LoadXConstant(u32),
    LoadXLength,
    LoadXMemory(u8),
    /// Four times the low half of an octet: the length of an IPv4 header.
    LoadXHeaderLength(u32),
    Store(u8),
    StoreX(u8),
    Compute(Arithmetic, Operand),
    Negate,
    Jump(u16),
    JumpIf(Condition, Operand, u8, u8),
    Return(u32),
    ReturnA,
    AToX,
    XToA,
}

/// Checks each instruction of `program`.
///
/// # Errors
/// It could loop, take too long, or read what is not there.
pub(super) fn check(program: &[Instruction]) -> Result<Vec<Op>, FilterError> {
    if program.is_empty() {
        return Err(FilterError::Empty);
    }
    if program.len() > INSTRUCTIONS_MAX {
        return Err(FilterError::TooLong(program.len()));
    }
    let count = program.len();
    let ops = program.iter().enumerate().map(|(at, &instruction)| checked(instruction, at, count));
    let ops: Vec<Op> = ops.collect::<Result<_, _>>()?;
    match ops.last() {
        Some(Op::Return(_) | Op::ReturnA) => Ok(ops),
        _ => Err(FilterError::NoReturn),
    }
}

/// The instruction with index `at` of `count`, checked. The codes are those of `<pcap/bpf.h>`.
fn checked(instruction: Instruction, at: usize, count: usize) -> Result<Op, FilterError> {
    let Instruction { code, jt, jf, k } = instruction;
    let unknown = FilterError::Unknown { at, code };
    let absolute = |size: Size| {
        let end = u64::from(k) + size.bytes() as u64;
        let is_inside = end <= FRAME_BYTES_MAX as u64;
        if is_inside { Ok(()) } else { Err(FilterError::BeyondFrame { at, end }) }
    };
    #[expect(clippy::cast_possible_truncation, reason = "a word of the memory, below 16")]
    let word = || {
        let is_word = (k as usize) < WORDS;
        if is_word { Ok(k as u8) } else { Err(FilterError::BeyondMemory { at, word: k }) }
    };
    let size = || match code & 0x18 {
        0x00 => Ok(Size::Word),
        0x08 => Ok(Size::Half),
        0x10 => Ok(Size::Byte),
        _ => Err(unknown),
    };
    let operand = if code & 0x08 == 0 { Operand::Constant(k) } else { Operand::X };
    let op = match (code & 0x07, code & 0xE0, code & 0x18) {
        (0, 0x00, 0x00) => Op::LoadConstant(k),
        (0, 0x20, _) => {
            let size = size()?;
            absolute(size)?;
            Op::LoadAt(size, k)
        }
        (0, 0x40, _) => Op::LoadFromX(size()?, k),
        (0, 0x60, 0x00) => Op::LoadMemory(word()?),
        (0, 0x80, 0x00) => Op::LoadLength,
        (1, 0x00, 0x00) => Op::LoadXConstant(k),
        (1, 0x60, 0x00) => Op::LoadXMemory(word()?),
        (1, 0x80, 0x00) => Op::LoadXLength,
        (1, 0xA0, 0x10) => {
            absolute(Size::Byte)?;
            Op::LoadXHeaderLength(k)
        }
        (2, 0x00, 0x00) => Op::Store(word()?),
        (3, 0x00, 0x00) => Op::StoreX(word()?),
        (4, ..) if code == 0x84 => Op::Negate,
        (4, ..) => Op::Compute(arithmetic(code & 0xF0, operand, at).ok_or(unknown)??, operand),
        (5, 0x00, 0x00) => {
            if k > i32::MAX.unsigned_abs() {
                return Err(FilterError::Backward { at });
            }
            let to = inside(at, k as usize, count)? - at - 1;
            Op::Jump(u16::try_from(to).unwrap_or(u16::MAX))
        }
        (5, ..) => {
            let condition = match code & 0xF0 {
                0x10 => Condition::Equal,
                0x20 => Condition::Greater,
                0x30 => Condition::GreaterOrEqual,
                0x40 => Condition::AnyBit,
                _ => return Err(unknown),
            };
            inside(at, usize::from(jt), count)?;
            inside(at, usize::from(jf), count)?;
            Op::JumpIf(condition, operand, jt, jf)
        }
        (6, 0x00, 0x00) => Op::Return(k),
        (6, 0x00, 0x10) => Op::ReturnA,
        (7, 0x00, 0x00) => Op::AToX,
        (7, 0x80, 0x00) => Op::XToA,
        _ => return Err(unknown),
    };
    // Bits that no instruction has.
    let is_known = code & 0xFF00 == 0;
    if is_known { Ok(op) } else { Err(unknown) }
}

/// The index that a jump of `distance` reaches from the instruction with index `at`.
fn inside(at: usize, distance: usize, count: usize) -> Result<usize, FilterError> {
    let to = at.saturating_add(1).saturating_add(distance);
    if to < count { Ok(to) } else { Err(FilterError::Outside { at, to, count }) }
}

/// The operation of an arithmetic instruction; `None` if there is none with that code.
fn arithmetic(
    operation: u16,
    operand: Operand,
    at: usize,
) -> Option<Result<Arithmetic, FilterError>> {
    let how = match operation {
        0x00 => Arithmetic::Add,
        0x10 => Arithmetic::Sub,
        0x20 => Arithmetic::Mul,
        0x30 => Arithmetic::Div,
        0x40 => Arithmetic::Or,
        0x50 => Arithmetic::And,
        0x60 => Arithmetic::ShiftLeft,
        0x70 => Arithmetic::ShiftRight,
        0x90 => Arithmetic::Mod,
        0xA0 => Arithmetic::Xor,
        _ => return None,
    };
    Some(match (how, operand) {
        (Arithmetic::Div | Arithmetic::Mod, Operand::Constant(0)) => {
            Err(FilterError::DivisionByZero { at })
        }
        (Arithmetic::ShiftLeft | Arithmetic::ShiftRight, Operand::Constant(by)) if by >= 32 => {
            Err(FilterError::Shift { at, by })
        }
        _ => Ok(how),
    })
}
