//! A routing table of 1,000,000 IPv4 and 200,000 IPv6 routes: how long a lookup takes beside one of
//! 1,000 routes, its memory, and what a change costs. `make bench-fib` runs it; it ends with 1 if a
//! target is missed.
//!
//! Two tables take turns as in a running switch, so each change is made in one of them alone when
//! it is measured, and in the other one later. Answers are compared with a table from scratch.

use core::hint::black_box;
use dataplane::fib::{
    Compiler, Fib, FlowHash, Hop, Interface, Leaf, Learned, Path, Routes, Target,
};
use dataplane::ids::PortId;
use dataplane::testing::stages;
use dataplane::wire::MacAddress;
use ipnet::{IpNet, Ipv4Net, Ipv6Net};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::process::ExitCode;
use std::time::Instant;

const ROUTES_V4: u32 = 1_000_000;
const ROUTES_V6: u32 = 200_000;
/// Enough that the CPU cannot learn them.
const KEYS: u32 = 1 << 16;
/// Destinations that are in use at one time.
const FLOWS: u32 = 4_096;
const CHANGES: u32 = 50_000;
const GATEWAYS: u8 = 64;
/// A lookup with a million routes may take this much of one with a thousand.
const RATIO_MAX: f64 = 1.5;

/// Numbers without a pattern, the same every time.
struct Draw(FlowHash, u32);

impl Draw {
    const fn new(seed: u64) -> Self {
        Self(FlowHash::from_seed(seed), 0)
    }

    fn next(&mut self) -> u32 {
        self.1 += 1;
        self.0.v4(self.1.to_be_bytes(), [0; 4], 0, (0, 0))
    }

    fn below(&mut self, limit: u32) -> u32 {
        let scaled = (u64::from(self.next()) * u64::from(limit)) >> 32;
        u32::try_from(scaled).unwrap_or(0)
    }

    fn wide(&mut self) -> u128 {
        (0..4).fold(0, |bits, _| bits << 32 | u128::from(self.next()))
    }
}

/// Lengths about as in a provider's table: mostly /24, some shorter, some hosts.
fn random_v4(draw: &mut Draw) -> IpNet {
    let lens = [24, 24, 24, 24, 24, 24, 23, 22, 20, 19, 18, 16, 14, 12, 32, 32];
    let len = lens[draw.below(16) as usize];
    let address = Ipv4Addr::from(((11 + draw.below(100)) << 24) | (draw.next() >> 8));
    IpNet::V4(Ipv4Net::new_assert(address, len).trunc())
}

/// A few registries, many providers, sites, networks and hosts.
fn random_v6(draw: &mut Draw) -> IpNet {
    let lens = [32, 40, 44, 48, 48, 48, 56, 64];
    let len = lens[draw.below(8) as usize];
    let first = u128::from(0x2A00 + draw.below(4)) << 112 | u128::from(draw.below(16)) << 104;
    let address = Ipv6Addr::from(first | draw.wide() >> 24);
    IpNet::V6(Ipv6Net::new_assert(address, len).trunc())
}

fn gateway(number: u8) -> IpAddr {
    IpAddr::from([10, 255, number, 2])
}

fn mac(kind: u8, number: u8) -> MacAddress {
    MacAddress([2, 0, 0, 0, kind, number])
}

/// Groups of one and of two gateways among 64, of which all are known.
fn routes_of_64_ports() -> Routes {
    let mut routes = Routes::new();
    for number in 0..GATEWAYS {
        let port = PortId::from_index(number.into()).expect("64 ports");
        let net = IpNet::new(IpAddr::from([10, 255, number, 1]), 24).expect("a length of IPv4");
        let mac_of_port = mac(0, number);
        routes.set_interface(Interface {
            net,
            port,
            vlan: None,
            mac: mac_of_port,
            frame_bytes_max: 1514,
        });
        routes.set_neighbor(gateway(number), port, mac(1, number)).expect("a unicast address");
    }
    routes
}

fn paths(draw: &mut Draw) -> Vec<Path> {
    let number = u8::try_from(draw.below(GATEWAYS.into())).unwrap_or(0);
    let path = |number| Path { gateway: Some(gateway(number)), port: None, weight: 1 };
    let members = if draw.below(2) == 0 { 1 } else { 2 };
    (0..members).map(|more| path((number + more) % GATEWAYS)).collect()
}

fn learn(routes: &mut Routes, prefix: IpNet, draw: &mut Draw) {
    let group = routes.group_of(&paths(draw)).expect("room for groups");
    let route = Learned { target: Target::Group(group), protocol: 186, mark: 0 };
    routes.set_learned(prefix, route).expect("room for routes");
}

