//! The prefilter of a capture: a few compares that tell most frames that cannot match.
//!
//! It is a condition that each matching frame fulfills, derived from the program: each path to a
//! verdict other than 0 compares some fields with constants, and the frame has to equal all of
//! one path. A frame that passes may still not match; the program decides. Where no such condition
//! is found, every frame passes.

use super::program::{Arithmetic, Condition, Op, Operand};
use alloc::vec::Vec;
use arrayvec::ArrayVec;

/// Paths that are told apart; a program with more has no prefilter.
const PATHS_MAX: usize = 12;
/// Compares of one path; further ones are left to the program.
const COMPARES_MAX: usize = 4;
/// Steps of the search for paths.
const STEPS_MAX: usize = 4_096;
/// Fields that end by here are compared: a frame of the least length has as many bytes.
const REACH_BYTES: usize = 56;

/// Eight octets of the frame, compared under a mask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Compare {
    at: usize,
    mask: u64,
    value: u64,
}

/// What frames of one path have in common.
type Path = ArrayVec<Compare, COMPARES_MAX>;

/// See the module's head.
#[derive(Clone, Debug)]
pub(super) struct Prefilter {
    /// A frame has to fulfill all compares of one of these; `None` if it is not known what it has
    /// to fulfill.
    paths: Option<ArrayVec<Path, PATHS_MAX>>,
}

impl Prefilter {
    /// The prefilter of a checked program.
    pub(super) fn of(ops: &[Op]) -> Self {
        let mut search = Search { ops, paths: Vec::new(), steps: 0 };
        let found = search.follow(0, Accumulator::Unknown, &[]);
        Self { paths: found.and_then(|()| search.paths.iter().map(|it| compares(it)).collect()) }
    }

    /// Whether the frame that begins with `head` may match.
    #[inline(always)]
    pub(super) fn may_match(&self, head: &[u8]) -> bool {
        let Some(paths) = &self.paths else { return true };
        paths.iter().any(|path| path.iter().all(|compare| compare.holds(head)))
    }
}

impl Compare {
    /// Whether the frame equals it, or is too short to tell.
    #[inline(always)]
    fn holds(&self, head: &[u8]) -> bool {
        let eight = head.get(self.at..).and_then(|rest| rest.first_chunk());
        eight.is_none_or(|&eight| u64::from_ne_bytes(eight) & self.mask == self.value)
    }
}

/// A field that has to have a value: big-endian at `at`, `bytes` long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Field {
    at: usize,
    bytes: usize,
    mask: u32,
    value: u32,
}

/// What is known of the accumulator.
#[derive(Clone, Copy)]
enum Accumulator {
    Unknown,
    /// These bits of a field; `value` is not set yet.
    Field(Field),
}

struct Search<'a> {
    ops: &'a [Op],
    /// The fields of each path to a verdict other than 0.
    paths: Vec<Vec<Field>>,
    steps: usize,
}

impl Search<'_> {
    /// Follows all paths from the instruction with index `at`; `None` if they are too many.
    fn follow(&mut self, mut at: usize, mut a: Accumulator, fields: &[Field]) -> Option<()> {
        loop {
            self.steps += 1;
            if self.steps > STEPS_MAX {
                return None;
            }
            let op = *self.ops.get(at)?;
            at += 1;
            match op {
                Op::LoadAt(size, k) => {
                    let bytes = size.bytes();
                    let mask = u32::MAX >> (32 - 8 * bytes);
                    let field = Field { at: k as usize, bytes, mask, value: 0 };
                    a = Accumulator::Field(field);
                }
                Op::Compute(Arithmetic::And, Operand::Constant(k)) => {
                    if let Accumulator::Field(field) = &mut a {
                        field.mask &= k;
                    }
                }
                Op::LoadFromX(..)
                | Op::LoadConstant(_)
                | Op::LoadLength
                | Op::LoadMemory(_)
                | Op::Compute(..)
                | Op::Negate
                | Op::XToA => a = Accumulator::Unknown,
                Op::LoadXConstant(_)
                | Op::LoadXLength
                | Op::LoadXMemory(_)
                | Op::LoadXHeaderLength(_)
                | Op::Store(_)
                | Op::StoreX(_)
                | Op::AToX => {}
                Op::Jump(distance) => at += usize::from(distance),
                Op::JumpIf(condition, operand, jt, jf) => {
                    if let Some(fields) = if_holds(a, condition, operand, fields) {
                        self.follow(at + usize::from(jt), a, &fields)?;
                    }
                    at += usize::from(jf);
                }
                Op::Return(0) => return Some(()),
                Op::Return(_) | Op::ReturnA => {
                    if !self.paths.iter().any(|path| path == fields) {
                        self.paths.push(fields.to_vec());
                    }
                    return (self.paths.len() <= PATHS_MAX).then_some(());
                }
            }
        }
    }
}

/// The fields of a path on which the condition holds; `None` if no frame takes it.
fn if_holds(
    a: Accumulator,
    condition: Condition,
    operand: Operand,
    fields: &[Field],
) -> Option<Vec<Field>> {
    let mut fields = fields.to_vec();
    if let (Accumulator::Field(field), Condition::Equal, Operand::Constant(value)) =
        (a, condition, operand)
    {
        if value & !field.mask != 0 {
            return None;
        }
        fields.push(Field { value, ..field });
    }
    Some(fields)
}

/// The compares of a path's fields, those of most bits first; `None` if there is none.
fn compares(fields: &[Field]) -> Option<Path> {
    let mut all: Vec<Compare> = Vec::new();
    for field in fields.iter().filter(|field| field.at + field.bytes <= REACH_BYTES) {
        let at = field.at.min(REACH_BYTES - 8);
        let shift = 8 * (8 - field.bytes - (field.at - at));
        let place = |value: u32| u64::from_ne_bytes((u64::from(value) << shift).to_be_bytes());
        let compare = Compare { at, mask: place(field.mask), value: place(field.value) };
        if !all.contains(&compare) {
            all.push(compare);
        }
    }
    all.sort_by_key(|compare| core::cmp::Reverse(compare.mask.count_ones()));
    let path: Path = all.into_iter().take(COMPARES_MAX).collect();
    (!path.is_empty()).then_some(path)
}
