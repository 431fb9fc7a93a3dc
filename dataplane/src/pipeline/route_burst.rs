//! The stages of a routed port for a whole burst, before dispatch.
//!
//! Eight frames at a time take the fast path of [`lanes`](super::lanes). What that does not take
//! goes the generic path of [`route`](super::route).

use crate::device::Device;
use crate::driver::Driver;
use crate::l2::Vid;
use crate::limits::BURST_MAX;
use crate::pipeline::arrival::Arrival;
use crate::pipeline::lanes::eight::Eight;
use crate::pipeline::lanes::pairs::Input;
use crate::pipeline::lanes::{ALL, LANES, LaneState, lanes_of};
use crate::pipeline::route;
use crate::snapshot::{PortTables, Snapshot};
use crate::worker::Core;

impl<D: Device, V: Driver> Core<D, V> {
    /// Takes the burst of a routed port through the stages. Each runs for the whole burst:
    /// classify, look up the routes, apply rules and rewrite; then dispatch each outcome group.
    #[inline(always)]
    pub(super) fn route(
        &mut self,
        snapshot: &Snapshot,
        tables: &PortTables,
        vlan: Option<Vid>,
        arrival: Arrival,
    ) {
        let slot = arrival.slot;
        let frame_bytes_max = self.ports[slot].frame_bytes_max;
        let control_bits = Eight::classify_burst::<_, false>(
            &mut self.lanes.eights,
            &tables.fast_path,
            &self.rx,
            frame_bytes_max,
        );
        if self.accounting.is_capturing() && !arrival.is_matched {
            let captured = self.captured_of_burst(self.inputs[slot].port);
            if captured != 0 {
                let port = (tables, vlan);
                return self.route_split(snapshot, port, arrival, captured, control_bits != 0);
            }
        }
        if control_bits != 0 {
            self.process_mac_control_burst(control_bits, slot);
        }
        self.route_read(snapshot, tables, vlan, arrival);
    }

    /// [`Self::route`] of a burst whose headers are read, and which has no MAC control frames.
    #[inline(never)]
    pub(super) fn route_classified(
        &mut self,
        snapshot: &Snapshot,
        tables: &PortTables,
        vlan: Option<Vid>,
        arrival: Arrival,
    ) {
        self.route_read(snapshot, tables, vlan, arrival);
        self.flush_free_burst();
    }

    /// Looks up, rewrites and dispatches the burst, whose headers are read.
    #[inline(always)]
    fn route_read(
        &mut self,
        snapshot: &Snapshot,
        tables: &PortTables,
        vlan: Option<Vid>,
        arrival: Arrival,
    ) {
        let ingress = self.inputs[arrival.slot];
        let frame_bytes_max = self.ports[arrival.slot].frame_bytes_max;
        let Self { rx, lanes, outcomes, .. } = self;
        let LaneState { eights, pairs } = &mut **lanes;
        for (frames, eight) in rx.chunks(LANES).zip(eights.iter_mut()) {
            eight.look_up(&snapshot.fib, frames);
        }
        outcomes.clear();
        pairs.clear();
        let mut group_of = [0; BURST_MAX];
        let from = Input { snapshot, tables, ingress };
        let generic_path = |frame: &mut D::Frame| {
            let frame_bytes_max = usize::from(frame_bytes_max);
            route::generic_path(snapshot, tables, vlan, ingress, frame_bytes_max, frame)
        };
        let (whole, rest) = rx.as_chunks_mut::<LANES>();
        let (groups_of_whole, groups_of_rest) = group_of.split_at_mut(whole.len() * LANES);
        let (groups_of_whole, _) = groups_of_whole.as_chunks_mut::<LANES>();
        let (eights_of_whole, eights_of_rest) = eights.split_at(whole.len());
        for ((frames, eight), groups) in whole.iter_mut().zip(eights_of_whole).zip(groups_of_whole)
        {
            let taken = pairs.take::<_, false>(from, eight, frames, outcomes, groups);
            for lane in lanes_of(ALL & !taken) {
                groups[lane] = outcomes.add(&generic_path(&mut frames[lane]));
            }
        }
        if let Some(eight) = eights_of_rest.first().filter(|_| !rest.is_empty()) {
            let taken = pairs.route_rest(from, eight, rest, outcomes, groups_of_rest);
            let left = rest.iter_mut().zip(groups_of_rest).enumerate();
            for (_, (frame, group)) in left.filter(|(lane, _)| taken >> lane & 1 == 0) {
                *group = outcomes.add(&generic_path(frame));
            }
        }
        pairs.add_to_groups(outcomes);
        self.dispatch(group_of, arrival);
    }
}
