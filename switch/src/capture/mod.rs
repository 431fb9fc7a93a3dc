//! `knotless capture`: frames of a running switch, with what became of them.
//!
//! | file | idea |
//! |---|---|
//! | `expression` | a filter in the language of tcpdump, compiled |
//! | `stream` | records from the control socket |
//! | `explain` | a record in words, and for programs |
//! | `pcapng` | a file for Wireshark, tshark and tcpdump |
//! | `line` | a line for people |
//!
//! The filter is compiled here, with the rights of the user, and the switch only
//! [checks](dataplane::capture::filter) what comes out.

mod explain;
mod expression;
mod line;
mod pcapng;
mod stream;

use crate::control::protocol::{CaptureDir, CaptureRequest, Capturing, Request, Rules};
use crate::ctl::client::{Client, CtlError, SwitchArgs};
use crate::output;
use crate::stop_flag::StopFlag;
use clap::Args;
use config::units::{parse_count, parse_duration_ns};
use dataplane::turns::RATE_MAX;
use explain::Explainer;
use expression::ExpressionError;
use pcapng::PcapngFile;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};
use stream::{Captured, RecordStream};

/// How long the switch may take to end a capture.
const END_MAX: Duration = Duration::from_secs(5);

/// `knotless capture`
#[derive(Debug, Args)]
pub struct CaptureArgs {
    #[command(flatten)]
    switch: SwitchArgs,
    /// Only at this port, by name or number; may be given several times
    #[arg(long = "port", value_name = "PORT")]
    ports: Vec<String>,
    /// Only these events; may be given several times
    #[arg(long = "dir", value_name = "DIR")]
    dirs: Vec<CaptureDir>,
    /// Only frames that match, as they were received: an expression of pcap-filter(7), as for
    /// tcpdump
    #[arg(long, value_name = "EXPR")]
    filter: Option<String>,
    /// Only frames of this ingress or egress priority
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(0..=7))]
    class: Option<u8>,
    /// Bytes to capture of each frame
    #[arg(long, value_name = "BYTES", default_value = "128", value_parser = clap::value_parser!(u16).range(14..=9_728))]
    snap: u16,
    /// Capture one in N of the frames that match, at random distances, and follow it
    #[arg(long, value_name = "N", default_value = "1",
          value_parser = clap::value_parser!(u32).range(1..=i64::from(RATE_MAX)))]
    sample: u32,
    /// End after so many events
    #[arg(long, value_name = "N", value_parser = parse_count)]
    count: Option<u64>,
    /// End after this time [default: at a signal]
    #[arg(long, value_name = "TIME", value_parser = parse_duration_ns)]
    duration: Option<u64>,
    /// Write pcapng to this file, or to stdout if it is `-`; otherwise a line is printed for each
    /// event
    #[arg(short = 'w', value_name = "FILE")]
    write: Option<PathBuf>,
}

/// Why a capture failed: one line.
#[derive(Debug, thiserror::Error)]
enum CaptureError {
    #[error(transparent)]
    Ctl(#[from] CtlError),
    #[error(transparent)]
    Filter(#[from] ExpressionError),
    #[error("{}: {error}", path.display())]
    File { path: PathBuf, error: io::Error },
    #[error("cannot catch signals: {0}")]
    Signals(io::Error),
    #[error("the connection to the switch broke: {0}")]
    Broken(io::Error),
}

impl CaptureError {
    /// 1 for a failure, 2 for a wrong request.
    const fn exit_code(&self) -> u8 {
        match self {
            Self::Ctl(error) => error.exit_code(),
            Self::Filter(_) => 2,
            Self::File { .. } | Self::Signals(_) | Self::Broken(_) => 1,
        }
    }
}

/// Where events go.
enum Sink {
    Lines(Explainer),
    File(PcapngFile<Box<dyn Write>>),
}

/// Runs the command.
pub fn run(arguments: &CaptureArgs) -> ExitCode {
    match capture(arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            output::error(format_args!("capture: {error}"));
            ExitCode::from(error.exit_code())
        }
    }
}

fn capture(arguments: &CaptureArgs) -> Result<(), CaptureError> {
    let filter = arguments.filter.as_deref().map(expression::compile).transpose()?;
    let stop = StopFlag::on_signals().map_err(CaptureError::Signals)?;
    let socket = arguments.switch.socket()?;
    let mut client = Client::connect(&socket)?;
    let rules: Rules = client.ask(&Request::Rules)?;
    let capturing: Capturing = client.ask(&Request::Capture(CaptureRequest {
        ports: arguments.ports.clone(),
        dirs: arguments.dirs.clone(),
        class: arguments.class,
        snap: arguments.snap,
        sample: arguments.sample,
        filter,
    }))?;
    output::note("capturing");
    let explainer = Explainer::new(capturing, rules);
    let mut sink = match &arguments.write {
        None => Sink::Lines(explainer),
        Some(path) => {
            let failed = |error| CaptureError::File { path: path.clone(), error };
            let file = open(path).map_err(failed)?;
            Sink::File(PcapngFile::begin(file, explainer, arguments.snap).map_err(failed)?)
        }
    };
    let end = arguments.duration.map(|ns| Instant::now() + Duration::from_nanos(ns));
    let mut stream = RecordStream::new(client.into_stream()).map_err(CaptureError::Broken)?;
    let (mut taken, mut closing) = (0, None);
    let left = |taken| arguments.count.unwrap_or(u64::MAX) - taken;
    while !stream.is_over() {
        let mut events = stream.read().map_err(CaptureError::Broken)?;
        events.truncate(usize::try_from(left(taken)).unwrap_or(usize::MAX));
        taken += events.len() as u64;
        if let Err(error) = write(&mut sink, &events) {
            if error.kind() == io::ErrorKind::BrokenPipe {
                // The reader has had enough.
                return Ok(());
            }
            let path = arguments.write.clone().unwrap_or_else(|| PathBuf::from("-"));
            return Err(CaptureError::File { path, error });
        }
        let is_due =
            stop.asked() || left(taken) == 0 || end.is_some_and(|end| Instant::now() >= end);
        if is_due && closing.is_none() {
            stream.close().map_err(CaptureError::Broken)?;
            closing = Some(Instant::now() + END_MAX);
        }
        if closing.is_some_and(|until| Instant::now() > until) {
            break;
        }
    }
    tell(taken, stream.missed());
    Ok(())
}

/// Says on stderr what there was.
fn tell(taken: u64, missed: Option<u64>) {
    let missed = match missed {
        Some(0) => "none was missed".to_owned(),
        Some(missed) => format!("{missed} were not: their ring was full"),
        None => "how many were missed is not known".to_owned(),
    };
    output::note(&format!("{taken} events captured; {missed}"));
}

fn write(sink: &mut Sink, events: &[Captured]) -> io::Result<()> {
    if events.is_empty() {
        return Ok(());
    }
    match sink {
        Sink::Lines(explainer) => {
            let mut stdout = BufWriter::new(io::stdout().lock());
            for event in events {
                writeln!(stdout, "{}", line::of(event, explainer))?;
            }
            stdout.flush()
        }
        Sink::File(file) => {
            events.iter().try_for_each(|event| file.write(event))?;
            file.flush()
        }
    }
}

fn open(path: &Path) -> io::Result<Box<dyn Write>> {
    if path == Path::new("-") {
        return Ok(Box::new(BufWriter::new(io::stdout())));
    }
    Ok(Box::new(BufWriter::new(File::create(path)?)))
}
