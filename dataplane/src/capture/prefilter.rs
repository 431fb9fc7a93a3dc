//! The prefilter of a capture: a few compares that tell most frames that cannot match.
//!
//! It is a condition that each matching frame fulfills, derived from the program: each path to a
//! verdict other than 0 compares some fields with constants, and the frame has to equal all of
//! one path. Paths that begin with a compare of the same field share a load. A frame that passes
//! may still not match; the program decides. Where no such condition is found, every frame passes.
//!
//! For a burst the fields are loaded first and then compared all at once, which the compiler does
//! with vectors: at full rate a nanosecond a frame is three percent.

use super::program::{Arithmetic, Condition, Op, Operand, Size};
use crate::frame::Frame;
use crate::limits::{BURST_MAX, BurstBits, burst_bits};
use crate::wire::{ethernet, ipv4};
use alloc::vec::Vec;
use arrayvec::ArrayVec;

/// Paths that are told apart; a program with more has no prefilter.
const PATHS_MAX: usize = 12;
const PAIRS_MAX: usize = PATHS_MAX.div_ceil(2);
/// Compares of one path; further ones are left to the program.
const COMPARES_MAX: usize = 4;
/// Steps of the search for paths.
const STEPS_MAX: usize = 4_096;
/// Where the ethertype of an untagged frame is.
const TYPE_AT: usize = 12;
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
    /// One compare of each path that untagged IPv4 can take; `None` if a path has none.
    header: Option<ArrayVec<HeaderPair, PAIRS_MAX>>,
}

#[derive(Clone, Debug)]
struct Paths {
    /// The first compares of all paths, by field.
    first: ArrayVec<Field, PATHS_MAX>,
    all: ArrayVec<Path, PATHS_MAX>,
}

/// A compare of a word of an IPv4 header of 20 octets, or of the first behind it, where the ports
/// of UDP and TCP are. It is for the fast path, which has the header's words in vectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct HeaderCompare {
    /// Which word: 0 to 4, or [`BEHIND_HEADER`].
    pub(crate) word: usize,
    /// The bits that count; the word's first octet is the lowest.
    pub(crate) mask: u32,
    /// What they have to be.
    pub(crate) value: u32,
}

/// The word behind the header.
const BEHIND_HEADER: usize = ipv4::HEADER_BYTES / 4;

/// Two compares, so that what they compare with stays in registers; they may be the same.
pub(crate) type HeaderPair = [HeaderCompare; 2];

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

    /// Bit i is set if word i is wanted. Eight words are looked at without a branch, so that it is
    /// done with vectors; few of them have one that is wanted.
    #[inline(always)]
    fn wanted_bits(&self, words: &[u32; BURST_MAX]) -> BurstBits {
        let mut bits = 0;
        for (first, eight) in (0..).step_by(8).zip(words.as_chunks::<8>().0) {
            let mut is_any = 0;
            for &value in &self.values {
                for word in eight {
                    is_any |= u32::from(word & self.mask == value);
                }
            }
            if is_any != 0 {
                let wanted = (first..).zip(eight).filter(|(_, word)| self.is_wanted(**word));
                bits = wanted.fold(bits, |bits, (at, _): (u32, _)| bits | 1 << at);
            }
        }
        bits
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
    fn may_begin_burst<F: Frame>(&self, frames: &[F]) -> BurstBits {
        let pairs = self.first.chunks(2).filter_map(|pair| Some([pair.first()?, pair.last()?]));
        pairs.map(|pair| may_begin_with(pair, frames)).fold(0, |bits, more| bits | more)
    }

    /// Whether the frame equals all compares of a path, or is too short to tell.
    #[inline(never)]
    fn may_match(&self, head: &[u8]) -> bool {
        self.all.iter().any(|path| path.iter().all(|compare| compare.holds(head)))
    }
}

/// Bit i is set if frame i has what one of two fields wants, or is too short to tell.
#[inline(always)]
fn may_begin_with<F: Frame>([one, other]: [&Field; 2], frames: &[F]) -> BurstBits {
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
    let wanted = [one.wanted_bits(&words), other.wanted_bits(&others)];
    bits | (wanted[0] | wanted[1]) & burst_bits(frames.len())
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
        let found = search.follow(0, (Accumulator::Unknown, Index::Unknown), &[]);
        let paths = found.and_then(|()| search.paths.iter().map(|it| compares(it)).collect());
        let header = found.and_then(|()| header_compares(&search.paths)).map(|all| pairs(&all));
        Self { paths: paths.map(Paths::new), header }
    }

    /// See [`Filter::header_compares`](super::filter::Filter::header_compares).
    #[inline(always)]
    pub(super) fn header_compares(&self) -> Option<&[HeaderPair]> {
        self.header.as_deref()
    }

    /// Whether the frame that begins with `head` may match.
    #[inline(always)]
    pub(super) fn may_match(&self, head: &[u8]) -> bool {
        self.paths.as_ref().is_none_or(|paths| paths.may_begin(head) && paths.may_match(head))
    }

    /// Bit i is set if frame i, of [`BURST_MAX`] at the most, may match by its first compare.
    #[inline(always)]
    pub(super) fn may_match_burst<F: Frame>(&self, frames: &[F]) -> BurstBits {
        let paths = self.paths.as_ref();
        paths.map_or_else(|| burst_bits(frames.len()), |paths| paths.may_begin_burst(frames))
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
    /// Whether it is there only if the frame has an IPv4 header of 20 octets behind Ethernet.
    is_behind_header: bool,
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

/// What is known of the index register.
#[derive(Clone, Copy)]
enum Index {
    Unknown,
    /// The length of the IPv4 header behind Ethernet.
    HeaderLength,
}

struct Search<'a> {
    ops: &'a [Op],
    /// The fields of each path to a verdict other than 0.
    paths: Vec<Vec<Constant>>,
    steps: usize,
}

