//! The prefilter of a capture: a few compares that tell most frames that cannot match.
//!
//! It is a condition that each matching frame fulfills, derived from the program: each path to a
//! verdict other than 0 compares some fields with constants, and the frame has to equal all of
//! one path. Paths that begin with a compare of the same field share a load. A frame that passes
//! may still not match; the program decides. Where no such condition is found, every frame passes.

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
    paths: Option<Paths>,
}

#[derive(Clone, Debug)]
struct Paths {
    /// The first compares of all paths, by field.
    first: ArrayVec<Field, PATHS_MAX>,
    all: ArrayVec<Path, PATHS_MAX>,
}

/// Eight octets under a mask, and the values that the paths want there.
#[derive(Clone, Debug)]
struct Field {
    at: usize,
    mask: u64,
    values: ArrayVec<u64, PATHS_MAX>,
}

impl Paths {
    fn new(all: ArrayVec<Path, PATHS_MAX>) -> Self {
        let mut first: ArrayVec<Field, PATHS_MAX> = ArrayVec::new();
        for &Compare { at, mask, value } in all.iter().filter_map(|path| path.first()) {
            match first.iter_mut().find(|field| (field.at, field.mask) == (at, mask)) {
                Some(field) if field.values.contains(&value) => {}
                Some(field) => field.values.push(value),
                None => first.push(Field { at, mask, values: [value].into_iter().collect() }),
            }
        }
        Self { first, all }
    }

    /// Whether the frame equals the first compare of a path, or is too short to tell.
    #[inline(always)]
    fn may_begin(&self, head: &[u8]) -> bool {
        let mut may = false;
        for field in &self.first {
            let Some(octets) = eight(head, field.at) else { return true };
            for &value in &field.values {
                may |= octets & field.mask == value;
            }
        }
        may
    }

    /// Whether the frame equals all compares of a path, or is too short to tell.
    #[inline(never)]
    fn may_match(&self, head: &[u8]) -> bool {
        self.all.iter().any(|path| path.iter().all(|compare| compare.holds(head)))
    }
}

/// Eight octets of the frame.
#[inline(always)]
fn eight(head: &[u8], at: usize) -> Option<u64> {
    head.get(at..at + 8)?.first_chunk().map(|&octets| u64::from_ne_bytes(octets))
}

impl Prefilter {
    /// The prefilter of a checked program.
    pub(super) fn of(ops: &[Op]) -> Self {
        let mut search = Search { ops, paths: Vec::new(), steps: 0 };
        let found = search.follow(0, Accumulator::Unknown, &[]);
        let paths = found.and_then(|()| search.paths.iter().map(|it| compares(it)).collect());
        Self { paths: paths.map(Paths::new) }
    }

    /// Whether the frame that begins with `head` may match.
    #[inline(always)]
    pub(super) fn may_match(&self, head: &[u8]) -> bool {
        self.paths.as_ref().is_none_or(|paths| paths.may_begin(head) && paths.may_match(head))
    }
}

impl Compare {
    /// Whether the frame equals it, or is too short to tell.
    #[inline(always)]
    fn holds(&self, head: &[u8]) -> bool {
        eight(head, self.at).is_none_or(|octets| octets & self.mask == self.value)
    }
}

/// A field that has to have a value: big-endian at `at`, `bytes` long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Constant {
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
    Field(Constant),
}

struct Search<'a> {
    ops: &'a [Op],
    /// The fields of each path to a verdict other than 0.
    paths: Vec<Vec<Constant>>,
    steps: usize,
}

impl Search<'_> {
    /// Follows all paths from the instruction with index `at`; `None` if they are too many.
    fn follow(&mut self, mut at: usize, mut a: Accumulator, fields: &[Constant]) -> Option<()> {
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
                    let field = Constant { at: k as usize, bytes, mask, value: 0 };
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
    fields: &[Constant],
) -> Option<Vec<Constant>> {
    let mut fields = fields.to_vec();
    if let (Accumulator::Field(field), Condition::Equal, Operand::Constant(value)) =
        (a, condition, operand)
    {
        if value & !field.mask != 0 {
            return None;
        }
        fields.push(Constant { value, ..field });
    }
    Some(fields)
}

/// The compares of a path's fields, those of most bits first; `None` if there is none.
fn compares(fields: &[Constant]) -> Option<Path> {
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
