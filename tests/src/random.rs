//! Inputs that are not quite what they should be, the same ones every time.

/// A generator of numbers (SplitMix64): the same ones from the same seed, everywhere.
#[derive(Clone, Debug)]
pub struct Dice(pub u64);

impl Dice {
    /// Any number.
    pub fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ mixed >> 31
    }

    /// A number below `end`; 0 if that is 0.
    ///
    /// # Panics
    /// Never, where a `usize` has 64 bits.
    pub fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.roll() % u64::try_from(end.max(1)).unwrap()).unwrap()
    }

    /// Any octet.
    pub fn octet(&mut self) -> u8 {
        self.roll().to_le_bytes()[0]
    }
}

/// One of `seeds`, of which there is at least one, with up to five changes.
///
/// # Panics
/// There is no seed.
pub fn mutated(dice: &mut Dice, seeds: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = seeds[dice.below(seeds.len())].clone();
    for _ in 0..dice.below(6) {
        let at = dice.below(bytes.len());
        match dice.below(5) {
            0 => bytes.truncate(at),
            1 => bytes.insert(at, dice.octet()),
            2 if at < bytes.len() => drop(bytes.remove(at)),
            3 => {
                // A piece of another seed in the place of what is there.
                let other = &seeds[dice.below(seeds.len())];
                let from = dice.below(other.len());
                let to = from + dice.below(other.len() - from);
                bytes.truncate(at);
                bytes.extend(&other[from..to]);
            }
            _ if at < bytes.len() => bytes[at] ^= 1 << dice.below(8),
            _ => {}
        }
    }
    bytes
}
