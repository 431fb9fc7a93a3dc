//! A word that one worker writes and others read, in a cache line of its own. Under `--cfg loom` it
//! is loom's atomic, so that loom tries every order in which the writes may be seen.

#[cfg(not(loom))]
pub(crate) use core::sync::atomic::{AtomicU64, Ordering};
#[cfg(loom)]
pub(crate) use loom::sync::atomic::{AtomicU64, Ordering};

/// An atomic word in a cache line of its own.
#[derive(Debug, Default)]
#[repr(align(64))]
pub(crate) struct PaddedAtomic(pub(crate) AtomicU64);
