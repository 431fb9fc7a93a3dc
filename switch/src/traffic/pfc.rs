//! `knotless traffic pfc`: sends PFC frames, once or repeatedly.

use super::interface::Interface;
use super::socket::{Listen, PacketSocket};
use super::{SLEEP_NS_MAX, TrafficError, priority, report, set_timer_slack, stop_flag};
use clap::Args;
use config::units::{parse_count, parse_duration_ns};
use dataplane::ids::Priority;
use dataplane::wire::mac_control::Pfc;
use serde::Serialize;
use std::str::FromStr;

/// Arguments of `pfc`.
#[derive(Debug, Args)]
pub struct PfcArgs {
    /// Interface to send on
    #[arg(long)]
    dev: String,
    /// Priorities and their times in quanta (512 bit times of the link), as in 3:65535,4:0 (0
    /// resumes)
    #[arg(long, value_delimiter = ',', required = true, value_name = "PRIORITY:QUANTA")]
    classes: Vec<ClassTime>,
    /// Repeat interval, until --count or a signal
    #[arg(long, value_parser = parse_duration_ns, value_name = "TIME")]
    repeat: Option<u64>,
    /// Number of frames [default: 1, or unlimited with --repeat]
    #[arg(long, value_parser = parse_count)]
    count: Option<u64>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// A priority and its pause time in quanta.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct ClassTime {
    priority: Priority,
    quanta: u16,
}

impl FromStr for ClassTime {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("`{text}` is not PRIORITY:QUANTA, as in 3:65535");
        let (class, quanta) = text.split_once(':').ok_or_else(wrong)?;
        let quanta = quanta.parse().map_err(|_| wrong())?;
        Ok(Self { priority: priority(class)?, quanta })
    }
}

/// What was sent.
#[derive(Debug, Serialize)]
struct PfcReport {
    interface: String,
    pfc_frames: u64,
    refused: u64,
}

/// Runs the command.
pub(super) fn run(arguments: &PfcArgs) -> Result<(), TrafficError> {
    let stop = stop_flag()?;
    set_timer_slack()?;
    let interface = Interface::find(&arguments.dev)?;
    let mut socket = PacketSocket::open(&interface, Listen::Nothing)?;
    socket.set_qdisc_bypass()?;
    let classes = arguments.classes.iter();
    let pfc = classes.fold(Pfc::default(), |pfc, class| pfc.with(class.priority, class.quanta));
    let bytes = pfc.to_frame(interface.mac);
    let endless = if arguments.repeat.is_some() { u64::MAX } else { 1 };
    let count = arguments.count.unwrap_or(endless);
    let mut report = PfcReport { interface: arguments.dev.clone(), pfc_frames: 0, refused: 0 };
    let clock = super::clock::Clock::start();
    let mut due = clock.now();
    while report.pfc_frames < count && !stop.asked() {
        let now = clock.now();
        if now < due {
            socket.wait(due.ns_since(now).min(SLEEP_NS_MAX))?;
            continue;
        }
        match socket.send(&[&bytes])? {
            0 => {
                report.refused += 1;
                due = now + RETRY_NS;
            }
            _ => {
                report.pfc_frames += 1;
                due = due + arguments.repeat.unwrap_or(0);
            }
        }
    }
    if arguments.json {
        report::print_json(&report)
    } else {
        report::print_table(&[
            ("interface", report.interface),
            ("PFC frames sent", report.pfc_frames.to_string()),
            ("refused by the interface and tried again", report.refused.to_string()),
        ])
    }
}

/// Retry interval of a frame for which the interface had no room.
const RETRY_NS: u64 = 20_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_are_priority_and_quanta() {
        let wanted = ClassTime { priority: Priority::from_low_bits(3), quanta: 65_535 };
        assert_eq!("3:65535".parse(), Ok(wanted));
        for wrong in ["", "3", "8:1", "3:65536", "3:-1", ":", "3:1:2"] {
            assert!(wrong.parse::<ClassTime>().is_err(), "{wrong}");
        }
    }
}
