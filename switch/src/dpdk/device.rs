//! The device of one worker: its own ports, and transmit queues at other workers' ports. Bursts go
//! directly between the core's storage and the device's rings.

use super::mbuf::Mbuf;
use super::mempool::Pool;
use super::pacer::{Pacer, TxCap};
use super::port::{L2_OVERHEAD_BYTES, Port, PortQueues, RxQueue, TxQueue};
use super::rx_backlog::{BacklogSource, FullBursts};
use dataplane::device::Device;
use dataplane::frame::{Burst, Frame};
use dataplane::ids::PortId;
use dataplane::limits::{BURST_MAX, PORTS_MAX};
use dataplane::time::Instant;
use dpdk_sys::rte_mbuf;
use std::sync::Arc;

/// A port to be driven.
#[derive(Debug)]
pub struct DevicePort {
    /// The switch's number for it.
    pub port: PortId,
    /// Its queues.
    pub queues: PortQueues,
    /// What may wait in its transmit ring; `None` where it hands frames on at once (`net_tap`) or
    /// nothing is known about its speed.
    pub tx_cap: Option<TxCap>,
}

/// A port of another worker, to be sent at.
#[derive(Debug)]
pub struct ForeignPort {
    /// The switch's number for it.
    pub port: PortId,
    /// This worker's own way there.
    pub queue: TxQueue,
}

/// A further receive queue of a port, to be received from.
#[derive(Debug)]
pub struct FurtherQueue {
    /// The switch's number for it, among all receive queues.
    pub id: PortId,
    /// The queue.
    pub queue: RxQueue,
}

/// Frames that ended in the device layer. The switch adds them to its own counters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DeviceDrops {
    /// Received in pieces with too short a first one, and no buffer left to copy them to.
    pub rx_unreadable_frames: u64,
    /// In several pieces, for a NIC that cannot send that, and no buffer left to copy them to.
    pub tx_segmented_frames: u64,
}

/// The ports that one worker owns.
#[derive(Debug)]
pub struct DpdkDevice {
    slots: Vec<Slot>,
    /// By port index: the index in `slots`, [`NO_SLOT`] for ports of other workers.
    slot_of_port: Box<[u16; PORTS_MAX]>,
    data: Arc<Pool>,
    control: Arc<Pool>,
}

const NO_SLOT: u16 = u16::MAX;

/// Virtual devices that copy what they receive. It is in the cache of the core that asked for it,
/// and they fill a buffer before they begin another.
const COPYING_DRIVERS: [&str; 3] = ["net_af_packet", "net_pcap", "net_tap"];

/// A port, or a queue of one. What every burst needs is in one cache line.
#[derive(Debug)]
#[repr(C, align(64))]
struct Slot {
    port: PortId,
    id: u16,
    tx_queue: u16,
    rx_queue: u16,
    frame_bytes_max: u32,
    full_bursts: FullBursts,
    checks_heads: bool,
    prefetches_heads: bool,
    sends_segments: bool,
    rx_backlog: BacklogSource,
    pacer: Option<Pacer>,
    drops: DeviceDrops,
    /// `None` once its device was removed: nobody looks the slot up any more.
    access: Option<Access>,
}

/// What a worker may do with a port.
#[derive(Debug)]
enum Access {
    /// Everything: it owns it.
    All(PortQueues),
    /// Receive by a further queue.
    Receive(RxQueue),
    /// Send.
    Send(TxQueue),
}

impl Access {
    const fn port(&self) -> &Arc<Port> {
        match self {
            Self::All(queues) => queues.port(),
            Self::Receive(queue) => queue.port(),
            Self::Send(queue) => queue.port(),
        }
    }

    const fn tx_queue(&self) -> u16 {
        match self {
            Self::All(_) | Self::Receive(_) => 0,
            Self::Send(queue) => queue.number(),
        }
    }

    const fn rx_queue(&self) -> u16 {
        match self {
            Self::All(_) | Self::Send(_) => 0,
            Self::Receive(queue) => queue.number(),
        }
    }
}

impl Slot {
    fn new(port: PortId, access: Access, tx_cap: Option<TxCap>, data: &Pool) -> Self {
        let info = access.port().info();
        let frame_bytes_max = u32::from(info.mtu_bytes) + u32::from(L2_OVERHEAD_BYTES);
        let copies = COPYING_DRIVERS.contains(&info.driver.as_str());
        Self {
            port,
            id: info.id,
            tx_queue: access.tx_queue(),
            rx_queue: access.rx_queue(),
            frame_bytes_max,
            // A NIC, too, fills a buffer before it begins another. Then a frame that has another is
            // too long, if all others fit. What a peer puts into a memory that it shares with the
            // switch is the peer's choice.
            checks_heads: info.is_virtual && !copies
                || frame_bytes_max > u32::from(data.data_room_bytes()),
            prefetches_heads: !copies,
            sends_segments: info.sends_segments,
            rx_backlog: info.rx_backlog,
            full_bursts: FullBursts::default(),
            pacer: tx_cap.map(Pacer::new),
            drops: DeviceDrops::default(),
            access: Some(access),
        }
    }
}

