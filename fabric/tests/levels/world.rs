//! Agents on plain links: every switch and host of a network runs the LLDP agent on virtual time.
//! Links take a microsecond, lose what is on them when they go down, and can be cabled anew.

use agents::lldp::{
    AllowedPeer, Device, LEVEL_LIMIT_DEFAULT, LldpAgent, LldpSettings, Output, PortSettings, System,
};
use dataplane::ids::PortId;
use dataplane::time::Instant;
use dataplane::wire::MacAddress;
use fabric::network::{End, Link, Network};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

pub(crate) const SECOND: u64 = 1_000_000_000;
const DELAY_NS: u64 = 1_000;

/// Something that is done to the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Action {
    /// A link is cut, or whole again.
    Link(usize, bool),
    /// A node (switches first, then hosts) loses all it knows and is away, or comes back.
    Node(usize, bool),
    /// The far ends of two links change places.
    Recable(usize, usize),
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Do(Action),
    Arrive { node: usize, port: PortId, link: usize, epoch: u64, frame: Vec<u8> },
    Wake(usize),
}

/// A cable.
#[derive(Clone, Copy, Debug)]
struct Cable {
    ends: [End; 2],
    is_whole: bool,
    /// Whether both nodes know it to be up.
    is_up: bool,
    /// Counts how often it came up: what was sent before does not arrive.
    epoch: u64,
}

pub(crate) struct World {
    network: Network,
    cables: Vec<Cable>,
    link_at: HashMap<(usize, PortId), usize>,
    agents: Vec<LldpAgent>,
    level_limit: u8,
    is_there: Vec<bool>,
    events: BinaryHeap<Reverse<(Instant, u64, Event)>>,
    planned: u64,
    /// By node: the earliest wake that is planned.
    wakes: Vec<Option<Instant>>,
    pub(crate) now: Instant,
    /// When a switch's rules changed last.
    pub(crate) changed_at: Instant,
    /// When the last action is planned.
    pub(crate) last_at_ns: u64,
}

impl World {
    /// All nodes are away.
    pub(crate) fn new(network: &Network) -> Self {
        Self::with_levels(network, LEVEL_LIMIT_DEFAULT)
    }

    /// The same, where levels up to `level_limit` are learned.
    pub(crate) fn with_levels(network: &Network, level_limit: u8) -> Self {
        let nodes = network.switches() + network.hosts();
        let cable = |link: &Link| Cable { ends: link.ends, is_whole: true, is_up: false, epoch: 0 };
        let mut world = Self {
            link_at: HashMap::new(),
            cables: network.links().iter().map(cable).collect(),
            agents: (0..nodes).map(|node| agent(network, node, level_limit)).collect(),
            level_limit,
            is_there: vec![false; nodes],
            network: network.clone(),
            events: BinaryHeap::new(),
            planned: 0,
            wakes: vec![None; nodes],
            now: Instant::ZERO,
            changed_at: Instant::ZERO,
            last_at_ns: 0,
        };
        (0..world.cables.len()).for_each(|link| world.note_ends(link));
        world
    }

    fn note_ends(&mut self, link: usize) {
        for end in self.cables[link].ends {
            self.link_at.insert(self.place(end), link);
        }
    }

    pub(crate) fn plan(&mut self, at_ns: u64, action: Action) {
        self.last_at_ns = self.last_at_ns.max(at_ns);
        self.push(Instant::from_ns(at_ns), Event::Do(action));
    }

    fn push(&mut self, at: Instant, event: Event) {
        self.planned += 1;
        self.events.push(Reverse((at, self.planned, event)));
    }

    pub(crate) fn run_until(&mut self, end_ns: u64) {
        let end = Instant::from_ns(end_ns);
        while self.events.peek().is_some_and(|Reverse((at, ..))| *at <= end) {
            let Some(Reverse((at, _, event))) = self.events.pop() else { return };
            self.now = at;
            match event {
                Event::Do(action) => self.act(action),
                Event::Arrive { node, port, link, epoch, frame } => {
                    let cable = self.cables[link];
                    if cable.is_up && cable.epoch == epoch {
                        self.agents[node].handle_frame(at, port, &frame);
                        self.obey(node);
                    }
                }
                Event::Wake(node) => {
                    self.wakes[node] = None;
                    self.agents[node].handle_timeout(at);
                    self.obey(node);
                }
            }
        }
        self.now = end;
    }

