//! A plain frame that is alone in its burst: the stages without the tables that a burst shares.
//!
//! A switch with little to do sees frames one by one, and an emulated one nearly always. What a
//! burst's tables are for, doing things once for many frames, is then only overhead.

use crate::device::Device;
use crate::fates::Tally;
use crate::frame::{Frame, length_bytes};
use crate::plain;
use crate::probe::Probe;
use crate::recipe::{Recipe, hop_of};
use crate::snapshot::{PortTables, Snapshot};
use crate::time::Instant;
use crate::wire::ethernet;
use crate::worker::Core;

impl<D: Device, P: Probe> Core<D, P> {
    /// Takes one frame that came by itself at the port at `slot` to its end or to the queues.
    #[inline]
    pub(crate) fn receive_alone(
        &mut self,
        snapshot: &Snapshot,
        slot: usize,
        frame: D::Frame,
        now: Instant,
    ) {
        self.books.totals.received += 1;
        self.books.probe.received(1);
        self.receive_one(snapshot, slot, frame, now);
    }

    /// [`Self::receive_alone`] for a frame whose arrival is counted.
    #[inline(always)]
    pub(crate) fn receive_one(
        &mut self,
        snapshot: &Snapshot,
        slot: usize,
        frame: D::Frame,
        now: Instant,
    ) {
        let port = &self.ports[slot];
        let tables = snapshot.ports.get(port.id.index()).filter(|_| port.up);
        let left = match tables {
            Some(tables) => self.route_alone(snapshot, tables, slot, frame, now),
            None => Err(frame),
        };
        if let Err(frame) = left {
            self.receive_other(snapshot, slot, frame, now);
        }
    }

    /// Takes the one frame of a burst to its queue, if the port is routed and the frame is plain.
    ///
    /// # Errors
    /// The frame, as it was, if not.
    #[inline(always)]
    fn route_alone(
        &mut self,
        snapshot: &Snapshot,
        tables: &PortTables,
        slot: usize,
        mut frame: D::Frame,
        now: Instant,
    ) -> Result<(), D::Frame> {
        let port = &self.ports[slot];
        let longest = usize::from(port.frame_bytes_max) + 2 * ethernet::TAG_BYTES;
        let bytes = length_bytes(&frame);
        let examined = plain::examine(&tables.plain, frame.head(), usize::from(bytes), longest);
        let Some((class, destination)) = examined else { return Err(frame) };
        let leaf = snapshot.fib.v4(destination.to_be_bytes());
        let hop = hop_of(snapshot, leaf, &frame);
        let recipe = Recipe::new(snapshot, port.id, class, hop, bytes);
        let Some((mut recipe, fate)) = recipe else { return Err(frame) };
        let cell_bytes = self.books.buffer.cell_bytes();
        if !recipe.apply(&mut frame, cell_bytes) {
            return Err(frame);
        }
        let bytes = u32::from(bytes);
        let tally =
            Tally { fate, frames: 1, rx_bytes: bytes, bytes, cost_bytes: bytes.max(cell_bytes) };
        self.settle_alone(frame, &tally, slot, now);
        Ok(())
    }
}
