//! Random networks, ways and flows. With rules from a numbering nothing is lost and everything
//! drains; without them it may lock up, and then what is called a deadlock never moves again.

use crate::support::{
    MS, US, lossless_network, port, port_of, run_checked, run_until_deadlock, tag, up_down_rules,
};
use dataplane::ids::PortId;
use dataplane::settings::Threshold;
use dataplane::time::Speed;
use netsim::builder::NetworkBuilder;
use netsim::checker::{Deadlock, DeadlockHop};
use netsim::event::Picoseconds;
use netsim::flow::Way;
use netsim::flow::{FlowId, FlowSpec, Pace};
use netsim::link::LinkSpec;
use netsim::network::Network;
use netsim::sink::Drain;
use netsim::switch_spec::SwitchSpec;
use netsim::topology::{HostId, SwitchId};
use proptest::prelude::*;
use random::{Draw, SplitMix64};

/// Lossless tags: two turns from down to up stay lossless.
const TAGS: u8 = 3;

/// A network being drawn.
struct RandomNetwork {
    rng: SplitMix64,
    builder: NetworkBuilder,
    switches: Vec<SwitchId>,
    hosts: Vec<(HostId, usize)>,
    /// By switch: ports that lead to switches, and to which.
    neighbors: Vec<Vec<(PortId, usize)>>,
    /// By switch: ports linked so far.
    ports: Vec<usize>,
    lossless: Vec<Drawn>,
}

/// A lossless flow, and how often its way turns from down to up.
struct Drawn {
    flow: FlowId,
    turns: usize,
}

impl RandomNetwork {
    /// Any connected network.
    fn any(seed: u64) -> Self {
        let mut draw = Self::switches(seed);
        draw.link_switches();
        draw.add_hosts();
        draw
    }

    /// All switches in a ring.
    fn ring(seed: u64) -> Self {
        let mut draw = Self::switches(seed);
        let count = draw.switches.len();
        (0..count).for_each(|number| draw.join(number, (number + 1) % count));
        draw.add_hosts();
        draw
    }

    fn switches(seed: u64) -> Self {
        let mut rng = random::seeded(seed);
        let mut builder = lossless_network(seed, TAGS);
        let count = 3 + pick(&mut rng, 4);
        let switches = (0..count).map(|number| {
            let threshold = if rng.one_in(2) {
                Threshold::Static { xoff_bytes: 10_000 + 10_000 * small(&mut rng, 6) }
            } else {
                Threshold::dynamic(-8)
            };
            builder.switch(&format!("S{number}"), SwitchSpec { threshold, ..SwitchSpec::default() })
        });
        let switches = switches.collect();
        Self {
            rng,
            builder,
            switches,
            hosts: Vec::new(),
            neighbors: vec![Vec::new(); count],
            ports: vec![0; count],
            lossless: Vec::new(),
        }
    }

    fn link_spec(&mut self) -> LinkSpec {
        let gigabits = [10, 25, 40][pick(&mut self.rng, 3)];
        LinkSpec::new(gigabits, 1 + small(&mut self.rng, 300))
    }

    fn next_port(&mut self, switch: usize) -> usize {
        self.ports[switch] += 1;
        self.ports[switch]
    }

    fn join(&mut self, one: usize, other: usize) {
        let spec = self.link_spec();
        let (one_port, other_port) = (self.next_port(one), self.next_port(other));
        self.neighbors[one].push((port(one_port), other));
        self.neighbors[other].push((port(other_port), one));
        let ends = (self.switches[one].port(one_port), self.switches[other].port(other_port));
        self.builder.link(ends.0, ends.1, spec);
    }

    /// A random tree, and as many links again between any two.
    fn link_switches(&mut self) {
        let count = self.switches.len();
        for number in 1..count {
            let parent = pick(&mut self.rng, number);
            self.join(number, parent);
        }
        for _ in 0..count {
            let (one, other) = (pick(&mut self.rng, count), pick(&mut self.rng, count));
            if one != other {
                self.join(one, other);
            }
        }
    }

