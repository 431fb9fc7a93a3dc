//! The stages that a received frame goes through, in call order.
//!
//! | stage | file |
//! |---|---|
//! | receive: one port's burst through the stages | [`receive`], [`single`]; input: [`arrival`] |
//! | fast path of a single frame: plain IPv4 | [`fast_path`], [`rewrite_entry`] |
//! | fast path of eight frames | [`lanes`] |
//! | classify: marking to tag to ingress priority | [`classify`]; the result is a [`class`] |
//! | forward: routed or bridged | [`route`], [`bridge`] |
//! | forward a burst | [`route_burst`], [`bridge_burst`] |
//! | what is known of a frame for the router | [`routed`] |
//! | through a tunnel: its end, its beginning | [`decapsulate`], [`encapsulate`] |
//! | rules: the tag and priority it leaves with | [`rules`] |
//! | outcome: what becomes of the frame | [`outcome`] |
//! | rewrite | [`rewrite`] |
//! | group the outcomes of a burst | [`outcome_groups`] |
//! | admit: charge the frames to their VIQ | [`admit`] |
//! | dispatch: to the transmit batch, a queue or another worker | [`dispatch`] |
//! | end: drop, hand to the control thread, consume | [`ends`] |
//! | wait for the next hop, lossless frames only | [`next_hop`] |
//! | while a client captures: what matches, one by one | [`captured`] |
//! | the same in its burst, at a routed port | [`followed`] |

pub(crate) mod admit;
pub(crate) mod arrival;
pub(crate) mod bridge;
mod bridge_burst;
mod captured;
pub mod class;
pub mod classify;
mod decapsulate;
pub(crate) mod dispatch;
mod encapsulate;
mod ends;
pub(crate) mod fast_path;
mod followed;
pub(crate) mod lanes;
mod next_hop;
pub(crate) mod outcome;
pub(crate) mod outcome_groups;
pub(crate) mod receive;
mod rewrite;
pub(crate) mod rewrite_entry;
pub(crate) mod route;
mod route_burst;
pub(crate) mod routed;
mod rules;
mod single;
