//! `[flight_recorder]`: what the switch keeps of its last events, and when it writes them down.

use super::schema::SwitchFile;
use crate::did_you_mean;
use crate::error::ConfigError;
use crate::fields::Duration;
use crate::source::Source;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use toml::Spanned;

const MS: u64 = 1_000_000;
const SECOND: u64 = 1_000 * MS;

/// The flight recorder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlightRecorder {
    /// The file that the events are appended to when something happens that is worth it; `None`:
    /// they stay in memory.
    pub file: Option<PathBuf>,
    /// How long an event is kept.
    pub duration_ns: u64,
    /// How often the counters and queues are looked at.
    pub sample_ns: u64,
    /// From when on a queue that the peer has paused counts as stalled.
    pub stall_ns: u64,
    /// What the file is written for.
    pub triggers: Vec<Trigger>,
}

/// What the events are written down for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trigger {
    /// The watchdog has detected a storm.
    Storm,
    /// A frame of a lossless priority was not delivered.
    LosslessDrop,
    /// A queue waits for longer than `stall`.
    Stall,
}

impl Trigger {
    const ALL: [(&str, Self); 3] =
        [("storm", Self::Storm), ("lossless_drop", Self::LosslessDrop), ("stall", Self::Stall)];

    /// Its word in the file.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(_, trigger)| *trigger == self).map_or("", |(name, _)| name)
    }
}

impl Default for FlightRecorder {
    fn default() -> Self {
        Self {
            file: None,
            duration_ns: 30 * SECOND,
            sample_ns: 100 * MS,
            stall_ns: SECOND,
            triggers: Trigger::ALL.map(|(_, trigger)| trigger).to_vec(),
        }
    }
}

/// The flight recorder of the file.
///
/// # Errors
/// A time out of range, or a trigger that is none.
pub(super) fn build(source: &Source, file: &SwitchFile) -> Result<FlightRecorder, ConfigError> {
    let table = &file.flight_recorder;
    let default = FlightRecorder::default();
    let time = |field: &Option<Spanned<Duration>>, default, range: RangeInclusive<u64>, name| {
        let Some(field) = field else { return Ok(default) };
        let ns = field.get_ref().0;
        if range.contains(&ns) {
            return Ok(ns);
        }
        let (least, most) = (range.start() / MS, range.end() / SECOND);
        let message = format!("a `{name}` of {} ms; it is {least} ms to {most} s", ns / MS);
        Err(source.at(field.span(), message))
    };
    let triggers =
        table.triggers.iter().flatten().map(|field| {
            trigger(field.get_ref()).map_err(|message| source.at(field.span(), message))
        });
    let triggers = triggers.collect::<Result<Vec<_>, _>>()?;
    Ok(FlightRecorder {
        file: table.file.as_ref().map(|field| source.resolve(field.get_ref())),
        duration_ns: time(&table.duration, default.duration_ns, SECOND..=600 * SECOND, "duration")?,
        sample_ns: time(&table.sample, default.sample_ns, 10 * MS..=10 * SECOND, "sample")?,
        stall_ns: time(&table.stall, default.stall_ns, 10 * MS..=600 * SECOND, "stall")?,
        triggers: if table.triggers.is_some() { triggers } else { default.triggers },
    })
}

/// `Err` is the whole message.
fn trigger(name: &str) -> Result<Trigger, String> {
    if let Some(&(_, trigger)) = Trigger::ALL.iter().find(|(known, _)| *known == name) {
        return Ok(trigger);
    }
    let names = Trigger::ALL.iter().map(|&(name, _)| name);
    Err(did_you_mean::nearest(name, names).map_or_else(
        || format!("there is no trigger `{name}`; use storm, lossless_drop or stall"),
        |near| format!("there is no trigger `{name}`; did you mean `{near}`?"),
    ))
}

#[cfg(test)]
mod tests {
    use super::super::SwitchConfig;
    use super::*;
    use std::path::Path;

    fn parse(table: &str) -> Result<FlightRecorder, String> {
        let text = format!(
            "name = \"A\"\n[flight_recorder]\n{table}\n[[port]]\ndevice = \"net_null0\"\n\
             addresses = [\"10.0.0.1/24\"]\n"
        );
        let config = SwitchConfig::parse(Path::new("/x/A.toml"), &text);
        config.map(|config| config.flight_recorder).map_err(|error| error.to_string())
    }

    #[test]
    fn what_is_written_is_meant_and_the_rest_has_defaults() {
        assert_eq!(parse(""), Ok(FlightRecorder::default()));
        let all = "file = \"f.jsonl\"\nduration = \"5s\"\nsample = \"20ms\"\nstall = \"2s\"\n\
                   triggers = [\"stall\", \"storm\"]";
        let expected = FlightRecorder {
            file: Some("/x/f.jsonl".into()),
            duration_ns: 5 * SECOND,
            sample_ns: 20 * MS,
            stall_ns: 2 * SECOND,
            triggers: vec![Trigger::Stall, Trigger::Storm],
        };
        assert_eq!(parse(all), Ok(expected));
        let none = FlightRecorder { triggers: vec![], ..FlightRecorder::default() };
        assert_eq!(parse("triggers = []"), Ok(none));
    }

    #[test]
    fn what_cannot_be_is_refused_at_its_place() {
        let error = parse("sample = \"1ms\"").unwrap_err();
        assert!(error.ends_with("3:10: a `sample` of 1 ms; it is 10 ms to 10 s"), "{error}");
        let error = parse("triggers = [\"stalls\"]").unwrap_err();
        assert!(error.ends_with("there is no trigger `stalls`; did you mean `stall`?"), "{error}");
    }
}
