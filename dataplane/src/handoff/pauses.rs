//! Pauses within a turn: what the workers of a port tell each other of PFC frames at once.
//!
//! A worker reads the transmit grants once a turn, and the port's owner publishes them once a turn.
//! So the grants alone would stop another worker up to two turns after the owner has received a
//! PFC frame; turns of loaded workers take microseconds. Therefore the worker that receives the PFC
//! frame, the owner or one that polls a further receive queue, stores the paused priorities in a
//! word of its own. Each worker reads the words of a port before each burst that it hands to the
//! port's device.
//!
//! A word has one writer, and no word is needed for the correctness of another memory access: a
//! word that is read late costs time, as a PFC frame that is received late does. Two orders matter:
//!
//! - A worker that is not the owner withdraws its word when the owner has processed the PFC frame
//!   (it reads how many MAC events the owner has taken, with acquire), and the owner has stored its
//!   own word before it takes the event (release). A reader reads the owner's word last, each with
//!   acquire. So a reader that finds the one withdrawn finds the other.
//! - The owner stores its word before it publishes a grant, and a reader reads the grant first. So
//!   a reader that is granted a priority does not find the pause that had ended before.

use crate::ids::{PortId, Priority, WorkerId};
use crate::padded_atomic::{Ordering, PaddedAtomic};
use crate::settings::{PortSettings, SwitchSettings};
use crate::wire::mac_control::MacControl;
use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;

/// The words of all workers and ports. A word has the priorities in which, as its worker knows, the
/// peer of the port has paused the port; the owner's also those whose pauses its watchdog ignores.
#[derive(Debug)]
pub struct PauseWords {
    /// By worker, then by port.
    words: Box<[PaddedAtomic]>,
    ports: usize,
}

/// What a worker knows of one port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Known {
    paused_bits: u8,
    ignored_bits: u8,
}

impl PauseWords {
    /// Nothing is paused, for a switch of `workers` workers and `ports` ports.
    pub(crate) fn new(workers: usize, ports: usize) -> Self {
        Self { words: (0..workers * ports).map(|_| PaddedAtomic::default()).collect(), ports }
    }

    fn word(&self, worker: WorkerId, port: PortId) -> &PaddedAtomic {
        &self.words[worker.index() * self.ports + port.index()]
    }

    fn read(&self, worker: WorkerId, port: PortId) -> Known {
        let word = self.word(worker, port).0.load(Ordering::Acquire);
        let [paused_bits, ignored_bits, ..] = word.to_le_bytes();
        Known { paused_bits, ignored_bits }
    }

    fn write(&self, worker: WorkerId, port: PortId, known: Known) {
        let word = u64::from(known.paused_bits) | u64::from(known.ignored_bits) << 8;
        self.word(worker, port).0.store(word, Ordering::Release);
    }
}

/// The words of one port at which a worker sends.
#[derive(Debug)]
pub(crate) struct PortPauses {
    words: Arc<PauseWords>,
    port: PortId,
    owner: WorkerId,
    /// Whether the worker itself owns the port.
    is_own: bool,
    /// The workers other than the owner that poll a queue of the port. This worker is among them
    /// if it does: frames that it has batched are stopped by its own word.
    receivers: Box<[WorkerId]>,
    published: Known,
}

impl PortPauses {
    /// Those of `port` with `settings`, at the worker `me`.
    pub(crate) fn new(
        words: &Arc<PauseWords>,
        port: PortId,
        settings: &PortSettings,
        me: WorkerId,
    ) -> Self {
        let owner = settings.worker;
        let further = settings.further_queues.iter().copied();
        let mut receivers: Vec<WorkerId> = further.filter(|&worker| worker != owner).collect();
        receivers.sort_unstable();
        receivers.dedup();
        Self {
            words: Arc::clone(words),
            port,
            owner,
            is_own: owner == me,
            receivers: receivers.into_boxed_slice(),
            published: Known::default(),
        }
    }

    /// The priorities that other workers know to be paused; of a port of another worker also those
    /// that this worker has told it. At an own port the watchdog ignores pauses of `ignored_bits`.
    #[inline(always)]
    pub(crate) fn known_bits(&self, ignored_bits: u8) -> u8 {
        let receivers = self.receivers.iter();
        let received_bits = receivers
            .fold(0, |bits, &worker| bits | self.words.read(worker, self.port).paused_bits);
        if self.is_own {
            return received_bits & !ignored_bits;
        }
        let owner = self.words.read(self.owner, self.port);
        received_bits & !owner.ignored_bits | owner.paused_bits
    }

    /// Publishes the priorities that are paused at the worker's own port, and those whose pauses
    /// its watchdog ignores.
    #[inline(always)]
    pub(crate) fn publish(&mut self, paused_bits: u8, ignored_bits: u8) {
        let known = Known { paused_bits, ignored_bits };
        if self.is_own && core::mem::replace(&mut self.published, known) != known {
            self.words.write(self.owner, self.port, known);
        }
    }
}

/// The words that a worker writes for ports of others, whose PFC frames it received by further
/// receive queues.
#[derive(Debug)]
pub(crate) struct ForeignPauses {
    words: Arc<PauseWords>,
    me: WorkerId,
    ports: Box<[Foreign]>,
    /// Whether any word is not zero.
    pub(crate) any: bool,
}

/// What a worker knows of a port of another one.
#[derive(Clone, Copy, Debug)]
struct Foreign {
    /// The priorities that it has published as paused.
    paused_bits: u8,
    /// Which one of the MAC events for the owner was the last PFC frame.
    event: u64,
    /// The priorities in which a PFC frame can only pause or resume.
    pausable_bits: u8,
    /// The one priority that pauses of the host at this port name, if it has only one.
    host_priority: Option<Priority>,
}

