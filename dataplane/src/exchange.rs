//! Frames and news for other workers. What finds a ring full waits here, in order, and stays
//! charged to its VIQ: a slow worker makes upstream pause, it does not lose frames.

use crate::counters::Totals;
use crate::frame::Frame;
use crate::ids::{PortId, WorkerId};
use crate::links::{Handoff, News};
use crate::queue::veq::{Arena, Held, Veq};
use crate::settings::SwitchSettings;
use alloc::collections::VecDeque;
use alloc::vec;
use alloc::vec::Vec;
use rtrb::{Producer, PushError};

/// News that may wait for one worker. What does not fit is not told: that worker floods to the
/// address, which is right, only slower.
const NEWS_MAX: usize = 1024;
/// The slot of a port of another worker.
const FOREIGN: u16 = u16::MAX;

/// Which port is whose, and what is on its way there.
#[derive(Debug)]
pub(crate) struct Exchange {
    /// By port index: its place among this worker's ports, or [`FOREIGN`].
    slot_of: Vec<u16>,
    /// By port index.
    owner_of: Vec<WorkerId>,
    /// By worker index.
    peers: Vec<Peer>,
}

/// What waits for one other worker.
#[derive(Debug)]
struct Peer {
    frames: Veq,
    news: VecDeque<News>,
    /// False for this worker itself.
    is_other: bool,
}

impl Exchange {
    pub(crate) fn new(
        settings: &SwitchSettings,
        own_ports: &[PortId],
        me: WorkerId,
        workers: usize,
    ) -> Self {
        let mut slot_of = vec![FOREIGN; settings.ports.len()];
        for (slot, port) in (0_u16..).zip(own_ports) {
            slot_of[port.index()] = slot;
        }
        let peer = |worker| Peer {
            frames: Veq::default(),
            news: VecDeque::with_capacity(if worker == me.index() { 0 } else { NEWS_MAX }),
            is_other: worker != me.index(),
        };
        Self {
            slot_of,
            owner_of: settings.ports.iter().map(|port| port.worker).collect(),
            peers: (0..workers).map(peer).collect(),
        }
    }

    /// The place of `port` among this worker's ports, `None` if it is another's.
    #[inline(always)]
    pub(crate) fn slot(&self, port: PortId) -> Option<usize> {
        match self.slot_of.get(port.index()) {
            Some(&slot) if slot != FOREIGN => Some(usize::from(slot)),
            _ => None,
        }
    }

    /// Takes a frame for a port of another worker; gives it back if nobody has that port, or the
    /// arena is used up, which its size rules out.
    #[inline]
    pub(crate) fn push<F: Frame>(
        &mut self,
        held: Held<F>,
        arena: &mut Arena<F>,
    ) -> Result<(), Held<F>> {
        let owner = self.owner_of.get(usize::from(held.note.out));
        match owner.and_then(|owner| self.peers.get_mut(owner.index())) {
            Some(peer) => peer.frames.push_back(arena, held),
            None => Err(held),
        }
    }

    /// Has `news` told to every other worker.
    pub(crate) fn announce(&mut self, news: News) {
        for peer in self.peers.iter_mut().filter(|peer| peer.is_other) {
            if peer.news.len() < NEWS_MAX {
                peer.news.push_back(news);
            }
        }
    }

    /// Hands over as much as the rings take.
    pub(crate) fn hand_over<F: Frame>(
        &mut self,
        rings: &mut [Option<Producer<Handoff<F>>>],
        arena: &mut Arena<F>,
        totals: &mut Totals,
    ) {
        for (peer, ring) in self.peers.iter_mut().zip(rings) {
            let Some(ring) = ring else { continue };
            while let Some(&news) = peer.news.front() {
                if ring.push(Handoff::News(news)).is_err() {
                    break;
                }
                peer.news.pop_front();
            }
            while let Some(held) = peer.frames.pop_front(arena) {
                match ring.push(Handoff::Frame(held)) {
                    Ok(()) => totals.handed_over += 1,
                    Err(PushError::Full(handoff)) => {
                        peer.put_back(handoff, arena);
                        break;
                    }
                }
            }
        }
    }

    /// Frames that wait for other workers.
    pub(crate) fn held(&self) -> u64 {
        self.peers.iter().map(|peer| u64::from(peer.frames.frames())).sum()
    }
}

impl Peer {
    fn put_back<F: Frame>(&mut self, handoff: Handoff<F>, arena: &mut Arena<F>) {
        if let Handoff::Frame(held) = handoff {
            let back = self.frames.push_front(arena, held);
            debug_assert!(back.is_ok(), "the frame's place was just freed");
        }
    }
}
