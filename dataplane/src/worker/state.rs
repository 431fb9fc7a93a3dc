//! The state of a worker between two turns, for reports.

use super::{Core, Worker};
use crate::counters::Totals;
use crate::device::Device;
use crate::driver::Driver;
use crate::ids::PortId;
use crate::limits::PORTS_MAX;
use crate::port::Port;
use crate::queue::veq::FrameMeta;
use crate::report::{PortReport, Report};
use crate::time::Instant;
use alloc::vec::Vec;

impl<D: Device, V: Driver> Worker<D, V> {
    /// The frame balance of this worker, as of now.
    pub fn totals(&self) -> Totals {
        let queued: u64 = self.core.ports.iter().map(Port::queued_frames).sum();
        let waiting = self.core.unresolved.len() + self.core.deferred_frames();
        let held = queued + self.core.handoff_tx.waiting_frames() + waiting;
        Totals { held, ..self.core.accounting.totals }
    }

    /// Frames punted to the control thread so far.
    pub const fn punted_frames(&self) -> u64 {
        self.core.accounting.totals.punted
    }

    /// The metadata of the frames queued at this worker's ports: the VIQ that each is charged to
    /// and the VEQ that it waits in. Together they are the wait-for relation of the queues.
    pub fn queued_metas(&self) -> impl Iterator<Item = FrameMeta> {
        self.core.ports.iter().flat_map(|port| port.metas(&self.core.accounting.frame_pool))
    }

    /// Lossless frames in the worker, by ingress port.
    pub fn lossless_held(&self) -> Vec<(PortId, u64)> {
        let Core { accounting, unresolved, .. } = &self.core;
        let mut frames = [0; PORTS_MAX];
        let metas = self.queued_metas().chain(unresolved.frames.metas(&accounting.frame_pool));
        for meta in metas.filter(|meta| accounting.is_lossless(meta)) {
            frames[accounting.port_of(meta.viq).index()] += 1;
        }
        let ports = (0..).map_while(PortId::from_index).zip(frames);
        ports.filter(|&(_, frames)| frames != 0).collect()
    }

    /// Writes the state as of now into `report`, and reuses the memory of its port list.
    pub fn report(&self, report: &mut Report, now: Instant) {
        report.at = now;
        report.epoch = self.snapshot.epoch;
        report.turns = self.turns;
        report.busy_turns = self.core.busy_turns;
        report.totals = self.totals();
        report.pool = self.core.accounting.buffer.pool;
        report.mac_entries = self.core.mac_table.len();
        report.pending_frames = self.core.unresolved.len();
        report.tag_changes.clear();
        report.tag_changes.extend(self.core.tag_changes.counts());
        report.ports.clear();
        let entries = self.core.ports.iter().zip(0..).map(|(port, slot)| {
            let id = self.core.inputs.get(slot).map_or(port.id, |input| input.port);
            PortReport {
                is_owner: self.core.handoff_tx.is_own(slot) && !port.is_further_queue,
                is_rx_queue: port.is_further_queue,
                port: id,
                mac: self.core.mac_table.counts(id),
                host: self.core.host_counters(slot),
                ..port.report(&self.core.accounting, now)
            }
        });
        report.ports.extend(entries);
    }
}
