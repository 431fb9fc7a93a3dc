//! Packet sequence numbers: 24 bits, compared around the circle (InfiniBand 9.7.2).

/// Where the numbers wrap.
const MASK: u32 = 0xFF_FFFF;
/// Half the circle: numbers farther ahead than this count as behind.
const HALF: u32 = 1 << 23;

/// A packet sequence number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Psn(u32);

impl Psn {
    /// The low 24 bits of `value`.
    #[inline]
    pub const fn new(value: u32) -> Self {
        Self(value & MASK)
    }

    /// The number, 0 to 2^24 - 1.
    #[inline]
    pub const fn value(self) -> u32 {
        self.0
    }

    /// `packets` later.
    #[inline]
    pub(crate) const fn plus(self, packets: u32) -> Self {
        Self::new(self.0.wrapping_add(packets))
    }

    /// `packets` earlier.
    #[inline]
    pub(crate) const fn minus(self, packets: u32) -> Self {
        Self::new(self.0.wrapping_sub(packets))
    }

    /// Packets from `earlier` to here, going forward.
    #[inline]
    pub(crate) const fn since(self, earlier: Self) -> u32 {
        self.0.wrapping_sub(earlier.0) & MASK
    }

    /// Whether this number comes before `other`: within half the circle.
    #[inline]
    pub(crate) const fn is_before(self, other: Self) -> bool {
        let ahead = other.since(self);
        ahead != 0 && ahead < HALF
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_circle_closes() {
        let last = Psn::new(MASK);
        assert_eq!(last.plus(1), Psn::new(0));
        assert_eq!(Psn::new(0).minus(1), last);
        assert_eq!(Psn::new(2).since(last), 3);
        assert!(last.is_before(Psn::new(5)) && !Psn::new(5).is_before(last));
        assert!(!last.is_before(last), "not before itself");
        assert!(
            Psn::new(0).is_before(Psn::new(HALF - 1)) && !Psn::new(0).is_before(Psn::new(HALF))
        );
    }
}
