//! Deficit round robin over ingress ports, for a queue that has frames of more than one ingress
//! port and serves these ports in turn instead of in order of arrival.
//!
//! A single FIFO gives each ingress port a share in proportion to what it receives. Hosts that send
//! at full speed then displace traffic that has come many hops, and their share grows with every
//! hop. Round robin gives each ingress port the same share. Frames of one ingress port, and so of
//! one flow, stay in order.

use super::chunk::Front;
use super::fifo::{Fifo, FramePool};
use super::frame_meta::{FrameMeta, QueuedFrame};
use crate::frame::Frame;
use crate::limits::PORTS_MAX;
use alloc::vec::Vec;

/// Quantum of each ingress port: a little more than an ordinary frame.
const QUANTUM_BYTES: u32 = 2_048;

/// Words of a set of ingress ports: one bit for each port, and one for the switch's own frames.
const WORDS: usize = PORTS_MAX / 64 + 1;

/// A FIFO for each ingress port, and one for the switch's own frames.
#[derive(Debug)]
pub(super) struct IngressDrr {
    ports: Vec<Ingress>,
    /// The port whose first frame leaves next, if any frame is queued.
    current: usize,
    /// Bit by ingress port: the ports with queued frames.
    active: [u64; WORDS],
}

#[derive(Debug, Default)]
struct Ingress {
    fifo: Fifo,
    deficit_bytes: u32,
}

impl IngressDrr {
    /// A scheduler for `ports` ingress ports.
    pub(super) fn new(ports: usize) -> Self {
        let ports = (0..=ports).map(|_| Ingress::default()).collect();
        Self { ports, current: 0, active: [0; WORDS] }
    }

    /// The next port with queued frames after `port`, cyclically; `port` itself if no other has
    /// any.
    fn next_after(&self, port: usize) -> usize {
        let first = port + 1;
        let (word, bit) = (first / 64, first % 64);
        let above = self.active.get(word).map_or(0, |bits| bits & (u64::MAX << bit));
        if above != 0 {
            return word * 64 + above.trailing_zeros() as usize;
        }
        let later = (word + 1..WORDS).chain(0..WORDS);
        let found = later.map(|at| (at, self.active[at])).find(|&(_, bits)| bits != 0);
        found.map_or(port, |(at, bits)| at * 64 + bits.trailing_zeros() as usize)
    }

    /// The index of an ingress port in `ports`. The switch's own frames have the last index.
    fn place_of(&self, ingress: u16) -> usize {
        usize::from(ingress).min(self.ports.len() - 1)
    }

    fn set_active(&mut self, at: usize) {
        self.active[at / 64] |= 1 << (at % 64);
    }

    /// Takes the FIFO of the only ingress port so far, when a second one has a frame too.
    #[cold]
    pub(super) fn adopt(&mut self, fifo: &mut Fifo) {
        let at = self.place_of(fifo.ingress);
        core::mem::swap(&mut self.ports[at].fifo, fifo);
        self.ports[at].deficit_bytes = 0;
        self.current = at;
        self.set_active(at);
    }

    /// If just one ingress port has frames left, gives its FIFO to `fifo`, which is empty.
    #[inline]
    pub(super) fn leave_last(&mut self, fifo: &mut Fifo) {
        if self.active.iter().map(|bits| bits.count_ones()).sum::<u32>() == 1 {
            core::mem::swap(&mut self.ports[self.current].fifo, fifo);
            self.active = [0; WORDS];
        }
    }

    /// Adds frames with the same metadata at the end of their ingress port's FIFO, as
    /// [`Fifo::extend_run`] does.
    pub(super) fn extend_run<F: Frame>(
        &mut self,
        frame_pool: &mut FramePool<F>,
        meta: &FrameMeta,
        frames: impl ExactSizeIterator<Item = F>,
        refused: impl FnMut(F),
    ) -> (u32, u32) {
        let ingress = meta.ingress();
        let at = self.place_of(ingress);
        let fifo = &mut self.ports[at].fifo;
        fifo.ingress = ingress;
        let (count, bytes) = fifo.extend_run(frame_pool, meta, frames, refused);
        if count > 0 {
            self.set_active(at);
        }
        (count, bytes)
    }

    /// Adds a frame at the end of its ingress port's FIFO.
    pub(super) fn push_back<F: Frame>(
        &mut self,
        frame_pool: &mut FramePool<F>,
        queued: QueuedFrame<F>,
    ) -> Result<(), QueuedFrame<F>> {
        let ingress = queued.meta.ingress();
        let at = self.place_of(ingress);
        let fifo = &mut self.ports[at].fifo;
        fifo.ingress = ingress;
        fifo.push_back(frame_pool, queued)?;
        self.set_active(at);
        Ok(())
    }

    /// Puts a frame back before all others and returns the credit that it was charged.
    pub(super) fn push_front<F: Frame>(
        &mut self,
        frame_pool: &mut FramePool<F>,
        queued: QueuedFrame<F>,
    ) -> Result<(), QueuedFrame<F>> {
        let (ingress, bytes) = (queued.meta.ingress(), u32::from(queued.meta.bytes));
        let at = self.place_of(ingress);
        let port = &mut self.ports[at];
        port.fifo.ingress = ingress;
        port.fifo.push_front(frame_pool, queued)?;
        port.deficit_bytes += bytes;
        self.current = at;
        self.set_active(at);
        Ok(())
    }

