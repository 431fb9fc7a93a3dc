//! A file and its text: how it is read, and the place in it that an error names.

use crate::error::ConfigError;
use crate::explain::{Syntax, explain};
use crate::file::{self, ReadError};
use crate::{json, message};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use toml::Spanned;
use toml::de::DeTable;

/// The text of `file`, for whoever has to see what is in it first.
///
/// # Errors
/// It is no regular file, cannot be read, is longer than 256 MB, or is not
/// UTF-8.
pub fn read_text(file: &Path) -> Result<String, ConfigError> {
    Source::read(file).map(|source| source.text)
}

/// Reads the one JSON value of `file`.
///
/// # Errors
/// The file cannot be read, is no JSON, or none of this form.
pub fn read_json<T: DeserializeOwned>(file: &Path) -> Result<T, ConfigError> {
    let source = Source::read(file)?;
    source.json(source.text())
}

/// A file's name and text, to turn an offset into a line and a column.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    file: PathBuf,
    text: String,
    /// Files that it names, and that those name, as far as they have been read.
    named: Arc<Mutex<Vec<PathBuf>>>,
}

impl Source {
    pub(crate) fn new(file: &Path, text: &str) -> Self {
        Self::of(file, text.to_owned())
    }

    fn of(file: &Path, text: String) -> Self {
        Self { file: file.to_owned(), text, named: Arc::default() }
    }

    /// Reads `file`.
    pub(crate) fn read(file: &Path) -> Result<Self, ConfigError> {
        match file::read(file) {
            Ok(bytes) => Self::decode(file, bytes),
            Err(error) => Err(Self::new(file, "").at(0..0, error.to_string())),
        }
    }

    /// Reads the file that `field` names. That it cannot be read is the fault of who named it; what
    /// is wrong inside is said of the file itself.
    pub(crate) fn read_named(&self, field: &Spanned<PathBuf>) -> Result<Self, ConfigError> {
        let path = self.resolve(field.get_ref());
        let refuse =
            |error: ReadError| self.at(field.span(), format!("{} {error}", message::path(&path)));
        let mut found = Self::decode(&path, file::read(&path).map_err(refuse)?)?;
        self.named.lock().unwrap_or_else(PoisonError::into_inner).push(path);
        found.named = Arc::clone(&self.named);
        Ok(found)
    }

