//! Lines of words with their places.

use crate::error::ConfigError;
use crate::source::Source;
use std::str::FromStr;

/// A line that is not empty, without its comment.
#[derive(Debug)]
pub(super) struct Line<'a> {
    source: &'a Source,
    words: Vec<&'a str>,
    at: usize,
}

/// The lines of a file; what follows `#` is a comment.
pub(super) fn lines(source: &Source) -> impl Iterator<Item = Line<'_>> {
    let start = source.text().as_ptr() as usize;
    source.text().lines().filter_map(move |line| {
        let words: Vec<&str> =
            line.split('#').next().unwrap_or_default().split_whitespace().collect();
        let at = words.first()?.as_ptr() as usize - start;
        Some(Line { source, words, at })
    })
}

impl<'a> Line<'a> {
    pub(super) fn words(&self) -> &[&'a str] {
        &self.words
    }

    /// An error at word `index`, or at the end of the line if it has fewer.
    pub(super) fn wrong(&self, index: usize, message: impl Into<String>) -> ConfigError {
        let start = self.source.text().as_ptr() as usize;
        let at = match (self.words.get(index), self.words.last()) {
            (Some(word), _) => word.as_ptr() as usize - start,
            (None, Some(last)) => last.as_ptr() as usize - start + last.len(),
            (None, None) => self.at,
        };
        self.source.at(at..at, message)
    }

    /// Word `index`, which says `what`.
    pub(super) fn word(&self, index: usize, what: &str) -> Result<&'a str, ConfigError> {
        let word = self.words.get(index).copied();
        word.ok_or_else(|| self.wrong(index, format!("{what} is missing")))
    }

    /// Word `index`, which is `what`, a number.
    pub(super) fn number<T: FromStr>(&self, index: usize, what: &str) -> Result<T, ConfigError> {
        let word = self.word(index, what)?;
        let wrong = |_| self.wrong(index, format!("`{word}` is not {what}: a whole number"));
        word.parse().map_err(wrong)
    }
}

/// A decimal number of units of `unit_ps`, as picoseconds, rounded down.
pub(super) fn decimal_ps(text: &str, unit_ps: u64) -> Option<u64> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let is_digits = |text: &str| text.bytes().all(|octet| octet.is_ascii_digit());
    if !is_digits(whole) || !is_digits(fraction) || whole.is_empty() && fraction.is_empty() {
        return None;
    }
    let whole: u64 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
    let mut sum = whole.checked_mul(unit_ps)?;
    let mut unit = unit_ps;
    for digit in fraction.bytes() {
        unit /= 10;
        sum = sum.checked_add(u64::from(digit - b'0') * unit)?;
    }
    Some(sum)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_are_exact() {
        let second = 1_000_000_000_000;
        let cases = [
            ("2", Some(2 * second)),
            ("2.000001", Some(2 * second + 1_000_000)),
            (".5", Some(second / 2)),
            ("0.0000000000019", Some(1)),
            ("2e3", None),
            ("-1", None),
            ("", None),
            (".", None),
            ("99999999999", None),
        ];
        for (text, ps) in cases {
            assert_eq!(decimal_ps(text, second), ps, "{text}");
        }
    }
}
