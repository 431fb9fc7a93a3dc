//! The agent's times and limits.

/// The agent's times and limits. A switch runs with the defaults.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentSettings {
    /// Entries of the neighbor cache. When it is full, new neighbors are refused; no entry is
    /// evicted. At most a quarter of the entries may be unresolved, so a scan of unused addresses
    /// leaves room for neighbors that exist.
    pub neighbors_max: usize,
    /// Time between two requests that are not answered.
    pub retry_ns: u64,
    /// Requests to an unknown neighbor before it counts as unreachable, and probes of a known one
    /// before it is removed. 0 means 1.
    pub tries: u8,
    /// How long no request is sent to an unreachable neighbor.
    pub hold_down_ns: u64,
    /// How long an answer proves that a neighbor is there (RFC 4861, REACHABLE). After it a probe
    /// is sent.
    pub reachable_ns: u64,
    /// Time until the first probe of a neighbor that announced itself without being asked.
    pub first_probe_ns: u64,
    /// Maximum number of frames that wait for one neighbor.
    pub pending_frames_max: usize,
    /// Maximum number of bytes of all waiting frames.
    pub pending_bytes_max: usize,
    /// ICMP errors that each interface sends per second on average; also the largest burst.
    pub icmp_errors_per_second: u32,
}

impl Default for AgentSettings {
    fn default() -> Self {
        const SECOND_NS: u64 = 1_000_000_000;
        Self {
            neighbors_max: 4_096,
            retry_ns: SECOND_NS,
            tries: 3,
            hold_down_ns: 5 * SECOND_NS,
            reachable_ns: 60 * SECOND_NS,
            first_probe_ns: 5 * SECOND_NS,
            pending_frames_max: 64,
            pending_bytes_max: 4 << 20,
            icmp_errors_per_second: 100,
        }
    }
}