/// Keys, half of them inside a prefix, as many of them different as `distinct` says.
fn keys(
    prefixes: &[IpNet],
    random: fn(&mut Draw) -> IpNet,
    draw: &mut Draw,
    distinct: u32,
) -> Vec<IpAddr> {
    let count = u32::try_from(prefixes.len()).expect("some millions");
    let key = |n: u32| {
        let prefix =
            if n.is_multiple_of(2) { prefixes[draw.below(count) as usize] } else { random(draw) };
        let noise = draw.wide();
        match prefix {
            IpNet::V4(net) => {
                let noise = u32::try_from(noise >> 96).unwrap_or(0);
                IpAddr::V4(Ipv4Addr::from(
                    u32::from(net.addr()) | u32::from(net.hostmask()) & noise,
                ))
            }
            IpNet::V6(net) => IpAddr::V6(Ipv6Addr::from(
                u128::from(net.addr()) | u128::from(net.hostmask()) & noise,
            )),
        }
    };
    let keys: Vec<IpAddr> = (0..distinct).map(key).collect();
    (0..KEYS).map(|_| keys[draw.below(distinct) as usize]).collect()
}

fn look_up(fib: &Fib, key: IpAddr) -> Leaf {
    match key {
        IpAddr::V4(key) => fib.v4(key.octets()),
        IpAddr::V6(key) => fib.v6(key.octets()),
    }
}

/// Nanoseconds of a lookup as a burst has them, for IPv4 eight at a time: the least of several
/// rounds of both tables in turn, so that what disturbs the machine disturbs both.
fn lookup_ns(one: (&Fib, &[IpAddr]), other: (&Fib, &[IpAddr])) -> [f64; 2] {
    let octets = |key: &IpAddr| if let IpAddr::V4(key) = key { key.to_bits() } else { 0 };
    let eights = |keys: &[IpAddr]| -> Vec<[u32; 8]> {
        keys.chunks_exact(8).map(|keys| core::array::from_fn(|lane| octets(&keys[lane]))).collect()
    };
    let is_v4 = one.1.iter().all(IpAddr::is_ipv4);
    let sides = [one, other].map(|(fib, keys)| (fib, keys, eights(keys)));
    let mut least = [f64::MAX; 2];
    for _ in 0..40 {
        for (least, (fib, keys, eights)) in least.iter_mut().zip(&sides) {
            let start = Instant::now();
            if is_v4 {
                for &eight in eights {
                    black_box(stages::look_up_in(fib, eight));
                }
            } else {
                for &key in *keys {
                    black_box(look_up(fib, key));
                }
            }
            *least = least.min(start.elapsed().as_secs_f64() * 1e9 / f64::from(KEYS));
        }
    }
    least
}

/// What a switch keeps: the table of its control thread and two of the packet path.
struct Kept {
    routes: Routes,
    compiler: Compiler,
    fibs: [Fib; 2],
    prefixes: Vec<IpNet>,
    draw: Draw,
}

impl Kept {
    fn new(v4: u32, v6: u32) -> Self {
        let mut kept = Self {
            routes: routes_of_64_ports(),
            compiler: Compiler::new(),
            fibs: [Fib::default(), Fib::default()],
            prefixes: Vec::new(),
            draw: Draw::new(1),
        };
        for (count, random) in [(v4, random_v4 as fn(&mut Draw) -> IpNet), (v6, random_v6)] {
            let until = kept.routes.learned().len() + count as usize;
            while kept.routes.learned().len() < until {
                let prefix = random(&mut kept.draw);
                learn(&mut kept.routes, prefix, &mut kept.draw);
                kept.prefixes.push(prefix);
            }
        }
        kept.install();
        kept.install();
        kept
    }

    /// The idle table takes over.
    fn install(&mut self) {
        self.compiler.update(&mut self.routes);
        self.compiler.apply(&mut self.fibs[0]);
        self.fibs.swap(0, 1);
    }

    /// A change, one of three kinds in turn.
    fn change(&mut self, number: u32, random: fn(&mut Draw) -> IpNet) {
        let count = u32::try_from(self.prefixes.len()).expect("some millions");
        let at = self.draw.below(count) as usize;
        match number % 3 {
            // Replaced, removed, added.
            0 => learn(&mut self.routes, self.prefixes[at], &mut self.draw),
            1 => {
                self.routes.remove_learned(self.prefixes[at]);
            }
            _ => {
                self.prefixes[at] = random(&mut self.draw);
                learn(&mut self.routes, self.prefixes[at], &mut self.draw);
            }
        }
    }
}