    fn add_hosts(&mut self) {
        for switch in 0..self.switches.len() {
            for name in 0..1 + pick(&mut self.rng, 2) {
                let host = self.builder.host(&format!("h{switch}.{name}"));
                let (port, spec) = (self.next_port(switch), self.link_spec());
                self.builder.link(self.switches[switch].port(port), host, spec);
                if self.rng.one_in(5) {
                    self.builder.slow_down(host, slow(&mut self.rng));
                }
                self.hosts.push((host, switch));
            }
        }
    }

    /// A walk from `first` that never comes back to where it was, as far as it goes or less.
    fn walk(&mut self, first: usize) -> Vec<usize> {
        let mut way = vec![first];
        for _ in 0..pick(&mut self.rng, self.switches.len()) {
            let here = way[way.len() - 1];
            let fresh = self.neighbors[here].iter().map(|&(_, next)| next);
            let fresh: Vec<usize> = fresh.filter(|next| !way.contains(next)).collect();
            match fresh.len() {
                0 => break,
                choices => way.push(fresh[pick(&mut self.rng, choices)]),
            }
        }
        way
    }

    fn add_flow(&mut self, way: &[usize], flow: FlowSpec) {
        let way_ids = way.iter().map(|&at| self.switches[at]).collect();
        let is_lossless = flow.tag == tag(1);
        let flow = self.builder.flow(FlowSpec { way: Way::Through(way_ids), ..flow });
        if is_lossless {
            let turns = way.windows(3).filter(|w| w[0] < w[1] && w[2] < w[1]).count();
            self.lossless.push(Drawn { flow, turns });
        }
    }

    /// Flows by random walks, of which a few are lossy.
    fn add_flows(&mut self) {
        for _ in 0..4 + pick(&mut self.rng, 8) {
            let (from, first) = self.hosts[pick(&mut self.rng, self.hosts.len())];
            let way = self.walk(first);
            let last = way[way.len() - 1];
            let there = self.hosts.iter().filter(|&&(host, at)| at == last && host != from);
            let there: Vec<HostId> = there.map(|&(host, _)| host).collect();
            if there.is_empty() {
                continue;
            }
            let to = there[pick(&mut self.rng, there.len())];
            let is_lossy = self.rng.one_in(6);
            let pace = match pick(&mut self.rng, 3) {
                0 => Pace::Random(Speed::from_gbps(1 + self.rng.below(20))),
                _ => Pace::BackToBack,
            };
            let frame_bytes = [60, 300, 1_514, 1_514][pick(&mut self.rng, 4)];
            let start_ps = self.rng.below(20 * US);
            let flow = FlowSpec::new(from, to, tag(u8::from(!is_lossy)));
            self.add_flow(&way, FlowSpec { pace, frame_bytes, start_ps, ..flow });
        }
    }

    /// From every host a flow or two that go on around the ring, back to back.
    fn add_flows_around(&mut self) {
        let count = self.switches.len();
        for (from, first) in self.hosts.clone() {
            for _ in 0..1 + pick(&mut self.rng, 2) {
                let hops = 1 + pick(&mut self.rng, count - 1);
                let way: Vec<usize> = (first..=first + hops).map(|at| at % count).collect();
                let there = self.hosts.iter().find(|&&(_, at)| at == (first + hops) % count);
                let &(to, _) = there.expect("every switch has a host");
                let start_ps = self.rng.below(5 * US);
                self.add_flow(&way, FlowSpec { start_ps, ..FlowSpec::new(from, to, tag(1)) });
            }
        }
    }

    fn add_rules(&mut self) {
        for (number, &switch) in self.switches.iter().enumerate() {
            let (neighbors, ports) = (&self.neighbors[number], self.ports[number]);
            self.builder.rules(switch, up_down_rules(number, neighbors, ports, TAGS));
        }
    }
}

fn pick(rng: &mut SplitMix64, bound: usize) -> usize {
    usize::try_from(rng.below(bound as u64)).expect("below a usize")
}

