//! Replay: a worker that is given what another one was given at its ports, turn by turn on the
//! recorded clock, and is compared with it frame by frame.
//!
//! A recording says which frames arrived in which turn, and how many the ports took. It does not
//! say why: what is sent where and in which order, what is dropped, marked and paused follows from
//! the configuration and the state of the worker. So two workers agree only if every such decision
//! agrees. One of them is that of a running switch: polling, in bursts, on DPDK's buffers. The
//! other one is the emulator's: event-driven, single frames, of which only the heads exist.

mod comparison;
mod device;
mod frames;
mod turns;
mod worker;

pub use comparison::{Difference, Side};
pub use frames::FrameMaker;

use crate::event::Picoseconds;
use crate::recording::{Origin, Recording};
use crate::switch_node::{instant, picoseconds};
use comparison::Comparison;
use config::SwitchConfig;
use config::switch::TablesError;
use dataplane::driver::{Driver, EventDriven, Polling};
use dataplane::report::Report;
use dataplane::time::Instant;
use dataplane::worker::Worker;
use device::ReplayDevice;
use frames::SimFrames;
use turns::turns;
use worker::{Replaying, Turns};

/// What a replay came to.
#[derive(Debug)]
pub struct Replayed {
    /// Turns that were recorded.
    pub turns: usize,
    /// Frames received, by port.
    pub received_frames: Vec<u64>,
    /// Frames sent, by port.
    pub sent_frames: Vec<u64>,
    /// How many differences there were; what follows the first one may only be its consequence.
    pub differences: u64,
    /// The first of them.
    pub first: Option<Difference>,
    /// What the worker counted.
    pub report: Report,
}

/// Why a recording cannot be replayed with a configuration.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    /// The configuration is another switch's.
    #[error("the recording is of ports {recorded}, the switch has {configured}")]
    Ports {
        /// The ports of the recording.
        recorded: String,
        /// Those of the configuration.
        configured: String,
    },
    /// What a replay does not know.
    #[error("{what}; a replay has one worker, and each port one receive queue")]
    Unsupported {
        /// What it does not know.
        what: &'static str,
    },
    /// The routing table cannot hold the routes.
    #[error(transparent)]
    Tables(#[from] TablesError),
}

/// Checks that `recording` is of the switch `config`.
///
/// # Errors
/// It is not, or the switch is one that cannot be replayed.
fn check(recording: &Recording, config: &SwitchConfig) -> Result<(), ReplayError> {
    let configured: Vec<&str> = config.ports.iter().map(|port| port.name.as_str()).collect();
    if recording.ports != configured {
        let (recorded, configured) = (recording.ports.join(" "), configured.join(" "));
        return Err(ReplayError::Ports { recorded, configured });
    }
    if config.workers.count != 1 {
        return Err(ReplayError::Unsupported { what: "the switch has several workers" });
    }
    if config.settings.ports.iter().any(|port| !port.further_queues.is_empty()) {
        return Err(ReplayError::Unsupported { what: "a port has several receive queues" });
    }
    Ok(())
}

/// Replays `recording` in the emulator's worker, on the emulator's frames.
///
/// # Errors
/// The recording is of another switch, or the switch is one that cannot be replayed.
pub fn replay_emulated(
    recording: &Recording,
    config: &SwitchConfig,
) -> Result<Replayed, ReplayError> {
    check(recording, config)?;
    let device = ReplayDevice::new(SimFrames::default(), recording.origin, config.ports.len());
    Ok(replay(recording, &mut Replaying::new(config, device, EventDriven::default())?))
}

/// Replays `recording` in a worker that polls its ports, on the frames of `maker`.
///
/// # Errors
/// The recording is of another switch, or the switch is one that cannot be replayed.
pub fn replay_polling<M: FrameMaker>(
    recording: &Recording,
    config: &SwitchConfig,
    maker: M,
) -> Result<Replayed, ReplayError> {
    check(recording, config)?;
    let device = ReplayDevice::new(maker, recording.origin, config.ports.len());
    Ok(replay(recording, &mut Replaying::new(config, device, Polling::default())?))
}

/// Replays `recording` in `worker`.
fn replay<M: FrameMaker, V: Driver>(recording: &Recording, worker: &mut Replaying<M, V>) -> Replayed
where
    Worker<ReplayDevice<M>, V>: Turns<M>,
{
    let ports = recording.ports.len();
    let mut comparison = Comparison::new(ports);
    let mut replayed = Replayed {
        turns: 0,
        received_frames: vec![0; ports],
        sent_frames: vec![0; ports],
        differences: 0,
        first: None,
        report: Report::default(),
    };
    // An emulated switch takes a turn whenever one of its timers is due. A running one takes its
    // turns when it can, and only those in which something moved were recorded.
    let has_own_turns = recording.origin == Origin::Emulator;
    let (mut next, mut now) = (Instant::NEVER, Instant::ZERO);
    for turn in turns(&recording.events) {
        if has_own_turns {
            wake_until(turn.at_ps, next, worker, &mut comparison);
        }
        replayed.turns += 1;
        now = instant(turn.at_ps);
        for (port, _) in &turn.received {
            replayed.received_frames[port.index()] += 1;
        }
        for (port, frame) in &turn.sent {
            replayed.sent_frames[port.index()] += 1;
            comparison.recorded(now, *port, frame);
        }
        next = worker.turn(now, &turn);
        worker.take_sent(|port, frame| comparison.sent(now, port, &frame));
        comparison.left(now, worker.left_frames());
    }
    let end = instant(recording.end_ps);
    if has_own_turns {
        wake_until(recording.end_ps, next, worker, &mut comparison);
    } else if now < end {
        // What is due by the clock alone, as the end of a storm, was done in turns in which nothing
        // moved at a port.
        worker.wake(end);
        worker.take_sent(|port, frame| comparison.sent(end, port, &frame));
    }
    now = now.max(end);
    comparison.end();
    (replayed.differences, replayed.first) = comparison.into_differences();
    worker.report(&mut replayed.report, now);
    replayed
}

/// Takes the turns that are due by the worker's own timers before `until_ps`.
fn wake_until<M: FrameMaker, V: Driver>(
    until_ps: Picoseconds,
    mut next: Instant,
    worker: &mut Replaying<M, V>,
    comparison: &mut Comparison,
) where
    Worker<ReplayDevice<M>, V>: Turns<M>,
{
    while picoseconds(next) < until_ps {
        let now = next;
        next = worker.wake(now);
        worker.take_sent(|port, frame| comparison.sent(now, port, &frame));
    }
}
