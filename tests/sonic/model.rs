//! SONiC's buffer model, one frame at a time: `BUFFER_PROFILE` and `BUFFER_POOL`.
//!
//! A priority group has `size` bytes for itself. Beyond them it may hold alpha times what is free
//! in the shared pool, where alpha is 2 to the power of `dynamic_th`. What exceeds that is charged
//! to its headroom, `xoff` bytes. XOFF is due from the first byte over the limit; XON is due once
//! the headroom is empty and the group is `xon_offset` below the limit.

/// A `BUFFER_PROFILE` of a lossless priority group, in SONiC's words.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Profile {
    /// Bytes reserved for the group.
    pub(crate) size: u32,
    /// Alpha, as an exponent of 2.
    pub(crate) dynamic_th: i8,
    /// Distance of XON from the limit.
    pub(crate) xon_offset: u32,
    /// Size of the headroom.
    pub(crate) xoff: u32,
}

impl Profile {
    /// Alpha as a fraction.
    fn alpha(self) -> (i128, i128) {
        let power = 1_i128 << self.dynamic_th.unsigned_abs();
        if self.dynamic_th < 0 { (1, power) } else { (power, 1) }
    }
}

/// Where a frame was charged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Charge {
    /// To what is reserved or shared.
    Shared,
    Headroom,
    Dropped,
}

/// One priority group.
#[derive(Clone, Debug)]
pub(crate) struct Group {
    profile: Profile,
    /// Bytes reserved or shared.
    pub(crate) base: i128,
    /// Bytes of headroom in use.
    pub(crate) headroom: i128,
    /// Whether its sender has been told to stop.
    pub(crate) is_paused: bool,
}

/// The buffer of a switch.
#[derive(Clone, Debug)]
pub(crate) struct Mmu {
    pool: i128,
    pub(crate) groups: Vec<Group>,
}

impl Mmu {
    /// `groups` empty groups of `profile` that share `pool` bytes.
    pub(crate) fn new(profile: Profile, pool: u64, groups: usize) -> Self {
        let group = Group { profile, base: 0, headroom: 0, is_paused: false };
        Self { pool: i128::from(pool), groups: vec![group; groups] }
    }

    /// Bytes of the pool that are in use.
    pub(crate) fn shared_bytes(&self) -> i128 {
        let beyond = |group: &Group| (group.base - i128::from(group.profile.size)).max(0);
        self.groups.iter().map(beyond).sum()
    }

    /// Whether `bytes` are within the limit of group `g`, with the pool as it is.
    fn is_within(&self, g: usize, bytes: i128) -> bool {
        let profile = self.groups[g].profile;
        let (numerator, denominator) = profile.alpha();
        let free = self.pool - self.shared_bytes();
        (bytes - i128::from(profile.size)) * denominator <= numerator * free
    }

    /// A frame that costs `cost` bytes arrives for group `g`.
    pub(crate) fn arrive(&mut self, g: usize, cost: u32) -> Charge {
        let cost = i128::from(cost);
        let filled = self.groups[g].base + cost;
        let size = i128::from(self.groups[g].profile.size);
        let from_pool = (filled - size).max(0) - (self.groups[g].base - size).max(0);
        let is_room = from_pool <= self.pool - self.shared_bytes();
        let is_shared = self.groups[g].headroom == 0 && self.is_within(g, filled) && is_room;
        let group = &mut self.groups[g];
        let charge = if is_shared {
            group.base = filled;
            Charge::Shared
        } else if group.headroom + cost <= i128::from(group.profile.xoff) {
            group.headroom += cost;
            Charge::Headroom
        } else {
            Charge::Dropped
        };
        self.look();
        charge
    }

    /// A frame of group `g` leaves: headroom is freed first.
    pub(crate) fn depart(&mut self, g: usize, cost: u32) {
        let group = &mut self.groups[g];
        let from_headroom = group.headroom.min(i128::from(cost));
        group.headroom -= from_headroom;
        group.base -= i128::from(cost) - from_headroom;
        self.look();
    }

    /// Whoever is over its limit is paused; whoever is far enough below it resumes.
    fn look(&mut self) {
        for g in 0..self.groups.len() {
            let Group { profile, base, headroom, is_paused } = self.groups[g];
            let offset = if is_paused { i128::from(profile.xon_offset) } else { 0 };
            let is_over = headroom > 0 || !self.is_within(g, base + offset);
            self.groups[g].is_paused = is_over && base + headroom > 0;
        }
    }

    /// How many frames of group `g` are held before one is dropped.
    pub(crate) fn frames_of(&mut self, g: usize, cost: u32) -> u32 {
        let is_held = |_: &u32| self.arrive(g, cost) != Charge::Dropped;
        u32::try_from((1_u32..).take_while(is_held).count()).unwrap()
    }

    /// The number of the first frame after which group 0 is paused.
    pub(crate) fn frames_to_xoff(&self, cost: u32) -> u32 {
        let mut mmu = self.clone();
        let is_running = |_: &u32| {
            mmu.arrive(0, cost);
            !mmu.groups[0].is_paused
        };
        1 + u32::try_from((1_u32..).take_while(is_running).count()).unwrap()
    }

    /// The number of the first frame of group 0 that is dropped.
    pub(crate) fn frames_to_drop(&self, cost: u32) -> u32 {
        1 + self.clone().frames_of(0, cost)
    }

    /// How many of `frames` frames of group 0 have to leave before it resumes.
    pub(crate) fn frames_to_xon(&self, cost: u32, frames: u32) -> u32 {
        let mut mmu = self.clone();
        for _ in 0..frames {
            mmu.arrive(0, cost);
        }
        assert!(mmu.groups[0].is_paused, "{frames} frames pause nobody");
        let is_paused = |_: &u32| {
            mmu.depart(0, cost);
            mmu.groups[0].is_paused
        };
        1 + u32::try_from((1_u32..).take_while(is_paused).count()).unwrap()
    }
}

/// The closed form: of `groups` groups that fill alike, each is over its limit with this frame.
/// A group holds `size + alpha * pool / (1 + groups * alpha)` at its limit.
fn frames_to_xoff(profile: Profile, pool: u64, groups: i128, cost: u32) -> i128 {
    let (numerator, denominator) = profile.alpha();
    let shared = numerator * i128::from(pool) / (denominator + groups * numerator);
    (i128::from(profile.size) + shared) / i128::from(cost) + 1
}

#[test]
fn the_model_agrees_with_the_formula() {
    for dynamic_th in -7..=3 {
        for (size, pool, cost) in
            [(3_000, 1_000_000, 256), (0, 770_001, 1_000), (9_000, 65_536, 1_514)]
        {
            let profile = Profile { size, dynamic_th, xon_offset: 3_000, xoff: 40_000 };
            let mmu = Mmu::new(profile, pool, 1);
            let expected = frames_to_xoff(profile, pool, 1, cost);
            assert_eq!(i128::from(mmu.frames_to_xoff(cost)), expected, "{profile:?} {pool} {cost}");

            let mut mmu = Mmu::new(profile, pool, 3);
            let mut rounds = 0;
            while !mmu.groups.iter().any(|group| group.is_paused) {
                (0..3).for_each(|g| _ = mmu.arrive(g, cost));
                rounds += 1;
            }
            assert_eq!(rounds, frames_to_xoff(profile, pool, 3, cost), "{profile:?} {pool} {cost}");
        }
    }
}
