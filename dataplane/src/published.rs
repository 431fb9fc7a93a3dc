//! A word that one worker writes and others read, on a cache line of its own; under `--cfg loom` as
//! loom's, which tries every order in which it may be seen.

#[cfg(not(loom))]
pub(crate) use core::sync::atomic::{AtomicU64, Ordering};
#[cfg(loom)]
pub(crate) use loom::sync::atomic::{AtomicU64, Ordering};

/// See the module's head.
#[derive(Debug, Default)]
#[repr(align(64))]
pub(crate) struct Line(pub(crate) AtomicU64);
