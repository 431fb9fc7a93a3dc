//! Outcomes made by hand, as simulations give them: what a page has to show.

mod fat_tree;
mod hostile;
mod leaf_spine;
mod ring;

use netsim::outcome::{
    CycleHop, DeadlockOutcome, FlowOutcome, LinkOutcome, NodeOutcome, Outcome, TopologyOutcome,
};

/// Picoseconds in a microsecond.
pub(super) const MICROSECOND: u64 = 1_000_000;
/// A bit per second, times so many.
pub(super) const GIGABIT: u64 = 1_000_000_000;

/// Every sample, with a name for its file.
pub(super) fn all() -> [(&'static str, Outcome); 5] {
    [
        ("ring", ring::deadlock()),
        ("fat-tree", fat_tree::clean()),
        ("leaf-spine", leaf_spine::incast()),
        ("empty", Outcome::default()),
        ("hostile", hostile::names()),
    ]
}

/// Nodes first, then links by their ends.
#[derive(Default)]
pub(super) struct Wiring(TopologyOutcome);

impl Wiring {
    /// Adds a node of this level; 0 is a host.
    pub(super) fn node(&mut self, name: &str, level: u32) {
        self.0.nodes.push(NodeOutcome { name: name.to_owned(), is_host: level == 0, level });
    }

    /// Links two ends, `A:1` or a host's name, which carried so many bytes.
    pub(super) fn link(&mut self, from: &str, to: &str, bits_per_second: u64, bytes: [u64; 2]) {
        let nodes = [from, to].map(|end| self.index(end));
        let ends = [from, to].map(str::to_owned);
        self.0.links.push(LinkOutcome { ends, nodes, bits_per_second, is_down: false, bytes });
    }

    /// Takes down the last link.
    pub(super) fn fail_last(&mut self) {
        let link = self.0.links.last_mut().unwrap();
        link.is_down = true;
        link.bytes = [0, 0];
    }

    fn index(&self, end: &str) -> usize {
        let is_at = |node: &NodeOutcome| {
            node.name == end || end.rsplit_once(':').is_some_and(|(name, _)| name == node.name)
        };
        self.0.nodes.iter().position(is_at).unwrap()
    }

    /// What was wired.
    pub(super) fn done(self) -> TopologyOutcome {
        self.0
    }
}

/// A flow that received `bytes` in frames of 1,024, `late` of them in the last quarter.
pub(super) fn flow(
    name: &str,
    from: &str,
    to: &str,
    bytes: u64,
    late: u64,
    missing: u64,
) -> FlowOutcome {
    FlowOutcome {
        name: name.to_owned(),
        from: from.to_owned(),
        to: to.to_owned(),
        sent_frames: bytes / 1024 + missing,
        received_frames: bytes / 1024,
        received_bytes: bytes,
        late_bytes: late,
        missing_frames: missing,
        ..FlowOutcome::default()
    }
}

/// A cycle of priority 3 through switches with their input and output ports.
pub(super) fn cycle(closed_ps: u64, hops: &[(&str, usize, usize, u64)]) -> Option<DeadlockOutcome> {
    let hops = hops.iter().map(|&(switch, input, output, bytes)| CycleHop {
        switch: switch.to_owned(),
        input,
        input_priority: 3,
        output,
        output_priority: 3,
        bytes,
    });
    Some(DeadlockOutcome { closed_ps, cycle: hops.collect() })
}

/// What a rate of so many bits per second comes to in a time.
pub(super) fn bytes_of(bits_per_second: u64, time_ps: u64) -> u64 {
    bits_per_second / 8 * time_ps / 1_000_000 / MICROSECOND
}
