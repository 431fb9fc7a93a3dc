//! A fleet of switches in etcd: rule sets by content hash, a manifest for each revision, rollouts
//! in stages, and the agent of a switch.
//!
//! What is decided is decided without I/O: [`head`] (what an operator may do next), [`agent`] (what
//! a switch does next) and [`manifest`]. [`store`] and [`session`] carry it to etcd and back.
//! Whether rules are safe is not known here; `fabric` proves it, and the command line asks for it.
#![forbid(unsafe_code)]

pub mod access;
pub mod agent;
mod backoff;
mod driver;
mod error;
mod events;
mod hash;
pub mod head;
mod keys;
pub mod manifest;
pub mod records;
pub mod session;
pub mod store;
pub mod users;
mod wants;

pub use access::{Access, Channel};
pub use driver::Driver;
pub use error::StoreError;
pub use events::{Event, Events};
pub use hash::content_hash;
pub use keys::Keys;
pub use store::Store;
pub use wants::StageError;
