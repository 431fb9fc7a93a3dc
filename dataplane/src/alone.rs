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
    /// Takes the one frame of the burst of a routed port to its queue. False, and the frame is as
    /// it was, if it is not plain.
    #[inline(always)]
    pub(crate) fn route_alone(
        &mut self,
        snapshot: &Snapshot,
        tables: &PortTables,
        slot: usize,
        now: Instant,
    ) -> bool {
        let longest = usize::from(self.ports[slot].frame_bytes_max) + 2 * ethernet::TAG_BYTES;
        let Some(frame) = self.rx.first_mut() else { return false };
        let bytes = length_bytes(frame);
        let examined = plain::examine(&tables.plain, frame.head(), usize::from(bytes), longest);
        let Some((class, destination)) = examined else { return false };
        let leaf = snapshot.fib.v4(destination.to_be_bytes());
        let (input, hop) = (self.own_ports[slot], hop_of(snapshot, leaf, frame));
        let recipe = Recipe::new(snapshot, input, class, hop, bytes);
        let Some((mut recipe, fate)) = recipe else { return false };
        let cell_bytes = self.books.buffer.cell_bytes();
        if !recipe.apply(frame, cell_bytes) {
            return false;
        }
        let bytes = u32::from(bytes);
        let tally =
            Tally { fate, frames: 1, rx_bytes: bytes, bytes, cost_bytes: bytes.max(cell_bytes) };
        if let Some(frame) = self.rx.pop() {
            self.settle_alone(frame, &tally, slot, now);
        }
        true
    }
}
