//! Whole networks under load: each file one question.

mod building;
mod chain;
mod classes;
mod faults;
mod finite;
mod lldp;
mod overload;
mod random_networks;
mod reroutes;
mod ring;
mod support;
