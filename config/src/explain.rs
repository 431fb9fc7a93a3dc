//! What serde, and the readers of TOML and JSON, say is wrong, in the words of whoever writes the
//! file: no type of Rust, and what would be right.
//!
//! serde's messages have a few forms. All of them are translated here, so that a table that is
//! added to a schema needs no messages of its own.

use crate::did_you_mean::nearest;

/// How a file is written, and so what its parts are called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Syntax {
    /// TOML: tables, in brackets.
    Toml,
    /// JSON: objects, in braces.
    Json,
}

impl Syntax {
    const fn table(self) -> &'static str {
        match self {
            Self::Toml => "a table",
            Self::Json => "an object in braces",
        }
    }
}

/// What is wrong, from what serde says.
pub(crate) fn explain(message: &str, syntax: Syntax) -> String {
    if let Some(field) = message.strip_prefix("missing field ") {
        return format!("{field} is missing here; it has no default");
    }
    if let Some(field) = message.strip_prefix("duplicate field ") {
        return format!("{field} stands here twice; keep one");
    }
    if let Some(rest) = message.strip_prefix("unknown ") {
        return unknown(rest).unwrap_or_else(|| message.to_owned());
    }
    if message.starts_with("data did not match any variant") {
        return "this has none of the forms that are known here".to_owned();
    }
    if let Some(rest) = message.strip_prefix("invalid ")
        && let Some((kind, rest)) = rest.split_once(' ')
        && let Some((found, expected)) = rest.rsplit_once(", expected ")
    {
        let found = match kind {
            "type:" | "value:" => found_text(found, syntax),
            "length" => format!("a list of {found}"),
            _ => return syntax_error(message),
        };
        return format!("found {found}, expected {}", expected_text(expected, syntax));
    }
    syntax_error(message)
}

/// "unknown field" and "unknown variant": the likely word instead of all of them.
fn unknown(rest: &str) -> Option<String> {
    let (kind, rest) = rest.split_once(' ')?;
    let kind = if kind == "field" { "field" } else { "word" };
    // The user's word may have quotes of its own; ours come after the last `, `-joined text.
    let (word, known) =
        rest.rsplit_once("`, expected ").or_else(|| rest.rsplit_once("`, there "))?;
    let word = word.strip_prefix('`')?;
    let known: Vec<&str> = known.split('`').skip(1).step_by(2).collect();
    Some(match nearest(word, known.iter().copied()) {
        Some(candidate) => format!("unknown {kind} `{word}`; did you mean `{candidate}`?"),
        None if known.is_empty() => format!("unknown {kind} `{word}`; remove it"),
        None => format!("unknown {kind} `{word}`; known here: {}", known.join(", ")),
    })
}

/// What stands there: serde's `Unexpected`.
fn found_text(found: &str, syntax: Syntax) -> String {
    // Of a number that is too large, the type is added behind the quotes.
    let quoted = |rest: &str| rest.split('`').nth(1).unwrap_or(rest).to_owned();
    if let Some(text) = found.strip_prefix("string ") {
        return format!("the text {text}");
    }
    if let Some(number) =
        found.strip_prefix("integer ").or_else(|| found.strip_prefix("floating point "))
    {
        return format!("the number {}", quoted(number));
    }
    if let Some(value) = found.strip_prefix("boolean ") {
        return quoted(value);
    }
    match found {
        "map" => syntax.table().to_owned(),
        "sequence" | "array" => "a list".to_owned(),
        "null" | "unit value" | "Option value" => "nothing".to_owned(),
        "string" => "a text".to_owned(),
        other if is_rust(other) => "something else".to_owned(),
        other => other.to_owned(),
    }
}

/// What belongs there: serde's `Expected`. What is not of serde's own making is a text of ours.
fn expected_text(expected: &str, syntax: Syntax) -> String {
    let list_of = |count: &str| format!("a list of {count}");
    if let Some(count) = expected.strip_prefix("a tuple of size ") {
        return list_of(count);
    }
    if let Some(count) = expected.strip_prefix("an array of length ") {
        return list_of(count);
    }
    if expected.starts_with("a nonzero ") {
        return "a whole number above 0".to_owned();
    }
    if expected.starts_with("struct ") || expected.contains("tagged enum ") {
        return syntax.table().to_owned();
    }
    match expected {
        "u64" | "usize" | "u128" => "a whole number that is not negative",
        "u32" => "a whole number, 0 to 4294967295",
        "u16" => "a whole number, 0 to 65535",
        "u8" => "a whole number, 0 to 255",
        "i8" | "i16" | "i32" | "i64" | "i128" | "isize" => "a whole number",
        "f32" | "f64" | "float" => "a number",
        "a boolean" | "boolean" => "true or false",
        "a string" | "a borrowed string" | "path string" | "os string" | "string"
        | "a character" => "a text in quotes",
        "a sequence" | "sequence" => "a list in brackets",
        "a map" => return syntax.table().to_owned(),
        "variant identifier" | "field identifier" | "string or table" => {
            "one of a few words, in quotes"
        }
        other if is_rust(other) => "something else",
        other => other,
    }
    .to_owned()
}

