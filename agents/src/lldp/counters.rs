//! What became of the frames, and of the neighbors, under IEEE 802.1AB's names where it has one.

/// What became of a frame that was handed to the agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// Of somebody new.
    Inserted,
    /// The neighbor says what it said before.
    Refreshed,
    /// The neighbor says something else.
    Changed,
    /// The neighbor's goodbye.
    Deleted,
    /// Goodbye of somebody who was not known.
    Unknown,
    /// Of somebody new, and there is no room (statsRemTablesDrops).
    TooMany,
    /// Not an LLDPDU that says anything.
    Malformed,
    /// No LLDP frame at all.
    NotLldp,
    /// It came in at a port that is down, or that there is not.
    PortDown,
}

impl Outcome {
    /// All of them, in the order of their numbers.
    pub const ALL: [Self; 9] = [
        Self::Inserted,
        Self::Refreshed,
        Self::Changed,
        Self::Deleted,
        Self::Unknown,
        Self::TooMany,
        Self::Malformed,
        Self::NotLldp,
        Self::PortDown,
    ];

    /// The name in tables and reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Inserted => "inserted",
            Self::Refreshed => "refreshed",
            Self::Changed => "changed",
            Self::Deleted => "deleted",
            Self::Unknown => "unknown",
            Self::TooMany => "too_many",
            Self::Malformed => "malformed",
            Self::NotLldp => "not_lldp",
            Self::PortDown => "port_down",
        }
    }
}

const _: () = assert!(Outcome::PortDown as usize + 1 == Outcome::ALL.len());

/// What the agent has counted since it started.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LldpCounters {
    /// Frames handed in (statsFramesInTotal).
    pub frames_in: u64,
    outcomes: [u64; Outcome::ALL.len()],
    /// Frames sent (statsFramesOutTotal), goodbyes among them.
    pub frames_out: u64,
    /// TLVs that were malformed or cut short (statsTLVsDiscardedTotal).
    pub tlvs_discarded: u64,
    /// TLVs nobody here understands (statsTLVsUnrecognizedTotal).
    pub tlvs_unrecognized: u64,
    /// Neighbors whose word ran out (statsAgeoutsTotal).
    pub aged_out: u64,
    /// Neighbors forgotten because the link went down.
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
        let outcomes = Outcome::ALL.into_iter().map(|o| (o.name(), self.frames(o)));
        outcomes.chain([
            ("frames_in", self.frames_in),
            ("frames_out", self.frames_out),
            ("tlvs_discarded", self.tlvs_discarded),
            ("tlvs_unrecognised", self.tlvs_unrecognized),
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
