//! The device under a switch's worker: ports that are wires, without rings or queues of their own.
//!
//! A port takes one data frame when its wire is free and none while it is busy, so every byte that
//! a pause can still hold back is in the switch. PFC frames wait for the wire ahead of data.

use crate::event::Picoseconds;
use crate::frame::{Pool, SimFrame};
use crate::link::{Launch, Transmitter};
use dataplane::device::Device;
use dataplane::frame::{Burst, Frame};
use dataplane::ids::PortId;
use dataplane::limits::FRAME_BYTES_MAX;
use dataplane::time::Instant;
use std::collections::VecDeque;

/// See the module's head. What every turn needs comes first.
#[derive(Debug)]
#[repr(C, align(64))]
pub(crate) struct SimDevice {
    launched: SmallVec<Launch>,
    now_ps: Picoseconds,
    ports: Vec<SimPort>,
    /// Ports whose worker waits for the wire, and when these wires become free.
    awaited: SmallVec<(PortId, Picoseconds)>,
    /// Frames that arrived and that the worker has not taken, in order: few at one instant, and at
    /// most one at each port.
    arrived: Vec<(PortId, SimFrame)>,
    /// Control frames that wait, at all ports together.
    ahead_frames: usize,
    pool: Pool,
}

/// A list, without order, that mostly has at most one entry, which is kept in place. It is not the
/// crate smallvec's: every frame that is sent passes through one, and a single entry here is one
/// `Option`, with no length and no test of where the entries lie.
#[derive(Debug)]
struct SmallVec<T> {
    one: Option<T>,
    others: Vec<T>,
}

impl<T> Default for SmallVec<T> {
    fn default() -> Self {
        Self { one: None, others: Vec::new() }
    }
}

impl<T> SmallVec<T> {
    #[inline(always)]
    fn push(&mut self, entry: T) {
        if self.one.is_none() {
            self.one = Some(entry);
        } else {
            self.others.push(entry);
        }
    }

    #[inline(always)]
    fn take_all(&mut self, mut take: impl FnMut(T)) {
        if let Some(one) = self.one.take() {
            take(one);
            if !self.others.is_empty() {
                self.take_others(take);
            }
        }
    }

    #[inline(never)]
    fn take_others(&mut self, take: impl FnMut(T)) {
        self.others.drain(..).for_each(take);
    }
}

/// One port. What every frame needs of it is in one cache line.
#[derive(Debug)]
#[repr(C, align(64))]
pub(crate) struct SimPort {
    transmitter: Transmitter,
    /// The control frame that goes as soon as the wire is free, and those behind it.
    ahead: Option<SimFrame>,
    /// The wire it sends on; `None` where no link is.
    wire: Option<u32>,
    /// An event is planned for when the wire is free.
    is_awaited: bool,
    behind: VecDeque<SimFrame>,
}

const _: () = assert!(std::mem::offset_of!(SimPort, behind) == 64, "the rest is a cache line");

impl SimPort {
    /// A port that sends on `wire` with `transmitter`.
    pub(crate) const fn new(transmitter: Transmitter, wire: Option<u32>) -> Self {
        Self { transmitter, ahead: None, wire, is_awaited: false, behind: VecDeque::new() }
    }

    #[inline(always)]
    const fn takes_data(&self, now_ps: Picoseconds) -> bool {
        self.wire.is_some() && self.ahead.is_none() && self.transmitter.is_free(now_ps)
    }

    /// Puts `frame` on the wire, which is free, and into the list of launched frames.
    #[inline(always)]
    fn launch(&mut self, frame: SimFrame, now_ps: Picoseconds, launched: &mut SmallVec<Launch>) {
        let last_bit_ps = self.transmitter.start(frame.len(), now_ps);
        if let Some(wire) = self.wire {
            launched.push(Launch { wire, frame, last_bit_ps });
        }
    }

    fn queue_ahead(&mut self, frame: SimFrame) {
        if self.ahead.is_none() {
            self.ahead = Some(frame);
        } else {
            self.behind.push_back(frame);
        }
    }

