//! The outcomes of received frames, and counters, with the names of IEEE 802.1AB where it has one.

use strum::{IntoStaticStr, VariantArray};

/// What became of a frame that was handed in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "snake_case")]
pub enum Outcome {
    /// It is of a new neighbor.
    Inserted,
    /// It repeats what the neighbor advertised before.
    Refreshed,
    /// It changes what the neighbor advertised before.
    Changed,
    /// It is the shutdown LLDPDU of a neighbor.
    Deleted,
    /// It is a shutdown LLDPDU of an unknown neighbor.
    Unknown,
    /// It is of a new neighbor, and the table is full (statsRemTablesDrops).
    TooMany,
    /// Its LLDPDU is malformed.
    Malformed,
    /// It is not an LLDP frame.
    NotLldp,
    /// Its port is down or does not exist.
    PortDown,
}

impl Outcome {
    /// All of them, in the order of their numbers.
    pub const ALL: &[Self] = Self::VARIANTS;

    /// The name in tables and reports.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// The counters since the agent was created.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LldpCounters {
    /// Frames handed in (statsFramesInTotal).
    pub frames_in: u64,
    outcomes: [u64; Outcome::ALL.len()],
    /// Frames sent (statsFramesOutTotal), with shutdown LLDPDUs.
    pub frames_out: u64,
    /// TLVs that were malformed, repeated or truncated (statsTLVsDiscardedTotal).
    pub tlvs_discarded: u64,
    /// TLVs of unknown types (statsTLVsUnrecognizedTotal).
    pub tlvs_unrecognized: u64,
    /// Neighbors that expired (statsAgeoutsTotal).
    pub aged_out: u64,
    /// Neighbors removed because the link went down.
    pub unlinked: u64,
    /// Changes of this switch's level.
    pub level_changes: u64,
}

impl LldpCounters {
    /// Frames that had `outcome`.
    pub const fn frames(&self, outcome: Outcome) -> u64 {
        self.outcomes[outcome as usize]
    }

    /// Every counter with its name, the outcomes first.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let outcomes = Outcome::ALL.iter().map(|&o| (o.name(), self.frames(o)));
        outcomes.chain([
            ("frames_in", self.frames_in),
            ("frames_out", self.frames_out),
            ("tlvs_discarded", self.tlvs_discarded),
            ("tlvs_unrecognized", self.tlvs_unrecognized),
            ("aged_out", self.aged_out),
            ("unlinked", self.unlinked),
            ("level_changes", self.level_changes),
        ])
    }

    pub(super) fn count(&mut self, outcome: Outcome) {
        self.frames_in += 1;
        self.outcomes[outcome as usize] += 1;
    }
}
