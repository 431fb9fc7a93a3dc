//! Learns the source addresses of eight bridged frames, and looks up their destinations.

use super::LANES;
use super::eight::Eight;
use crate::frame::{Frame, length_bytes};
use crate::handoff::ring::MacEvent;
use crate::ids::PortId;
use crate::l2::{MacTable, Stations, Vid};
use crate::pipeline::bridge::{self, BridgeInput, Destination};
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
    table: &'a mut MacTable,
    input: BridgeInput<'a>,
    now: Instant,
    /// By port index: the longest frame that a port sends, VLAN tags included.
    tx_frame_bytes_max: &'a [u16],
    /// The longest frame that every port sends, with a tag more than it has.
    fits_everywhere_bytes: u32,
}

/// What a frame may grow by.
#[expect(clippy::cast_possible_truncation, reason = "4")]
const TAG_BYTES: u32 = ethernet::TAG_BYTES as u32;

impl<'a> Bridge<'a> {
    /// The bridge of a worker whose ports send frames of these lengths.
    #[inline(always)]
    pub(crate) fn new(
        table: &'a mut MacTable,
        input: BridgeInput<'a>,
        now: Instant,
        tx_frame_bytes_max: &'a [u16],
    ) -> Self {
        let least = tx_frame_bytes_max.iter().copied().min().unwrap_or(0);
        let fits_everywhere_bytes = u32::from(least).saturating_sub(TAG_BYTES);
        Self { table, input, now, tx_frame_bytes_max, fits_everywhere_bytes }
    }

    /// Learns the source of each frame and looks up its destination, in order, as the address
    /// learned from one frame may be the destination of the next. Returns the number of frames at
    /// the front that have a target: all, or those before the first that is flooded, ends here or
    /// may be too long for its port. That one's source is learned, and its destination returned;
    /// the rest are untouched.
    #[inline(always)]
    pub(crate) fn look_up<F: Frame>(
        &mut self,
        eight: &mut Eight,
        frames: &[F],
        mut mac_events: impl FnMut(MacEvent),
    ) -> (usize, Option<Destination>) {
        if let Ok(frames) = frames.try_into()
            && self.look_up_known(eight, frames).is_some()
        {
            return (LANES, None);
        }
        let mut targets = [0; LANES];
        let (mut known, mut other) = (0, None);
        for (frame, target) in frames.iter().zip(&mut targets) {
            match self.destination(eight.is_tagged, frame, &mut mac_events) {
                Some(Destination::Port(out, vid))
                    if self.has_room(u32::from(length_bytes(frame)), out) =>
                {
                    *target = Target { out, vid }.bits();
                    known += 1;
                }
                destination => {
                    other = destination;
                    break;
                }
            }
        }
        eight.leaves = u32x8::new(targets);
        (known, other)
    }

    /// Looks up all destinations if that changes the table in nothing but time stamps, as mostly.
    #[inline(always)]
    fn look_up_known<F: Frame>(&mut self, eight: &mut Eight, frames: &[F; LANES]) -> Option<()> {
        let mut vids = [self.input.vlan_port.native.unwrap_or(Vid::DEFAULT); LANES];
        if eight.is_tagged {
            for (vid, frame) in vids.iter_mut().zip(frames) {
                let tci = be16(frame.head(), ethernet::HEADER_BYTES)?;
                *vid = self.input.vlan_port.admit(Some(ethernet::vid(tci)))?;
            }
        } else {
            self.input.vlan_port.native?;
        }
        let mut stations = Stations::default();
        for (lane, frame) in frames.iter().enumerate() {
            stations.set(lane, vids[lane], frame.head().first_chunk()?);
        }
        let outputs = self.table.refresh(&stations, self.input.port, self.now)?;
        if !eight.frame_bytes.simd_le(u32x8::splat(self.fits_everywhere_bytes)).all() {
            let frame_bytes = eight.frame_bytes.to_array();
            if !(0..LANES).all(|lane| self.has_room(frame_bytes[lane], outputs[lane])) {
                return None;
            }
        }
        // Written out: a loop writes them one by one, and who reads them as a vector waits for all
        // writes.
        let bits = |lane: usize| Target { out: outputs[lane], vid: vids[lane] }.bits();
        let targets = [bits(0), bits(1), bits(2), bits(3), bits(4), bits(5), bits(6), bits(7)];
        eight.leaves = u32x8::new(targets);
        Some(())
    }

    /// Whether a frame of `frame_bytes` and a tag more may leave by `out`.
    #[inline(always)]
    fn has_room(&self, frame_bytes: u32, out: PortId) -> bool {
        let frame_bytes_max = self.tx_frame_bytes_max.get(out.index()).copied().unwrap_or(0);
        frame_bytes + TAG_BYTES <= u32::from(frame_bytes_max)
    }

    #[inline(always)]
    fn destination<F: Frame>(
        &mut self,
        is_tagged: bool,
        frame: &F,
        mac_events: impl FnOnce(MacEvent),
    ) -> Option<Destination> {
        let head = frame.head();
        let &[d0, d1, d2, d3, d4, d5, s0, s1, s2, s3, s4, s5] = head.first_chunk()?;
        let dst = MacAddress([d0, d1, d2, d3, d4, d5]);
        let src = MacAddress([s0, s1, s2, s3, s4, s5]);
        let frame_vid =
            if is_tagged { Some(ethernet::vid(be16(head, ethernet::HEADER_BYTES)?)) } else { None };
        let Self { table, input, now, .. } = self;
        let stations = (dst, src);
        Some(bridge::look_up_station(table, *input, frame_vid, stations, *now, mac_events))
    }
}

impl Eight {
    /// The targets of the first `count` frames.
    pub(crate) fn targets(&self, count: usize) -> impl Iterator<Item = Target> + use<> {
        self.leaves.to_array().into_iter().take(count).filter_map(Target::from_bits)
    }
}
