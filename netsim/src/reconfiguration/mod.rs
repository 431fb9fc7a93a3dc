//! A change of paths, executed on a running network by a controller: one message for each route of
//! each path, with delays, slow switches, and losses.
//!
//! The controller does what `knotless apply` does. A new path is installed from its last switch to
//! its first, each after the answer of the one before. An old path is removed from its first switch
//! on; before the next switch is asked, the frames that were queued for it must have left, as the
//! counters of the port tell ([`Drain`]). An operation begins when those that it waits for are
//! done. A message that is not answered in time is sent again, and a switch that has done what it
//! says only answers.

mod control;

pub use control::Control;

use crate::checker::Deadlock;
use crate::event::Picoseconds;
use crate::fault_schedule::Action;
use crate::flow::FlowId;
use crate::network::Network;
use crate::topology::SwitchId;
use control::{Mailbox, Message};
use dataplane::ids::PortId;
use dataplane::limits::PRIORITIES;
use fabric::plan::{Drain, Kind, Order, Progress, QueueReading};
use std::collections::BTreeSet;

/// What an operation does in the emulator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathOperation {
    /// What it does.
    pub kind: Kind,
    /// The flow that goes by the path.
    pub flow: FlowId,
    /// The switches of the path, each with the port that it is left by.
    pub hops: Vec<(SwitchId, PortId)>,
}

/// What came of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Executed {
    /// From the beginning to the last answer; `None` if there was a deadlock before.
    pub makespan_ps: Option<Picoseconds>,
    /// The deadlock that ended it.
    pub deadlock: Option<Deadlock>,
    /// Operations that were done.
    pub done: usize,
    /// Messages sent, answers included.
    pub messages: u64,
    /// Messages lost.
    pub lost_messages: u64,
    /// Waits for frames to leave that ended by [`Control::drain_max_ps`].
    pub drains_given_up: u64,
}

/// The state of an operation that has begun.
#[derive(Clone, Copy, Debug, Default)]
struct Begun {
    /// Hops that are done.
    hops: usize,
    /// The messages sent for the current hop.
    tries: u32,
    /// The wait for the frames of the current hop, and when it began.
    drain: Option<(Drain, Picoseconds)>,
}

/// See the module's head.
struct Controller<'a> {
    network: &'a mut Network,
    operations: &'a [PathOperation],
    control: &'a Control,
    mailbox: Mailbox,
    begun: Vec<Begun>,
    /// Operations and hops whose route was changed: a repeated request is only answered.
    changed: BTreeSet<(u32, usize)>,
    executed: Executed,
    begin_ps: Picoseconds,
}

/// Executes `operations` in the order `order`, from now on; it ends when all are done, or with a
/// deadlock. What is random follows from `seed`.
///
/// The paths that are to be added must have no routes yet: see [`withhold`].
pub fn execute(
    network: &mut Network,
    operations: &[PathOperation],
    order: &Order,
    control: &Control,
    seed: u64,
) -> Executed {
    let begin_ps = network.now_ps();
    let mailbox = Mailbox::new(control, network.switch_ids().count(), seed);
    let begun = vec![Begun::default(); operations.len()];
    let executed = Executed::default();
    let changed = BTreeSet::new();
    let mut controller =
        Controller { network, operations, control, mailbox, begun, changed, executed, begin_ps };
    controller.run(order);
    controller.executed
}

/// Takes away the routes of paths that are to be added later and are not in force before.
pub fn withhold(network: &mut Network, operations: &[PathOperation]) {
    let now_ps = network.now_ps();
    let removed = operations.iter().filter(|operation| operation.kind == Kind::Remove);
    let removed: BTreeSet<FlowId> = removed.map(|operation| operation.flow).collect();
    for operation in operations.iter().filter(|operation| !removed.contains(&operation.flow)) {
        for &(switch, _) in &operation.hops {
            network.plan(now_ps, Action::Route(switch, operation.flow, None));
        }
    }
}

