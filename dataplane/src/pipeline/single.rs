//! The fast path for a burst of one frame, without vectors and outcome groups.
//!
//! At low load most bursts have one frame; on an emulated switch nearly all do. The tables of a
//! burst share work among its frames, so for one frame they are only overhead.

use crate::device::Device;
use crate::driver::Driver;
use crate::frame::{Frame, length_bytes};
use crate::frame_sums::FrameSums;
use crate::pipeline::arrival::Arrival;
use crate::pipeline::fast_path;
use crate::pipeline::outcome::OutcomeGroup;
use crate::pipeline::rewrite_entry::{RewriteEntry, hop_of};
use crate::probe::Probe;
use crate::snapshot::{PortTables, Snapshot};
use crate::wire::ethernet;
use crate::worker::Core;

impl<D: Device, V: Driver> Core<D, V> {
    /// Processes one frame, which the port at `slot` received as a burst of one.
    #[inline]
    pub(crate) fn receive_single(&mut self, snapshot: &Snapshot, slot: usize, frame: D::Frame) {
        self.accounting.totals.received += 1;
        self.accounting.driver.probe().received(1);
        let arrival = Arrival { slot, is_new: true, is_matched: false };
        self.receive_one(snapshot, frame, arrival);
    }

    /// [`Self::receive_single`] for a frame whose arrival is already counted.
    #[inline(always)]
    pub(crate) fn receive_one(&mut self, snapshot: &Snapshot, frame: D::Frame, arrival: Arrival) {
        let port = &self.ports[arrival.slot];
        let up = port.up;
        let input = self.input_of(arrival.slot).port;
        let tables = snapshot.ports.get(input.index()).filter(|_| up);
        let left = match tables {
            Some(tables) => self.route_single(snapshot, tables, frame, arrival),
            None => Err(frame),
        };
        if let Err(frame) = left {
            self.receive_other(snapshot, frame, arrival);
        }
    }

    /// Classifies, rewrites and dispatches the frame if it is a fast-path frame of a routed port.
    ///
    /// # Errors
    /// Returns the frame unchanged if it is not.
    #[inline(always)]
    fn route_single(
        &mut self,
        snapshot: &Snapshot,
        tables: &PortTables,
        mut frame: D::Frame,
        arrival: Arrival,
    ) -> Result<(), D::Frame> {
        let port = &self.ports[arrival.slot];
        let longest = usize::from(port.frame_bytes_max) + 2 * ethernet::TAG_BYTES;
        let bytes = length_bytes(&frame);
        let classified =
            fast_path::classify(&tables.fast_path, frame.head(), usize::from(bytes), longest);
        let Some((class, destination)) = classified else { return Err(frame) };
        let leaf = snapshot.fib.v4(destination.to_be_bytes());
        let hop = hop_of(snapshot, leaf, &frame);
        let entry = RewriteEntry::new(snapshot, self.input_of(arrival.slot), class, hop, bytes);
        let Some((entry, outcome)) = entry else { return Err(frame) };
        let cell_bytes = self.accounting.buffer.cell_bytes();
        entry.apply(&mut frame);
        let sums = FrameSums::of_one(bytes, cell_bytes);
        let group = OutcomeGroup { outcome, rx_bytes: sums.bytes, sums };
        self.dispatch_one(frame, &group, arrival);
        Ok(())
    }
}
