//! What passes between this worker and the others of its switch in a turn.

use super::{Core, Worker};
use crate::buffer::LedgerReader;
use crate::device::Device;
use crate::driver::Driver;
use crate::frame::Burst;
use crate::handoff::ring::MacEvent;
use crate::l2::Learned;
use crate::limits::{BURST_MAX, PRIORITIES};

/// Bursts read from the handoff ring of one other worker in one turn.
const HANDOFF_RX_BURSTS: usize = 4;

impl<D: Device, V: Driver> Worker<D, V> {
    /// Releases, in this worker's accounting, what other workers sent of its VIQs.
    pub(super) fn collect_releases(&mut self) {
        let (mut shared_bytes, mut lossy_bytes) = (0, 0);
        for reader in &mut self.readers {
            reader.collect(&self.own_queues, &mut self.core.accounting.buffer);
            let used = reader.used_bytes();
            shared_bytes += used.0;
            lossy_bytes += used.1;
        }
        let pool = &mut self.core.accounting.buffer.pool;
        (pool.shared.others_bytes, pool.lossy.others_bytes) = (shared_bytes, lossy_bytes);
        if pool.shares_headroom() {
            pool.headroom.others_bytes = self.readers.iter().map(LedgerReader::headroom_use).sum();
        }
        if let Some(parts) = &mut pool.partitions {
            let mut others_bytes = [0; PRIORITIES];
            for used in self.readers.iter().map(LedgerReader::partition_use) {
                others_bytes.iter_mut().zip(used).for_each(|(sum, used)| *sum += used);
            }
            parts.iter_mut().zip(others_bytes).for_each(|(part, bytes)| part.others_bytes = bytes);
        }
    }

    /// Reads what the other receive queues of this worker's ports hold.
    pub(super) fn read_shared_queues(&mut self) {
        let Core { ports, handoff_tx, accounting, .. } = &mut self.core;
        self.shared_queues.read(&mut accounting.buffer, |queue, is_backlogged| {
            if let Some(slot) = handoff_tx.slot(queue) {
                ports[slot].is_backlogged_elsewhere = is_backlogged;
            }
        });
    }

    /// Publishes what this worker's receive queues hold, where their ports have others.
    pub(super) fn publish_shared_queues(&mut self) {
        let Core { ports, handoff_tx, accounting, .. } = &self.core;
        self.shared_queues.publish(&accounting.buffer, |queue| {
            handoff_tx.slot(queue).is_some_and(|slot| ports[slot].backlogged)
        });
    }

    /// Reads the transmit grants for other workers' ports, and sends there the frames that wait for
    /// handoff. No frame may be handed off earlier in a turn.
    pub(super) fn apply_tx_grants(&mut self) {
        let Core { ports, inputs, handoff_tx, device, accounting, .. } = &mut self.core;
        handoff_tx.withdraw_pauses();
        for port in &mut ports[..inputs.len()] {
            port.hold_paused_elsewhere();
        }
        if ports.len() == inputs.len() {
            return;
        }
        for port in &mut ports[inputs.len()..] {
            let (owner, sent_bursts) = handoff_tx.sent_bursts(port.id);
            let grant = self.tx_grants[owner.index()].read(port.id, self.id, sent_bursts);
            port.begin_granted(grant, device, accounting);
        }
        for worker in 0..self.tx_grants.len() {
            while let Some((queued, slot)) =
                handoff_tx
                    .pop_waiting(worker, accounting, |slot, priority| ports[slot].takes(priority))
            {
                ports[slot].enqueue(queued, device, accounting);
            }
        }
    }

    /// Publishes at which of this worker's ports the other workers may transmit.
    pub(super) fn publish_tx_grants(&mut self) {
        for port in &mut self.core.ports[..self.core.inputs.len()] {
            // Before the grant, so that whoever is granted a priority does not find it paused.
            port.publish_pauses();
            self.tx_grant_writer.set_grant(port.id, port.grant());
        }
        for (worker, &bursts) in self.taken_bursts.iter().enumerate() {
            self.tx_grant_writer.set_taken_bursts(worker, bursts);
        }
    }

    /// Reads the MAC events and bursts that other workers handed off; returns whether there were
    /// any.
    pub(super) fn handoff_rx(&mut self) -> bool {
        let mut any = false;
        for (ring, taken) in self.from.iter_mut().zip(&mut self.taken_bursts) {
            let Some(ring) = ring else { continue };
            while let Ok(&mac_event) = ring.mac_events.peek() {
                any = true;
                match mac_event {
                    MacEvent::Learned(vid, mac, port, since) => {
                        self.core.has_addresses = true;
                        self.core.mac_table.remote_learn(vid, mac, port, since);
                    }
                    MacEvent::Moved(vid, mac, port, since) => {
                        self.core.has_addresses = true;
                        let learned = self.core.mac_table.remote_move(vid, mac, port, since);
                        if let Learned::Kept { on } = learned {
                            let kept = MacEvent::Kept(vid, mac, on, since);
                            self.core.handoff_tx.push_event(kept);
                        }
                    }
                    MacEvent::Kept(vid, mac, port, since) => {
                        self.core.mac_table.remote_keep(vid, mac, port, since);
                    }
                    MacEvent::Forgotten(vid, mac, port) => {
                        self.core.mac_table.remote_forget(vid, mac, port);
                    }
                    MacEvent::Control(port, control) => {
                        if let Some(slot) = self.core.handoff_tx.slot(port) {
                            let Core { ports, accounting, .. } = &mut self.core;
                            ports[slot].obey(core::iter::once(control), accounting);
                        }
                    }
                }
                // Only now: the sender reads by the ring that a pause was processed.
                let _processed = ring.mac_events.pop();
            }
            for _ in 0..HANDOFF_RX_BURSTS {
                let (mut frames, mut numbers) = (Burst::new(), [0; BURST_MAX]);
                let Some(descriptors) = ring.take(&mut frames, &mut numbers) else { break };
                any = true;
                *taken += 1;
                self.core.handoff_rx(&mut frames, &descriptors, &numbers);
            }
        }
        any
    }
}