    /// The metadata of the next frame.
    pub(super) fn front<F: Frame>(&self, frame_pool: &FramePool<F>) -> Option<FrameMeta> {
        self.ports[self.current].fifo.front(frame_pool)
    }

    /// The next frames of the current port that are consecutive in memory and within its credit.
    /// The caller has to [count](Self::took) those that it takes out.
    pub(super) fn front_frames<'a, F: Frame>(
        &self,
        frame_pool: &'a mut FramePool<F>,
        frames_max: usize,
    ) -> Option<Front<'a, F>> {
        let port = &self.ports[self.current];
        let front = port.fifo.front_frames(frame_pool, frames_max)?;
        // The first frame may always leave: the credit of a port that was alone is not kept up.
        let mut spent_bytes = 0;
        let reached = front.metas().take_while(|meta| {
            let is_first = spent_bytes == 0;
            spent_bytes += u32::from(meta.bytes);
            is_first || spent_bytes <= port.deficit_bytes
        });
        let count = reached.count();
        Some(front.up_to(count))
    }

    /// Counts `frames` frames, `bytes` in all, that were taken out of the current port's FIFO.
    pub(super) fn took<F: Frame>(
        &mut self,
        frame_pool: &mut FramePool<F>,
        frames: usize,
        bytes: u32,
    ) {
        let port = &mut self.ports[self.current];
        port.fifo.took(frame_pool, frames);
        port.deficit_bytes = port.deficit_bytes.saturating_sub(bytes);
        self.choose(frame_pool);
    }

    /// Moves to the port that is served next. At least one port has frames.
    fn choose<F: Frame>(&mut self, frame_pool: &FramePool<F>) {
        loop {
            let port = &mut self.ports[self.current];
            match port.fifo.front(frame_pool) {
                Some(meta) if u32::from(meta.bytes) <= port.deficit_bytes => return,
                Some(_) => {}
                None => {
                    // An empty port loses its credit: no port accumulates credit while idle.
                    port.deficit_bytes = 0;
                    self.active[self.current / 64] &= !(1 << (self.current % 64));
                }
            }
            self.current = self.next_after(self.current);
            self.ports[self.current].deficit_bytes += QUANTUM_BYTES;
        }
    }

    /// The metadata of all frames, ingress port by ingress port.
    pub(super) fn metas<'a, F: Frame>(
        &'a self,
        frame_pool: &'a FramePool<F>,
    ) -> impl Iterator<Item = FrameMeta> {
        self.ports.iter().flat_map(|port| port.fifo.metas(frame_pool))
    }
}

#[cfg(test)]
mod tests {
    use crate::buffer::ViqId;
    use crate::frame::Frame;
    use crate::ids::{PortId, Priority};
    use crate::queue::veq::{FrameMeta, FramePool, QueuedFrame, Veq};
    use crate::testing::TestFrame;
    use alloc::vec;
    use alloc::vec::Vec;
    use proptest::prelude::*;

    fn held(port: usize, bytes: u16, number: u8) -> QueuedFrame<TestFrame> {
        let viq = ViqId::new(PortId::from_index(port).unwrap(), Priority::default());
        let meta = FrameMeta { viq, bytes, arrived_ns: number.into(), ..FrameMeta::NONE };
        QueuedFrame { frame: TestFrame::new(&vec![number; bytes.into()]), meta }
    }

    /// Port and number of a frame.
    fn known(queued: &QueuedFrame<TestFrame>) -> (usize, u8) {
        (queued.meta.viq.port_index(), queued.frame.head()[0])
    }

    /// Port and number of the first `count` frames that are taken.
    fn order(
        veq: &mut Veq,
        frame_pool: &mut FramePool<TestFrame>,
        count: usize,
    ) -> Vec<(usize, u8)> {
        let take = |_| veq.pop_front(frame_pool).as_ref().map(known);
        (0..count).filter_map(take).collect()
    }

    #[test]
    fn ports_take_turns_however_much_each_brings() {
        let (mut veq, mut frame_pool) = (Veq::fair(3), FramePool::new(100, 5));
        for (port, count) in [(0, 20), (2, 5)] {
            for number in 0..count {
                veq.push_back(&mut frame_pool, held(port, 1_500, number)).unwrap();
            }
        }
        let order = order(&mut veq, &mut frame_pool, 25);
        let of_two = order[..11].iter().filter(|(port, _)| *port == 2).count();
        assert!(of_two >= 4, "{order:?}");
        assert!(order[11..].iter().all(|(port, _)| *port == 0));
    }

