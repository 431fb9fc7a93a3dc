//! The length of a cable.

use std::fmt;

/// A cable's length, in whole millimetres.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Length {
    millimetres: u64,
}

impl Length {
    /// `metres` metres.
    pub const fn from_metres(metres: u32) -> Self {
        Self { millimetres: metres as u64 * 1_000 }
    }

    /// `millimetres` millimetres.
    pub const fn from_millimetres(millimetres: u64) -> Self {
        Self { millimetres }
    }

    /// Millimetres.
    pub const fn millimetres(self) -> u64 {
        self.millimetres
    }

    /// One-way delay in picoseconds: 5 ns a metre, copper and fibre alike.
    pub const fn delay_ps(self) -> u64 {
        self.millimetres * 5
    }
}

impl fmt::Display for Length {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (metres, rest) = (self.millimetres / 1_000, self.millimetres % 1_000);
        if rest == 0 {
            write!(f, "{metres}m")
        } else {
            let decimals = format!("{rest:03}");
            write!(f, "{metres}.{}m", decimals.trim_end_matches('0'))
        }
    }
}
