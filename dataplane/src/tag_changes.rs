//! Frames whose tag the rules changed, by the tag with which they came and the new one.
//!
//! A raise is a bounce: a descent in the compiler's order of links, in a Clos network a turn from
//! down to up. So these counters tell how often lossless frames are rerouted (Tagger, Table I), and
//! how many bounces the rules must provide for.

use crate::ids::Tag;
use crate::limits::TAGS;
use alloc::boxed::Box;
use alloc::vec;

/// Frames of one tag that the rules gave another one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TagChangeCount {
    /// The tag of the frames as the switch classified them. It is lossless.
    pub tag: Tag,
    /// The tag with which they left: a lossless one, or the lossy tag.
    pub new_tag: Tag,
    /// How many.
    pub frames: u64,
}

/// The counters of one worker, which alone writes them.
#[derive(Debug)]
pub(crate) struct TagChanges {
    /// By tag and new tag, `TAGS` a row.
    frames: Box<[u64]>,
    /// Bit t: row t is not all zero. A report reads these rows only.
    rows: u64,
}

impl Default for TagChanges {
    fn default() -> Self {
        Self { frames: vec![0; TAGS * TAGS].into_boxed_slice(), rows: 0 }
    }
}

impl TagChanges {
    /// Counts `frames` frames that came with `tag` and leave with `new_tag`.
    pub(crate) fn add(&mut self, tag: Tag, new_tag: Tag, frames: u32) {
        self.rows |= 1 << tag.index();
        self.frames[tag.index() * TAGS + new_tag.index()] += u64::from(frames);
    }

    /// The counters that are not zero, by tag and new tag.
    pub(crate) fn counts(&self) -> impl Iterator<Item = TagChangeCount> + '_ {
        let rows = Tag::all().filter(|tag| self.rows >> tag.index() & 1 == 1);
        rows.flat_map(move |tag| {
            Tag::all().map(move |new_tag| {
                let frames = self.frames[tag.index() * TAGS + new_tag.index()];
                TagChangeCount { tag, new_tag, frames }
            })
        })
        .filter(|count| count.frames > 0)
    }
}
