//! Executes the operations of a plan, several in parallel, each after those that it waits for.
//!
//! An operation is done when every switch of its path has acknowledged. A new path is installed
//! from its last switch to its first, so that no frame reaches a switch without the route. An old
//! path is removed from its first switch on, and is done after the settle time, in which its frames
//! leave. If a switch does not answer, no further operation starts and the running ones finish. An
//! operation that has started and not finished counts as in force: the plan was verified for that
//! state. A rollback undoes the operations in reverse order, through the same states.

use super::journal::{Journal, Stage};
use super::path_routes::{PathRoutes, RouteEntry};
use crate::control::protocol::{Reloaded, Request};
use crate::ctl::client::{Client, CtlError};
use fabric::Network;
use fabric::plan::{Change, Kind, Order, Progress};
use std::sync::{Mutex, PoisonError, mpsc};
use std::thread;
use std::time::Duration;

/// Operations executed in parallel.
const PARALLEL_MAX: usize = 8;

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
    /// How long frames of a removed path may be in flight.
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
            let (ended, outcomes) = mpsc::channel::<(u32, Result<(), String>)>();
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
                    Ok(()) => {
                        journal.set(self.ids[operation as usize], target)?;
                        done += 1;
                        report(done, of, &self.name(operation));
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

    fn perform(&self, operation: u32) -> Result<(), String> {
        let installs = self.installs(operation);
        let lock = || self.in_force.lock().unwrap_or_else(PoisonError::into_inner);
        lock()[operation as usize] = installs;
        let routes = &self.path_routes.routes[operation as usize];
        if installs {
            routes.iter().rev().try_for_each(|route| self.install(route))
        } else {
            routes.iter().try_for_each(|route| self.withdraw(route))?;
            thread::sleep(self.settle);
            Ok(())
        }
    }

    fn install(&self, route: &RouteEntry) -> Result<(), String> {
        let (to, via) = (route.prefix.clone(), vec![route.gateway.clone()]);
        self.ask(route, |client| {
            client.ask::<Reloaded>(&Request::AddRoute { to, via }).map(|_in_use| ())
        })
    }

    /// Removes a route, unless another path in force needs it, or it is not there.
    fn withdraw(&self, route: &RouteEntry) -> Result<(), String> {
        self.ask(route, |client| {
            if self.is_needed(route) {
                return Ok(());
            }
            let has = client.routes()?;
            if !has.iter().any(|row| row.prefix == route.prefix && row.kind == "via") {
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
    fn ask(
        &self,
        route: &RouteEntry,
        what: impl FnOnce(&mut Client) -> Result<(), CtlError>,
    ) -> Result<(), String> {
        let name = self.network.switch_name(route.switch);
        let lock = &self.switch_locks[route.switch as usize];
        let _mine = lock.lock().unwrap_or_else(PoisonError::into_inner);
        let socket = &self.path_routes.sockets[&route.switch];
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
