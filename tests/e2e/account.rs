//! Where every frame of a load has gone: what senders handed to their interfaces is what the
//! receiver received and what the switch dropped under a name, to the frame.

use std::collections::BTreeMap;
use switch::control::stats::Stats;
use switch::traffic::report::{FlowReceived, RecvReport, SendReport};

/// A load, when it is over.
#[derive(Debug)]
pub(crate) struct Load {
    pub(crate) sent: Vec<SendReport>,
    pub(crate) received: RecvReport,
    /// The switch before the first frame.
    pub(crate) before: Stats,
    /// The switch after the last.
    pub(crate) after: Stats,
}

/// The priorities that are lossless in these tests.
const LOSSLESS: [u8; 2] = [3, 4];

/// Frames dropped by all ports, by cause.
fn drops(stats: &Stats) -> BTreeMap<&str, u64> {
    let mut sum = BTreeMap::new();
    for (cause, frames) in stats.ports.iter().flat_map(|port| &port.drops) {
        *sum.entry(cause.as_str()).or_default() += frames;
    }
    sum
}

/// Frames that a switch dropped between two samples, by cause.
fn dropped_between<'a>(before: &Stats, after: &'a Stats) -> BTreeMap<&'a str, u64> {
    let before = drops(before);
    let mut meanwhile = drops(after);
    for (cause, frames) in &mut meanwhile {
        *frames -= before.get(cause).copied().unwrap_or_default();
    }
    meanwhile.retain(|_, frames| *frames > 0);
    meanwhile
}

/// Fails if a switch lost a lossless frame between two samples, or dropped a lossy one for another
/// cause than a lack of room; or if its books do not balance.
fn check_switch(before: &Stats, after: &Stats) {
    let lost = after.lossless_dropped() - before.lossless_dropped();
    assert_eq!(lost, 0, "{:?}", after.lossless_drops_by_cause());
    assert_eq!((after.totals.imbalance, after.totals.held), (0, 0));
    let dropped = dropped_between(before, after);
    let is_for_room = |cause: &&str| ["tail_drop", "wred_drop", "ingress_limit"].contains(cause);
    assert!(dropped.keys().all(is_for_room), "{dropped:?}");
}

impl Load {
    /// Frames dropped meanwhile, by cause.
    pub(crate) fn dropped(&self) -> BTreeMap<&str, u64> {
        dropped_between(&self.before, &self.after)
    }

    /// The flow with this name, and how many frames of it were sent.
    pub(crate) fn flow(&self, name: &str) -> (&FlowReceived, u64) {
        let received = self.received.flows.iter().find(|flow| flow.name == name);
        let mut sent = self.sent.iter().flat_map(|sender| &sender.flows);
        let sent = sent.find(|flow| flow.name == name).map(|flow| flow.frames);
        let nothing = || panic!("nothing of {name} arrived: {:?}", self.received);
        (received.unwrap_or_else(nothing), sent.expect("it was sent"))
    }

    /// The promise: nothing lossless is lost, nothing is reordered, repeated or damaged, and every
    /// frame is accounted for.
    pub(crate) fn check(&self) {
        self.check_behind(&[]);
    }

    /// [`Self::check`] for a load that came through other switches first: their samples from before
    /// and after.
    pub(crate) fn check_behind(&self, others: &[(&Stats, &Stats)]) {
        let received = &self.received;
        let switches = || others.iter().copied().chain([(&self.before, &self.after)]);
        switches().for_each(|(before, after)| check_switch(before, after));
        assert_eq!(received.dropped_by_own_socket, 0, "the receiver was too slow");
        assert_eq!((received.misdelivered, received.damaged_headers), (0, 0));
        for flow in &received.flows {
            let faults = (flow.reordered, flow.duplicates, flow.corrupt);
            assert_eq!(faults, (0, 0, 0), "reordered, duplicates, corrupt: {flow:?}");
        }
        self.check_lossless();
        let dropped: Vec<_> = switches().map(|it| dropped_between(it.0, it.1)).collect();
        let sent: u64 = self.sent.iter().map(|sender| sender.frames).sum();
        let ends = received.frames + dropped.iter().flat_map(BTreeMap::values).sum::<u64>();
        assert_eq!(sent, ends, "{} received, dropped {dropped:?}", received.frames);
    }

    fn check_lossless(&self) {
        let sent = self.sent.iter().flat_map(|sender| &sender.flows);
        for flow in sent.filter(|flow| LOSSLESS.contains(&flow.priority)) {
            assert_eq!(self.flow(&flow.name).0.frames, flow.frames, "{}", flow.name);
        }
    }
}
