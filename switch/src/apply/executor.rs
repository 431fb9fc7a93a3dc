//! Executes the operations of a plan, several in parallel, each after those that it waits for.
//!
//! An operation is done when every switch of its path has acknowledged. A new path is installed
//! from its last switch to its first, so that no frame reaches a switch without the route. An old
//! path is removed from its first switch on. Before the next switch is asked, the frames that were
//! queued at the port that the route led to must have left, as the switch's counters tell
//! ([`Drain`]), or the settle time must be over. If a switch does not answer, no further operation
//! starts and the running ones finish. An operation that has started and not finished counts as in
//! force: the plan was verified for that state. A rollback undoes the operations in reverse order,
//! through the same states.

use super::journal::{Journal, Stage};
use super::path_routes::{Exit, PathRoutes, RouteEntry};
use crate::control::protocol::{Reloaded, Request};
use crate::control::stats::Stats;
use crate::ctl::client::{Client, CtlError};
use fabric::Network;
use fabric::plan::{Change, Drain, Kind, Order, Progress, QueueReading};
use std::sync::{Mutex, PoisonError, mpsc};
use std::thread;
use std::time::{Duration, Instant};

/// Operations executed in parallel.
const PARALLEL_MAX: usize = 8;

/// How often the counters of a port are read while its frames leave.
const POLL: Duration = Duration::from_millis(1);

/// How long a frame takes from one switch's queue to the next one's: kernel devices hold some.
const WIRE: Duration = Duration::from_millis(1);

/// The direction of the execution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Direction {
    /// From old to new.
    Forward,
    /// Back to old.
    Back,
}

/// The plan, the switches and the state of the execution.
pub(super) struct Executor<'a> {
    pub(super) network: &'a Network,
    pub(super) change: &'a Change,
    pub(super) path_routes: &'a PathRoutes,
    /// By operation: its id in the plan.
    pub(super) ids: &'a [u64],
    pub(super) direction: Direction,
    /// Timeout of a request.
    pub(super) answer_timeout: Duration,
    /// How long frames of a removed path are waited for at each of its switches, at the most.
    pub(super) settle: Duration,
    /// By operation: whether its path is, or is to be, in force.
    pub(super) in_force: Mutex<Vec<bool>>,
    /// By switch: held while a request is sent to it.
    pub(super) switch_locks: Vec<Mutex<()>>,
}

/// The outcome of an execution.
pub(super) struct Outcome {
    pub(super) done: usize,
    pub(super) of: usize,
    /// Why it stopped, if it did.
    pub(super) failures: Vec<String>,
}

