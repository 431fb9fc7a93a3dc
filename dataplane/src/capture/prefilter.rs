//! The prefilter of a capture: a few compares that tell most frames that cannot match.
//!
//! It is a condition that each matching frame fulfills, derived from the program: each path to a
//! verdict other than 0 compares some fields with constants, and the frame has to equal all of
//! one path. Paths that begin with a compare of the same field share a load. A frame that passes
//! may still not match; the program decides. Where no such condition is found, every frame passes.
//!
//! For a burst the fields are loaded first and then compared all at once, which the compiler does
//! with vectors: at full rate a nanosecond a frame is three percent.

use super::program::{Arithmetic, Condition, Op, Operand};
use crate::frame::Frame;
use crate::limits::BURST_MAX;
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

/// Four octets of the frame, compared under a mask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Compare {
    at: usize,
    mask: u32,
    value: u32,
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

/// Four octets under a mask, and the values that the paths want there.
#[derive(Clone, Debug)]
struct Field {
    at: usize,
    mask: u32,
    values: ArrayVec<u32, PATHS_MAX>,
}

impl Field {
    #[inline(always)]
    fn is_wanted(&self, octets: u32) -> bool {
        self.values.contains(&(octets & self.mask))
    }

    /// Whether one of the words is wanted: without a branch, so that it is done with vectors.
    #[inline(always)]
    fn wants_any(&self, words: &[u32; BURST_MAX]) -> bool {
        let mut is_any = 0;
        for &value in &self.values {
            for word in words {
                is_any |= u32::from(word & self.mask == value);
            }
        }
        is_any != 0
    }
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
            let Some(octets) = four(head, field.at) else { return true };
            may |= field.is_wanted(octets);
        }
        may
    }

    /// Bit i is set if frame i equals the first compare of a path, or is too short to tell.
    #[inline(always)]
    fn may_begin_burst<F: Frame>(&self, frames: &[F]) -> u64 {
        let pairs = self.first.chunks(2).filter_map(|pair| Some([pair.first()?, pair.last()?]));
        pairs.map(|pair| may_begin_with(pair, frames)).fold(0, |bits, more| bits | more)
    }

    /// Whether the frame equals all compares of a path, or is too short to tell.
    #[inline(never)]
    fn may_match(&self, head: &[u8]) -> bool {
        self.all.iter().any(|path| path.iter().all(|compare| compare.holds(head)))
    }

    /// The bits of the frames that [`Self::may_match`], of those in `bits`.
    #[inline(never)]
    fn may_match_of<F: Frame>(&self, bits: u64, frames: &[F]) -> u64 {
        let frames = (0..).zip(frames).filter(|(at, _)| bits >> at & 1 == 1);
        let matching = frames.filter(|(_, frame)| self.may_match(frame.head()));
        matching.fold(0, |bits, (at, _): (u32, _)| bits | 1 << at)
    }
}

/// Bit i is set if frame i has what one of two fields wants, or is too short to tell.
#[inline(always)]
fn may_begin_with<F: Frame>([one, other]: [&Field; 2], frames: &[F]) -> u64 {
    let (mut words, mut others) = ([0; BURST_MAX], [0; BURST_MAX]);
    let mut bits = 0;
    let end = one.at.max(other.at) + 4;
    for (at, (frame, (word, other_word))) in
        frames.iter().zip(words.iter_mut().zip(&mut others)).enumerate()
    {
        // One comparison of the length a frame: those of the offsets are the same for all.
        let octets = frame.head().get(..end).map(|head| (four(head, one.at), four(head, other.at)));
        match octets {
            Some((Some(octets), Some(others))) => (*word, *other_word) = (octets, others),
            _ => bits |= 1 << at,
        }
    }
    if one.wants_any(&words) || other.wants_any(&others) {
        let both = words.iter().zip(&others).take(frames.len()).enumerate();
        for (at, (&word, &other_word)) in both {
            bits |= u64::from(one.is_wanted(word) | other.is_wanted(other_word)) << at;
        }
    }
    bits
}

/// Four octets of the frame.
#[inline(always)]
fn four(head: &[u8], at: usize) -> Option<u32> {
    head.get(at..at + 4)?.first_chunk().map(|&octets| u32::from_ne_bytes(octets))
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

    /// Bit i is set if frame i, of [`BURST_MAX`] at the most, may match.
    #[inline(always)]
    pub(super) fn may_match_burst<F: Frame>(&self, frames: &[F]) -> u64 {
        let Some(paths) = &self.paths else {
            return u64::MAX >> (BURST_MAX - frames.len().clamp(1, BURST_MAX));
        };
        let bits = paths.may_begin_burst(frames);
        if bits == 0 { 0 } else { paths.may_match_of(bits, frames) }
    }
}

impl Compare {
    /// Whether the frame equals it, or is too short to tell.
    #[inline(always)]
    fn holds(&self, head: &[u8]) -> bool {
        four(head, self.at).is_none_or(|octets| octets & self.mask == self.value)
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
        let at = field.at.min(REACH_BYTES - 4);
        let shift = 8 * (4 - field.bytes - (field.at - at));
        let place = |value: u32| u32::from_ne_bytes((value << shift).to_be_bytes());
        let compare = Compare { at, mask: place(field.mask), value: place(field.value) };
        if !all.contains(&compare) {
            all.push(compare);
        }
    }
    all.sort_by_key(|compare| core::cmp::Reverse(compare.mask.count_ones()));
    let path: Path = all.into_iter().take(COMPARES_MAX).collect();
    (!path.is_empty()).then_some(path)
}