/// Whether a text speaks of types of Rust rather than of what is in a file.
fn is_rust(text: &str) -> bool {
    let is_type = |word: &str| {
        let starts_high = word.starts_with(|c: char| c.is_ascii_uppercase());
        starts_high && word.contains(|c: char| c.is_ascii_lowercase())
    };
    let words = ["struct", "enum", "variant", "tuple", "newtype", "unit", "option"];
    text.contains("::")
        || text
            .split(|c: char| !c.is_ascii_alphanumeric())
            .any(|word| is_type(word) || words.contains(&word))
}

/// What the readers of TOML and JSON themselves say.
fn syntax_error(message: &str) -> String {
    let said = match message {
        "wanted string or table" => "this takes one of a few words, in quotes",
        "EOF while parsing a value" => {
            "the text ends where a value belongs; it is empty or cut short"
        }
        "EOF while parsing a list" => "the text ends inside a list; close it with `]`",
        "EOF while parsing an object" => "the text ends inside an object; close it with `}`",
        "EOF while parsing a string" => "the text ends inside a quoted text; close it with `\"`",
        "expected value" => {
            "this is no JSON value; write a number, a text in double quotes, a list or an object"
        }
        "expected ident" => "this is no JSON word; there are true, false and null",
        "key must be a string" => "this is no key; a key is a text in double quotes",
        "trailing comma" => "nothing follows this comma; remove it",
        "trailing characters" => "the JSON value has ended before this; remove what follows it",
        "recursion limit exceeded" => "this is nested too deeply; take some of the brackets away",
        _ if message.starts_with("control character") => {
            "a raw control character in a quoted text; write it as an escape, such as \\n"
        }
        // TOML's grammar may be explained in several lines.
        other => return other.lines().map(str::trim).collect::<Vec<_>>().join(" "),
    };
    said.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::de::DeserializeOwned;

    #[test]
    fn serdes_messages_are_shortened() {
        let explain = |message| explain(message, Syntax::Toml);
        let message = "unknown field `naem`, expected one of `name`, `seed`, `rules`";
        assert_eq!(explain(message), "unknown field `naem`; did you mean `name`?");
        let message = "unknown field `colour`, expected `name` or `seed`";
        assert_eq!(explain(message), "unknown field `colour`; known here: name, seed");
        let message = "unknown field `a`, there are no fields";
        assert_eq!(explain(message), "unknown field `a`; remove it");
        let message = "unknown variant `bsy`, expected `busy` or `sleep`";
        assert_eq!(explain(message), "unknown word `bsy`; did you mean `busy`?");
        let message = "unknown field `a`, expected `b`, expected `size`";
        assert_eq!(explain(message), "unknown field `a`, expected `b`; known here: size");
        let message = "`name` is missing here; it has no default";
        assert_eq!(explain("missing field `name`"), message);
        assert_eq!(explain("duplicate field `up`"), "`up` stands here twice; keep one");
        let message = "found the text \"x, expected y\", expected a whole number";
        assert_eq!(explain("invalid type: string \"x, expected y\", expected i64"), message);
        let message = "invalid type: integer `99999999999999999999` as i128, expected a string";
        let said = "found the number 99999999999999999999, expected a text in quotes";
        assert_eq!(explain(message), said);
        assert_eq!(
            explain("invalid length 3, expected a tuple of size 2"),
            "found a list of 3, expected a list of 2"
        );
        assert_eq!(explain("unclosed array, expected `]`"), "unclosed array, expected `]`");
    }

    /// A shape of type for everything that serde derives code for.
    #[expect(dead_code, reason = "only read")]
    mod shapes {
        use serde::Deserialize;

        #[derive(Debug, Deserialize)]
        #[serde(deny_unknown_fields)]
        pub(super) struct PlainStruct {
            _size: u8,
        }
        #[derive(Debug, Deserialize)]
        pub(super) struct PairStruct(u8, String);
        #[derive(Debug, Deserialize)]
        pub(super) struct WrapStruct(PlainStruct);
        #[derive(Debug, Deserialize)]
        pub(super) struct NoStruct;
        #[derive(Debug, Deserialize)]
        #[serde(rename_all = "lowercase")]
        pub(super) enum WordEnum {
            Busy,
            Sleep,
        }
        #[derive(Debug, Deserialize)]
        pub(super) enum OuterEnum {
            A,
            B(u8),
            C(u8, u8),
            D { _x: u8 },
        }
        #[derive(Debug, Deserialize)]
        #[serde(tag = "a")]
        pub(super) enum TaggedEnum {
            A,
            B { _x: usize },
        }
        #[derive(Debug, Deserialize)]
        #[serde(tag = "a", content = "b")]
        pub(super) enum BesideEnum {
            A,
            B(u8),
        }
        #[derive(Debug, Deserialize)]
        #[serde(untagged)]
        pub(super) enum AnyEnum {
            A(u8),
            B { _x: u8 },
        }
    }

    /// What reading each of `texts` as a `T` ends with.
    fn said<T: DeserializeOwned>(texts: &[&str], into: &mut Vec<String>) {
        let errors = texts.iter().filter_map(|text| serde_json::from_str::<T>(text).err());
        into.extend(errors.map(|error| {
            let message = error.to_string();
            explain(message.split(" at line ").next().unwrap(), Syntax::Json)
        }));
    }

    #[test]
    fn no_shape_of_type_leaks_a_word_of_rust() {
        use shapes::*;
        use std::collections::BTreeMap;
        use std::num::NonZeroU16;
        use std::path::PathBuf;
        let texts = [
            "null",
            "true",
            "-1",
            "1.5",
            "300",
            "1e40",
            "99999999999999999999",
            "\"x\"",
            "\"B\"",
            "\"D\"",
            "[]",
            "[1, 2, 3]",
            "[[]]",
            "{}",
            "{\"a\": 1}",
            "{\"a\": \"B\"}",
            "{\"a\": \"B\", \"b\": []}",
            "{\"A\": 1}",
            "{\"B\": []}",
            "{\"C\": [1]}",
            "{\"C\": 1}",
            "{\"D\": 1}",
            "{\"D\": {}}",
            "{\"A\": 1, \"B\": 2}",
            "{\"_size\": -1}",
            "{\"_size\": 1, \"_size\": 2}",
            "{\"_size\": 1, \"y\": 2}",
            "{\"a\": \"B\", \"_x\": -1}",
            "",
            "[",
            "{",
            "{\"a\"",
            "{1: 2}",
            "\"",
            "\"\u{7}\"",
            "tru",
            "[1,]",
            "1 2",
            "\"\\ud800\"",
        ];
        let mut all = Vec::new();
        macro_rules! each {
            ($($shape:ty),*) => {$( said::<$shape>(&texts, &mut all); )*};
        }
        each!(PlainStruct, PairStruct, WrapStruct, NoStruct, WordEnum, OuterEnum, TaggedEnum);
        each!(BesideEnum, AnyEnum, Option<WordEnum>, Vec<PlainStruct>, (u8, u8), [u8; 4], ());
        each!(bool, u8, u16, u32, u64, usize, i8, i64, f64, char, String, PathBuf, NonZeroU16);
        each!(BTreeMap<String, OuterEnum>, BTreeMap<u8, u8>, std::time::Duration, std::net::IpAddr);
        assert!(all.len() > 500, "{}", all.len());
        for message in all {
            let words: Vec<&str> =
                message.split(|c: char| !c.is_alphanumeric() && c != '_').collect();
            for word in RUST_WORDS.iter().chain(&SHAPES) {
                assert!(!words.contains(word), "`{word}` in: {message}");
            }
            assert!(!message.contains("::") && !message.contains(" at line "), "{message}");
        }
    }

    const SHAPES: [&str; 9] = [
        "PlainStruct",
        "PairStruct",
        "WrapStruct",
        "NoStruct",
        "WordEnum",
        "OuterEnum",
        "TaggedEnum",
        "BesideEnum",
        "AnyEnum",
    ];
    /// Words that a network engineer does not write.
    const RUST_WORDS: [&str; 25] = [
        "struct", "enum", "variant", "variants", "tuple", "newtype", "untagged", "usize", "isize",
        "u8", "u16", "u32", "u64", "u128", "i8", "i16", "i32", "i64", "i128", "f32", "f64",
        "Option", "Vec", "PathBuf", "ident",
    ];
}