impl DpdkDevice {
    /// The device over `ports`, which can receive by `further` queues and send at `foreign` ports.
    /// Copies come from `data`; the switch's own frames from `control`, which nothing else must
    /// use.
    pub fn new(
        ports: Vec<DevicePort>,
        further: Vec<FurtherQueue>,
        foreign: Vec<ForeignPort>,
        data: &Arc<Pool>,
        control: &Arc<Pool>,
    ) -> Self {
        let mut slot_of_port = Box::new([NO_SLOT; PORTS_MAX]);
        let own = ports.into_iter().map(|own| (own.port, Access::All(own.queues), own.tx_cap));
        let foreign = foreign.into_iter().map(|port| (port.port, Access::Send(port.queue), None));
        let mut slots = Vec::new();
        let further = further.into_iter().map(|it| (it.id, Access::Receive(it.queue), None));
        for (port, access, tx_cap) in own.chain(further).chain(foreign) {
            slot_of_port[port.index()] = u16::try_from(slots.len()).unwrap_or(NO_SLOT);
            slots.push(Slot::new(port, access, tx_cap, data));
        }
        Self { slots, slot_of_port, data: Arc::clone(data), control: Arc::clone(control) }
    }

    /// What `port` lost in this layer so far.
    pub fn drops(&self, port: PortId) -> DeviceDrops {
        // A port whose device was removed has no number here any more.
        let slot = self.slots.iter().find(|slot| slot.port == port);
        slot.map(|slot| slot.drops).unwrap_or_default()
    }

    /// Gives up the ports whose devices were removed: nothing is received or sent there from now
    /// on, and the last one to give a port up lets it be closed.
    pub(crate) fn release_removed(&mut self) {
        for slot in &mut self.slots {
            if slot.access.as_ref().is_some_and(|access| access.port().is_removed()) {
                slot.access = None;
                self.slot_of_port[slot.port.index()] = NO_SLOT;
            }
        }
    }

    #[inline(always)]
    fn slot(&mut self, port: PortId) -> Option<&mut Slot> {
        self.slots.get_mut(usize::from(self.slot_of_port[port.index()]))
    }
}

const _: () = assert!(BURST_MAX <= u16::MAX as usize, "DPDK counts a burst in 16 bits");

/// The storage of `burst` from frame `from` on, as DPDK takes it.
#[inline(always)]
fn storage(burst: &mut Burst<Mbuf>, from: usize) -> *mut *mut rte_mbuf {
    debug_assert!(from <= burst.capacity());
    // `Mbuf` is a transparent NonNull, so a slot for one is a slot for a pointer.
    // SAFETY: within the array or at its end.
    unsafe { burst.as_mut_ptr().add(from) }.cast()
}

#[expect(clippy::cast_possible_truncation, reason = "at most BURST_MAX, which fits")]
const fn burst_count(frames: usize) -> u16 {
    frames as u16
}

impl Device for DpdkDevice {
    type Frame = Mbuf;

    fn has_tx_queue(&self, port: PortId) -> bool {
        let slot = self.slots.get(usize::from(self.slot_of_port[port.index()]));
        slot.is_some_and(|slot| matches!(slot.access, Some(Access::Send(_))))
    }

    #[inline]
    fn rx_burst(&mut self, port: PortId, frames_max: usize, into: &mut Burst<Mbuf>) {
        let Some(slot) = self.slot(port) else { return };
        debug_assert!(
            !matches!(slot.access, Some(Access::Send(_))),
            "another worker receives there"
        );
        let before = into.len();
        let (start, room) =
            (storage(into, before), burst_count(into.remaining_capacity().min(frames_max)));
        // SAFETY: the port is started and its queues are this device's alone; there are `room`
        // places.
        let count = unsafe { dpdk_sys::shim_rte_eth_rx_burst(slot.id, slot.rx_queue, start, room) };
        slot.full_bursts.received(count, room);
        // SAFETY: the driver wrote `count` valid pointers there, and gave the chains up to us.
        unsafe { into.set_len(before + usize::from(count)) };
        if slot.prefetches_heads {
            into[before..].iter().for_each(Mbuf::prefetch_head);
        }
        // Here and in `tx_burst`, a branch for each frame, which is hardly ever taken. Without it,
        // the compiler collects the numbers in vectors, which takes longer.
        if slot.checks_heads && into[before..].iter().any(|frame| frame.segments() != 1) {
            self.make_heads(port, into);
        }
    }

