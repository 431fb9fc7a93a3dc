//! Learns the source addresses of eight bridged frames, and looks up their destinations.

use super::LANES;
use super::eight::Eight;
use crate::frame::{Frame, length_bytes};
use crate::ids::PortId;
use crate::l2::{MacTable, Stations, Vid, VlanPort};
use crate::pipeline::bridge::{self, Destination};
use crate::time::Instant;
use crate::wire::{MacAddress, be16, ethernet};
use wide::u32x8;

/// Where a bridged frame goes: a port, in a VLAN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Target {
    pub(crate) out: PortId,
    pub(crate) vid: Vid,
}

impl Target {
    fn bits(self) -> u32 {
        u32::from(self.vid.value()) << 16 | u32::from(self.out.index_u16())
    }

    /// The target with these bits, which [`Eight::targets`] returned.
    #[inline]
    pub(crate) fn from_bits(bits: u32) -> Option<Self> {
        let [a, b, c, d] = bits.to_le_bytes();
        let out = PortId::from_index(usize::from(u16::from_le_bytes([a, b])))?;
        Some(Self { out, vid: Vid::new(u16::from_le_bytes([c, d]))? })
    }
}

/// Where frames came in, and what a bridge looks them up by.
pub(crate) struct Bridge<'a> {
    pub(crate) table: &'a mut MacTable,
    pub(crate) vlan_port: &'a VlanPort,
    pub(crate) input: PortId,
    pub(crate) now: Instant,
    /// By port index: the longest frame that a port sends, VLAN tags included.
    pub(crate) tx_frame_bytes_max: &'a [u16],
}

impl Bridge<'_> {
    /// Learns the source of each frame and looks up its destination, in order, as the address
    /// learned from one frame may be the destination of the next. Returns the number of frames at
    /// the front that have a target: all, or those before the first that is flooded or ends here.
    /// That one's source is learned; the rest are untouched.
    #[inline(always)]
    pub(crate) fn look_up<F: Frame>(
        &mut self,
        eight: &mut Eight,
        frames: &[F],
        mut learned: impl FnMut(Vid, MacAddress),
    ) -> usize {
        if let Ok(frames) = frames.try_into()
            && self.look_up_known(eight, frames).is_some()
        {
            return LANES;
        }
        let mut targets = [0; LANES];
        let mut known = 0;
        for (frame, target) in frames.iter().zip(&mut targets) {
            let Some(found) = self.target(eight.is_tagged, frame, &mut learned) else { break };
            *target = found.bits();
            known += 1;
        }
        eight.leaves = u32x8::new(targets);
        known
    }

    /// Looks up all destinations if that changes the table in nothing but time stamps, as mostly.
    #[inline(always)]
    fn look_up_known<F: Frame>(&mut self, eight: &mut Eight, frames: &[F; LANES]) -> Option<()> {
        let mut vids = [self.vlan_port.native.unwrap_or(Vid::DEFAULT); LANES];
        if eight.is_tagged {
            for (vid, frame) in vids.iter_mut().zip(frames) {
                let tci = be16(frame.head(), ethernet::HEADER_BYTES)?;
                *vid = self.vlan_port.admit(Some(ethernet::vid(tci)))?;
            }
        } else {
            self.vlan_port.native?;
        }
        let mut stations = Stations::default();
        for (lane, frame) in frames.iter().enumerate() {
            stations.set(lane, vids[lane], frame.head().first_chunk()?);
        }
        let outputs = self.table.refresh(&stations, self.input, self.now)?;
        let (mut targets, frame_bytes) = ([0; LANES], eight.frame_bytes.to_array());
        for lane in 0..LANES {
            let (out, vid) = (outputs[lane], vids[lane]);
            if !self.has_room(frame_bytes[lane], out) {
                return None;
            }
            targets[lane] = Target { out, vid }.bits();
        }
        eight.leaves = u32x8::new(targets);
        Some(())
    }

    /// Whether a frame of `frame_bytes` and a tag more may leave by `out`.
    #[inline(always)]
    fn has_room(&self, frame_bytes: u32, out: PortId) -> bool {
        #[expect(clippy::cast_possible_truncation, reason = "4")]
        let tag_bytes = ethernet::TAG_BYTES as u32;
        let frame_bytes_max = self.tx_frame_bytes_max.get(out.index()).copied().unwrap_or(0);
        frame_bytes + tag_bytes <= u32::from(frame_bytes_max)
    }

    #[inline(always)]
    fn target<F: Frame>(
        &mut self,
        is_tagged: bool,
        frame: &F,
        learned: impl FnOnce(Vid, MacAddress),
    ) -> Option<Target> {
        let head = frame.head();
        let &[d0, d1, d2, d3, d4, d5, s0, s1, s2, s3, s4, s5] = head.first_chunk()?;
        let dst = MacAddress([d0, d1, d2, d3, d4, d5]);
        let src = MacAddress([s0, s1, s2, s3, s4, s5]);
        let frame_vid =
            if is_tagged { Some(ethernet::vid(be16(head, ethernet::HEADER_BYTES)?)) } else { None };
        let Self { table, vlan_port, input, now, .. } = self;
        let stations = (dst, src);
        match bridge::look_up_station(table, vlan_port, *input, frame_vid, stations, *now, learned)
        {
            Destination::Port(out, vid) => {
                let frame_bytes = u32::from(length_bytes(frame));
                self.has_room(frame_bytes, out).then_some(Target { out, vid })
            }
            Destination::Flood(_) | Destination::Ends(_) => None,
        }
    }
}

impl Eight {
    /// The targets of the first `count` frames.
    pub(crate) fn targets(&self, count: usize) -> impl Iterator<Item = Target> + use<> {
        self.leaves.to_array().into_iter().take(count).filter_map(Target::from_bits)
    }
}