impl Executor<'_> {
    /// Executes every remaining operation. `report` is called as each is done.
    pub(super) fn run(
        &self,
        order: &Order,
        journal: &mut Journal,
        report: &dyn Fn(usize, usize, &str),
    ) -> std::io::Result<Outcome> {
        let target =
            if self.direction == Direction::Forward { Stage::Done } else { Stage::Pending };
        let order = self.ordered(order);
        let is_left = |at: u32| journal.stage(self.ids[at as usize]) != target;
        let all: Vec<u32> = (0..).take(self.ids.len()).filter(|&at| is_left(at)).collect();
        let mut released = Vec::new();
        let mut progress = Progress::new(&order, &mut released);
        let mut ready = Vec::new();
        begin(&mut progress, released, &all, &mut ready);
        let (mut done, of, mut failures) = (self.ids.len() - all.len(), self.ids.len(), Vec::new());
        thread::scope(|scope| {
            let (ended, outcomes) = mpsc::channel::<(u32, Result<Vec<String>, String>)>();
            let mut running = 0;
            loop {
                while running < PARALLEL_MAX && failures.is_empty() {
                    let Some(operation) = ready.pop() else { break };
                    journal.set(self.ids[operation as usize], Stage::Begun)?;
                    let ended = ended.clone();
                    running += 1;
                    scope.spawn(move || {
                        // The receiver waits until all outcomes have come.
                        let _listens = ended.send((operation, self.perform(operation)));
                    });
                }
                if running == 0 {
                    return Ok::<(), std::io::Error>(());
                }
                let Ok((operation, outcome)) = outcomes.recv() else { return Ok(()) };
                running -= 1;
                match outcome {
                    Ok(late) => {
                        journal.set(self.ids[operation as usize], target)?;
                        done += 1;
                        report(done, of, &self.describe(operation, &late));
                        let mut released = Vec::new();
                        progress.done(operation, &mut released);
                        begin(&mut progress, released, &all, &mut ready);
                    }
                    Err(why) => failures.push(format!("{}: {why}", self.name(operation))),
                }
            }
        })?;
        Ok(Outcome { done, of, failures })
    }

    /// In a rollback, what was done last is undone first.
    fn ordered(&self, order: &Order) -> Order {
        match self.direction {
            Direction::Forward => order.clone(),
            Direction::Back => {
                let pairs = order.pairs().iter().map(|&(before, after)| (after, before));
                Order::with_barriers(order.operations(), order.barriers(), pairs.collect())
            }
        }
    }

    /// Whether an operation, in this direction, puts its path in force.
    fn installs(&self, operation: u32) -> bool {
        let adds = self.change.operations[operation as usize].kind == Kind::Add;
        adds == (self.direction == Direction::Forward)
    }

    fn name(&self, operation: u32) -> String {
        let what = if self.installs(operation) { "add" } else { "remove" };
        format!("{what} {}", self.change.operations[operation as usize].path.name)
    }

    /// What was done, and at which ports frames may be left.
    fn describe(&self, operation: u32, late: &[String]) -> String {
        let name = self.name(operation);
        if late.is_empty() {
            return name;
        }
        let (ports, settle) = (late.join(", "), self.settle);
        format!("{name}; its frames may be left at {ports}, where they did not leave in {settle:?}")
    }

    /// Returns the ports at which frames of a removed path may be left.
    fn perform(&self, operation: u32) -> Result<Vec<String>, String> {
        let installs = self.installs(operation);
        let lock = || self.in_force.lock().unwrap_or_else(PoisonError::into_inner);
        lock()[operation as usize] = installs;
        let routes = &self.path_routes.routes[operation as usize];
        let exits = &self.path_routes.exits[operation as usize];
        if installs {
            routes.iter().rev().try_for_each(|route| self.install(route))?;
            return Ok(Vec::new());
        }
        let mut late = Vec::new();
        for hop in 0..routes.len().max(exits.len()) {
            if let Some(route) = routes.get(hop) {
                self.withdraw(route)?;
            }
            let Some(&exit) = exits.get(hop) else { continue };
            if !self.drain(exit)? {
                late.push(format!("{}:{}", self.network.switch_name(exit.switch), exit.port));
            }
            thread::sleep(WIRE);
        }
        Ok(late)
    }

    /// Waits until the frames that are queued at a port have left; `false` if they have not within
    /// the settle time.
    fn drain(&self, exit: Exit) -> Result<bool, String> {
        let begun = Instant::now();
        let mut drain = None;
        loop {
            let reading = self.ask(exit.switch, |client| client.ask(&Request::Stats))?;
            let reading = queues(&reading, exit.port);
            let drain = drain.get_or_insert_with(|| Drain::begin(&reading, exit.in_turn));
            if drain.is_over(&reading) {
                return Ok(true);
            }
            if begun.elapsed() >= self.settle {
                return Ok(false);
            }
            thread::sleep(POLL);
        }
    }

    fn install(&self, route: &RouteEntry) -> Result<(), String> {
        let (to, via) = (route.prefix.clone(), vec![route.gateway.clone()]);
        self.ask(route.switch, |client| {
            client.ask::<Reloaded>(&Request::AddRoute { to, via }).map(|_in_use| ())
        })
    }

    /// Removes a route, unless another path in force needs it, or it is not there.
    fn withdraw(&self, route: &RouteEntry) -> Result<(), String> {
        self.ask(route.switch, |client| {
            if self.is_needed(route) {
                return Ok(());
            }
            let has = client.routes()?;
            if !has.iter().any(|row| {
                row.prefix == route.prefix && row.origin == "static" && row.kind == "via"
            }) {
                return Ok(());
            }
            let request = Request::DelRoute { to: route.prefix.clone() };
            client.ask::<Reloaded>(&request).map(|_gone| ())
        })
    }

    fn is_needed(&self, route: &RouteEntry) -> bool {
        let in_force = self.in_force.lock().unwrap_or_else(PoisonError::into_inner);
        let changed = self.path_routes.routes.iter().zip(in_force.iter());
        self.path_routes.kept.contains(route)
            || changed.filter(|&(_, &in_force)| in_force).any(|(routes, _)| routes.contains(route))
    }

    /// Sends a switch one request at a time.
    fn ask<T>(
        &self,
        switch: u32,
        what: impl FnOnce(&mut Client) -> Result<T, CtlError>,
    ) -> Result<T, String> {
        let name = self.network.switch_name(switch);
        let lock = &self.switch_locks[switch as usize];
        let _mine = lock.lock().unwrap_or_else(PoisonError::into_inner);
        let socket = &self.path_routes.sockets[&switch];
        let asked = Client::connect_for(socket, self.answer_timeout);
        asked.and_then(|mut client| what(&mut client)).map_err(|error| match error {
            CtlError::Broken(_) => {
                format!("switch {name} does not answer within {:?}", self.answer_timeout)
            }
            other => format!("switch {name}: {other}"),
        })
    }
}

/// Of operations that wait for nothing, those that are `left` are ready, the first of them last;
/// the others are done already, so what waits for them goes on.
fn begin(progress: &mut Progress<'_>, mut released: Vec<u32>, left: &[u32], ready: &mut Vec<u32>) {
    let mut more = Vec::new();
    while let Some(operation) = released.pop() {
        if left.binary_search(&operation).is_ok() {
            more.push(operation);
        } else {
            progress.done(operation, &mut released);
        }
    }
    more.sort_unstable_by(|one, other| other.cmp(one));
    ready.extend(more);
}

/// What the egress queues of port number `port` say; nothing if there is no such port.
fn queues(stats: &Stats, port: usize) -> QueueReading {
    let Some(port) = stats.ports.iter().find(|row| row.number == port) else {
        return QueueReading::default();
    };
    QueueReading {
        sent_frames: port.counters.tx_frames,
        queued_frames: port.queues.map(|queue| u64::from(queue.veq_frames)),
    }
}

#[cfg(test)]
#[path = "executor_tests.rs"]
mod tests;