impl Search<'_> {
    /// Follows all paths from the instruction with index `at`; `None` if they are too many.
    fn follow(
        &mut self,
        mut at: usize,
        (mut a, mut x): (Accumulator, Index),
        fields: &[Constant],
    ) -> Option<()> {
        loop {
            self.steps += 1;
            if self.steps > STEPS_MAX {
                return None;
            }
            let op = *self.ops.get(at)?;
            at += 1;
            match op {
                Op::LoadAt(size, k) => a = Accumulator::Field(Constant::any(k as usize, size)),
                Op::LoadFromX(size, k) if matches!(x, Index::HeaderLength) => {
                    let field = Constant::any(ipv4::HEADER_BYTES + k as usize, size);
                    a = Accumulator::Field(Constant { is_behind_header: true, ..field });
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
                Op::LoadXHeaderLength(k) if k as usize == ethernet::HEADER_BYTES => {
                    x = Index::HeaderLength;
                }
                Op::LoadXConstant(_)
                | Op::LoadXLength
                | Op::LoadXMemory(_)
                | Op::LoadXHeaderLength(_)
                | Op::AToX => x = Index::Unknown,
                Op::Store(_) | Op::StoreX(_) => {}
                Op::Jump(distance) => at += usize::from(distance),
                Op::JumpIf(condition, operand, jt, jf) => {
                    if let Some(fields) = if_holds(a, condition, operand, fields) {
                        self.follow(at + usize::from(jt), (a, x), &fields)?;
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

/// For each path that a frame of untagged IPv4 can take, the compare of most bits in its header;
/// `None` if a path has none.
fn header_compares(paths: &[Vec<Constant>]) -> Option<ArrayVec<HeaderCompare, PATHS_MAX>> {
    let ethertype = |value| Constant { value, ..Constant::any(TYPE_AT, Size::Half) };
    let is_other = |field: &Constant| {
        let v4 = ethertype(u32::from(ethernet::IPV4));
        *field != v4 && Constant { value: v4.value, ..*field } == v4
    };
    let mut all = ArrayVec::new();
    for path in paths.iter().filter(|path| !path.iter().any(is_other)) {
        let compare = path.iter().filter_map(Constant::in_header);
        let compare = compare.max_by_key(|compare| compare.mask.count_ones())?;
        if !all.contains(&compare) {
            all.push(compare);
        }
    }
    Some(all)
}

/// The compares by two. At least one pair, which no frame fulfills if there is no compare: frames
/// of other kinds may match.
fn pairs(compares: &[HeaderCompare]) -> ArrayVec<HeaderPair, PAIRS_MAX> {
    const NEVER: HeaderCompare = HeaderCompare { word: 0, mask: 0, value: 1 };
    let compares = if compares.is_empty() { &[NEVER] } else { compares };
    compares.chunks(2).filter_map(|pair| Some([*pair.first()?, *pair.last()?])).collect()
}

impl Constant {
    /// A field whose value is not set yet.
    const fn any(at: usize, size: Size) -> Self {
        let bytes = size.bytes();
        Self { is_behind_header: false, at, bytes, mask: u32::MAX >> (32 - 8 * bytes), value: 0 }
    }

    /// The same, if it is in one word of an IPv4 header without options behind Ethernet, or in the
    /// word behind that.
    fn in_header(&self) -> Option<HeaderCompare> {
        let from = self.at.checked_sub(ethernet::HEADER_BYTES)?;
        let (word, offset) = (from / 4, from % 4);
        if offset + self.bytes > 4 || word > BEHIND_HEADER {
            return None;
        }
        let shift = 8 * (4 - self.bytes - offset);
        let place = |value: u32| u32::from_le_bytes((value << shift).to_be_bytes());
        let (mask, value) = (place(self.mask), place(self.value));
        Some(HeaderCompare { word, mask, value })
    }
}

/// The compares of a path's fields, those of most bits first; `None` if there is none.
fn compares(fields: &[Constant]) -> Option<Path> {
    let mut all: Vec<Compare> = Vec::new();
    let is_fixed = |field: &&Constant| !field.is_behind_header;
    for field in fields.iter().filter(is_fixed).filter(|it| it.at + it.bytes <= REACH_BYTES) {
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
