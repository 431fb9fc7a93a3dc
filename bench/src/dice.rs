//! Random numbers that are the same in every run, so that two runs measure the same work.

/// A generator of random numbers (SplitMix64), good enough to scatter keys.
#[derive(Clone, Debug)]
pub struct Dice {
    state: u64,
}

impl Dice {
    /// The numbers that belong to `seed`.
    pub const fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    /// 64 random bits.
    pub const fn roll(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.state ^ self.state >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ mixed >> 31
    }

    /// A number below `bound`, which is at least 1.
    pub fn below(&mut self, bound: usize) -> usize {
        let scaled = u128::from(self.roll()) * bound as u128;
        usize::try_from(scaled >> 64).unwrap_or(0)
    }

    /// A number below `bound`, which is at least 1.
    pub fn byte_below(&mut self, bound: u8) -> u8 {
        u8::try_from(self.below(bound.into())).unwrap_or(0)
    }

    /// 16 random bits.
    pub const fn u16(&mut self) -> u16 {
        let [a, b, ..] = self.roll().to_le_bytes();
        u16::from_le_bytes([a, b])
    }

    /// `N` random bytes.
    pub fn bytes<const N: usize>(&mut self) -> [u8; N] {
        core::array::from_fn(|_| self.roll().to_le_bytes()[0])
    }

    /// One of `choices`, of which there is at least one.
    pub fn pick<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len())]
    }

    /// A number from `least` to `most`.
    pub const fn between(&mut self, least: u64, most: u64) -> u64 {
        let choices = (most - least) as u128 + 1;
        least + ((self.roll() as u128 * choices) >> 64) as u64
    }

    /// True once in `count` times.
    pub fn one_in(&mut self, count: usize) -> bool {
        self.below(count) == 0
    }
}
