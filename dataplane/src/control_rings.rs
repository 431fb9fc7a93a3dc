//! The rings between a worker, the other workers and the control thread: bounded, with one writer
//! and one reader each.

use crate::buffer::{Ledger, Parts};
use crate::capture::Capture;
use crate::handoff::ring::handoff_ring;
use crate::host_class::HostClass;
use crate::ids::{PortId, Priority, WorkerId};
use crate::l2::MacSlice;
use crate::limits::PUNT_FRAMES;
use crate::pfc::watchdog::Watchdog;
use crate::punt::PuntReason;
use crate::queue::shaper::PeakRate;
use crate::report::Report;
use crate::sampling::Sampling;
use crate::settings::DepthCurve;
use crate::snapshot::Snapshot;
use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use rtrb::{Consumer, Producer, RingBuffer};

pub use crate::handoff::grants::TxGrants;
pub use crate::handoff::pauses::PauseWords;
pub use crate::handoff::ring::{HANDOFF_FRAMES, MacEvent, RingRx, RingTx};

/// Commands that may wait for a worker.
pub const COMMANDS: usize = 512;

/// A frame for the control thread.
#[derive(Debug)]
pub struct Punted<F> {
    /// The frame as received.
    pub frame: F,
    /// The ingress port.
    pub port: PortId,
    /// Why it was punted.
    pub reason: PuntReason,
    /// What it is, where that is policed.
    pub class: Option<HostClass>,
}

/// A command of the control thread to a worker. Processed in order, between two bursts.
#[derive(Debug)]
pub enum Command<F> {
    /// Use these tables from now on. The old ones are returned in a [`Reply::Retired`].
    Install(Arc<Snapshot>),
    /// Fill in the report. It is returned in a [`Reply::Report`]. Its peaks are those since the
    /// last such command: new ones begin at what is in use now.
    Report(Box<Report>),
    /// Fill in this part of the MAC table. It is returned in a [`Reply::MacTable`].
    MacTable(Box<MacSlice>),
    /// Record for this capture from now on, or for none. The one before is returned in a
    /// [`Reply::Capture`].
    Capture(Option<Box<Capture>>),
    /// Sample so from now on, or not at all. What was sampled with before is returned in a
    /// [`Reply::Sample`].
    Sample(Option<Box<Sampling>>),
    /// Mark the frames of this egress priority so from now on, or not at all.
    Ecn(Priority, Option<DepthCurve>),
    /// Drop the lossy frames of this egress priority early from now on, or no longer.
    Wred(Priority, Option<DepthCurve>),
    /// The queue of this priority at this port has this peak rate from now on, or none. For the
    /// port's owner. Where other workers send at the port, a queue gets its first peak rate at the
    /// start: what they have queued there would otherwise wait for a grant that does not come.
    PeakRate(PortId, Priority, Option<PeakRate>),
    /// This watchdog looks after the port from now on, or none. For the port's owner. Storms go on,
    /// unless there is none.
    Watchdog(PortId, Option<Box<Watchdog>>),
    /// Discard all frames of lossless priorities from now on, and obey no pause; or no longer.
    BigRedSwitch(bool),
    /// Send this frame at this port.
    Send(PortId, F),
    /// Process this frame as if it was just received at this port.
    Receive(PortId, F),
    /// The port is up or down. A port that is down still receives frames, and drops them.
    Link(PortId, bool),
    /// The port's device lost its link. The port is down, and receives nothing until it is up
    /// again: frames of the new link wait in the device until the worker processes [`Self::Link`].
    LinkLost(PortId),
    /// Remove the addresses learned on this port.
    FlushMacTable(PortId),
    /// Pause the peer of this port in all lossless priorities from now on: the switch is about to
    /// stop.
    PausePeer(PortId),
}

/// A reply of a worker.
#[derive(Debug)]
pub enum Reply {
    /// Tables that this worker no longer uses; the control thread frees them.
    Retired(Arc<Snapshot>),
    /// The requested report.
    Report(Box<Report>),
    /// The requested part of the MAC table.
    MacTable(Box<MacSlice>),
    /// A capture that this worker no longer records for; the control thread frees it.
    Capture(Box<Capture>),
    /// What this worker no longer samples with; the control thread frees it.
    Sample(Box<Sampling>),
}

/// One worker's ends of all its rings.
#[derive(Debug)]
pub struct WorkerRings<F> {
    /// The worker's id.
    pub id: WorkerId,
    /// Handoff rings to the other workers, by worker index; `None` for itself.
    pub to: Vec<Option<RingTx<F>>>,
    /// Handoff rings from the other workers, by worker index; `None` for itself.
    pub from: Vec<Option<RingRx<F>>>,
    /// By worker index, its own included.
    pub ledgers: Vec<Arc<Ledger>>,
    /// By worker index, its own included.
    pub tx_grants: Vec<Arc<TxGrants>>,
    /// What the receive queues of one port hold.
    pub parts: Arc<Parts>,
    /// What workers know of pauses within a turn.
    pub pauses: Arc<PauseWords>,
    /// Punted frames to the control thread.
    pub punt: Producer<Punted<F>>,
    /// Commands from the control thread.
    pub commands: Consumer<Command<F>>,
    /// Replies to the control thread.
    pub replies: Producer<Reply>,
}

/// The control thread's ends of one worker's rings.
#[derive(Debug)]
pub struct ControlRings<F> {
    /// Frames that the worker punted.
    pub punted: Consumer<Punted<F>>,
    /// Commands to the worker.
    pub commands: Producer<Command<F>>,
    /// Replies of the worker.
    pub replies: Consumer<Reply>,
}

/// Rings for `workers` workers of a switch of so many receive queues, at least one for each port.
pub fn connect<F>(workers: usize, queues: usize) -> (Vec<WorkerRings<F>>, Vec<ControlRings<F>>) {
    let ledgers: Vec<Arc<Ledger>> = (0..workers).map(|_| Arc::new(Ledger::new(queues))).collect();
    let tx_grants: Vec<Arc<TxGrants>> =
        (0..workers).map(|_| Arc::new(TxGrants::new(workers, queues))).collect();
    let parts = Arc::new(Parts::new(queues));
    let pauses = Arc::new(PauseWords::new(workers, queues));
    type Ends<F> = (Option<RingTx<F>>, Option<RingRx<F>>);
    let mut rings: Vec<Vec<Ends<F>>> = (0..workers)
        .map(|from| (0..workers).map(|to| (from != to).then(handoff_ring).unzip()).collect())
        .collect();
    (0_u8..)
        .take(workers)
        .map(|id| {
            let me = usize::from(id);
            let (punt, punted) = RingBuffer::new(PUNT_FRAMES);
            let (command, commands) = RingBuffer::new(COMMANDS);
            let (reply, replies) = RingBuffer::new(2 * COMMANDS);
            let rings = WorkerRings {
                id: WorkerId(id),
                to: rings[me].iter_mut().map(|ends| ends.0.take()).collect(),
                from: rings.iter_mut().map(|row| row[me].1.take()).collect(),
                ledgers: ledgers.clone(),
                tx_grants: tx_grants.clone(),
                parts: Arc::clone(&parts),
                pauses: Arc::clone(&pauses),
                punt,
                commands,
                replies: reply,
            };
            (rings, ControlRings { punted, commands: command, replies })
        })
        .unzip()
}