impl ForeignPauses {
    /// Nothing received yet.
    pub(crate) fn new(words: Arc<PauseWords>, settings: &SwitchSettings, me: WorkerId) -> Self {
        let foreign = |port: &PortSettings| Foreign {
            paused_bits: 0,
            event: 0,
            // With gentle flow control a time may be a rate.
            pausable_bits: if port.gfc.is_some() { 0 } else { port.lossless_bits() },
            host_priority: port.host_priority,
        };
        Self { words, me, ports: settings.ports.iter().map(foreign).collect(), any: false }
    }

    /// Publishes what `control`, which came in at `port`, pauses and resumes. It goes to the port's
    /// owner as MAC event number `event`.
    pub(crate) fn received(&mut self, port: PortId, control: &MacControl, event: u64) {
        let MacControl::Pfc(pfc) = control else { return };
        let foreign = &mut self.ports[port.index()];
        let host = foreign.host_priority;
        let pfc = host.map_or(*pfc, |host| pfc.spread(host, foreign.pausable_bits));
        let named = Priority::in_bits(pfc.enabled_bits & foreign.pausable_bits);
        let paused_bits = named.fold(foreign.paused_bits, |bits, priority| {
            let is_xoff = pfc.quanta[priority.index()] != 0;
            bits & !priority.bit() | if is_xoff { priority.bit() } else { 0 }
        });
        foreign.event = event;
        self.any |= paused_bits != 0;
        self.set(port, paused_bits);
    }

    /// Withdraws the words of the ports whose owners have processed all PFC frames that were
    /// received there; `is_processed` says that of a port's owner and the number of a MAC event.
    #[cold]
    pub(crate) fn withdraw(&mut self, is_processed: impl Fn(PortId, u64) -> bool) {
        self.any = false;
        for port in (0..self.ports.len()).filter_map(PortId::from_index) {
            let foreign = self.ports[port.index()];
            if foreign.paused_bits == 0 {
                continue;
            }
            if is_processed(port, foreign.event) {
                self.set(port, 0);
            } else {
                self.any = true;
            }
        }
    }

    fn set(&mut self, port: PortId, paused_bits: u8) {
        let foreign = &mut self.ports[port.index()];
        if core::mem::replace(&mut foreign.paused_bits, paused_bits) != paused_bits {
            self.words.write(self.me, port, Known { paused_bits, ignored_bits: 0 });
        }
    }
}

#[cfg(all(test, loom))]
mod tests {
    use super::*;
    use crate::handoff::grants::{TxGrant, TxGrantWriter, TxGrants};
    use crate::padded_atomic::AtomicU64;

    const PORT: PortId = PortId::FIRST;
    const OWNER: WorkerId = WorkerId(0);
    const RECEIVER: WorkerId = WorkerId(1);
    const SENDER: WorkerId = WorkerId(2);
    const PAUSED: Known = Known { paused_bits: 1, ignored_bits: 0 };

    /// The words as a third worker reads them.
    fn at_sender(words: &Arc<PauseWords>) -> PortPauses {
        PortPauses {
            words: Arc::clone(words),
            port: PORT,
            owner: OWNER,
            is_own: OWNER == SENDER,
            receivers: Box::new([RECEIVER]),
            published: Known::default(),
        }
    }

    /// The worker that received the PFC frame withdraws its word when the owner has taken the event
    /// from the ring. A third worker, which knows of the pause, always finds one of the two words.
    #[test]
    fn a_pause_is_found_while_it_passes_from_its_receiver_to_the_owner() {
        loom::model(|| {
            let words = Arc::new(PauseWords::new(2, 1));
            words.write(RECEIVER, PORT, PAUSED);
            let taken = Arc::new(AtomicU64::new(0));
            let owner = {
                let (words, taken) = (Arc::clone(&words), Arc::clone(&taken));
                loom::thread::spawn(move || {
                    words.write(OWNER, PORT, PAUSED);
                    taken.store(1, Ordering::Release);
                })
            };
            let receiver = {
                let (words, taken) = (Arc::clone(&words), Arc::clone(&taken));
                loom::thread::spawn(move || {
                    if taken.load(Ordering::Acquire) == 1 {
                        words.write(RECEIVER, PORT, Known::default());
                    }
                })
            };
            assert_eq!(at_sender(&words).known_bits(0), 1, "the pause was not found");
            owner.join().expect("the owner does not panic");
            receiver.join().expect("the receiver does not panic");
        });
    }

    /// A pause ends and the owner grants the priority again: whoever reads the grant does not find
    /// the pause.
    #[test]
    fn a_granted_priority_is_not_found_paused_by_a_pause_that_had_ended() {
        loom::model(|| {
            let words = Arc::new(PauseWords::new(2, 1));
            words.write(OWNER, PORT, PAUSED);
            let tx_grants = Arc::new(TxGrants::new(3, 1));
            let owner = {
                let (words, tx_grants) = (Arc::clone(&words), Arc::clone(&tx_grants));
                loom::thread::spawn(move || {
                    words.write(OWNER, PORT, Known::default());
                    let grant = TxGrant { granted_bits: 1, up: true };
                    TxGrantWriter::new(tx_grants).set_grant(PORT, grant);
                })
            };
            let granted_bits = tx_grants.read(PORT, SENDER, 0).granted_bits;
            let known_bits = at_sender(&words).known_bits(0);
            assert!(granted_bits & known_bits == 0, "granted, and held by the old pause");
            owner.join().expect("the owner does not panic");
            assert_eq!(at_sender(&words).known_bits(0), 0);
        });
    }
}
