//! Which port is whose, and frames and news for the ports of other workers. What finds a way full
//! waits here, in order, and stays charged to its VIQ: a slow worker makes upstream pause, it does
//! not lose frames.

use crate::books::Books;
use crate::counters::Totals;
use crate::frame::Frame;
use crate::handoff::{Crossing, Crossings, News, Numbered, Outbox};
use crate::ids::{PortId, Priority, WorkerId};
use crate::limits::BURST_MAX;
use crate::queue::veq::{Held, Note, Veq};
use crate::settings::SwitchSettings;
use crate::staging::Run;
use alloc::collections::VecDeque;
use alloc::vec;
use alloc::vec::Vec;
use arrayvec::ArrayVec;

/// News that may wait for one worker. What does not fit is not told: that worker floods to the
/// address, which is right, only slower.
const NEWS_MAX: usize = 1024;
/// The slot of a port of another worker.
const FOREIGN: u16 = u16::MAX;

/// Which port is whose, and what is on its way there.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Exchange<F> {
    /// The switch's ports, if all of them are this worker's own: then each is in its own place. If
    /// not, none.
    all_ports: usize,
    /// Ports that are this worker's own.
    own_ports: usize,
    /// By port index: its place among this worker's ports, behind which are those of others that it
    /// sends at; or [`FOREIGN`].
    slot_of: Vec<u16>,
    /// By port index.
    owner_of: Vec<WorkerId>,
    /// By worker index.
    peers: Vec<Peer<F>>,
}

/// What goes to one other worker.
#[derive(Debug)]
struct Peer<F> {
    /// `None` for this worker itself.
    outbox: Option<Outbox<F>>,
    /// Bursts sent so far.
    sent_bursts: u64,
    /// The burst in hand.
    frames: ArrayVec<Numbered<F>, BURST_MAX>,
    crossings: Crossings,
    /// Frames that found no room.
    waiting: Veq,
    news: VecDeque<News>,
}

impl<F: Frame> Exchange<F> {
    pub(crate) fn new(
        settings: &SwitchSettings,
        own_ports: &[PortId],
        sent_at: &[PortId],
        outboxes: Vec<Option<Outbox<F>>>,
    ) -> Self {
        let mut slot_of = vec![FOREIGN; settings.ports.len()];
        for (slot, port) in (0_u16..).zip(own_ports.iter().chain(sent_at)) {
            slot_of[port.index()] = slot;
        }
        let peer = |outbox: Option<Outbox<F>>| Peer {
            news: VecDeque::with_capacity(if outbox.is_some() { NEWS_MAX } else { 0 }),
            outbox,
            sent_bursts: 0,
            frames: ArrayVec::new(),
            crossings: Crossings::new(),
            waiting: Veq::default(),
        };
        Self {
            slot_of,
            own_ports: own_ports.len(),
            all_ports: if own_ports.len() == settings.ports.len() { own_ports.len() } else { 0 },
            owner_of: settings.ports.iter().map(|port| port.worker).collect(),
            peers: outboxes.into_iter().map(peer).collect(),
        }
    }

    /// The place of `port` among this worker's own ports, `None` if it is another's.
    #[inline(always)]
    pub(crate) fn slot(&self, port: PortId) -> Option<usize> {
        if port.index() < self.all_ports {
            return Some(port.index());
        }
        place_in(&self.slot_of, port.index()).filter(|&slot| self.is_own(slot))
    }

    /// The place of `port` among the ports that this worker can send at now; `None` if it is
    /// another's, and frames wait already to cross to that worker, or have to.
    #[inline(always)]
    pub(crate) fn way_out(&self, port: PortId) -> Option<usize> {
        self.slot(port).or_else(|| {
            let slot = place_in(&self.slot_of, port.index())?;
            let owner = self.owner_of[port.index()];
            self.peers[owner.index()].waiting.is_empty().then_some(slot)
        })
    }

    /// Whether all ports are this worker's, each at its own place.
    #[inline(always)]
    pub(crate) const fn owns_all(&self) -> bool {
        self.all_ports != 0
    }

    /// Whether the port at `slot` is this worker's own.
    #[inline(always)]
    pub(crate) const fn is_own(&self, slot: usize) -> bool {
        slot < self.own_ports
    }

    /// The owner of `port`, and how many bursts it was sent so far.
    #[inline]
    pub(crate) fn sent_bursts(&self, port: PortId) -> (WorkerId, u64) {
        let owner = self.owner_of[port.index()];
        (owner, self.peers[owner.index()].sent_bursts)
    }

    /// The place of the frames of `run`, which leave by `out`, in the burst that crosses next: a
    /// worker, and the number under which each is then [added](Self::add). `None` if they have to
    /// wait: there is no room, or others wait already.
    #[inline(always)]
    pub(crate) fn open(&mut self, out: PortId, run: Run) -> Option<(u8, u8)> {
        let owner = *self.owner_of.get(out.index())?;
        let peer = self.peers.get_mut(owner.index())?;
        // The first run asks for the whole burst.
        if !peer.waiting.is_empty()
            || peer.crossings.is_empty() && !peer.outbox.as_mut()?.has_room()
        {
            return None;
        }
        #[expect(clippy::cast_possible_truncation, reason = "a burst has 64 runs at the most")]
        let number = peer.crossings.len() as u8;
        peer.crossings.push(Crossing { run, out: out.index_u16() });
        Some((owner.0, number))
    }

