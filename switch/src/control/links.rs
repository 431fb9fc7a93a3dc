//! The link of each port: the device's state and the administrative state.

use dataplane::ids::PortId;
use dataplane::time::Instant;

/// Poll interval of the devices.
const POLL_NS: u64 = 100_000_000;
/// How long the link of a port that was kept may take to come up again.
const BACK_NS_MAX: u64 = 5_000_000_000;

/// One port's link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Port {
    /// Whether the device's link is up, as of the last poll.
    pub(super) link: bool,
    /// The administrative state.
    pub(super) in_service: bool,
    /// The state that the worker has.
    up: bool,
    /// Until when the link stays as it was, whatever the device says.
    kept: Option<Instant>,
}

impl Port {
    /// Whether frames pass.
    pub(super) const fn is_up(self) -> bool {
        self.up
    }
}

/// All ports' links.
#[derive(Debug)]
pub(super) struct LinkWatch {
    ports: Vec<Port>,
    poll_at: Instant,
}

impl LinkWatch {
    /// Workers assume that a link is up until they are told otherwise.
    pub(super) fn new(ports: usize) -> Self {
        let port = Port { link: true, in_service: true, up: true, kept: None };
        Self { ports: vec![port; ports], poll_at: Instant::ZERO }
    }

    pub(super) fn port(&self, port: PortId) -> Port {
        self.ports[port.index()]
    }

    /// Polls the devices when due. Every change is passed to `on_change`.
    pub(super) fn poll(
        &mut self,
        now: Instant,
        state: impl Fn(PortId) -> bool,
        mut on_change: impl FnMut(PortId, bool),
    ) {
        if now < self.poll_at {
            return;
        }
        self.poll_at = now + POLL_NS;
        for id in (0..self.ports.len()).filter_map(PortId::from_index) {
            let (link, port) = (state(id), &mut self.ports[id.index()]);
            port.kept = port.kept.filter(|&until| !link && now < until);
            if port.kept.is_none() {
                port.link = link;
                self.settle(id, &mut on_change);
            }
        }
    }

    /// Leaves the link of `port` as it is while the switch itself has it down: the worker, told of
    /// it, would drop the frames that wait there.
    pub(super) fn keep(&mut self, port: PortId) {
        self.ports[port.index()].kept = Some(Instant::NEVER);
    }

    /// The switch has taken the link of `port` up again, which may take the device a while.
    pub(super) fn keep_no_longer(&mut self, port: PortId, now: Instant) {
        self.ports[port.index()].kept = Some(now + BACK_NS_MAX);
    }

    /// Sets the administrative state of `port`. A change is passed to `on_change`.
    pub(super) fn set_in_service(
        &mut self,
        port: PortId,
        in_service: bool,
        mut on_change: impl FnMut(PortId, bool),
    ) {
        self.ports[port.index()].in_service = in_service;
        self.settle(port, &mut on_change);
    }

    fn settle(&mut self, id: PortId, on_change: &mut impl FnMut(PortId, bool)) {
        let port = &mut self.ports[id.index()];
        let up = port.link && port.in_service;
        if up != port.up {
            port.up = up;
            on_change(id, up);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_is_up_while_its_link_is_and_it_is_in_service() {
        let mut watch = LinkWatch::new(2);
        let (one, two) = (PortId::FIRST, PortId::from_number(2).unwrap());
        let mut changes = Vec::new();
        let link = |up| move |_| up;
        watch.poll(Instant::ZERO, link(true), |port, up| changes.push((port, up)));
        assert_eq!(changes, [], "as the workers took it to be");

        watch.set_in_service(one, false, |port, up| changes.push((port, up)));
        assert_eq!(std::mem::take(&mut changes), [(one, false)]);
        watch.poll(Instant::from_ns(POLL_NS), link(false), |port, up| changes.push((port, up)));
        assert_eq!(std::mem::take(&mut changes), [(two, false)], "the first is down already");
        watch.set_in_service(one, true, |port, up| changes.push((port, up)));
        assert_eq!(changes, [], "its link is down");
        watch.poll(Instant::from_ns(POLL_NS + 1), link(true), |port, up| changes.push((port, up)));
        assert_eq!(changes, [], "not yet time to look");
        watch.poll(Instant::from_ns(2 * POLL_NS), link(true), |port, up| changes.push((port, up)));
        assert_eq!(changes, [(one, true), (two, true)]);
    }

    #[test]
    fn a_link_that_the_switch_took_down_itself_is_no_change() {
        let mut watch = LinkWatch::new(1);
        let mut changes = Vec::new();
        let mut poll = |watch: &mut LinkWatch, polls: u64, up: bool| {
            watch.poll(Instant::from_ns(polls * POLL_NS), |_| up, |_, up| changes.push(up));
            std::mem::take(&mut changes)
        };
        assert_eq!(poll(&mut watch, 0, true), [false; 0]);
        watch.keep(PortId::FIRST);
        assert_eq!(poll(&mut watch, 1, false), [false; 0]);
        assert_eq!(poll(&mut watch, 1_000, false), [false; 0]);
        watch.keep_no_longer(PortId::FIRST, Instant::from_ns(1_000 * POLL_NS));
        assert_eq!(poll(&mut watch, 1_001, false), [false; 0], "it comes up slowly");
        assert_eq!(poll(&mut watch, 1_002, true), [false; 0]);
        assert_eq!(poll(&mut watch, 1_003, false), [false], "it was up: now this is a change");

        watch.keep_no_longer(PortId::FIRST, Instant::from_ns(1_003 * POLL_NS));
        let late = 1_003 + BACK_NS_MAX / POLL_NS;
        assert_eq!(poll(&mut watch, late, true), [true]);
        watch.keep_no_longer(PortId::FIRST, Instant::from_ns(late * POLL_NS));
        let late = late + BACK_NS_MAX / POLL_NS;
        assert_eq!(poll(&mut watch, late - 1, false), [false; 0]);
        assert_eq!(poll(&mut watch, late, false), [false], "it does not come up");
    }
}