    /// The files that it names, and that those name, as far as they have been read.
    pub(crate) fn named(&self) -> Vec<PathBuf> {
        self.named.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn decode(file: &Path, bytes: Vec<u8>) -> Result<Self, ConfigError> {
        String::from_utf8(bytes).map(|text| Self::of(file, text)).map_err(|error| {
            let good = error.utf8_error().valid_up_to();
            let text = String::from_utf8_lossy(&error.as_bytes()[..good]).into_owned();
            let source = Self::of(file, text);
            source.at(good..good, "not UTF-8; save the file as UTF-8 text")
        })
    }

    /// The file as TOML.
    pub(crate) fn toml<T: DeserializeOwned>(&self) -> Result<T, ConfigError> {
        self.toml_after(|_| Ok(()))
    }

    /// The file as TOML, after `change` to its tables. What `change` leaves keeps its place.
    pub(crate) fn toml_after<'a, T: DeserializeOwned>(
        &'a self,
        change: impl FnOnce(&mut DeTable<'a>) -> Result<(), ConfigError>,
    ) -> Result<T, ConfigError> {
        let refuse = |error: toml::de::Error| {
            let span = error.span().unwrap_or_default();
            let message = match error.message() {
                "duplicate key" => {
                    let word = self.text.get(span.clone()).unwrap_or_default();
                    format!("`{word}` stands here twice; keep one")
                }
                other => explain(other, Syntax::Toml),
            };
            self.at(span, message)
        };
        let mut tables = DeTable::parse(&self.text).map_err(refuse)?;
        change(tables.get_mut())?;
        T::deserialize(toml::Deserializer::from(tables)).map_err(refuse)
    }

    /// `fragment`, a piece of the file's text or all of it, as JSON.
    pub(crate) fn json<'a, T: Deserialize<'a>>(&self, fragment: &'a str) -> Result<T, ConfigError> {
        json::read(fragment).map_err(|error| {
            let at = self.offset_of(fragment) + error.at;
            self.at(at..at, error.message)
        })
    }

    /// An error at the JSON value that `steps` lead to.
    pub(crate) fn at_json(
        &self,
        steps: &[json::Step<'_>],
        message: impl Into<String>,
    ) -> ConfigError {
        let at = json::locate(&self.text, steps).unwrap_or_default();
        self.at(at..at, message)
    }

    /// The byte at which `fragment` begins, a piece of the file's text.
    pub(crate) fn offset_of(&self, fragment: &str) -> usize {
        (fragment.as_ptr() as usize).saturating_sub(self.text.as_ptr() as usize)
    }

    pub(crate) fn file(&self) -> &Path {
        &self.file
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// `path` as the file means it: relative to the directory the file is in.
    pub(crate) fn resolve(&self, path: &Path) -> PathBuf {
        self.file.parent().map_or_else(|| path.to_owned(), |directory| directory.join(path))
    }

    /// An error at the start of `span`.
    pub(crate) fn at(&self, span: Range<usize>, message: impl Into<String>) -> ConfigError {
        let before = &self.text.as_bytes()[..span.start.min(self.text.len())];
        let line_start = before.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
        // A character is counted by its first byte, so that an offset inside one does no harm.
        let column = before[line_start..].iter().filter(|&byte| byte & 0xC0 != 0x80).count() + 1;
        let line = before.iter().filter(|&&byte| byte == b'\n').count() + 1;
        let message = message::one_line(&message.into());
        let message = message::shorten(&message, message::MESSAGE_MAX).into_owned();
        ConfigError { file: self.file.clone(), line, column, message }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn an_offset_becomes_the_line_and_the_character() {
        let source = Source::new(Path::new("dir/f.toml"), "a = 1\nä = 'ü' # x\n\nlast");
        let position = |at: usize| {
            let error = source.at(at..at, "wrong");
            (error.line, error.column)
        };
        assert_eq!(position(0), (1, 1));
        assert_eq!(position(5), (1, 6), "the line's end belongs to the line");
        assert_eq!(position(6), (2, 1));
        assert_eq!(position(source.text.find('#').unwrap()), (2, 9), "ä and ü are one each");
        assert_eq!(position(source.text.find("last").unwrap()), (4, 1));
        assert_eq!(position(usize::MAX), (4, 5), "beyond the end is the end");
    }

    #[test]
    fn a_message_is_one_line_of_bounded_length() {
        let source = Source::new(Path::new("f.toml"), "");
        assert_eq!(source.at(0..0, "`a\n\u{1b}`").to_string(), "f.toml:1:1: `a\\n\\u{1b}`");
        let many = source.at(0..0, "p1, ".repeat(10_000)).to_string();
        assert_eq!(many.chars().count(), "f.toml:1:1: ".len() + message::MESSAGE_MAX);
        let named = Source::new(Path::new(&"n".repeat(4_000)), "");
        assert!(named.at(0..0, "wrong").to_string().len() < 200);
    }

    #[test]
    fn a_path_in_a_file_starts_at_the_directory_of_the_file() {
        let source = Source::new(Path::new("dir/f.toml"), "");
        assert_eq!(source.resolve(Path::new("rules/A.json")), Path::new("dir/rules/A.json"));
        assert_eq!(source.resolve(Path::new("/etc/A.json")), Path::new("/etc/A.json"));
    }

    #[test]
    fn what_cannot_be_read_is_an_error_with_a_position() {
        let missing = Source::read(Path::new("no/such.toml")).unwrap_err();
        assert!(missing.to_string().starts_with("no/such.toml:1:1: cannot be read: "), "{missing}");

        let directory = tempfile::tempdir().unwrap();
        let binary = directory.path().join("binary.toml");
        fs::write(&binary, b"a = 1\nb = \xFF\n").unwrap();
        let error = Source::read(&binary).unwrap_err();
        assert_eq!((error.line, error.column), (2, 5));
    }
}
