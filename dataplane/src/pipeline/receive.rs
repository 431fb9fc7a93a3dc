//! Receive: takes one burst of one port through the pipeline stages.
//!
//! Reads: the frames. Writes: frame outcomes, outcome groups. Counts: `rx_unclassified_frames` at a
//! port that is down; [`dispatch`](crate::pipeline::dispatch) and the stages that it calls count
//! the rest. PFC frames take effect here, before any data frame of the same burst is forwarded.

use crate::counters::DropReason;
use crate::device::Device;
use crate::driver::Driver;
use crate::frame::Frame;
use crate::limits::{BURST_MAX, BurstBits, frames_of};
use crate::pipeline::arrival::Arrival;
use crate::pipeline::bridge_burst::BridgedFrom;
use crate::pipeline::outcome::OutcomeGroup;
use crate::pipeline::route;
use crate::port::flow_control::mac_control;
use crate::probe::Probe;
use crate::snapshot::{PortMode, PortTables, Snapshot};
use crate::wire::mac_control::MacControl;
use crate::wire::parse::{Kind, parse};
use crate::worker::Core;
use arrayvec::ArrayVec;

impl<D: Device, V: Driver> Core<D, V> {
    /// Processes the burst in `self.rx`, which the port at `slot` received.
    #[inline]
    pub(crate) fn receive(&mut self, snapshot: &Snapshot, arrival: Arrival) {
        if arrival.is_new {
            self.accounting.totals.received += self.rx.len() as u64;
            self.accounting.driver.probe().received(self.rx.len());
        }
        if self.rx.len() == 1
            && let Some(frame) = self.rx.pop()
        {
            return self.receive_one(snapshot, frame, arrival);
        }
        self.receive_burst(snapshot, arrival);
    }

    /// [`Self::receive`] for frames whose arrival is already counted, without the fast path for a
    /// single frame.
    #[inline]
    pub(crate) fn receive_burst(&mut self, snapshot: &Snapshot, arrival: Arrival) {
        let input = self.inputs[arrival.slot].port;
        let Some(tables) = snapshot.ports.get(input.index()) else {
            debug_assert!(false, "a snapshot has tables for all ports");
            return self.drop_all(None, arrival);
        };
        if !self.ports[arrival.slot].up {
            return self.drop_all(Some(tables), arrival);
        }
        match &tables.mode {
            PortMode::Routed { vlan } => self.route(snapshot, tables, *vlan, arrival),
            PortMode::Bridged(vlan_port) => {
                self.bridge(BridgedFrom { snapshot, tables, vlan_port, arrival });
            }
        }
        self.flush_free_burst();
    }

    /// Drops the burst of a port that is down.
    #[cold]
    fn drop_all(&mut self, tables: Option<&PortTables>, arrival: Arrival) {
        let slot = arrival.slot;
        if arrival.is_new {
            self.ports[slot].counters.rx_unclassified_frames += self.rx.len() as u64;
        }
        for frame in core::mem::take(&mut self.rx) {
            let parsed = parse(frame.head(), frame.len());
            let class = tables.map(|tables| tables.classifier.of(&parsed).priority());
            self.drop(frame, slot, DropReason::PortDown, class);
        }
        self.flush_free_burst();
    }

    /// Applies the PFC frames of the burst before its data frames are forwarded, so that a pause
    /// covers those too. Bit i of `control_bits` is set if frame i of the burst is a MAC control
    /// frame.
    pub(super) fn process_mac_control_burst(&mut self, control_bits: BurstBits, slot: usize) {
        self.accounting.driver.mark_tx(slot);
        let frames = frames_of(control_bits).filter_map(|at| self.rx.get(at));
        let parsed = frames.map(|frame| (parse(frame.head(), frame.len()), frame));
        if self.ports[slot].is_further_queue {
            let controls: ArrayVec<MacControl, BURST_MAX> =
                parsed.map(|(parsed, frame)| mac_control(&parsed, frame)).collect();
            return self.pass_to_owner(slot, controls.into_iter());
        }
        self.ports[slot].process_mac_control(parsed, &mut self.accounting);
    }

    /// Takes MAC control frames, which came in by a further queue of a port, to the port's owner.
    #[cold]
    fn pass_to_owner(&mut self, slot: usize, controls: impl Iterator<Item = MacControl>) {
        let port = self.inputs[slot].port;
        if let Some(own) = self.handoff_tx.slot(port) {
            return self.ports[own].obey(controls, &mut self.accounting);
        }
        controls.for_each(|control| self.handoff_tx.push_control(port, control));
    }

    /// Processes a single frame whose arrival is counted, and that is not a fast-path frame or
    /// whose port is down.
    #[inline(never)]
    pub(crate) fn receive_other(
        &mut self,
        snapshot: &Snapshot,
        mut frame: D::Frame,
        arrival: Arrival,
    ) {
        let slot = arrival.slot;
        let input = self.inputs[slot];
        let port = &mut self.ports[slot];
        let routed = match snapshot.ports.get(input.port.index()) {
            Some(tables) if port.up => match tables.mode {
                PortMode::Routed { vlan } => Some((tables, vlan)),
                PortMode::Bridged(_) => None,
            },
            _ => None,
        };
        let Some((tables, vlan)) = routed else {
            self.rx.push(frame);
            return self.receive_burst(snapshot, arrival);
        };
        let frame_bytes_max = usize::from(port.frame_bytes_max);
        let parsed = parse(frame.head(), frame.len());
        if parsed.kind == Kind::MacControl {
            self.accounting.driver.mark_tx(slot);
            if port.is_further_queue {
                let control = mac_control(&parsed, &frame);
                self.pass_to_owner(slot, core::iter::once(control));
            } else {
                port.process_mac_control(core::iter::once((parsed, &frame)), &mut self.accounting);
            }
        }
        let frame_outcome =
            route::generic_path(snapshot, tables, vlan, input, frame_bytes_max, &mut frame);
        self.count_outcome(&OutcomeGroup::of_one(&frame_outcome), arrival);
        self.dispatch_frame(frame, &frame_outcome, slot);
        self.flush_free_burst();
    }
}
