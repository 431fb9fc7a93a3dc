//! Stub of gentle flow control (GFC) for builds without the feature `gfc`. Its types have no
//! values, so code that takes one never runs.

use crate::ids::Priority;
use crate::time::{Instant, Speed};

/// Whether this build has gentle flow control.
pub const IS_BUILT: bool = false;

/// How a time field encodes a rate: there are no encodings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {}

/// Never called.
pub const fn is_rate(form: Form, _code: u16) -> bool {
    match form {}
}

impl Form {
    /// Not built.
    pub const STAGED: Option<Self> = None;
    /// Not built.
    pub const LINEAR: Option<Self> = None;
}

/// The rate that a VIQ requests for each fill level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RateMap {}

impl RateMap {
    /// Not built.
    pub const fn staged(_full_bytes: u32, _span_bytes: u32, _frame_bytes: u32) -> Option<Self> {
        None
    }

    /// Not built.
    pub const fn linear(_full_bytes: u32, _span_bytes: u32) -> Option<Self> {
        None
    }

    /// Not built.
    pub const fn stages(_span_bytes: u32) -> u8 {
        0
    }

    /// Never called.
    pub const fn code(&self, _bytes: u32, _told: u16) -> u16 {
        match *self {}
    }
}

/// The rates of one port's classes.
#[derive(Clone, Debug)]
pub enum RateAdjuster {}

impl RateAdjuster {
    /// Never called.
    pub const fn new(form: Form, _speed: Speed, _catch_up_ns: u64) -> Self {
        match form {}
    }

    /// Never called.
    pub const fn hear(&mut self, _priority: Priority, _code: u16, _now: Instant) -> bool {
        match *self {}
    }

    /// Never called.
    pub const fn expire(&mut self, _now: Instant) {
        match *self {}
    }

    /// Never called.
    pub const fn reset(&mut self, _now: Instant) {
        match *self {}
    }

    /// Never called.
    pub const fn expires_at(&self) -> Instant {
        match *self {}
    }

    /// Never called.
    pub const fn rate_limited_bits(&self) -> u8 {
        match *self {}
    }

    /// Never called.
    pub const fn limited_bits(&self, _now: Instant) -> u8 {
        match *self {}
    }

    /// Never called.
    pub const fn free_at(&self, _bits: u8) -> Instant {
        match *self {}
    }

    /// Never called.
    pub const fn sent(&mut self, _priority: Priority, _bytes: u32, _now: Instant) {
        match *self {}
    }
}
