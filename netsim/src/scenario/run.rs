//! A scenario from start to end: sources send, stop, and the network drains.

use super::build::{Built, build_for};
use super::error::ScenarioError;
use super::faults;
use super::links::link_of;
use super::observe::Observer;
use super::roce;
use crate::event::Picoseconds;
use crate::outcome::Outcome;
use config::scenario::{ScenarioConfig, SchemeKind};
use fabric::network::End;
use std::fmt;
use std::io::Write;
use std::num::NonZeroUsize;

/// Samples of the time that sources send, and of the time after that.
const STEPS: u64 = 200;
const STEPS_AFTER: u64 = 20;
/// The longest pause that a frame can ask for, in bits.
const PAUSE_BITS: u64 = 65_535 * 512;
const PS_PER_SECOND: u128 = 1_000_000_000_000;
/// The least time without movement after which a drain gives up: longer than a retransmission
/// timeout.
const PATIENCE_PS: Picoseconds = 2_000_000_000;

/// Options that replace or extend the scenario file.
#[derive(Default)]
pub struct Options<'a> {
    /// Instead of the scenario's.
    pub seed: Option<u64>,
    /// Instead of the scenario's.
    pub scheme: Option<SchemeKind>,
    /// Threads; `None` for one. Results are the same with any number.
    pub threads: Option<NonZeroUsize>,
    /// Links, each by one of its ends, whose arrivals are written as pcap.
    pub captures: Vec<(End, Box<dyn Write>)>,
    /// Called with the progress: picoseconds of picoseconds.
    pub progress: Option<&'a mut dyn FnMut(Picoseconds, Picoseconds)>,
}

impl fmt::Debug for Options<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "seed {:?}, scheme {:?}, threads {:?}, {} captures",
            self.seed,
            self.scheme,
            self.threads,
            self.captures.len()
        )
    }
}

/// Runs a scenario to its end.
///
/// # Errors
/// It cannot be built, or a capture cannot be written.
pub fn run(config: &ScenarioConfig, options: Options<'_>) -> Result<Outcome, ScenarioError> {
    let Options { seed, scheme, threads, captures, progress } = options;
    let mut built = build_for(config, scheme, seed, threads.unwrap_or(NonZeroUsize::MIN))?;
    for (end, file) in captures {
        built.network.capture(link_of(config, end), file)?;
    }
    let duration_ps = config.duration_ns.saturating_mul(1_000);
    let mut run = Run { built, duration_ps, progress };
    let mut observer = Observer::new(&run.built, duration_ps, STEPS);
    run.send(&mut observer);
    let drained_ps = run.drain(&mut observer, patience_ps(config));
    run.built.network.finish_captures()?;
    let mut outcome = observer.finish(&run.built, drained_ps);
    roce::observe(&mut outcome, &run.built.network, &config.collectives);
    outcome.name = config.name.clone();
    outcome.about = config.about.clone();
    outcome.scheme = scheme.unwrap_or(config.scheme.kind).name().to_owned();
    outcome.seed = seed.unwrap_or(config.seed);
    outcome.duration_ps = duration_ps;
    Ok(outcome)
}

struct Run<'a> {
    built: Built,
    duration_ps: Picoseconds,
    progress: Option<&'a mut dyn FnMut(Picoseconds, Picoseconds)>,
}

impl Run<'_> {
    /// Runs while sources send.
    fn send(&mut self, observer: &mut Observer) {
        for step in 1..=STEPS {
            let at_ps = step_ps(self.duration_ps, step);
            self.built.network.run_until(at_ps);
            observer.look(&self.built);
            if let Some(progress) = &mut self.progress {
                progress(at_ps, self.duration_ps);
            }
        }
    }

    /// Stops the sources and drains; returns when the network was empty, if ever.
    fn drain(&mut self, observer: &mut Observer, patience_ps: Picoseconds) -> Option<Picoseconds> {
        self.built.network.stop_sources();
        let mut empty_ps = None;
        for step in STEPS + 1..=STEPS + STEPS_AFTER {
            if empty_ps.is_none() && self.built.network.frames_inside() == 0 {
                empty_ps = Some(self.built.network.now_ps());
            }
            self.built.network.run_until(step_ps(self.duration_ps, step));
            observer.look(&self.built);
        }
        let drained = self.built.network.drain(patience_ps).ok();
        observer.look_for_deadlock(&self.built);
        observer.check(&self.built.network);
        drained.map(|drained_ps| empty_ps.unwrap_or(drained_ps))
    }
}

/// When step number `step` ends.
fn step_ps(duration_ps: Picoseconds, step: u64) -> Picoseconds {
    let at_ps = u128::from(duration_ps) * u128::from(step) / u128::from(STEPS);
    u64::try_from(at_ps).unwrap_or(u64::MAX)
}

/// The time without movement after which a drain gives up: longer than any pause, so that a lost
/// XON is no deadlock, and longer than a slow host keeps its sender paused.
fn patience_ps(config: &ScenarioConfig) -> Picoseconds {
    let speeds = config.network.links().iter().map(|link| link.speed.unwrap_or(config.links.speed));
    let slowest = speeds.map(|speed| speed.bps()).min().unwrap_or(1);
    let pause_ps = u128::from(PAUSE_BITS) * PS_PER_SECOND / u128::from(slowest.max(1));
    let held_ps = faults::longest_hold_ps(config);
    let longest_ps = pause_ps.max(held_ps).saturating_mul(2);
    // Never so long that time runs out of its 64 bits.
    PATIENCE_PS.max(u64::try_from(longest_ps).unwrap_or(u64::MAX).min(u64::MAX / 64))
}