fn small(rng: &mut SplitMix64, bound: u64) -> u32 {
    u32::try_from(rng.below(bound)).expect("a small number")
}

/// A receiver of 1 to 5 Gb/s with room for what is on its way on 300 m of 40G, in short frames or
/// long.
fn slow(rng: &mut SplitMix64) -> Drain {
    let speed = Speed::from_gbps(1 + rng.below(5));
    Drain { speed: Some(speed), xoff_bytes: 20_000, xon_bytes: 15_000, capacity_bytes: 60_000 }
}

const PATIENCE: Picoseconds = 2 * MS;

/// Frames that have left by the deadlock's queues so far.
fn sent_by(network: &Network, switches: &[SwitchId], deadlock: &Deadlock) -> Vec<u64> {
    let sent = |hop: &DeadlockHop| {
        let number: usize = hop.switch[1..].parse().expect("S and the number");
        let port = port_of(network, switches[number], hop.output.number());
        port.counters.tx_frames[hop.output_priority.index()]
    };
    deadlock.hops.iter().map(sent).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn with_rules_from_a_numbering_nothing_is_lost_and_everything_drains(seed: u64, ring: bool) {
        let mut draw = if ring { RandomNetwork::ring(seed) } else { RandomNetwork::any(seed) };
        if ring {
            draw.add_flows_around();
        } else {
            draw.add_flows();
        }
        draw.add_rules();
        let mut network = draw.builder.build().unwrap();
        run_checked(&mut network, 200 * US, 20 * US);
        prop_assert_eq!(network.find_deadlock(), None);
        if let Err(stuck) = network.drain(PATIENCE) {
            prop_assert!(false, "{}", stuck);
        }
        prop_assert_eq!(network.check(), Ok(()));
        for Drawn { flow, turns } in draw.lossless {
            if turns < usize::from(TAGS) {
                prop_assert_eq!(network.flow(flow).missing_frames(), 0, "{:?}, {} turns", flow, turns);
            }
        }
    }

    #[test]
    fn one_seed_is_one_run_however_it_is_cut(
        seed: u64, cuts in proptest::collection::vec(1..10 * US, 1..20),
    ) {
        let run = |seed, cuts: &[Picoseconds]| {
            let mut draw = RandomNetwork::ring(seed);
            draw.add_flows_around();
            draw.add_flows();
            draw.add_rules();
            let mut network = draw.builder.build().unwrap();
            cuts.iter().for_each(|&span_ps| network.run_for(span_ps));
            network.run_until(200 * US);
            (network.hops(), network.trace_hash())
        };
        let whole = run(seed, &[]);
        prop_assert!(whole.0 > 100);
        prop_assert_eq!(run(seed, &[]), whole);
        prop_assert_eq!(run(seed, &cuts), whole);
        prop_assert_ne!(run(!seed, &[]), whole);
    }

    #[test]
    fn a_ring_without_rules_drains_or_its_deadlock_never_moves_again(seed: u64) {
        let mut draw = RandomNetwork::ring(seed);
        draw.add_flows_around();
        let switches = draw.switches.clone();
        let mut network = draw.builder.build().unwrap();
        let found = run_until_deadlock(&mut network, 150 * US, US);
        prop_assert_eq!(network.check(), Ok(()));
        let Some((_, deadlock)) = found else {
            let stuck = network.drain(PATIENCE).err();
            prop_assert!(stuck.is_none_or(|stuck| stuck.deadlock.is_some()));
            return Ok(());
        };
        prop_assert_eq!(deadlock.hops.len(), switches.len(), "{}", deadlock);
        let before = sent_by(&network, &switches, &deadlock);
        network.run_for(100 * US);
        let stuck = network.drain(PATIENCE).unwrap_err();
        prop_assert!(stuck.deadlock.is_some());
        prop_assert_eq!(sent_by(&network, &switches, &deadlock), before, "{}", deadlock);
        prop_assert_eq!(network.check(), Ok(()));
    }
}
