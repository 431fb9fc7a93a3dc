//! Memory regions: what the other side may touch. The bytes themselves are the driver's.

use crate::wire::AtomicOperation;
use crate::work::{Place, Remote};

/// A region of an endpoint, by its place there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RegionId(pub u32);

/// Some memory, as it is offered to the other side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Region {
    /// The address of its first byte, as the other side says it.
    pub address: u64,
    /// Its length.
    pub bytes: u64,
    /// Whether the other side may write, read and change it; without, it is for local use only.
    pub is_remote: bool,
}

/// Keys count up from here, with this stride: the low byte is a consumer's in InfiniBand.
const KEY_FIRST: u32 = 0x0000_1100;
const KEY_STRIDE: u32 = 0x100;

/// The regions of an endpoint.
#[derive(Clone, Debug, Default)]
pub(crate) struct Regions {
    regions: Vec<Region>,
}

impl Regions {
    pub(crate) fn add(&mut self, region: Region) -> (RegionId, u32) {
        let index = u32::try_from(self.regions.len()).unwrap_or(u32::MAX);
        self.regions.push(region);
        (RegionId(index), KEY_FIRST.wrapping_add(index.wrapping_mul(KEY_STRIDE)))
    }

    /// Takes a region away: nothing of it is held any more.
    pub(crate) fn remove(&mut self, region: RegionId) {
        let index = usize::try_from(region.0).ok();
        if let Some(region) = index.and_then(|at| self.regions.get_mut(at)) {
            *region = Region { bytes: 0, is_remote: false, ..*region };
        }
    }

    /// Whether a region holds `bytes` from `place` on.
    pub(crate) fn holds(&self, place: Place, bytes: u32) -> bool {
        let region = usize::try_from(place.region.0).ok().and_then(|at| self.regions.get(at));
        let end = place.offset.checked_add(u64::from(bytes));
        region.is_some_and(|region| end.is_some_and(|end| end <= region.bytes))
    }

    /// Where `bytes` of memory stand that the other side names; `None` if it may not touch them.
    pub(crate) fn find(&self, remote: Remote, bytes: u32) -> Option<Place> {
        let index = remote.key.wrapping_sub(KEY_FIRST);
        if !index.is_multiple_of(KEY_STRIDE) {
            return None;
        }
        let region = RegionId(index / KEY_STRIDE);
        let found = self.regions.get(usize::try_from(region.0).ok()?)?;
        let place = Place { region, offset: remote.address.checked_sub(found.address)? };
        (found.is_remote && self.holds(place, bytes)).then_some(place)
    }
}

/// The bytes behind the regions.
pub trait Memory {
    /// Copies received payload to its place. The place is inside its region.
    fn write(&mut self, place: Place, payload: &[u8]);

    /// Changes the eight bytes at `place`, a number in the machine's byte order; the number before.
    fn atomic(&mut self, place: Place, operation: AtomicOperation) -> u64;
}

/// No bytes at all, for an emulator: what is received goes nowhere, and each atomic finds 0.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoMemory;

impl Memory for NoMemory {
    fn write(&mut self, _place: Place, _payload: &[u8]) {}

    fn atomic(&mut self, _place: Place, _operation: AtomicOperation) -> u64 {
        0
    }
}

/// Each region a vector, in the order in which they were registered.
#[derive(Clone, Debug, Default)]
pub struct VecMemory {
    /// The regions.
    pub regions: Vec<Vec<u8>>,
}

impl VecMemory {
    /// `bytes` from `place` on; nothing if they are not all there.
    pub fn read(&self, place: Place, bytes: u32) -> &[u8] {
        let region = usize::try_from(place.region.0).ok().and_then(|at| self.regions.get(at));
        let bounds = usize::try_from(place.offset).ok().zip(usize::try_from(bytes).ok());
        let taken = region
            .zip(bounds)
            .and_then(|(region, (from, bytes))| region.get(from..from.checked_add(bytes)?));
        taken.unwrap_or_default()
    }

    fn slice_mut(&mut self, place: Place, bytes: usize) -> Option<&mut [u8]> {
        let region = self.regions.get_mut(usize::try_from(place.region.0).ok()?)?;
        let from = usize::try_from(place.offset).ok()?;
        region.get_mut(from..from.checked_add(bytes)?)
    }
}

impl Memory for VecMemory {
    fn write(&mut self, place: Place, payload: &[u8]) {
        if let Some(room) = self.slice_mut(place, payload.len()) {
            room.copy_from_slice(payload);
        }
    }

    fn atomic(&mut self, place: Place, operation: AtomicOperation) -> u64 {
        let Some(room) = self.slice_mut(place, 8) else { return 0 };
        let before = u64::from_ne_bytes(room.try_into().unwrap_or_default());
        room.copy_from_slice(&operation.apply(before).to_ne_bytes());
        before
    }
}
