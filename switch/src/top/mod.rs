//! `knotless top`: a live view of a running switch.
//!
//! | file | idea |
//! |---|---|
//! | `live` | the view on a terminal |
//! | `feed` | polls the switch, and reconnects |
//! | `sample` | what is shown of the interval between two samples |
//! | `delta` | the difference between two samples |
//! | `history` | peaks, and how long a class has been quiet |
//! | `view` | from that to lines and to the screen |
//! | `plain` | the same as plain text |
//! | `input` | keys |
//! | `format` | numbers in few characters |

mod delta;
mod feed;
#[cfg(test)]
mod fixture;
mod format;
mod history;
mod input;
mod live;
mod plain;
mod sample;
mod view;

use crate::ctl::client::{Client, CtlError, SwitchArgs};
use crate::output;
use clap::Args;
use config::units::parse_duration_ns;
use history::History;
use std::io::{self, IsTerminal};
use std::path::Path;
use std::process::ExitCode;
use std::thread;
use std::time::Duration;
use thiserror::Error;

/// Columns of plain text if stdout is not a terminal.
const PLAIN_WIDTH: usize = 120;
/// The shortest refresh interval: a shorter one cannot be read and loads the switch.
const INTERVAL_MIN: Duration = Duration::from_millis(50);
/// The longest refresh interval.
const INTERVAL_MAX: Duration = Duration::from_secs(3_600);

/// `knotless top`
#[derive(Debug, Args)]
pub struct TopArgs {
    #[command(flatten)]
    switch: SwitchArgs,
    /// Refresh interval, such as 1s or 250ms
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = interval)]
    interval: Duration,
    /// Print one sample as plain text and exit; the default if stdout is not a terminal
    #[arg(long, conflicts_with = "count")]
    once: bool,
    /// Exit after N samples
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    count: Option<u64>,
}

/// Parses the refresh interval.
///
/// # Errors
/// It is not a time, or out of range.
fn interval(text: &str) -> Result<Duration, String> {
    let ns = parse_duration_ns(text).map_err(|error| error.to_string())?;
    let interval = Duration::from_nanos(ns);
    if (INTERVAL_MIN..=INTERVAL_MAX).contains(&interval) {
        return Ok(interval);
    }
    Err(format!("{INTERVAL_MIN:?} to {INTERVAL_MAX:?} are possible"))
}

/// Why nothing can be shown: one line.
#[derive(Debug, Error)]
enum TopError {
    #[error(transparent)]
    Ctl(#[from] CtlError),
    #[error("cannot use the terminal: {0}; `--once` needs none")]
    Terminal(io::Error),
    #[error("cannot catch signals: {0}")]
    Signals(io::Error),
    #[error("cannot start a thread: {0}")]
    Thread(io::Error),
}

/// Shows the switch until it is told to stop. Exit 0: stopped; 1: the connection broke, or the
/// terminal cannot be used; 2: there is no switch. On a terminal it waits for the switch instead.
pub fn run(arguments: &TopArgs) -> ExitCode {
    match show(arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            output::error(&error);
            ExitCode::from(match error {
                TopError::Ctl(error) => error.exit_code(),
                TopError::Terminal(_) | TopError::Signals(_) | TopError::Thread(_) => 1,
            })
        }
    }
}

fn show(arguments: &TopArgs) -> Result<(), TopError> {
    let socket = arguments.switch.socket()?;
    if arguments.once || !io::stdout().is_terminal() {
        return run_plain(&socket, arguments);
    }
    live::watch(socket, arguments.interval, arguments.count)
}

/// Prints samples one below the other, each over one interval.
fn run_plain(socket: &Path, arguments: &TopArgs) -> Result<(), TopError> {
    let mut client = Client::connect(socket)?;
    let mut history = History::default();
    history.take(feed::ask(&mut client)?);
    let width = match ratatui::crossterm::terminal::size() {
        Ok((columns, _)) if io::stdout().is_terminal() => usize::from(columns),
        _ => PLAIN_WIDTH,
    };
    for picture in 0..arguments.count.unwrap_or(1) {
        thread::sleep(arguments.interval);
        history.take(feed::ask(&mut client)?);
        if let Some(view) = history.view() {
            let between = if picture > 0 { "\n" } else { "" };
            output::print(format_args!("{between}{}", plain::text(&view, width).trim_end()));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_that_make_sense_are_taken() {
        assert_eq!(interval("1s"), Ok(Duration::from_secs(1)));
        assert_eq!(interval("50ms"), Ok(Duration::from_millis(50)));
        assert_eq!(interval("1us").unwrap_err(), "50ms to 3600s are possible");
        assert!(interval("2h").is_err() && interval("").is_err() && interval("3601s").is_err());
    }
}
