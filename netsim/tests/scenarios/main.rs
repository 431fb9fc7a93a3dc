//! Whole networks under load: each file one question.

mod building;
mod chain;
mod faults;
mod finite;
mod learning;
mod overload;
mod random_networks;
mod ring;
mod support;
