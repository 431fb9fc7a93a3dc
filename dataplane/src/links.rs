//! What connects a worker to the others and to the control thread: bounded rings with one writer
//! and one reader each.

use crate::agent::PuntReason;
use crate::buffer::Ledger;
use crate::handoff::mailbox;
use crate::ids::{PortId, WorkerId};
use crate::l2::MacSlice;
use crate::report::Report;
use crate::snapshot::Snapshot;
use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use rtrb::{Consumer, Producer, RingBuffer};

pub use crate::doors::Doors;
pub use crate::handoff::{EXCHANGE_FRAMES, Inbox, News, Outbox};

/// Frames that may wait for the control thread. Few, since they hold buffers of the data path.
pub const PUNT_FRAMES: usize = 256;
/// Commands that may wait for a worker.
pub const COMMANDS: usize = 512;

/// A frame for the control thread.
#[derive(Debug)]
pub struct Punted<F> {
    /// The frame as it came.
    pub frame: F,
    /// Where it came in.
    pub port: PortId,
    /// Why it is here.
    pub reason: PuntReason,
}

/// What the control thread tells a worker; done between two turns, in order.
#[derive(Debug)]
pub enum Command<F> {
    /// Use these tables from now on; the old ones come back in a [`Reply::Retired`].
    Install(Arc<Snapshot>),
    /// Fill in the report; it comes back in a [`Reply::Report`].
    Report(Box<Report>),
    /// Fill in this part of the MAC table; it comes back in a [`Reply::MacTable`].
    MacTable(Box<MacSlice>),
    /// Send this frame at this port.
    Send(PortId, F),
    /// Treat this frame as just received at this port.
    Receive(PortId, F),
    /// The port is up or down. One that is down receives, and drops, what its device brings.
    Link(PortId, bool),
    /// The port's device lost its link: the port is down, and receives nothing before it is up
    /// again. Frames that come with the new link wait in the device until the worker is told of it.
    LinkLost(PortId),
    /// Forget the addresses learnt on this port.
    FlushMacTable(PortId),
}

/// What a worker answers.
#[derive(Debug)]
pub enum Reply {
    /// The tables that are no longer in use here; to be freed by the control thread.
    Retired(Arc<Snapshot>),
    /// The report that was asked for.
    Report(Box<Report>),
    /// The part of the MAC table that was asked for.
    MacTable(Box<MacSlice>),
}

/// One worker's ends of all its rings.
#[derive(Debug)]
pub struct Links<F> {
    /// Which worker this is.
    pub id: WorkerId,
    /// By worker index; `None` for itself.
    pub to: Vec<Option<Outbox<F>>>,
    /// By worker index; `None` for itself.
    pub from: Vec<Option<Inbox<F>>>,
    /// By worker index, its own too.
    pub ledgers: Vec<Arc<Ledger>>,
    /// By worker index, its own too.
    pub doors: Vec<Arc<Doors>>,
    /// To the control thread.
    pub punt: Producer<Punted<F>>,
    /// From the control thread.
    pub commands: Consumer<Command<F>>,
    /// To the control thread.
    pub replies: Producer<Reply>,
}

/// The control thread's ends of one worker's rings.
#[derive(Debug)]
pub struct ControlLinks<F> {
    /// Frames the worker could not handle alone.
    pub punted: Consumer<Punted<F>>,
    /// What the worker is to do.
    pub commands: Producer<Command<F>>,
    /// What it answers.
    pub replies: Consumer<Reply>,
}

/// Rings for `workers` workers of a switch of `ports` ports.
pub fn connect<F>(workers: usize, ports: usize) -> (Vec<Links<F>>, Vec<ControlLinks<F>>) {
    let ledgers: Vec<Arc<Ledger>> = (0..workers).map(|_| Arc::new(Ledger::new(ports))).collect();
    let doors: Vec<Arc<Doors>> =
        (0..workers).map(|_| Arc::new(Doors::new(workers, ports))).collect();
    type Ends<F> = (Option<Outbox<F>>, Option<Inbox<F>>);
    let mut exchange: Vec<Vec<Ends<F>>> = (0..workers)
        .map(|from| (0..workers).map(|to| (from != to).then(mailbox).unzip()).collect())
        .collect();
    (0_u8..)
        .take(workers)
        .map(|id| {
            let me = usize::from(id);
            let (punt, punted) = RingBuffer::new(PUNT_FRAMES);
            let (command, commands) = RingBuffer::new(COMMANDS);
            let (reply, replies) = RingBuffer::new(2 * COMMANDS);
            let links = Links {
                id: WorkerId(id),
                to: exchange[me].iter_mut().map(|ends| ends.0.take()).collect(),
                from: exchange.iter_mut().map(|row| row[me].1.take()).collect(),
                ledgers: ledgers.clone(),
                doors: doors.clone(),
                punt,
                commands,
                replies: reply,
            };
            (links, ControlLinks { punted, commands: command, replies })
        })
        .unzip()
}
