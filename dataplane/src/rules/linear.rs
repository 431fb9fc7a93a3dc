//! The oracle: read the entries one after the other and stop at the first that matches.

use super::TcamEntry;
use crate::ids::{PortId, Tag};

/// The new tag of the first entry that matches; `lossy_tag` if none does. What is lossy stays so,
/// whatever the entries say: a frame that may have overtaken others cannot become lossless again.
pub fn lookup(
    entries: &[TcamEntry],
    lossy_tag: Tag,
    tag: Tag,
    input: PortId,
    output: PortId,
) -> Tag {
    if tag == lossy_tag {
        return lossy_tag;
    }
    entries
        .iter()
        .find(|entry| entry.matches(tag, input, output))
        .map_or(lossy_tag, |entry| entry.new_tag)
}
