//! A fabric that configures itself: switches that know nothing learn the levels that a search from
//! the hosts finds, and write the rules that the compiler writes for the same network.

mod judge;
mod learning;
mod reach;
mod rules;
#[path = "../support/mod.rs"]
mod support;
mod world;
