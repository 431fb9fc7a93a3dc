//! Shutdown: pauses the peers, waits until the workers' queues are empty, takes the links down, and
//! collects the last reports.
//!
//! The end loses no lossless frame of a peer that obeys PFC (802.1Qbb), if the peer keeps what it
//! has to send while its link is down:
//!
//! 1. Workers pause every peer, and go on to receive and forward.
//! 2. When no lossless frame has come for [`QUIET_NS`] and none is held, the peers have obeyed.
//! 3. What is still held is lossy, and is sent if it can be.
//! 4. The links go down while the pauses still hold.
//!
//! A peer that goes on to send for [`OBEY_NS_MAX`] does not obey. Then workers receive no more data
//! before step 3: it is dropped, and counted.

use super::Control;
use super::collector::{Collector, Round};
use super::stats::Stats;
use crate::platform::Platform;
use crate::worker_loop::WorkerExit;
use dataplane::control_rings::Command;
use dataplane::ids::{PortId, Priority};
use dataplane::time::Instant;
use std::time::Duration;

/// Poll interval of the workers.
const POLL: Duration = Duration::from_millis(1);
/// For how long no lossless frame may come from any peer until all have obeyed. A pause takes
/// effect at a NIC in microseconds, at a program that sends by a socket when it has its core again.
const QUIET_NS: u64 = 10_000_000;
/// A peer that still sends after this time obeys no pause.
const OBEY_NS_MAX: u64 = 300_000_000;

/// How the wait for the peers ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, derive_more::Display)]
pub(crate) enum Quiesced {
    /// No lossless frame comes, and none is held.
    #[display("all peers obeyed")]
    Quiet,
    /// Some still come.
    #[display("a peer does not obey PFC: what it still sends is dropped")]
    Disobeyed,
    /// Some cannot leave.
    #[display("a peer keeps its priority paused: the lossless frames for it are dropped")]
    StillPaused,
}

/// Lossless traffic, as of one round of reports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Lossless {
    received_frames: u64,
    held_bytes: u64,
}

impl<P: Platform> Control<P> {
    /// Pauses all peers, and waits until they have obeyed and no lossless frame is held, up to
    /// `until`. `None` if no port has a peer.
    pub(crate) fn quiesce(&mut self, until: Instant) -> Option<Quiesced> {
        let ports = self.tables.config().settings.ports.len();
        let ports = (0..ports).filter_map(PortId::from_index);
        let peers: Vec<PortId> = ports.filter(|&port| self.platform.has_peer(port)).collect();
        for &port in &peers {
            self.workers.command(port, Command::PausePeer(port));
        }
        (!peers.is_empty()).then(|| self.wait_for_quiet(&peers, until))
    }

    /// Takes the links down, while the pauses still hold.
    pub(crate) fn take_links_down(&mut self, until: Instant) {
        // Nothing more is sent: what a device refuses because its link is down has no class.
        let ports = self.tables.config().settings.ports.len();
        for port in (0..ports).filter_map(PortId::from_index) {
            self.workers.command_each(port, |queue| Command::Link(queue, false));
        }
        self.collect(until);
        self.platform.set_links(false);
    }

    fn wait_for_quiet(&mut self, peers: &[PortId], until: Instant) -> Quiesced {
        let began = self.platform.now();
        let (mut last, mut changed_at) = (Lossless::default(), began);
        while self.platform.now() < until {
            if !self.collect(until) {
                continue;
            }
            let (now, seen) = (self.platform.now(), self.lossless(peers));
            if seen.received_frames != last.received_frames {
                changed_at = now;
            }
            last = seen;
            if seen.held_bytes == 0 && now.ns_since(changed_at) >= QUIET_NS {
                return Quiesced::Quiet;
            }
            if changed_at.ns_since(began) > OBEY_NS_MAX {
                return Quiesced::Disobeyed;
            }
            std::thread::sleep(POLL);
        }
        Quiesced::StillPaused
    }

    /// What came from `peers`, and what is held of any port.
    fn lossless(&self, peers: &[PortId]) -> Lossless {
        let reports = self.workers.iter().filter_map(|worker| worker.answer());
        let mut sum = Lossless::default();
        for port in reports.flat_map(|report| &report.ports) {
            for priority in Priority::all().filter(|p| port.queues[p.index()].lossless) {
                if peers.contains(&port.port) {
                    sum.received_frames += port.counters.rx_frames[priority.index()];
                }
                sum.held_bytes += u64::from(port.queues[priority.index()].viq_bytes);
            }
        }
        sum
    }

    /// Waits until the workers' queues are empty, up to `until`.
    pub(crate) fn drain(&mut self, until: Instant) {
        let mut held = u64::MAX;
        while held > 0 && self.platform.now() < until {
            held = self.frames_held(until).unwrap_or(held);
            if held > 0 {
                std::thread::sleep(POLL);
            }
        }
    }

    /// Frames in the workers' queues and between them; `None` if not all have reported by `until`.
    fn frames_held(&mut self, until: Instant) -> Option<u64> {
        if !self.collect(until) {
            return None;
        }
        // Reports are written at different times: a frame that one worker has handed off may
        // already be received, and even sent, by another when that one reports.
        let reports = || self.workers.iter().filter_map(|worker| worker.answer());
        let held: u64 = reports().map(|report| report.totals.held).sum();
        let handoff_tx: u64 = reports().map(|report| report.totals.handoff_tx).sum();
        let handoff_rx: u64 = reports().map(|report| report.totals.handoff_rx).sum();
        Some(held + handoff_tx.abs_diff(handoff_rx))
    }

    /// Has all workers report; whether all have by `until`.
    fn collect(&mut self, until: Instant) -> bool {
        let began = self.platform.now();
        self.poll_workers();
        let Some(mut collector) = Collector::begin(&mut self.workers, began) else {
            std::thread::sleep(POLL);
            return false;
        };
        while collector.round(&self.workers, began) != Round::Complete {
            if self.platform.now() >= until {
                return false;
            }
            std::thread::sleep(POLL / 10);
            self.poll_workers();
        }
        true
    }

    fn poll_workers(&mut self) {
        for worker in self.workers.iter_mut() {
            worker.take_replies();
            worker.push_backlog();
        }
    }

    /// The final stats; `ends` is in the order of the workers.
    pub(crate) fn last_stats(&mut self, ends: Vec<WorkerExit>) -> Stats {
        for (worker, end) in self.workers.iter_mut().zip(ends) {
            worker.set_exit(end);
        }
        self.sflow.finish();
        self.stats(self.platform.now())
    }

    /// Returns the platform and drops everything else, frames included.
    pub(crate) fn into_platform(self) -> P {
        self.platform
    }
}
