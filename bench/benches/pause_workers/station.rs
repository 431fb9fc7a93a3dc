//! The station at a worker's devices: PFC frames come in at one of the receive queues, and it notes
//! when frames leave by the port.

use bench::loop_device::{LoopDevice, LoopFrame};
use bench::watched_device::{Sent, Watch, pfc_frame};
use dataplane::device::Device;
use dataplane::frame::Burst;
use dataplane::ids::{PortId, Priority};
use dataplane::time::Instant;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Instant as Clock;

const PRIORITY: u8 = 3;
pub(crate) const NEVER: u64 = u64::MAX;

/// What one worker tells the others. Only that worker writes it.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(crate) struct Told {
    /// When it last handed a frame of the priority to the port.
    pub(crate) sent_ns: AtomicU64,
    pub(crate) turns: AtomicU64,
}

/// What all threads share.
pub(crate) struct Bed {
    pub(crate) start: Clock,
    pub(crate) told: Vec<Told>,
    /// When the next PFC frame is at the receive queue, and its quanta.
    pub(crate) due_ns: AtomicU64,
    pub(crate) quanta: AtomicU64,
    /// When a worker received the last one.
    pub(crate) in_hand_ns: AtomicU64,
    /// By port index: whether the switch has paused the station there.
    pub(crate) is_silent: Vec<AtomicBool>,
    pub(crate) is_over: AtomicBool,
    /// Buffers of the worker that has many, for the one that has few: a frame that is handed on
    /// ends at the other worker's device.
    pub(crate) spare: Mutex<Vec<LoopFrame>>,
}

/// Buffers that are moved at once, and those with which a worker has many, or few.
const MOVED: usize = 512;
const MANY: usize = 18_000;
const FEW: usize = 12_000;

impl Bed {
    pub(crate) fn now_ns(&self) -> u64 {
        u64::try_from(self.start.elapsed().as_nanos()).expect("584 years")
    }

    pub(crate) fn turns(&self) -> Vec<u64> {
        self.told.iter().map(|told| told.turns.load(Ordering::Relaxed)).collect()
    }

    /// Whether every worker has taken so many turns since `before`.
    pub(crate) fn has_turned(&self, before: &[u64], turns: u64) -> bool {
        self.turns().iter().zip(before).all(|(now, before)| now - before >= turns)
    }

    /// When each worker last handed a frame to the port.
    pub(crate) fn sent_ns(&self) -> impl Iterator<Item = u64> {
        self.told.iter().map(|told| told.sent_ns.load(Ordering::Relaxed))
    }
}

/// PFC frames come at one of the receive queues.
pub(crate) struct Station {
    pub(crate) bed: Arc<Bed>,
    pub(crate) number: usize,
    /// The port that is paused, and the receive queue at which it is.
    pub(crate) port: PortId,
    pub(crate) queue: PortId,
    /// By index of a receive queue: its port's.
    pub(crate) port_of: Vec<usize>,
}

impl Station {
    /// Between two turns: leaves buffers of `device` to the other worker, or takes some.
    pub(crate) fn share_buffers(&self, device: &mut LoopDevice) {
        let available = device.available();
        if (FEW..MANY).contains(&available) {
            return;
        }
        let Ok(mut spare) = self.bed.spare.try_lock() else { return };
        if available >= MANY {
            device.give(MOVED, &mut spare);
        } else {
            let from = spare.len().saturating_sub(MOVED);
            device.stock(spare.drain(from..));
        }
    }
}

impl Watch for Station {
    const HAS_TX_QUEUES: bool = true;

    fn rx_burst(
        &mut self,
        device: &mut LoopDevice,
        queue: PortId,
        frames_max: usize,
        into: &mut Burst<LoopFrame>,
    ) {
        let mut frames_max = frames_max;
        let bed = &self.bed;
        if queue == self.queue
            && let now_ns = bed.now_ns()
            && bed.due_ns.load(Ordering::Relaxed) <= now_ns
        {
            bed.in_hand_ns.store(now_ns, Ordering::Relaxed);
            let quanta = u16::try_from(bed.quanta.load(Ordering::Relaxed)).expect("16 bits");
            let pfc = pfc_frame(device, Priority::from_low_bits(PRIORITY), quanta);
            into.push(pfc.expect("a buffer"));
            bed.due_ns.store(NEVER, Ordering::Release);
            frames_max -= 1;
        }
        if !bed.is_silent[self.port_of[queue.index()]].load(Ordering::Relaxed) {
            device.rx_burst(queue, frames_max, into);
        }
    }

    fn tx_burst(
        &mut self,
        device: &mut LoopDevice,
        port: PortId,
        from: &mut Burst<LoopFrame>,
        now: Instant,
    ) {
        let sent = Sent::of(from, Priority::from_low_bits(PRIORITY));
        device.tx_burst(port, from, now);
        match sent {
            Sent::Pfc { is_xoff } => {
                self.bed.is_silent[port.index()].store(is_xoff, Ordering::Relaxed);
            }
            Sent::Data if port == self.port => {
                self.bed.told[self.number].sent_ns.store(self.bed.now_ns(), Ordering::Relaxed);
            }
            Sent::Data | Sent::Nothing => {}
        }
    }
}