    fn act(&mut self, action: Action) {
        match action {
            Action::Link(link, is_whole) => {
                self.cables[link].is_whole = is_whole;
                self.look(link);
            }
            Action::Node(node, is_there) => {
                if !is_there {
                    self.agents[node] = agent(&self.network, node, self.level_limit);
                }
                self.is_there[node] = is_there;
                for link in 0..self.cables.len() {
                    if self.nodes(link).contains(&node) {
                        self.look(link);
                    }
                }
            }
            Action::Recable(one, other) => {
                let were_whole = [one, other].map(|link| self.cables[link].is_whole);
                for link in [one, other] {
                    self.act(Action::Link(link, false));
                }
                let far = self.cables[one].ends[1];
                self.cables[one].ends[1] = self.cables[other].ends[1];
                self.cables[other].ends[1] = far;
                [one, other].into_iter().for_each(|link| self.note_ends(link));
                for (link, was_whole) in [one, other].into_iter().zip(were_whole) {
                    self.act(Action::Link(link, was_whole));
                }
            }
        }
    }

    /// Tells the nodes of a link if it has come up or gone down.
    fn look(&mut self, link: usize) {
        let ends = self.cables[link].ends.map(|end| self.place(end));
        let is_up = self.cables[link].is_whole && ends.iter().all(|&(node, _)| self.is_there[node]);
        if std::mem::replace(&mut self.cables[link].is_up, is_up) == is_up {
            return;
        }
        self.cables[link].epoch += 1;
        for (node, port) in ends {
            if self.is_there[node] {
                self.agents[node].handle_link(self.now, port, is_up);
                self.obey(node);
            }
        }
    }

    /// Does what an agent wants done.
    fn obey(&mut self, node: usize) {
        while let Some(output) = self.agents[node].poll_output() {
            match output {
                Output::Send { port, frame } => self.send(node, port, frame),
                Output::Changed if node < self.network.switches() => self.changed_at = self.now,
                Output::Changed | Output::ConditionChanged { .. } => {}
            }
        }
        let Some(at) = self.agents[node].poll_timeout() else { return };
        if self.wakes[node].is_none_or(|planned| at < planned) {
            self.wakes[node] = Some(at);
            self.push(at.max(self.now), Event::Wake(node));
        }
    }

    fn send(&mut self, node: usize, port: PortId, frame: Vec<u8>) {
        let here = (node, port);
        let Some(&link) = self.link_at.get(&here) else { return };
        if !self.cables[link].is_up {
            return;
        }
        let cable = self.cables[link];
        let far = cable.ends.map(|end| self.place(end)).into_iter().find(|&end| end != here);
        let Some((node, port)) = far else { return };
        self.push(
            self.now + DELAY_NS,
            Event::Arrive { node, port, link, epoch: cable.epoch, frame },
        );
    }

    fn nodes(&self, link: usize) -> [usize; 2] {
        self.cables[link].ends.map(|end| self.place(end).0)
    }

    /// The node and port of an end.
    fn place(&self, end: End) -> (usize, PortId) {
        match end {
            End::Slot(slot) => (self.network.owner(slot) as usize, self.network.port(slot)),
            End::Host(host) => (self.network.switches() + host as usize, PortId::FIRST),
        }
    }

    /// What is left: the same switches, with the links that are up and the hosts that have one.
    pub(crate) fn left(&self) -> Network {
        let mut left = Network::new();
        for switch in 0..u32::try_from(self.network.switches()).unwrap() {
            left.add_switch(self.network.switch_name(switch), self.network.ports(switch));
        }
        for cable in self.cables.iter().filter(|cable| cable.is_up) {
            let ends = cable.ends.map(|end| match end {
                End::Slot(_) => end,
                End::Host(host) => End::Host(left.add_host(self.network.host_name(host))),
            });
            left.add_link(Link { ends, speed: None, length: None }).expect("as it was");
        }
        left
    }

    pub(crate) fn agent(&self, switch: usize) -> Option<&LldpAgent> {
        self.is_there[switch].then(|| &self.agents[switch])
    }

    pub(crate) const fn network(&self) -> &Network {
        &self.network
    }
}

/// A node that knows nothing.
fn agent(network: &Network, node: usize, level_limit: u8) -> LldpAgent {
    let host = node.checked_sub(network.switches());
    let mac = |port: usize| {
        let [.., a, b, c] = (node as u64).to_be_bytes();
        MacAddress([2, a, b, c, 0, u8::try_from(port).unwrap()])
    };
    let count = host.map_or_else(|| network.ports(u32::try_from(node).unwrap()), |_| 1);
    let port = |index| PortSettings {
        mac: mac(index),
        name: format!("{}", index + 1),
        description: String::new(),
        max_frame_bytes: 0,
        pfc_bits: None,
        allowed_peer: AllowedPeer::Any,
    };
    let device = if host.is_some() { Device::EndStation } else { Device::Bridge };
    let system = System { chassis: mac(0), ..System::default() };
    let settings = LldpSettings { device, level_limit, ..LldpSettings::default() };
    LldpAgent::new(system, (0..count).map(port).collect(), settings)
}
