//! Reading JSON, with the place of what is wrong: the value or the key itself, not where the reader
//! stood when it noticed.

use crate::explain::{Syntax, explain};
use serde::Deserialize;
use serde_json::error::Category;
use serde_json::value::RawValue;
use serde_path_to_error::Segment;
use std::collections::BTreeMap;

/// What is wrong with a JSON text, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct JsonError {
    /// The byte at which it is wrong.
    pub at: usize,
    /// What is wrong, and what would be right.
    pub message: String,
}

/// A step from a value to one inside it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step<'a> {
    /// The value of this key.
    Key(&'a str),
    /// The value with this index, from 0.
    Index(usize),
}

/// Reads one value, which must be all of the text.
///
/// # Errors
/// The text is no JSON, or none of this form.
pub fn read<'a, T: Deserialize<'a>>(text: &'a str) -> Result<T, JsonError> {
    serde_json::from_str(text).map_err(|error| {
        let message = error.to_string();
        let message = message.rsplit_once(" at line ").map_or(message.as_str(), |(what, _)| what);
        let noticed = noticed_at(text, &error);
        let at = match error.classify() {
            Category::Data => data_at::<T>(text, message).unwrap_or(noticed),
            Category::Syntax | Category::Eof | Category::Io => noticed,
        };
        JsonError { at, message: explain(message, Syntax::Json) }
    })
}

/// Where the reader stood. It counts lines, and the bytes in a line, from 1.
fn noticed_at(text: &str, error: &serde_json::Error) -> usize {
    let lines = text.split_inclusive('\n').take(error.line().saturating_sub(1));
    let line_start: usize = lines.map(str::len).sum();
    (line_start + error.column().saturating_sub(1)).min(text.len())
}

/// Where the value stands that does not have the form of a `T`. It is read again, this time with
/// the way to each value noted, which is slow.
fn data_at<'a, T: Deserialize<'a>>(text: &'a str, message: &str) -> Option<usize> {
    let mut reader = serde_json::Deserializer::from_str(text);
    let error = serde_path_to_error::deserialize::<_, T>(&mut reader).err()?;
    let steps = error.path().iter().map_while(|segment| match segment {
        Segment::Seq { index } => Some(Step::Index(*index)),
        Segment::Map { key } | Segment::Enum { variant: key } => Some(Step::Key(key)),
        Segment::Unknown => None,
    });
    // That a key stands there twice is noticed before the way leads on to its value.
    let twice = message.strip_prefix("duplicate field `").and_then(|rest| rest.strip_suffix('`'));
    let steps: Vec<Step<'_>> = steps.chain(twice.map(Step::Key)).collect();
    let value = locate(text, &steps)?;
    // Of a key that is not known, or not for the second time, it is the key that is wrong.
    let is_key = twice.is_some() || message.starts_with("unknown field ");
    if is_key { key_before(text, value) } else { Some(value) }
}

/// The byte at which the value stands that `steps` lead to, or the last one on the way there.
/// `None`: the text is no JSON.
pub(crate) fn locate(text: &str, steps: &[Step<'_>]) -> Option<usize> {
    let mut value: &RawValue = serde_json::from_str(text).ok()?;
    for step in steps {
        let inside = match *step {
            Step::Index(index) => serde_json::from_str::<Vec<&RawValue>>(value.get())
                .ok()
                .and_then(|values| values.get(index).copied()),
            // Of a key that stands there twice, the last.
            Step::Key(key) => serde_json::from_str::<BTreeMap<String, &RawValue>>(value.get())
                .ok()
                .and_then(|values| values.get(key).copied()),
        };
        let Some(inside) = inside else { break };
        value = inside;
    }
    Some(value.get().as_ptr() as usize - text.as_ptr() as usize)
}

/// The byte at which the key of the value at `value` begins; that of the value, if it has none.
pub(crate) fn key_before(text: &str, value: usize) -> Option<usize> {
    let before = text.get(..value)?.trim_end();
    let Some(key) = before.strip_suffix(':').and_then(|rest| rest.trim_end().strip_suffix('"'))
    else {
        return Some(value);
    };
    // A quote with an odd number of backslashes before it belongs to the key.
    key.rmatch_indices('"').map(|(at, _)| at).find(|&at| {
        let backslashes = key[..at].bytes().rev().take_while(|&byte| byte == b'\\').count();
        backslashes.is_multiple_of(2)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code, reason = "only read")]
    struct Row {
        id: u8,
        #[serde(default)]
        pair: Vec<(u8, u8)>,
    }

    /// What stands where `text` is wrong, and the message.
    fn wrong(text: &str) -> (&str, String) {
        let error = read::<Vec<Row>>(text).unwrap_err();
        (&text[error.at..], error.message)
    }

    #[test]
    fn a_wrong_value_is_placed_where_it_begins() {
        let (at, message) = wrong("[{\"id\": 1},\n {\"id\": \"eight\"}]");
        assert_eq!(
            (at, message.as_str()),
            ("\"eight\"}]", "found the text \"eight\", expected a whole number, 0 to 255")
        );
        assert_eq!(wrong("[{\"id\": 1, \"pair\": [[1, 2], [3, -4]]}]").0, "-4]]}]");
        assert_eq!(wrong("[{\"id\": 1, \"pair\": [[1, 2], [3]]}]").0, "[3]]}]");
        assert_eq!(wrong("[\n  7]").0, "7]");
        assert_eq!(wrong(" {}").0, "{}");
        assert_eq!(
            wrong("[{\"id\": 1}, {\"pair\": []}]").0,
            "{\"pair\": []}]",
            "what lacks a field"
        );
    }

    #[test]
    fn a_wrong_key_is_placed_where_it_begins() {
        let (at, message) = wrong("[{\"id\": 1, \"p\\\"air\" : [2]}]");
        assert_eq!(
            (at, message.as_str()),
            ("\"p\\\"air\" : [2]}]", "unknown field `p\"air`; did you mean `pair`?")
        );
        let (at, message) = wrong("[{\"id\": 1,\n \"id\": 2}]");
        assert_eq!((at, message.as_str()), ("\"id\": 2}]", "`id` stands here twice; keep one"));
    }

    #[test]
    fn what_is_no_json_is_placed_where_that_shows() {
        assert_eq!(wrong("[{\"id\": 1},]").0, "]");
        assert_eq!(wrong("").0, "");
        assert_eq!(wrong("[1").0, "1");
        assert_eq!(wrong("[] x").0, "x");
    }

    #[test]
    fn values_are_found_by_the_way_to_them() {
        let text = r#"{"a": [1, {"b": 2}], "a": [3, {"b": 4}]}"#;
        let at = |steps: &[Step<'_>]| locate(text, steps).map(|at| &text[at..]);
        assert_eq!(at(&[Step::Key("a"), Step::Index(1), Step::Key("b")]), Some("4}]}"));
        assert_eq!(
            at(&[Step::Key("a"), Step::Index(7)]),
            Some("[3, {\"b\": 4}]}"),
            "as far as it goes"
        );
        assert_eq!(at(&[]), Some(text));
        assert_eq!(locate("{", &[]), None);
    }
}
