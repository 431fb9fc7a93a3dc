//! The link of each port: the device's state and the administrative state.

use dataplane::ids::PortId;
use dataplane::time::Instant;

/// Poll interval of the devices.
const POLL_NS: u64 = 100_000_000;

/// One port's link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Port {
    /// Whether the device's link is up, as of the last poll.
    pub(super) link: bool,
    /// The administrative state.
    pub(super) in_service: bool,
    /// The state that the worker has.
    up: bool,
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
        let port = Port { link: true, in_service: true, up: true };
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
            self.ports[id.index()].link = state(id);
            self.settle(id, &mut on_change);
        }
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
}
