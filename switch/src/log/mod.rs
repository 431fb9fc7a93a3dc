//! Events of a running switch: what happened, at which port, and by what cause.
//!
//! They are events of `tracing`. With the journal at stderr, as under systemd, each is an entry of
//! the journal with fields of its own: `PRIORITY`, `KNOTLESS_EVENT`, `KNOTLESS_PORT`,
//! `KNOTLESS_CAUSE`.
//! Otherwise each is a line of plain text on stderr.

mod limiter;
mod plain;

use crate::output::one_line;
use limiter::Limiter;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;
use tracing_subscriber::Registry;
use tracing_subscriber::layer::SubscriberExt;

/// What is known of events that came lately.
static LIMITER: Mutex<Limiter> = Mutex::new(Limiter::new());

/// How much an event matters to an operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Level {
    /// Frames are lost, or something does not work (syslog: `err`).
    Error,
    /// Somebody should look at it (syslog: `warning`).
    Warning,
    /// The switch did what it was asked, or something has ended (syslog: `info`).
    Info,
}

/// One event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Event {
    pub(crate) level: Level,
    /// What kind of event it is: `pfc_storm`, `link`.
    pub(crate) kind: &'static str,
    /// Name of the port it is about, if it is about one.
    pub(crate) port: Option<String>,
    /// By what cause, where one kind has several: `headroom_overrun`.
    pub(crate) cause: Option<String>,
    /// The text, for people. Events about a port begin with `port NAME`.
    pub(crate) text: String,
}

impl Event {
    /// An event that is about no port.
    pub(crate) fn new(level: Level, kind: &'static str, text: impl Into<String>) -> Self {
        Self { level, kind, port: None, cause: None, text: text.into() }
    }

    /// An event of `port`. `text` goes on from its name: ` is up`, `: its device was removed`.
    pub(crate) fn of_port(level: Level, kind: &'static str, port: &str, text: &str) -> Self {
        let event = Self::new(level, kind, format!("port {port}{text}"));
        Self { port: Some(port.to_owned()), ..event }
    }

    /// The same with its cause.
    pub(crate) fn by(self, cause: &str) -> Self {
        Self { cause: Some(cause.to_owned()), ..self }
    }

    /// Logs it. Of many of one kind and port within ten seconds some are left out; a later one says
    /// how many.
    pub(crate) fn log(&self) {
        let left_out = {
            let mut limiter = LIMITER.lock().unwrap_or_else(PoisonError::into_inner);
            limiter.take(self.kind, self.port.as_deref(), Instant::now())
        };
        let text = match left_out {
            None => return,
            Some(0) => one_line(&self.text),
            Some(count) => one_line(&format!("{} ({count} more like this before)", self.text)),
        };
        let [port, cause] = [&self.port, &self.cause].map(|field| field.as_deref().map(one_line));
        let (event, port, cause) = (self.kind, port.as_deref(), cause.as_deref());
        match self.level {
            Level::Error => tracing::error!(event, port, cause, "{text}"),
            Level::Warning => tracing::warn!(event, port, cause, "{text}"),
            Level::Info => tracing::info!(event, port, cause, "{text}"),
        }
    }
}

/// Logs an event that is about no port.
pub(crate) fn error(kind: &'static str, text: impl Into<String>) {
    Event::new(Level::Error, kind, text).log();
}

/// Logs an event that is about no port.
pub(crate) fn warning(kind: &'static str, text: impl Into<String>) {
    Event::new(Level::Warning, kind, text).log();
}

/// Logs an event that is about no port.
pub(crate) fn info(kind: &'static str, text: impl Into<String>) {
    Event::new(Level::Info, kind, text).log();
}

/// Begins to log: to the journal if stderr leads there, to stderr itself if not. Once a process.
pub(crate) fn start() {
    let journal = is_stderr_journal().then(tracing_journald::layer).and_then(Result::ok);
    let _a_test_has_begun = match journal {
        Some(journal) => {
            let journal = journal.with_field_prefix(Some("KNOTLESS".to_owned()));
            tracing::subscriber::set_global_default(Registry::default().with(journal))
        }
        None => tracing::subscriber::set_global_default(Registry::default().with(plain::Plain)),
    };
}

/// Whether stderr is the stream that systemd connected to the journal (`systemd.exec`(5),
/// `JOURNAL_STREAM`).
fn is_stderr_journal() -> bool {
    let Ok(stream) = std::env::var("JOURNAL_STREAM") else { return false };
    let Ok(stat) = rustix::fs::fstat(std::io::stderr()) else { return false };
    stream == format!("{}:{}", stat.st_dev, stat.st_ino)
}
