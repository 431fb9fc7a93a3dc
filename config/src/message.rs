//! What may stand in a message: one line, nothing that a terminal obeys, and not too much of the
//! user's own text.
//!
//! Every [`ConfigError`](crate::error::ConfigError) passes through here, and so does every line
//! that the program writes to stderr, so that no single message has to think of it.

use std::borrow::Cow;
use std::fmt::Write;
use std::path::Path;

/// Characters that are shown of one quoted text.
const QUOTED_MAX: usize = 80;
/// Characters that are shown of one word, quoted or not.
const WORD_MAX: usize = 200;
/// Characters that are shown of a file's name.
const PATH_MAX: usize = 180;
/// Characters of a message.
pub(crate) const MESSAGE_MAX: usize = 800;

/// `message` in one line: control characters are escaped, long quoted texts and words are
/// shortened in their middle.
///
/// ```
/// let said = config::message::one_line("`a\nb\u{1b}[2J` is no name");
/// assert_eq!(said, "`a\\nb\\u{1b}[2J` is no name");
/// ```
pub fn one_line(message: &str) -> String {
    shorten_words(&shorten_quoted(&escape(message)))
}

/// A file's name for a message.
pub fn path(file: &Path) -> String {
    shorten(&escape(&file.to_string_lossy()), PATH_MAX).into_owned()
}

/// `text` in at most `most` characters; what is left out of its middle is `...`.
pub fn shorten(text: &str, most: usize) -> Cow<'_, str> {
    if text.len() <= most || text.chars().count() <= most {
        return Cow::Borrowed(text);
    }
    let kept = most.saturating_sub(3);
    let tail = kept / 4;
    let head: String = text.chars().take(kept - tail).collect();
    let last: Vec<char> = text.chars().rev().take(tail).collect();
    Cow::Owned(head + "..." + &last.into_iter().rev().collect::<String>())
}

/// Whether a terminal shows something else than the character: control characters, and those that
/// turn the direction of the text around them or break the line.
fn is_unprintable(c: char) -> bool {
    let turns = matches!(c, '\u{61C}' | '\u{200E}'..='\u{200F}' | '\u{202A}'..='\u{202E}');
    let isolates = matches!(c, '\u{2066}'..='\u{2069}');
    let hides = matches!(c, '\u{200B}'..='\u{200D}' | '\u{2028}'..='\u{2029}' | '\u{FEFF}');
    c.is_control() || turns || isolates || hides
}

fn escape(text: &str) -> Cow<'_, str> {
    if !text.contains(is_unprintable) {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if is_unprintable(c) {
            write!(escaped, "{}", c.escape_default()).expect("a String takes all that is written");
        } else {
            escaped.push(c);
        }
    }
    Cow::Owned(escaped)
}

/// Shortens what stands between two backticks or two double quotes.
fn shorten_quoted(text: &str) -> Cow<'_, str> {
    if text.len() <= QUOTED_MAX {
        return Cow::Borrowed(text);
    }
    let mut short = String::with_capacity(text.len().min(4 * MESSAGE_MAX));
    let mut rest = text;
    while let Some(open) = rest.find(['`', '"']) {
        let quote = &rest[open..=open];
        let (before, inside) = (&rest[..=open], &rest[open + 1..]);
        let Some(close) = closing(inside, quote) else { break };
        short += before;
        short += &shorten(&inside[..close], QUOTED_MAX);
        short += quote;
        rest = &inside[close + 1..];
    }
    short += rest;
    Cow::Owned(short)
}

/// Where the quote ends; a double quote may be escaped inside.
fn closing(inside: &str, quote: &str) -> Option<usize> {
    let mut is_escaped = false;
    inside.char_indices().find_map(|(at, c)| {
        let ends = quote.starts_with(c) && !(is_escaped && c == '"');
        is_escaped = c == '\\' && !is_escaped;
        ends.then_some(at)
    })
}

fn shorten_words(text: &str) -> String {
    if text.len() <= WORD_MAX {
        return text.to_owned();
    }
    text.split(' ').map(|word| shorten(word, WORD_MAX)).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_is_short_and_printable_stays_as_it_is() {
        let message = "`size` is 12 MB; ports \"p1\" and `p\u{e9}2` need 13 MB";
        assert_eq!(one_line(message), message);
        assert_eq!(path(Path::new("dir/file.toml")), "dir/file.toml");
    }

    #[test]
    fn control_characters_are_escaped() {
        assert_eq!(one_line("a\u{7}b\u{9b}c\r\n\td"), "a\\u{7}b\\u{9b}c\\r\\n\\td");
        assert_eq!(one_line("x\u{202e}y\u{2028}"), "x\\u{202e}y\\u{2028}");
        assert_eq!(path(Path::new("a\nb")), "a\\nb");
    }

    #[test]
    fn a_long_text_is_cut_in_its_middle_and_the_remedy_stays() {
        let name = "x".repeat(100_000);
        let said = one_line(&format!("`{name}` is no name; use letters"));
        assert!(
            said.starts_with("`xxx") && said.ends_with("xxx` is no name; use letters"),
            "{said}"
        );
        assert_eq!(said.chars().filter(|&c| c == 'x').count(), QUOTED_MAX - 3);
        let spaced = "y ".repeat(50_000);
        let said = one_line(&format!("found text \"{spaced}\", expected a size"));
        assert!(said.ends_with("\", expected a size") && said.len() < 150, "{said}");
        let word = one_line(&format!("{name} cannot be read"));
        assert_eq!(word.len(), WORD_MAX + " cannot be read".len());
        assert_eq!(path(Path::new(&name)).len(), PATH_MAX);
    }

    #[test]
    fn an_escaped_quote_does_not_end_a_quoted_text() {
        let text = format!("text \"{}\\\"{}\" here", "a".repeat(90), "b".repeat(90));
        let said = one_line(&text);
        assert!(said.len() < 100 && said.ends_with("b\" here"), "{said}");
    }

    proptest! {
        #[test]
        fn any_text_becomes_one_printable_line(text in "(?s).{0,400}") {
            let said = one_line(&text);
            prop_assert!(!said.contains(is_unprintable), "{:?}", said);
            prop_assert!(said.split(' ').all(|word| word.chars().count() <= WORD_MAX), "{}", said);
        }
    }
}