impl Controller<'_> {
    fn run(&mut self, order: &Order) {
        let mut ready = Vec::new();
        let mut progress = Progress::new(order, &mut ready);
        let mut next_look_ps = self.begin_ps;
        loop {
            for operation in std::mem::take(&mut ready) {
                self.ask(operation, self.network.now_ps());
            }
            if self.executed.done == self.operations.len() {
                self.executed.makespan_ps = Some(self.network.now_ps() - self.begin_ps);
                return;
            }
            let Some((at_ps, message)) = self.mailbox.next() else { return };
            while next_look_ps < at_ps {
                self.network.run_until(next_look_ps);
                next_look_ps += self.control.look_ps;
                self.executed.deadlock = self.network.find_deadlock();
                if self.executed.deadlock.is_some() {
                    return;
                }
            }
            self.network.run_until(at_ps);
            if let Some(done) = self.handle(message, at_ps) {
                self.executed.done += 1;
                progress.done(done, &mut ready);
            }
            (self.executed.messages, self.executed.lost_messages) = self.mailbox.counts();
        }
    }

    /// The switch and port of the hop that an operation is at.
    fn hop(&self, operation: u32, hop: usize) -> (SwitchId, PortId) {
        let one = &self.operations[operation as usize];
        let at = if one.kind == Kind::Add { one.hops.len() - 1 - hop } else { hop };
        one.hops[at]
    }

    /// Asks the switch of the current hop to change its route, or asks again.
    fn ask(&mut self, operation: u32, now_ps: Picoseconds) {
        let begun = &mut self.begun[operation as usize];
        begun.tries += 1;
        let (hop, tries) = (begun.hops, begun.tries);
        let switch = self.hop(operation, hop).0.index();
        self.mailbox.ask(switch, operation, hop, now_ps);
        self.mailbox.resend_at(now_ps, Message::Resend { operation, hop, tries });
    }

    /// Handles a message at its time; returns the operation that is done by it.
    fn handle(&mut self, message: Message, now_ps: Picoseconds) -> Option<u32> {
        match message {
            Message::Change { operation, hop } => {
                if self.changed.insert((operation, hop)) {
                    let (switch, port) = self.hop(operation, hop);
                    let one = &self.operations[operation as usize];
                    let port = (one.kind == Kind::Add).then_some(port);
                    self.network.plan(now_ps, Action::Route(switch, one.flow, port));
                    self.network.run_until(now_ps);
                }
                self.mailbox.answer(operation, hop, now_ps);
            }
            Message::Answer { operation, hop } => return self.answered(operation, hop, now_ps),
            Message::Resend { operation, hop, tries } => {
                let begun = &self.begun[operation as usize];
                if (begun.hops, begun.tries) == (hop, tries) && begun.drain.is_none() {
                    self.ask(operation, now_ps);
                }
            }
            Message::Poll { operation } => return self.poll(operation, now_ps),
        }
        None
    }

    /// A switch has changed its route. Answers of hops that are done are repeated ones.
    fn answered(&mut self, operation: u32, hop: usize, now_ps: Picoseconds) -> Option<u32> {
        let begun = self.begun[operation as usize];
        if begun.hops != hop || begun.drain.is_some() {
            return None;
        }
        if self.operations[operation as usize].kind == Kind::Add {
            return self.next_hop(operation, now_ps);
        }
        let reading = self.reading(operation);
        self.begun[operation as usize].drain = Some((Drain::begin(&reading, false), now_ps));
        self.poll(operation, now_ps)
    }

    /// Whether the frames of a removed route have left: then the next hop follows.
    fn poll(&mut self, operation: u32, now_ps: Picoseconds) -> Option<u32> {
        let (drain, since_ps) = self.begun[operation as usize].drain?;
        let is_late = now_ps - since_ps >= self.control.drain_max_ps;
        if drain.is_over(&self.reading(operation)) || is_late {
            self.executed.drains_given_up += u64::from(is_late);
            self.begun[operation as usize].drain = None;
            return self.next_hop(operation, now_ps);
        }
        self.mailbox.poll_later(operation, now_ps);
        None
    }

    fn next_hop(&mut self, operation: u32, now_ps: Picoseconds) -> Option<u32> {
        let begun = &mut self.begun[operation as usize];
        begun.hops += 1;
        begun.tries = 0;
        if begun.hops == self.operations[operation as usize].hops.len() {
            return Some(operation);
        }
        self.ask(operation, now_ps);
        None
    }

    /// What the port of the current hop says.
    fn reading(&self, operation: u32) -> QueueReading {
        let (switch, port) = self.hop(operation, self.begun[operation as usize].hops);
        let report = self.network.switch(switch);
        let port = &report.ports[port.index()];
        let mut reading = QueueReading::default();
        for priority in 0..PRIORITIES {
            reading.sent_frames[priority] = port.counters.tx_frames[priority];
            reading.queued_frames[priority] = u64::from(port.queues[priority].veq_frames);
        }
        reading
    }
}
