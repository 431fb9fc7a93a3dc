//! The proof from forwarding against a slow walk of every single frame, on random networks.

use super::forwarding::{Departure, End, Forwarding, Turn, Wait, What, verify};
use crate::network::{End as LinkEnd, Link, Network};
use dataplane::ids::Priority;
use proptest::prelude::*;
use std::collections::{BTreeSet, HashSet};

/// A frame: its destination, and a label that it may change.
type Frame = (u8, u8);

/// A network whose switches do with frames what a table of numbers says.
#[derive(Debug)]
struct Random {
    network: Network,
    choices: Vec<u8>,
    /// Priorities in which ports pause, by slot.
    paused: Vec<u8>,
}

const LABELS: u8 = 3;
const DESTINATIONS: u8 = 2;

impl Random {
    /// A number below `end` that is the same for the same `place`.
    fn choose(&self, place: &[u32], end: u32) -> u32 {
        let hash = place.iter().fold(17_u32, |hash, &it| hash.wrapping_mul(31).wrapping_add(it));
        u32::from(self.choices[hash as usize % self.choices.len()]) % end
    }
}

impl Forwarding for Random {
    type Headers = Frame;

    fn paused(&self, slot: u32) -> u8 {
        self.paused[slot as usize % self.paused.len()] | 1
    }

    fn sent(&self, _host: u32) -> Vec<Frame> {
        (0..DESTINATIONS).map(|destination| (destination, 0)).collect()
    }

    /// One or two ways out by (switch, destination), and per way a label that rises or stays.
    fn forward(&self, input: u32, &(destination, label): &Frame) -> Vec<Turn<Frame>> {
        let switch = self.network.owner(input);
        let slots = self.network.slots_of(switch);
        let ways = 1 + self.choose(&[switch, destination.into(), 1], 2);
        let way = |way: u32| {
            let place = [switch, destination.into(), way, label.into()];
            if self.choose(&[place[0], place[1], way, 7], 8) == 0 {
                return Turn::End(End::NoRoute);
            }
            let ports = slots.end - slots.start;
            let output = slots.start + self.choose(&[place[0], place[1], way, 2], ports);
            let rises = self.choose(&[&place[..], &[3]].concat(), 4) == 0;
            let label_out = if rises { (label + 1) % LABELS } else { label };
            let is_lossless = self.choose(&[&place[..], &[input, 4]].concat(), 8) != 0;
            Turn::Out(Departure {
                output,
                held: is_lossless.then(|| Priority::from_low_bits(label)),
                queue: Priority::from_low_bits(label_out),
                headers: (destination, label_out),
            })
        };
        (0..ways).map(way).collect()
    }
}

/// A buffer: slot and priority.
type Buffer = (u32, Priority);

/// Every wait that any frame makes, by following each frame by each way until it repeats itself.
fn all_waits(random: &Random) -> BTreeSet<(Buffer, Buffer)> {
    let mut waits = BTreeSet::new();
    for host in (0..).take(random.network.hosts()) {
        let slot = random.network.host_slot(host).unwrap();
        for frame in random.sent(host) {
            follow(random, (slot, frame), &mut Vec::new(), &mut waits);
        }
    }
    waits
}

fn follow(
    random: &Random,
    (input, frame): (u32, Frame),
    before: &mut Vec<(u32, Frame)>,
    waits: &mut BTreeSet<(Buffer, Buffer)>,
) {
    if before.contains(&(input, frame)) {
        return;
    }
    before.push((input, frame));
    for turn in random.forward(input, &frame) {
        let Turn::Out(out) = turn else { continue };
        let Some(far) = random.network.far_slot(out.output) else { continue };
        let both = random.paused(out.output) & random.paused(far) & out.queue.bit() != 0;
        if let Some(held) = out.held.filter(|_| both) {
            waits.insert(((input, held), (far, out.queue)));
        }
        follow(random, (far, out.headers), before, waits);
    }
    before.pop();
}

/// The length of the shortest cycle: from each buffer as far as it takes to come back.
fn shortest(waits: &BTreeSet<(Buffer, Buffer)>) -> Option<usize> {
    let heads_of = |from: Buffer| waits.iter().filter(move |wait| wait.0 == from).map(|it| it.1);
    let starts: HashSet<Buffer> = waits.iter().map(|wait| wait.0).collect();
    let back = |&start: &Buffer| {
        let (mut reached, mut hops) = (HashSet::from([start]), 0);
        loop {
            let next: HashSet<Buffer> = reached.iter().flat_map(|&it| heads_of(it)).collect();
            hops += 1;
            if next.contains(&start) {
                return Some(hops);
            }
            if next.is_empty() || hops > waits.len() {
                return None;
            }
            reached = next;
        }
    };
    starts.iter().filter_map(back).min()
}

/// Switches in a ring, some with a chord, a host at each.
fn network(switches: u32, chord: bool) -> Network {
    let mut network = Network::new();
    for switch in 0..switches {
        network.add_switch(format!("S{switch}"), 4);
        network.add_host(format!("H{switch}"));
    }
    let mut link = |one, other| {
        let link = Link { ends: [one, other], speed: None, length: None };
        network.add_link(link).unwrap();
    };
    for switch in 0..switches {
        link(LinkEnd::Host(switch), LinkEnd::Slot(4 * switch));
        let next = (switch + 1) % switches;
        link(LinkEnd::Slot(4 * switch + 1), LinkEnd::Slot(4 * next + 2));
    }
    if chord {
        link(LinkEnd::Slot(3), LinkEnd::Slot(4 * (switches - 1) + 3));
    }
    network
}