    fn next_ahead(&mut self) -> Option<SimFrame> {
        std::mem::replace(&mut self.ahead, self.behind.pop_front())
    }
}

impl SimDevice {
    /// A device with these ports.
    pub(crate) fn new(ports: Vec<SimPort>, pool: Pool) -> Self {
        Self {
            now_ps: 0,
            arrived: Vec::new(),
            ports,
            launched: SmallVec::default(),
            awaited: SmallVec::default(),
            ahead_frames: 0,
            pool,
        }
    }

    /// A frame has arrived whole at `port`.
    #[inline(always)]
    pub(crate) fn arrive(&mut self, port: PortId, frame: SimFrame) {
        self.arrived.push((port, frame));
    }

    /// Whether frames wait for which no burst had room.
    pub(crate) const fn has_arrivals(&self) -> bool {
        !self.arrived.is_empty()
    }

    /// Control frames that wait for a wire.
    pub(crate) const fn ahead_frames(&self) -> usize {
        self.ahead_frames
    }

    /// Control frames that wait at `port`.
    pub(crate) fn ahead(&self, port: PortId) -> impl Iterator<Item = &SimFrame> {
        let port = &self.ports[port.index()];
        port.ahead.iter().chain(&port.behind)
    }

    /// Sets the time.
    pub(crate) const fn begin(&mut self, now_ps: Picoseconds) {
        self.now_ps = now_ps;
    }

    /// The awaited wire of `port` is free at `now_ps`. A waiting control frame goes first.
    #[inline(always)]
    pub(crate) fn free(&mut self, port: PortId, now_ps: Picoseconds) {
        let waiting = &mut self.ports[port.index()];
        waiting.is_awaited = false;
        if waiting.ahead.is_some() {
            self.free_ahead(port, now_ps);
        }
    }

    /// Sends a waiting control frame on the wire of `port`, which is free.
    #[cold]
    fn free_ahead(&mut self, port: PortId, now_ps: Picoseconds) {
        let waiting = &mut self.ports[port.index()];
        if let Some(frame) = waiting.next_ahead() {
            self.ahead_frames -= 1;
            waiting.launch(frame, now_ps, &mut self.launched);
        }
        if waiting.ahead.is_some() {
            self.await_wire(port);
        }
    }

    /// Asks for an event when the wire of `port` is free.
    #[inline(always)]
    fn await_wire(&mut self, port: PortId) {
        let waiting = &mut self.ports[port.index()];
        if waiting.wire.is_some() && !std::mem::replace(&mut waiting.is_awaited, true) {
            self.awaited.push((port, waiting.transmitter.free_at_ps()));
        }
    }

    /// Takes what has arrived at `port`, as far as the burst has room.
    #[inline(never)]
    fn take_arrived(&mut self, port: PortId, into: &mut Burst<SimFrame>) {
        let mut at = 0;
        while at < self.arrived.len() && !into.is_full() {
            if self.arrived[at].0 == port {
                into.push(self.arrived.remove(at).1);
            } else {
                at += 1;
            }
        }
    }

    /// Takes the ports whose wires have been awaited since the last call, and when the wires become
    /// free.
    #[inline(always)]
    pub(crate) fn take_awaited(&mut self, mut take: impl FnMut(PortId, Picoseconds)) {
        self.awaited.take_all(|(port, free_at_ps)| take(port, free_at_ps));
    }

    /// The pool of its buffers.
    pub(crate) fn pool(&self) -> Pool {
        self.pool.clone()
    }

    /// This device after a reset: empty, with its wires as busy as before and the events for them
    /// still planned.
    pub(crate) fn reset(&self) -> Self {
        let port = |port: &SimPort| SimPort {
            is_awaited: port.is_awaited,
            ..SimPort::new(port.transmitter.clone(), port.wire)
        };
        Self::new(self.ports.iter().map(port).collect(), self.pool.clone())
    }

    /// Takes the frames launched since the last call: no two on one wire at one instant.
    #[inline(always)]
    pub(crate) fn take_launched(&mut self, take: impl FnMut(Launch)) {
        self.launched.take_all(take);
    }
}

impl Device for SimDevice {
    type Frame = SimFrame;

