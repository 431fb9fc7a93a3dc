//! How much a table holds, and why a change may be refused.

use crate::limits::ECMP_MAX;
use crate::wire::MacAddress;

/// Static routes of one table. With the other limits it keeps the hops of any table, 64 for each
/// route or group at the worst, within what a leaf can name.
pub const ROUTES_MAX: usize = 1 << 18;
/// Neighbors of one table.
pub const NEIGHBORS_MAX: usize = 1 << 20;
/// Learned routes of one table, both families.
pub(super) const LEARNED_MAX: usize = 1 << 21;
/// Groups of paths of one table.
pub(super) const GROUPS_MAX: usize = 1 << 16;

/// Why a change was refused; the table is as it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RoutesError {
    /// A route needs a gateway.
    #[error("a route without a gateway; give one, or make it a blackhole")]
    NoGateway,
    /// More gateways than [`ECMP_MAX`].
    #[error("a route with {0} gateways; {ECMP_MAX} is the most")]
    TooManyGateways(usize),
    /// There are [`ROUTES_MAX`] static routes.
    #[error("the table has {ROUTES_MAX} static routes, its most")]
    RoutesFull,
    /// There are as many learned routes as a table has room for.
    #[error("the table has {LEARNED_MAX} learned routes, its most")]
    LearnedFull,
    /// There are as many groups of paths as a table has room for.
    #[error("the table has {GROUPS_MAX} groups of paths, its most")]
    GroupsFull,
    /// There are [`NEIGHBORS_MAX`] neighbors.
    #[error("the table has {NEIGHBORS_MAX} neighbors, its most")]
    NeighborsFull,
    /// A neighbor's MAC address cannot be a multicast address.
    #[error("a neighbor with the multicast address {0}; a neighbor is one station")]
    MulticastNeighbor(MacAddress),
}
