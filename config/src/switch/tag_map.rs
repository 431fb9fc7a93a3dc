//! Tables whose keys are tags or ranges of tags: `{ 3 = 2, "8-45" = 0 }`.

use crate::error::ConfigError;
use crate::fields::number_range;
use crate::source::Source;
use dataplane::ids::Tag;
use dataplane::limits::TAGS;
use std::collections::BTreeMap;
use toml::Spanned;

/// Above the last tag.
const TAGS_END: u8 = 64;
const _: () = assert!(TAGS_END as usize == TAGS, "a tag has six bits");

/// Calls `set` for each tag of the table `name` with its value.
///
/// # Errors
/// A key is no tag, a tag stands there twice, or what `set` says.
pub(super) fn each<T>(
    source: &Source,
    entries: &BTreeMap<String, Spanned<T>>,
    name: &str,
    mut set: impl FnMut(Tag, &T) -> Result<(), String>,
) -> Result<(), ConfigError> {
    let mut seen = 0u64;
    for (key, field) in entries {
        let wrong = |message: String| source.at(field.span(), message);
        let range = number_range(key, TAGS_END).ok_or_else(|| {
            wrong(format!(
                "`{key}` is no tag; a key of `{name}` is a tag, 0 to 63, or a range, \"8-45\""
            ))
        })?;
        for tag in range.map(Tag::from_low_bits) {
            if seen >> tag.index() & 1 == 1 {
                return Err(wrong(format!("tag {tag} stands twice in `{name}`; keep one")));
            }
            seen |= 1 << tag.index();
            set(tag, field.get_ref()).map_err(wrong)?;
        }
    }
    Ok(())
}