/// Each wait of the cycle is one of the frame that it names, and leads to the next.
fn check_cycle(random: &Random, cycle: &[Wait<Frame>]) {
    for (wait, next) in cycle.iter().zip(cycle.iter().cycle().skip(1)) {
        let turns = random.forward(wait.input, &wait.headers);
        assert!(turns.contains(&Turn::Out(wait.departure.clone())));
        assert_eq!(wait.departure.held, Some(wait.held));
        let far = random.network.far_slot(wait.departure.output);
        assert_eq!((far, wait.departure.queue), (Some(next.input), next.held));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]
    #[test]
    fn the_proof_is_that_of_following_every_frame(
        switches in 3_u32..6,
        chord in any::<bool>(),
        choices in proptest::collection::vec(any::<u8>(), 64),
        paused in proptest::collection::vec(any::<u8>(), 7),
    ) {
        let random = Random { network: network(switches, chord), choices, paused };
        let verdict = verify(&random.network, &random);
        let waits = all_waits(&random);
        let buffers: BTreeSet<Buffer> = waits.iter().flat_map(|wait| [wait.0, wait.1]).collect();
        prop_assert_eq!((verdict.waits, verdict.buffers), (waits.len(), buffers.len()));
        let length = (!verdict.cycle.is_empty()).then_some(verdict.cycle.len());
        prop_assert_eq!(length, shortest(&waits));
        prop_assert_eq!(verdict.is_deadlock_free(), length.is_none());
        check_cycle(&random, &verdict.cycle);
    }
}

/// One switch after the other: what a lossless frame meets is said of the switch where it does.
#[test]
fn what_costs_a_lossless_frame_is_found() {
    struct Line(Network);
    impl Forwarding for Line {
        type Headers = u8;
        fn paused(&self, slot: u32) -> u8 {
            // The first link has no PFC for priority 2.
            if slot == 1 || slot == 6 { 0b1010 } else { 0b1110 }
        }
        fn sent(&self, host: u32) -> Vec<u8> {
            if host == 0 { vec![0, 1, 2, 3] } else { Vec::new() }
        }
        fn forward(&self, input: u32, &kind: &u8) -> Vec<Turn<u8>> {
            let switch = self.0.owner(input);
            let priority = Priority::from_low_bits;
            // The way along the ring, at its end to the host.
            let output = if switch == 2 { 8 } else { 4 * switch + 1 };
            let (held, queue) = match (kind, switch) {
                (0, 1) => (None, 0),
                (1, 1) => (Some(3), 1),
                (2, _) => (Some(2), 2),
                (3, 2) => return vec![Turn::End(End::NoRoute)],
                _ => (Some(1), 1),
            };
            let held = held.map(priority);
            vec![Turn::Out(Departure { output, held, queue: priority(queue), headers: kind })]
        }
    }
    let line = Line(network(3, false));
    let verdict = verify(&line.0, &line);
    assert!(verdict.is_deadlock_free());
    let found =
        verdict.findings.iter().map(|it| (it.what.clone(), it.input, it.headers, it.frames));
    let [one, two, three] = [1, 2, 3].map(Priority::from_low_bits);
    let expected = [
        (What::Lossy, 6, 0, 1),
        (What::OtherPriority { queue: one, held: three }, 6, 1, 1),
        (What::Unpaused { queue: two }, 6, 2, 1),
        (What::Ends(End::NoRoute), 10, 3, 1),
    ];
    assert_eq!(found.collect::<Vec<_>>(), expected);
}

/// A routing loop of lossless frames is a deadlock, and one of lossy frames is said.
#[test]
fn a_routing_loop_is_found() {
    struct Ring(Network, bool);
    impl Forwarding for Ring {
        type Headers = ();
        fn paused(&self, _: u32) -> u8 {
            0b10
        }
        fn sent(&self, _: u32) -> Vec<()> {
            vec![()]
        }
        fn forward(&self, input: u32, (): &()) -> Vec<Turn<()>> {
            let one = Priority::from_low_bits(1);
            let output = 4 * self.0.owner(input) + 1;
            let held = self.1.then_some(one);
            vec![Turn::Out(Departure { output, held, queue: one, headers: () })]
        }
    }
    for lossless in [false, true] {
        let ring = Ring(network(3, false), lossless);
        let verdict = verify(&ring.0, &ring);
        assert_eq!(verdict.is_deadlock_free(), !lossless);
        assert_eq!(verdict.cycle.len(), if lossless { 3 } else { 0 });
        let found: Vec<_> = verdict.findings.iter().map(|it| (&it.what, it.frames)).collect();
        let mut slots = vec![6, 10, 2];
        let What::Loop(met) = found[0].0 else { panic!("{found:?}") };
        let first = slots.iter().position(|slot| slot == &met[0]).expect("a slot of the ring");
        slots.rotate_left(first);
        assert_eq!((met, found[0].1, found.len()), (&slots, 3, 1));
    }
}
