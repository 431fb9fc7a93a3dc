//! Output on stdout and stderr. A closed terminal or a broken pipe must not stop a switch, so write
//! errors are ignored; `println!` would panic.

use config::{ConfigError, message};
use std::fmt::Display;
use std::io::{self, Write};

/// Characters of a line on stderr.
const LINE_MAX: usize = 4_000;

/// Writes `text` and a newline to stdout.
pub fn print(text: impl Display) {
    let mut stdout = io::stdout().lock();
    let _reader_is_gone = writeln!(stdout, "{text}").and_then(|()| stdout.flush());
}

/// Writes a log line of a running switch to stderr.
pub fn note(text: &str) {
    let _reader_is_gone = writeln!(io::stderr().lock(), "knotless: {}", one_line(text));
}

/// Writes why a command failed to stderr, in one line.
pub fn error(text: impl Display) {
    let _reader_is_gone = writeln!(io::stderr().lock(), "{}", one_line(&text.to_string()));
}

/// Writes what works but is probably not meant to stderr, a line each.
pub fn warnings(warnings: &[ConfigError]) {
    for warning in warnings {
        error(format_args!("{warning} (warning)"));
    }
}

/// `text` as one printable line of bounded length. Names in it may come from other machines, by
/// LLDP.
pub(crate) fn one_line(text: &str) -> String {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let line = message::one_line(&lines.collect::<Vec<_>>().join("; "));
    message::shorten(&line, LINE_MAX).into_owned()
}