    /// Adds a frame of an open run to the burst for `worker`.
    #[inline(always)]
    pub(crate) fn add(&mut self, worker: u8, frame: F, number: u8) {
        if let Some(peer) = self.peers.get_mut(usize::from(worker)) {
            peer.frames.push(Numbered { frame, number });
        }
    }

    /// Sends the bursts in hand.
    #[inline]
    pub(crate) fn send(&mut self, totals: &mut Totals) {
        for peer in self.peers.iter_mut().filter(|peer| !peer.crossings.is_empty()) {
            peer.send(totals);
        }
    }

    /// Takes a frame for a port of another worker to wait; gives it back if nobody has that port,
    /// or the arena is used up, which its size rules out.
    #[inline]
    pub(crate) fn push<P>(
        &mut self,
        held: Held<F>,
        books: &mut Books<F, P>,
    ) -> Result<(), Held<F>> {
        let owner = self.owner_of.get(usize::from(held.note.out));
        match owner.and_then(|owner| self.peers.get_mut(owner.index())) {
            Some(peer) => peer.waiting.push_back(&mut books.arena, held),
            None => Err(held),
        }
    }

    /// Has `news` told to every other worker.
    pub(crate) fn announce(&mut self, news: News) {
        for peer in self.peers.iter_mut().filter(|peer| peer.outbox.is_some()) {
            if peer.news.len() < NEWS_MAX {
                peer.news.push_back(news);
            }
        }
    }

    /// The next frame that waits to cross to `worker` and may leave here after all, as `may_leave`
    /// says of a place among the ports and a priority; with that place.
    pub(crate) fn pop_waiting<P>(
        &mut self,
        worker: usize,
        books: &mut Books<F, P>,
        may_leave: impl Fn(usize, Priority) -> bool,
    ) -> Option<(Held<F>, usize)> {
        let note = self.peers[worker].waiting.front(&books.arena)?;
        let slot = place_in(&self.slot_of, usize::from(note.out))?;
        if !may_leave(slot, Priority::from_low_bits(note.priority)) {
            return None;
        }
        let held = self.peers[worker].waiting.pop_front(&mut books.arena)?;
        Some((held, slot))
    }

    /// Sends as much of what waits as there is room for, up to a frame that, as `has_to_stay` says
    /// of a place among the ports and a priority, has others before it that wait here.
    pub(crate) fn hand_over<P>(
        &mut self,
        books: &mut Books<F, P>,
        has_to_stay: impl Fn(usize, Priority) -> bool,
    ) {
        let slot_of = &self.slot_of;
        let may_cross = |note: &Note| {
            let priority = Priority::from_low_bits(note.priority);
            !place_in(slot_of, usize::from(note.out)).is_some_and(|at| has_to_stay(at, priority))
        };
        for peer in &mut self.peers {
            let Some(outbox) = &mut peer.outbox else { continue };
            while let Some(&news) = peer.news.front() {
                if outbox.news.push(news).is_err() {
                    break;
                }
                peer.news.pop_front();
            }
            while peer.waiting.front(&books.arena).is_some_and(may_cross)
                && peer.outbox.as_mut().is_some_and(Outbox::has_room)
            {
                while !peer.frames.is_full()
                    && peer.waiting.front(&books.arena).is_some_and(may_cross)
                    && let Some(held) = peer.waiting.pop_front(&mut books.arena)
                {
                    peer.join(books.run_of_one(&held.note), held);
                }
                peer.send(&mut books.totals);
            }
        }
    }

    /// Frames that wait for other workers.
    pub(crate) fn held(&self) -> u64 {
        self.peers.iter().map(|peer| u64::from(peer.waiting.frames())).sum()
    }
}

/// What `slot_of` says of the port with this index, if it is one that this worker can send at.
#[inline(always)]
fn place_in(slot_of: &[u16], port_index: usize) -> Option<usize> {
    match slot_of.get(port_index) {
        Some(&slot) if slot != FOREIGN => Some(usize::from(slot)),
        _ => None,
    }
}

impl<F: Frame> Peer<F> {
    fn send(&mut self, totals: &mut Totals) {
        totals.handed_over += self.frames.len() as u64;
        self.sent_bursts += 1;
        if let Some(outbox) = &mut self.outbox {
            outbox.send(&mut self.frames, &mut self.crossings);
        }
    }

    /// Adds a frame that has waited, which is `run` by itself, to the burst in hand.
    fn join(&mut self, run: Run, held: Held<F>) {
        let out = held.note.out;
        match self.crossings.last_mut() {
            Some(last) if last.out == out && last.run.joins(&run) => {
                last.run.add(&run);
            }
            _ => self.crossings.push(Crossing { run, out }),
        }
        #[expect(clippy::cast_possible_truncation, reason = "a burst has 64 runs at the most")]
        let number = (self.crossings.len() - 1) as u8;
        self.frames.push(Numbered { frame: held.frame, number });
    }
}