    #[inline]
    fn tx_room_bytes(&mut self, port: PortId, now: Instant) -> u32 {
        match self.slot(port) {
            Some(Slot { pacer: Some(pacer), .. }) => pacer.room_bytes(now),
            Some(Slot { access: Some(Access::Receive(_)), .. }) | None => 0,
            Some(_) => u32::MAX,
        }
    }

    #[inline]
    fn tx_burst(&mut self, port: PortId, from: &mut Burst<Mbuf>, _now: Instant) {
        let Some(slot) = self.slot(port) else { return };
        debug_assert!(from.iter().all(|frame| frame.len() <= slot.frame_bytes_max as usize));
        if !slot.sends_segments && from.iter().any(|frame| frame.segments() != 1) {
            self.make_sendable(port, from);
        }
        self.send(port, from);
    }

    #[inline]
    fn make_control(&mut self, bytes: &[u8]) -> Option<Mbuf> {
        self.control.alloc_with(bytes)
    }

    #[inline]
    fn copy(&mut self, frame: &Mbuf) -> Option<Mbuf> {
        self.data.copy_of(frame)
    }

    #[inline]
    fn recycle(&mut self, frames: &mut Burst<Mbuf>) {
        let count = u32::from(burst_count(frames.len()));
        let start = storage(frames, 0);
        // SAFETY: the frames are given up here, and freed below, once.
        unsafe { frames.set_len(0) };
        // SAFETY: `count` valid chains that were ours and now belong to nobody.
        unsafe { dpdk_sys::rte_pktmbuf_free_bulk(start, count) };
    }

    #[inline]
    fn rx_backlog_frames(&mut self, port: PortId) -> Option<u32> {
        let slot = self.slot(port)?;
        match slot.rx_backlog {
            BacklogSource::None => None,
            BacklogSource::FullBursts => Some(slot.full_bursts.frames()),
            BacklogSource::Driver => {
                // SAFETY: the port is started and has the queue.
                let count =
                    unsafe { dpdk_sys::shim_rte_eth_rx_queue_count(slot.id, slot.rx_queue) };
                u32::try_from(count).ok()
            }
        }
    }
}

impl DpdkDevice {
    /// Hands frames over and moves the rest to the front.
    #[inline]
    fn send(&mut self, port: PortId, from: &mut Burst<Mbuf>) {
        let Some(slot) = self.slot(port) else { return };
        let count = from.len();
        let bytes: usize = match slot.pacer {
            Some(_) => from.iter().map(Frame::len).sum(),
            None => 0,
        };
        let start = storage(from, 0);
        // SAFETY: from here the frames are the driver's; what it leaves is taken back below.
        unsafe { from.set_len(0) };
        // SAFETY: `count` valid chains that belong to nobody else; the queues are this device's
        // alone.
        let taken = unsafe {
            dpdk_sys::shim_rte_eth_tx_burst(slot.id, slot.tx_queue, start, burst_count(count))
        };
        let taken = usize::from(taken).min(count);
        if taken < count {
            // SAFETY: `taken` is less than `count`, so this stays inside the array.
            let left = unsafe { start.add(taken) };
            // SAFETY: both ranges lie in the array; they may overlap, which `copy` allows.
            unsafe { std::ptr::copy(left, start, count - taken) };
            // SAFETY: the driver left these alone, so they are ours again; they are at the front
            // now.
            unsafe { from.set_len(count - taken) };
        }
        if let Some(pacer) = &mut slot.pacer {
            let kept: usize = from.iter().map(Frame::len).sum();
            pacer.sent(taken, bytes - kept);
        }
    }

    /// Makes the head of every frame contiguous. Frames for which there is no buffer are dropped.
    #[cold]
    fn make_heads(&mut self, port: PortId, frames: &mut Burst<Mbuf>) {
        let data = Arc::clone(&self.data);
        let Some(slot) = self.slot(port) else { return };
        frames.retain(|frame| {
            if frame.has_head() || frame.pull_up_head() {
                return true;
            }
            let copy = data.copy_of(frame);
            slot.drops.rx_unreadable_frames += u64::from(copy.is_none());
            replace(frame, copy)
        });
    }

    /// Copies frames in several pieces into one. Frames for which there is no buffer are dropped.
    #[cold]
    fn make_sendable(&mut self, port: PortId, frames: &mut Burst<Mbuf>) {
        let data = Arc::clone(&self.data);
        let Some(slot) = self.slot(port) else { return };
        frames.retain(|frame| {
            if frame.segments() == 1 {
                return true;
            }
            let copy = data.copy_of(frame).filter(|copy| copy.segments() == 1);
            slot.drops.tx_segmented_frames += u64::from(copy.is_none());
            replace(frame, copy)
        });
    }
}

/// Replaces `frame` by `new` and frees the old buffers; false if there is no `new`.
fn replace(frame: &mut Mbuf, new: Option<Mbuf>) -> bool {
    new.map(|new| *frame = new).is_some()
}
