//! Where words go. A switch must not die of a closed terminal or a broken pipe, so what cannot be
//! written is let go of; `println!` would panic.

use std::fmt::Display;
use std::io::{self, Write};

/// Writes `text` and a newline to stdout.
pub fn print(text: impl Display) {
    let mut stdout = io::stdout().lock();
    let _reader_is_gone = writeln!(stdout, "{text}").and_then(|()| stdout.flush());
}

/// Writes a line about a running switch to stderr.
pub fn note(text: &str) {
    let _reader_is_gone = writeln!(io::stderr().lock(), "knotless: {text}");
}

/// Writes why a command failed to stderr, in one line.
pub fn error(text: impl Display) {
    let text = text.to_string();
    let line = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>();
    let _reader_is_gone = writeln!(io::stderr().lock(), "{}", line.join("; "));
}