    #[test]
    fn turns_are_fair_in_bytes_not_in_frames() {
        let (mut veq, mut frame_pool) = (Veq::fair(2), FramePool::new(3_000, 4));
        for number in 0..200 {
            veq.push_back(&mut frame_pool, held(0, 1_500, number)).unwrap();
            for _ in 0..10 {
                veq.push_back(&mut frame_pool, held(1, 150, number)).unwrap();
            }
        }
        let order = order(&mut veq, &mut frame_pool, 550);
        let short = order.iter().filter(|(port, _)| *port == 1).count();
        let (long_bytes, short_bytes) = ((550 - short) * 1_500, short * 150);
        assert!(long_bytes.abs_diff(short_bytes) < 8_000, "{long_bytes} and {short_bytes}");
    }

    proptest! {
        /// Taking several frames at once gives the same order as taking them one by one.
        #[test]
        fn frames_taken_together_are_those_taken_one_by_one(
            arriving in proptest::collection::vec((0_usize..4, 60_u16..9_000), 1..200),
            at_once in 1_usize..10,
        ) {
            let (mut one, mut one_pool) = (Veq::fair(3), FramePool::new(200, 5));
            let (mut many, mut many_pool) = (Veq::fair(3), FramePool::new(200, 5));
            for (number, &(port, bytes)) in (0_u8..).zip(&arriving) {
                one.push_back(&mut one_pool, held(port, bytes, number)).unwrap();
                many.push_back(&mut many_pool, held(port, bytes, number)).unwrap();
            }
            let expected = order(&mut one, &mut one_pool, arriving.len());
            let mut taken = Vec::new();
            while taken.len() < arriving.len() {
                let front = many.front_frames(&mut many_pool, at_once).expect("frames are left");
                prop_assert!(front.len() <= at_once);
                let frames: Vec<_> = front.drain().collect();
                let bytes = frames.iter().map(|queued| u32::from(queued.meta.bytes)).sum();
                taken.extend(frames.iter().map(known));
                many.took(&mut many_pool, frames.len(), bytes);
            }
            prop_assert_eq!(taken, expected);
            prop_assert!(many.front_frames(&mut many_pool, 9).is_none());
        }

        /// Adding a burst of one ingress port gives the same order as adding its frames one by one.
        #[test]
        fn a_burst_is_its_frames(
            bursts in proptest::collection::vec((0_usize..4, 1_u8..40, 60_u16..3_000, 0_usize..60), 1..12),
        ) {
            let (mut one, mut one_pool) = (Veq::fair(3), FramePool::new(500, 5));
            let (mut many, mut many_pool) = (Veq::fair(3), FramePool::new(500, 5));
            for (port, frames, bytes, take) in bursts {
                let burst = |number: u8| held(port, bytes + u16::from(number), number);
                let meta = burst(0).meta;
                let together = Vec::from_iter((0..frames).map(|number| burst(number).frame));
                many.extend_run(&mut many_pool, &meta, together.into_iter(), |_| panic!("no room"));
                (0..frames).for_each(|number| one.push_back(&mut one_pool, burst(number)).unwrap());
                prop_assert_eq!((one.frames(), one.bytes()), (many.frames(), many.bytes()));
                prop_assert_eq!(
                    order(&mut one, &mut one_pool, take),
                    order(&mut many, &mut many_pool, take)
                );
            }
        }

        /// Compares with a list for each port: no frame is lost, each port's frames stay in order,
        /// and the front is what is taken next.
        #[test]
        fn each_port_is_a_fifo(steps in proptest::collection::vec((0_u8..4, 0_usize..4, 60_u16..9_000), 0..300)) {
            let (mut veq, mut frame_pool) = (Veq::fair(3), FramePool::new(400, 5));
            let mut lists: [alloc::collections::VecDeque<u32>; 4] = Default::default();
            let mut number = 0;
            for (kind, port, bytes) in steps {
                if kind > 0 {
                    number += 1;
                    let viq = ViqId::new(PortId::from_index(port).unwrap(), Priority::default());
                    let viq = if port == 3 { ViqId::NONE } else { viq };
                    let meta = FrameMeta { viq, bytes, arrived_ns: number, ..FrameMeta::NONE };
                    veq.push_back(&mut frame_pool, QueuedFrame { frame: TestFrame::new(&[0]), meta }).unwrap();
                    lists[port].push_back(number);
                    continue;
                }
                let front = veq.front(&frame_pool);
                let taken = veq.pop_front(&mut frame_pool);
                prop_assert_eq!(front, taken.as_ref().map(|queued| queued.meta));
                prop_assert_eq!(taken.is_none(), lists.iter().all(|list| list.is_empty()));
                let Some(queued) = taken else { continue };
                let port = queued.meta.viq.port_index().min(3);
                prop_assert_eq!(lists[port].pop_front(), Some(queued.meta.arrived_ns));
                if bytes % 3 == 0 {
                    lists[port].push_front(queued.meta.arrived_ns);
                    let meta = queued.meta;
                    veq.push_front(&mut frame_pool, queued).unwrap();
                    prop_assert_eq!(veq.front(&frame_pool), Some(meta));
                }
            }
            let left: usize = lists.iter().map(|list| list.len()).sum();
            prop_assert_eq!(veq.metas(&frame_pool).count(), left);
        }
    }
}
