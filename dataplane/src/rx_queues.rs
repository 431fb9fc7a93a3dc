//! The receive queues of a switch: which worker polls each, and by which number it is known.
//!
//! A port has one receive queue or more. The port's owner polls the first; any worker may poll a
//! further one. The first has the port's number. A further one has a number after those of all
//! ports, and where the core charges frames (VIQs, ledgers) it stands like a port of the worker
//! that polls it. So each part of a VIQ (virtual ingress queue) of the port has one writer.

use crate::ids::{PortId, WorkerId};
use crate::settings::SwitchSettings;
use alloc::vec::Vec;

/// One receive queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RxQueue {
    /// Its number among all receive queues, in the form of a port's: that of its port for the first
    /// queue.
    pub id: PortId,
    /// The port.
    pub port: PortId,
    /// Which of the port's queues, from 0.
    pub number: u16,
    /// The worker that polls it.
    pub worker: WorkerId,
}

impl RxQueue {
    /// Whether it is not the first of its port.
    pub const fn is_further(&self) -> bool {
        self.number != 0
    }
}

/// Where the frames of a burst came in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ingress {
    /// The port.
    pub(crate) port: PortId,
    /// The receive queue, whose VIQs they are charged to.
    pub(crate) queue: PortId,
}

impl Ingress {
    /// The first queue of `port`.
    pub(crate) const fn first_of(port: PortId) -> Self {
        Self { port, queue: port }
    }
}

/// All receive queues: the first ones in the order of their ports, then the further ones.
///
/// `config` has checked that there are no more than [`PORTS_MAX`](crate::limits::PORTS_MAX).
pub fn rx_queues(settings: &SwitchSettings) -> Vec<RxQueue> {
    let ports = || (0..).map_while(PortId::from_index).zip(&settings.ports);
    let first = ports().map(|(port, it)| (port, 0, it.worker));
    let further = ports()
        .flat_map(|(port, it)| (1..).zip(&it.further_queues).map(move |(n, &w)| (port, n, w)));
    let ids = (0..).map_while(PortId::from_index);
    let all = ids.zip(first.chain(further));
    all.map(|(id, (port, number, worker))| RxQueue { id, port, number, worker }).collect()
}

/// The receive queues of the same port, `queue` not among them.
pub(crate) fn siblings(all: &[RxQueue], queue: RxQueue) -> impl Iterator<Item = &RxQueue> {
    all.iter().filter(move |other| other.port == queue.port && other.id != queue.id)
}
