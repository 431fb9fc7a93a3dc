//! The shape of a drawn network: who is linked to whom, at which speed and how far.

use config::units::Length;
use dataplane::time::Speed;
use fabric::Network;
use fabric::network::{End, Link};
use random::{Draw, SplitMix64};

/// Switches by number: their links, and how many hosts each has.
pub(super) struct Shape {
    /// What it is called.
    pub(super) name: String,
    links: Vec<(usize, usize)>,
    hosts: Vec<usize>,
}

impl Shape {
    /// One of the kinds, of a random size.
    pub(super) fn draw(rng: &mut SplitMix64) -> Self {
        match rng.index(8) {
            0 | 1 => Self::ring(rng),
            2 | 3 => Self::any(rng),
            4 => Self::leaves_and_spines(rng),
            5 => Self::fat_tree(),
            _ => Self::jellyfish(rng),
        }
    }

    fn ring(rng: &mut SplitMix64) -> Self {
        let count = 3 + rng.index(4);
        let links = (0..count).map(|at| (at, (at + 1) % count)).collect();
        Self { name: format!("ring of {count}"), links, hosts: some_hosts(count, rng) }
    }

    /// A random tree, and some links more between any two.
    fn any(rng: &mut SplitMix64) -> Self {
        let count = 2 + rng.index(7);
        let mut links: Vec<_> = (1..count).map(|at| (at, rng.index(at))).collect();
        for _ in 0..1 + rng.index(count) {
            let (one, other) = (rng.index(count), rng.index(count));
            if one != other {
                links.push((one, other));
            }
        }
        Self { name: format!("random graph of {count}"), links, hosts: some_hosts(count, rng) }
    }

    fn leaves_and_spines(rng: &mut SplitMix64) -> Self {
        let (leaves, spines) = (2 + rng.index(4), 1 + rng.index(3));
        let pairs = (0..leaves).flat_map(|leaf| (0..spines).map(move |spine| (leaf, spine)));
        let links = pairs.map(|(leaf, spine)| (leaf, leaves + spine)).collect();
        let mut hosts = some_hosts(leaves, rng);
        hosts.resize(leaves + spines, 0);
        Self { name: format!("{leaves} leaves, {spines} spines"), links, hosts }
    }

    /// Of four-port switches: 8 edge, 8 aggregation, 4 core, 16 hosts.
    fn fat_tree() -> Self {
        let pods = (0..4).flat_map(|pod| (0..4).map(move |link| (pod, link)));
        let below = pods.clone().map(|(pod, link)| (2 * pod + link / 2, 8 + 2 * pod + link % 2));
        let above = pods.map(|(pod, link)| (8 + 2 * pod + link / 2, 16 + link));
        let hosts = (0..20).map(|switch| if switch < 8 { 2 } else { 0 }).collect();
        Self { name: "fat-tree of 20".to_owned(), links: below.chain(above).collect(), hosts }
    }

    /// A random graph in which every switch has three links: a ring in a random order, and pairs.
    fn jellyfish(rng: &mut SplitMix64) -> Self {
        let count = 4 + 2 * rng.index(4);
        let (ring, pairs) = (shuffled(count, rng), shuffled(count, rng));
        let around = (0..count).map(|at| (ring[at], ring[(at + 1) % count]));
        let links = around.chain(pairs.chunks_exact(2).map(|pair| (pair[0], pair[1]))).collect();
        Self { name: format!("jellyfish of {count}"), links, hosts: some_hosts(count, rng) }
    }

    /// The network, each link with a speed and a length of its own or all with the same.
    pub(super) fn network(&self, rng: &mut SplitMix64) -> Network {
        let mut network = Network::new();
        let same = rng.one_in(2).then(|| wire(rng));
        for (switch, &hosts) in self.hosts.iter().enumerate() {
            let at = |&&(one, other): &&(usize, usize)| one == switch || other == switch;
            let ports = self.links.iter().filter(at).count() + hosts;
            network.add_switch(format!("S{}", switch + 1), ports);
        }
        let mut next: Vec<u32> =
            (0..).take(self.hosts.len()).map(|s| network.slots_of(s).start).collect();
        let mut slot = |switch: usize| {
            next[switch] += 1;
            End::Slot(next[switch] - 1)
        };
        let mut links: Vec<[End; 2]> = Vec::new();
        links.extend(self.links.iter().map(|&(one, other)| [slot(one), slot(other)]));
        for (switch, &hosts) in self.hosts.iter().enumerate() {
            for host in 0..hosts {
                let host = network.add_host(format!("h{}.{}", switch + 1, host + 1));
                links.push([slot(switch), End::Host(host)]);
            }
        }
        for ends in links {
            let (speed, length) = same.unwrap_or_else(|| wire(rng));
            let added = network.add_link(Link { ends, speed: Some(speed), length: Some(length) });
            debug_assert_eq!(added, Ok(()), "every port is used once");
        }
        network
    }
}

fn wire(rng: &mut SplitMix64) -> (Speed, Length) {
    let speed = Speed::from_gbps(rng.pick(&[10, 25, 40, 100]));
    (
        speed,
        Length::from_metres(1 + rng.pick(&[1, 10, 100, 500]) / (1 + u32::from(rng.byte_below(4)))),
    )
}

/// One or two hosts each.
fn some_hosts(switches: usize, rng: &mut SplitMix64) -> Vec<usize> {
    (0..switches).map(|_| 1 + rng.index(2)).collect()
}

fn shuffled(count: usize, rng: &mut SplitMix64) -> Vec<usize> {
    let mut items: Vec<usize> = (0..count).collect();
    for last in (1..count).rev() {
        items.swap(last, rng.index(last + 1));
    }
    items
}
