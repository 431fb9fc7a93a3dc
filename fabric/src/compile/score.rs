//! How good orders are: the most raises on any expected path, then the number of raised paths.

use super::order::TagOrders;
use crate::paths::Walks;

/// Raises are counted up to this; a switch has eight priorities.
const RAISES_MAX: u8 = 15;

/// What orders cost. Less is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Score {
    /// The most raises on any path. Priorities are one more.
    pub(super) raises_max: u8,
    /// Paths with a raise.
    pub(super) raised_paths: u64,
    /// Paths with more than one raise: those that need a third priority.
    pub(super) broken_paths: u64,
    /// All paths.
    pub(super) paths: u64,
}

impl Score {
    /// Follows all paths under `orders`.
    pub(super) fn of(walks: &Walks<'_>, orders: &TagOrders) -> Self {
        Self::of_some(1, walks, orders)
    }

    /// Follows one group of paths in `stride`: no more raises than [`Score::of`] finds.
    pub(super) fn of_some(stride: usize, walks: &Walks<'_>, orders: &TagOrders) -> Self {
        let raise = |input, output, raises: u8, _| {
            (raises + u8::from(orders.is_raise(input, output, raises))).min(RAISES_MAX)
        };
        let ends = walks.tally_some(stride, 0, usize::from(RAISES_MAX) + 1, raise);
        let raises_max = (0..=RAISES_MAX).rev().find(|&raises| ends[usize::from(raises)] > 0);
        Self {
            raises_max: raises_max.unwrap_or(0),
            raised_paths: ends[1..].iter().fold(0, |sum, &paths| sum.saturating_add(paths)),
            broken_paths: ends[2..].iter().fold(0, |sum, &paths| sum.saturating_add(paths)),
            paths: ends.iter().fold(0, |sum, &paths| sum.saturating_add(paths)),
        }
    }
}