    fn notify_tx_ready(&mut self, port: PortId) -> bool {
        self.await_wire(port);
        true
    }

    #[inline(always)]
    fn has_rx_ring(&self, _port: PortId) -> bool {
        false
    }

    #[inline(always)]
    fn rx_burst(&mut self, port: PortId, _frames_max: usize, into: &mut Burst<SimFrame>) {
        if !self.arrived.is_empty() {
            self.take_arrived(port, into);
        }
    }

    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "asserted in limits to fit 16 bits")]
    fn tx_room_bytes(&mut self, port: PortId, _now: Instant) -> u32 {
        let takes = self.ports[port.index()].takes_data(self.now_ps);
        if takes { FRAME_BYTES_MAX as u32 } else { 0 }
    }

    #[inline(always)]
    fn tx_free_frames(&self, _port: PortId) -> usize {
        1
    }

    #[inline(always)]
    fn tx_one(&mut self, port: PortId, frame: SimFrame, _now: Instant) -> Result<(), SimFrame> {
        let at = &mut self.ports[port.index()];
        if at.takes_data(self.now_ps) {
            at.launch(frame, self.now_ps, &mut self.launched);
        } else if frame.is_control() {
            at.queue_ahead(frame);
            self.ahead_frames += 1;
            self.await_wire(port);
        } else {
            return Err(frame);
        }
        Ok(())
    }

    fn tx_burst(&mut self, port: PortId, from: &mut Burst<SimFrame>, now: Instant) {
        while let Some(frame) = from.pop_at(0) {
            if let Err(frame) = self.tx_one(port, frame, now) {
                from.insert(0, frame);
                return;
            }
        }
    }

    fn make_control(&mut self, bytes: &[u8]) -> Option<SimFrame> {
        Some(self.pool.take(bytes, 0))
    }

    fn copy(&mut self, frame: &SimFrame) -> Option<SimFrame> {
        Some(self.pool.copy(frame))
    }

    fn recycle(&mut self, frames: &mut Burst<SimFrame>) {
        frames.drain(..).for_each(|frame| self.pool.give(frame));
    }

    #[inline]
    fn rx_backlog_frames(&mut self, _port: PortId) -> Option<u32> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dataplane::limits::BURST_MAX;
    use dataplane::time::Speed;
    use dataplane::wire::MacAddress;
    use dataplane::wire::mac_control::Pfc;

    const PORT: PortId = PortId::FIRST;

    /// One port of 10G on wire 7, and a frame of 1,000 bytes or a PFC frame.
    fn device() -> (SimDevice, Pool) {
        let pool = Pool::default();
        let port = SimPort::new(Transmitter::new(Speed::from_gbps(10)), Some(7));
        (SimDevice::new(vec![port], pool.clone()), pool)
    }

    fn burst(pool: &Pool, count: usize) -> Burst<SimFrame> {
        (0..count).map(|_| pool.take(&[0; 60], 1_000)).collect()
    }

    /// Lengths of the launched frames, and when their last bits leave.
    fn launched(device: &mut SimDevice) -> Vec<(usize, Picoseconds)> {
        let mut launched = Vec::new();
        device.take_launched(|l| launched.push((l.frame.len(), l.last_bit_ps)));
        launched
    }

    /// When the wire of the port will be free, if the port began to wait for it.
    fn awaited(device: &mut SimDevice) -> Option<Picoseconds> {
        let mut awaited = None;
        device.take_awaited(|port, free_at_ps| {
            assert_eq!((port, awaited), (PORT, None), "one port, one event");
            awaited = Some(free_at_ps);
        });
        awaited
    }

    #[test]
    fn a_port_takes_one_frame_while_its_wire_is_free_and_none_while_it_is_busy() {
        let (mut device, pool) = device();
        let mut frames = burst(&pool, 3);
        device.begin(100);
        assert_eq!(device.tx_room_bytes(PORT, Instant::ZERO), 9_728);
        device.tx_burst(PORT, &mut frames, Instant::ZERO);
        assert_eq!(frames.len(), 2);
        assert_eq!(device.tx_room_bytes(PORT, Instant::ZERO), 0);
        device.tx_burst(PORT, &mut frames, Instant::ZERO);
        assert_eq!(frames.len(), 2);
        assert_eq!(launched(&mut device), [(1_000, 100 + 1_012 * 800)]);
        let free_at_ps = 100 + 1_024 * 800;
        assert_eq!(awaited(&mut device), None, "no event was asked for");
        assert!(device.notify_tx_ready(PORT) && device.notify_tx_ready(PORT));
        assert_eq!(awaited(&mut device), Some(free_at_ps));
        device.begin(free_at_ps - 1);
        assert_eq!(device.tx_room_bytes(PORT, Instant::ZERO), 0, "not a picosecond before");
        device.begin(free_at_ps);
        device.free(PORT, free_at_ps);
        assert_eq!(awaited(&mut device), None);
        device.tx_burst(PORT, &mut frames, Instant::ZERO);
        assert_eq!(launched(&mut device), [(1_000, free_at_ps + 1_012 * 800)]);
    }

    #[test]
    fn pfc_waits_for_the_frame_on_the_wire_and_for_nothing_else() {
        let (mut device, pool) = device();
        let mut frames = burst(&pool, 1);
        device.tx_burst(PORT, &mut frames, Instant::ZERO);
        let pfc = Pfc::default().to_frame(MacAddress::default());
        let mut control: Burst<SimFrame> =
            (0..2).filter_map(|_| device.make_control(&pfc)).collect();
        device.tx_burst(PORT, &mut control, Instant::ZERO);
        assert!(control.is_empty() && device.ahead(PORT).count() == 2);
        assert_eq!((device.ahead_frames(), launched(&mut device).len()), (2, 1));
        let mut now_ps = awaited(&mut device).unwrap();
        for left in [1, 0] {
            device.begin(now_ps);
            device.free(PORT, now_ps);
            assert_eq!(launched(&mut device), [(60, now_ps + 72 * 800)]);
            assert_eq!(device.ahead_frames(), left);
            assert_eq!(device.tx_room_bytes(PORT, Instant::ZERO), 0, "data comes after it");
            assert_eq!(awaited(&mut device).is_some(), left == 1, "only a port that waits");
            now_ps += 84 * 800;
        }
        device.begin(now_ps);
        assert_eq!(device.tx_room_bytes(PORT, Instant::ZERO), 9_728);
    }

    #[test]
    fn a_port_that_waits_for_its_wire_across_a_reset_gets_one_event() {
        let (mut before, pool) = device();
        before.tx_burst(PORT, &mut burst(&pool, 1), Instant::ZERO);
        assert!(before.notify_tx_ready(PORT));
        let free_at_ps = awaited(&mut before).unwrap();
        let mut device = before.reset();
        let pfc = Pfc::default().to_frame(MacAddress::default());
        let mut control: Burst<SimFrame> =
            (0..2).filter_map(|_| device.make_control(&pfc)).collect();
        device.tx_burst(PORT, &mut control, Instant::ZERO);
        assert_eq!(device.ahead_frames(), 2, "the wire is still busy");
        assert_eq!(awaited(&mut device), None, "the event is planned already");
        device.free(PORT, free_at_ps);
        assert_eq!((launched(&mut device).len(), device.ahead_frames()), (1, 1));
        assert_eq!(awaited(&mut device), Some(free_at_ps + 84 * 800));
    }

    #[test]
    fn what_arrives_comes_out_in_order_as_much_as_fits_a_burst() {
        let (mut device, pool) = device();
        let count = u8::try_from(BURST_MAX + 6).unwrap();
        for number in 0..count {
            device.arrive(PORT, pool.take(&[number; 60], 60));
        }
        let mut order = Vec::new();
        for left in [true, false, false] {
            let mut frames = Burst::new();
            device.rx_burst(PORT, BURST_MAX, &mut frames);
            order.extend(frames.iter().map(|frame| frame.head()[0]));
            assert_eq!(device.has_arrivals(), left);
            device.recycle(&mut frames);
        }
        assert_eq!(order, (0..count).collect::<Vec<u8>>());
    }
}
