//! Shares as integers: fixed point with 32 binary places.

/// A share: [`ONE`] is all. More than all is allowed, up to 2^32 times.
pub(super) type Share = u64;

/// All of it.
pub(super) const ONE: Share = 1 << 32;

/// Picoseconds of a bit a second that make a byte.
pub(super) const BIT_PS_PER_BYTE: u64 = 8_000_000_000_000;

/// Parameters are given in millionths, which a person can write and read without a float.
pub(super) const fn from_millionths(millionths: u32) -> Share {
    (millionths as u64 * ONE) / 1_000_000
}

/// `value` times `share`, rounded down; [`u64::MAX`] if it does not fit.
pub(super) fn of(value: u64, share: Share) -> u64 {
    let product = u128::from(value) * u128::from(share);
    u64::try_from(product >> 32).unwrap_or(u64::MAX)
}

/// `part` as a share of `whole`, rounded down; [`u64::MAX`] if it does not fit or `whole` is 0.
pub(super) fn ratio(part: u64, whole: u64) -> Share {
    let scaled = u128::from(part) << 32;
    scaled
        .checked_div(u128::from(whole))
        .map_or(u64::MAX, |share| u64::try_from(share).unwrap_or(u64::MAX))
}

/// `a` times `b` divided by `by`, rounded down; [`u64::MAX`] if it does not fit or `by` is 0.
pub(super) fn scale(a: u64, b: u64, by: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    product
        .checked_div(u128::from(by))
        .map_or(u64::MAX, |share| u64::try_from(share).unwrap_or(u64::MAX))
}
