//! Whole networks under load: each file one question.

mod building;
mod chain;
mod faults;
mod finite;
mod lldp;
mod overload;
mod random_networks;
mod ring;
mod support;
