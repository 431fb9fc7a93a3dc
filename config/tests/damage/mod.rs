//! Damage to the text of a file, and what an error must be whatever the damage.

use config::ConfigError;
use proptest::prelude::*;

/// One piece of damage, to be done at a place in the text.
#[derive(Clone, Debug)]
pub(crate) enum Damage {
    /// Takes these many characters out.
    Cut(usize),
    /// Puts this in.
    Insert(String),
    /// Puts a copy of the line elsewhere there.
    CopyLine(prop::sample::Index),
    /// Puts this in place of the word there.
    Replace(String),
}

fn word() -> impl Strategy<Value = String> {
    prop_oneof![
        "[-0-9]{1,20}",
        "[0-9]{1,3}(B|KB|MB|GB|KiB|G|m|us|s)",
        "\"[^\"\n]{0,12}\"",
        "[a-z_]{1,10}",
        r#"(\[|\]|\{|\}|=|,|"|'|\n|#|:)"#,
        Just("\"fe80::1/64\"".to_owned()),
        Just("\"255.255.255.255/32\"".to_owned()),
        Just("\"::/0\"".to_owned()),
        Just("18446744073709551615".to_owned()),
        Just("9223372036854775807".to_owned()),
        Just("1e308".to_owned()),
        Just("\u{e9}\u{1F980}".to_owned()),
        Just("a\u{1b}[2J\u{7}\u{9b}\u{202e}b".to_owned()),
        Just("\"\\u001b]0;\\u0007\\n\"".to_owned()),
        Just(format!("\"{}\"", "x".repeat(100_000))),
        Just("x y ".repeat(25_000)),
    ]
}

pub(crate) fn damage() -> impl Strategy<Value = (prop::sample::Index, Damage)> {
    let kind = prop_oneof![
        (1..30usize).prop_map(Damage::Cut),
        word().prop_map(Damage::Insert),
        any::<prop::sample::Index>().prop_map(Damage::CopyLine),
        word().prop_map(Damage::Replace),
        word().prop_map(Damage::Replace),
    ];
    (any::<prop::sample::Index>(), kind)
}

pub(crate) fn damaged(text: &str, damages: &[(prop::sample::Index, Damage)]) -> String {
    let mut chars: Vec<char> = text.chars().collect();
    for (place, damage) in damages {
        let at = place.index(chars.len() + 1);
        let is_word = |c: &char| c.is_alphanumeric() || "_.:/\"".contains(*c);
        match damage {
            Damage::Cut(count) => drop(chars.drain(at..(at + count).min(chars.len()))),
            Damage::Insert(new) => drop(chars.splice(at..at, new.chars())),
            Damage::CopyLine(line) => {
                let lines: Vec<&str> = text.lines().collect();
                let copy = format!("\n{}\n", lines[line.index(lines.len())]);
                drop(chars.splice(at..at, copy.chars()));
            }
            Damage::Replace(new) => {
                let start = at - chars[..at].iter().rev().take_while(|c| is_word(c)).count();
                let end = at + chars[at..].iter().take_while(|c| is_word(c)).count();
                drop(chars.splice(start..end, new.chars()));
            }
        }
    }
    chars.into_iter().collect()
}

/// The longest line that is printed for an error.
const LINE_MAX: usize = 1_050;

/// Words of Rust and of its libraries that no message may have.
const RUST_WORDS: [&str; 27] = [
    "struct", "enum", "variant", "variants", "tuple", "newtype", "untagged", "usize", "isize",
    "u8", "u16", "u32", "u64", "u128", "i8", "i16", "i32", "i64", "i128", "f32", "f64", "serde",
    "Option", "Vec", "PathBuf", "ident", "panicked",
];

/// The error is one printable line of bounded length, without Rust, that points into `text`.
pub(crate) fn assert_one_line(error: &ConfigError, text: &str) {
    assert_plain(&error.to_string(), text);
    assert!(!error.message.is_empty());
    if error.file.ends_with("damaged") {
        // The place is in the text, or right behind it.
        assert!(error.line <= text.split('\n').count(), "{error}");
        let line = text.split('\n').nth(error.line - 1).unwrap();
        assert!(error.column <= line.chars().count() + 1, "{error}");
    }
}

/// One printable line of bounded length, without words of Rust but those that are in what was
/// `given`.
pub(crate) fn assert_plain(said: &str, given: &str) {
    let turns = |c: char| matches!(c, '\u{200E}' | '\u{200F}' | '\u{2028}'..='\u{202E}' | '\u{2066}'..='\u{2069}');
    assert!(!said.contains(|c: char| c.is_control() || turns(c)), "{said:?}");
    assert!(said.chars().count() <= LINE_MAX, "{} characters: {said}", said.chars().count());
    assert!(said.matches('x').count() <= 300, "the user's text: {said}");
    // What Rust prints for its own types, outside of what is quoted from the file.
    let unquoted: String = said.replace("\\\"", "").split('`').step_by(2).collect();
    let unquoted: String = unquoted.split('"').step_by(2).collect();
    assert!(!["::<", "([", " { "].iter().any(|rust| unquoted.contains(rust)), "{said}");
    let words: Vec<&str> = said.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').collect();
    for word in RUST_WORDS.into_iter().filter(|word| !given.contains(word)) {
        assert!(!words.contains(&word), "`{word}` in: {said}");
    }
    let type_name = words.iter().find(|word| is_type_name(word) && !given.contains(*word));
    assert_eq!(type_name, None, "{said}");
}

/// `LikeThis`: two words in one, with capitals.
fn is_type_name(word: &str) -> bool {
    let starts: Vec<usize> =
        word.match_indices(|c: char| c.is_ascii_uppercase()).map(|(at, _)| at).collect();
    let is_low = |from: usize, to: usize| {
        to > from + 2 && word[from + 1..to].bytes().all(|c| c.is_ascii_lowercase())
    };
    starts.len() >= 2
        && starts[0] == 0
        && starts.windows(2).all(|pair| is_low(pair[0], pair[1]))
        && is_low(starts[starts.len() - 1], word.len())
}