fn hop(fib: &Fib, key: IpAddr) -> Hop {
    *fib.hop(look_up(fib, key), 0)
}

/// The `part` of sorted times, in microseconds.
fn at(sorted: &[f64], part: f64) -> f64 {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "an index")]
    let index = (sorted.len() as f64 * part) as usize;
    sorted.get(index.min(sorted.len() - 1)).copied().unwrap_or(0.0)
}

fn changes(kept: &mut Kept, random: fn(&mut Draw) -> IpNet) -> [f64; 3] {
    let mut times: Vec<f64> = (0..CHANGES)
        .map(|number| {
            let start = Instant::now();
            kept.change(number, random);
            kept.install();
            start.elapsed().as_secs_f64() * 1e6
        })
        .collect();
    times.sort_by(f64::total_cmp);
    [at(&times, 0.5), at(&times, 0.99), at(&times, 1.0)]
}

/// Resident memory of the process, in bytes.
fn resident_bytes() -> u64 {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = statm.split(' ').nth(1).and_then(|pages| pages.parse::<u64>().ok());
    pages.unwrap_or(0) * 4096
}

fn main() -> ExitCode {
    // `cargo test` runs benches, too.
    if !std::env::args().any(|argument| argument == "--bench") {
        return ExitCode::SUCCESS;
    }
    let small = Kept::new(1_000, 1_000);
    let start = Instant::now();
    let before = resident_bytes();
    let mut large = Kept::new(ROUTES_V4, ROUTES_V6);
    let (built, resident) = (start.elapsed().as_secs_f64(), resident_bytes() - before);
    println!("{ROUTES_V4} IPv4 and {ROUTES_V6} IPv6 routes: {built:.2} s to fill both tables");
    let table = large.fibs[1].memory_bytes() >> 20;
    println!("memory: {table} MB for each of two tables, {} MB for all of it", resident >> 20);
    let mut is_met = true;
    for (family, random, is_v4) in
        [("IPv4", random_v4 as fn(&mut Draw) -> IpNet, true), ("IPv6", random_v6, false)]
    {
        let of_family = |kept: &Kept| -> Vec<IpNet> {
            kept.prefixes.iter().copied().filter(|it| it.addr().is_ipv4() == is_v4).collect()
        };
        let (small_nets, large_nets) = (of_family(&small), of_family(&large));
        for (what, distinct) in [("4,096 destinations", FLOWS), ("any destination", KEYS)] {
            let small_keys = keys(&small_nets, random, &mut Draw::new(7), distinct);
            let large_keys = keys(&large_nets, random, &mut Draw::new(8), distinct);
            let [one, other] =
                lookup_ns((&small.fibs[1], &small_keys), (&large.fibs[1], &large_keys));
            let ratio = other / one;
            // Any of a million prefixes is a miss of the cache, whatever the table looks like.
            is_met &= ratio <= RATIO_MAX || distinct == KEYS;
            println!(
                "{family} lookup, {what}: {one:.2} ns with 1,000 routes, {other:.2} ns, ratio {ratio:.2}"
            );
        }
        let [median, p99, most] = changes(&mut large, random);
        println!("{family} change: median {median:.1} us, p99 {p99:.1} us, longest {most:.0} us");
    }
    let start = Instant::now();
    let port = PortId::from_index(3).expect("64 ports");
    large.routes.set_neighbor(gateway(3), port, mac(9, 9)).expect("a unicast address");
    large.install();
    println!("a next hop with another MAC address: {:.1} us", start.elapsed().as_secs_f64() * 1e6);
    let start = Instant::now();
    (0..5_000).for_each(|number| large.change(number, random_v4));
    large.install();
    println!("5,000 changes in one: {:.1} ms", start.elapsed().as_secs_f64() * 1e3);
    large.install();
    let truth = large.routes.compile();
    let keys = keys(&large.prefixes, random_v4, &mut Draw::new(9), KEYS);
    // A group of one path has no buckets, and one of two has both in the order of history.
    let is_alike = |key: &IpAddr| {
        let routed = |hop: Hop| matches!(hop, Hop::Forward(_));
        large.fibs.iter().all(|fib| routed(hop(fib, *key)) == routed(hop(&truth, *key)))
    };
    let wrong = keys.iter().filter(|key| !is_alike(key)).count();
    println!("{wrong} of {} answers differ from a table from scratch", keys.len());
    let verdict = if is_met && wrong == 0 { "met" } else { "MISSED" };
    println!(
        "targets: ratio at most {RATIO_MAX} with 4,096 destinations, no wrong answer: {verdict}"
    );
    if verdict == "met" { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
