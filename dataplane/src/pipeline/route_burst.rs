//! The stages of a routed port for a whole burst, before dispatch.
//!
//! Eight frames at a time take the fast path of [`lanes`](super::lanes). What that does not take
//! goes the generic path of [`route`](super::route).

use crate::device::Device;
use crate::driver::Driver;
use crate::l2::Vid;
use crate::limits::{BURST_MAX, BurstBits};
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
        let is_followed = self.accounting.is_capturing() && !arrival.is_matched;
        let (eights, port) = (&mut self.lanes.eights, &tables.fast_path);
        let control_bits =
            Eight::classify_burst::<_, false>(eights, port, &self.rx, frame_bytes_max);
        let followed = if is_followed { self.followed_of_burst(self.inputs[slot].port) } else { 0 };
        if control_bits != 0 {
            self.process_mac_control_burst(control_bits, slot);
        }
        if followed != 0 {
            self.keep_arrivals(snapshot, arrival, followed);
        }
        self.route_read(snapshot, (tables, vlan), arrival, followed);
        if followed != 0 {
            self.record_arrivals(slot);
        }
    }

    /// Looks up, rewrites and dispatches the burst, whose headers are read and whose MAC control
    /// frames are obeyed. A capture follows the frames whose bits are set in `followed`. A function
    /// of its own: what comes before it needs other registers.
    #[inline(never)]
    fn route_read(
        &mut self,
        snapshot: &Snapshot,
        (tables, vlan): (&PortTables, Option<Vid>),
        arrival: Arrival,
        followed: BurstBits,
    ) {
        let ingress = self.inputs[arrival.slot];
        let frame_bytes_max = self.ports[arrival.slot].frame_bytes_max;
        let Self { rx, lanes, outcomes, .. } = self;
        let LaneState { eights, pairs, .. } = &mut **lanes;
        Eight::look_up_burst(eights, &snapshot.fib, rx);
        if !snapshot.tunnels.is_empty() {
            for (frames, eight) in rx.chunks(LANES).zip(eights.iter_mut()) {
                eight.pass_tunnels(snapshot, &tables.fast_path, frames);
            }
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
            let taken = pairs.take_rest::<_, false>(from, eight, rest, outcomes, groups_of_rest);
            for (lane, (frame, group)) in rest.iter_mut().zip(groups_of_rest).enumerate() {
                if taken >> lane & 1 == 0 {
                    *group = outcomes.add(&generic_path(frame));
                }
            }
        }
        pairs.add_to_groups(outcomes);
        if followed != 0 {
            self.follow(followed, &mut group_of);
        }
        self.dispatch(group_of, arrival);
    }
}
