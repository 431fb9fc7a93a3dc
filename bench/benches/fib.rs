//! Longest-prefix match with 16 to 100,000 routes, IPv4 and IPv6, answers checked against the
//! control thread's table; the flow hash; and what compiling costs.
//!
//! `burst` is the time of one lookup among independent ones, which overlap in the CPU as those of a
//! burst do; `alone` is the time of a lookup that has to wait for the one before.

use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, Criterion, Throughput, criterion_group, criterion_main};
use dataplane::fib::{Fib, FlowHash, Hop, Interface, Leaf, Route, Routes};
use dataplane::ids::PortId;
use dataplane::wire::MacAddress;
use ipnet::{IpNet, Ipv4Net, Ipv6Net};
use random::{Draw, SplitMix64};
use std::hint::black_box;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

const PORTS: u8 = 64;
/// Enough that the CPU can neither learn the keys nor keep what they touch in its first cache.
const KEYS: usize = 1 << 16;

fn port(number: u8) -> PortId {
    PortId::from_index(number.into()).expect("64 ports")
}

fn gateway(number: u8) -> IpAddr {
    IpAddr::from([10, 255, number, 2])
}

/// 64 ports, each with a /24 and a /64, and one known gateway for both families.
fn routes_of_64_ports() -> Routes {
    let mut routes = Routes::new();
    for number in 0..PORTS {
        let v4 = IpAddr::from([10, 255, number, 1]);
        let v6 = IpAddr::from([0xFD00, 0, 0, number.into(), 0, 0, 0, 1]);
        for (address, len) in [(v4, 24), (v6, 64)] {
            routes.set_interface(Interface {
                net: IpNet::new(address, len).expect("a length within the family's"),
                port: port(number),
                vlan: None,
                mac: MacAddress([2, 0, 0, 0, 0, number]),
                frame_bytes_max: 1514,
            });
        }
        let mac = MacAddress([2, 0, 0, 0, 1, number]);
        routes.set_neighbor(gateway(number), port(number), mac).expect("a unicast address");
    }
    routes
}

/// Lengths about as in a provider's table: mostly /24, some shorter, some hosts.
fn random_v4(rng: &mut SplitMix64) -> IpNet {
    let len = rng.pick(&[24, 24, 24, 24, 24, 24, 23, 22, 20, 19, 18, 16, 14, 12, 32, 32]);
    let [_, b, c, d] = rng.octets();
    let address = Ipv4Addr::new(11 + rng.byte_below(100), b, c, d);
    IpNet::V4(Ipv4Net::new_assert(address, len).trunc())
}

/// A few registries, many providers, sites, networks and hosts.
fn random_v6(rng: &mut SplitMix64) -> IpNet {
    let len = rng.pick(&[32, 40, 44, 48, 48, 48, 56, 64, 128]);
    let mut octets = rng.octets::<16>();
    octets[..2].copy_from_slice(&[0x2A, rng.byte_below(4)]);
    octets[2] &= 0x0F;
    IpNet::V6(Ipv6Net::new_assert(Ipv6Addr::from(octets), len).trunc())
}

/// Any address of `prefix`.
fn inside(prefix: IpNet, rng: &mut SplitMix64) -> IpAddr {
    let noise = u128::from_be_bytes(rng.octets());
    match prefix {
        IpNet::V4(net) => {
            let noise = Ipv4Addr::from_bits(u32::try_from(noise >> 96).expect("32 bits"));
            IpAddr::V4(net.addr() | (net.hostmask() & noise))
        }
        IpNet::V6(net) => IpAddr::V6(net.addr() | (net.hostmask() & Ipv6Addr::from_bits(noise))),
    }
}

/// A table with `count` routes, and keys: half of them inside a route, half anywhere.
fn table(count: usize, random: fn(&mut SplitMix64) -> IpNet) -> (Routes, Vec<IpAddr>) {
    let mut rng = random::seeded(count as u64);
    let mut routes = routes_of_64_ports();
    let mut prefixes = Vec::new();
    while prefixes.len() < count {
        let prefix = random(&mut rng);
        let via = Route::Via(vec![gateway(rng.byte_below(PORTS))]);
        if routes.set_route(prefix, via).expect("one gateway").is_none() {
            prefixes.push(prefix);
        }
    }
    let keys = (0..KEYS).map(|n| {
        let prefix = if n % 2 == 0 { rng.pick(&prefixes) } else { random(&mut rng) };
        inside(prefix, &mut rng)
    });
    let keys = keys.collect();
    (routes, keys)
}

/// Compares with the control thread's own answer and returns how many keys have a route. No key is
/// in a connected network.
fn check(routes: &Routes, fib: &Fib, keys: &[IpAddr]) -> usize {
    let mut routed = 0;
    for &key in keys {
        let leaf = match key {
            IpAddr::V4(key) => fib.v4(key.octets()),
            IpAddr::V6(key) => fib.v6(key.octets()),
        };
        match (fib.hop(leaf, 0), routes.next_hops(key).as_slice()) {
            (Hop::Forward(adjacency), [station]) => {
                assert_eq!(adjacency.out, station.interface.port, "{key}");
                assert_eq!(adjacency.macs()[..6], station.mac.unwrap().0, "{key}");
                routed += 1;
            }
            (Hop::NoRoute, []) => {}
            (hop, stations) => panic!("{key}: {hop:?} is not {stations:?}"),
        }
    }
    routed
}

fn lookups(c: &mut Criterion) {
    for (family, random) in [("v4", random_v4 as fn(&mut SplitMix64) -> IpNet), ("v6", random_v6)] {
        let mut group = c.benchmark_group(format!("fib_{family}"));
        group.throughput(Throughput::Elements(KEYS as u64));
        for count in [16, 1_000, 4_000, 100_000] {
            let (routes, keys) = table(count, random);
            let fib = routes.compile();
            let routed = check(&routes, &fib, &keys);
            let kilobytes = fib.memory_bytes() / 1024;
            println!("{family}, {count} routes: {kilobytes} KB, {routed} of {KEYS} keys routed");
            if family == "v4" {
                let octets =
                    |key: &IpAddr| if let IpAddr::V4(a) = key { a.octets() } else { [0; 4] };
                let keys: Vec<[u8; 4]> = keys.iter().map(octets).collect();
                measure(&mut group, count, &keys, |key| fib.v4(key));
            } else {
                let octets =
                    |key: &IpAddr| if let IpAddr::V6(a) = key { a.octets() } else { [0; 16] };
                let keys: Vec<[u8; 16]> = keys.iter().map(octets).collect();
                measure(&mut group, count, &keys, |key| fib.v6(key));
            }
        }
        group.finish();
    }
}

fn measure<const N: usize>(
    group: &mut BenchmarkGroup<'_, WallTime>,
    count: usize,
    keys: &[[u8; N]],
    lookup: impl Fn([u8; N]) -> Leaf,
) {
    group.bench_function(format!("{count}_routes/burst"), |b| {
        b.iter(|| {
            for &key in keys {
                black_box(lookup(key));
            }
        });
    });
    group.bench_function(format!("{count}_routes/alone"), |b| {
        b.iter(|| {
            let mut last = Leaf::NO_ROUTE;
            for &(mut key) in keys {
                // Never true, as no table here has that many hops; the compiler cannot know.
                key[0] ^= u8::from(last.first() > 1 << 24);
                last = lookup(key);
            }
            last
        });
    });
}

fn compiling(c: &mut Criterion) {
    let mut group = c.benchmark_group("fib_compile");
    group.sample_size(20);
    for count in [1_000, 100_000] {
        for (family, random) in
            [("v4", random_v4 as fn(&mut SplitMix64) -> IpNet), ("v6", random_v6)]
        {
            let (routes, _) = table(count, random);
            group.bench_function(format!("{count}_routes_{family}"), |b| {
                b.iter(|| routes.compile());
            });
        }
    }
    let (mut routes, _) = table(1_000, random_v4);
    for host in 3..160 {
        for number in 0..PORTS {
            let address = IpAddr::from([10, 255, number, host]);
            let mac = MacAddress([2, 0, 0, 2, host, number]);
            routes.set_neighbor(address, port(number), mac).expect("a unicast address");
        }
    }
    group.bench_function("1000_routes_10000_neighbors", |b| b.iter(|| routes.compile()));
    group.finish();
}

fn hashing(c: &mut Criterion) {
    let mut group = c.benchmark_group("flow_hash");
    let mut rng = random::seeded(1);
    let hash = FlowHash::from_seed(1);
    let flows: Vec<([u8; 16], [u8; 16], u16)> =
        (0..KEYS).map(|_| (rng.octets(), rng.octets(), rng.u16())).collect();
    group.throughput(Throughput::Elements(KEYS as u64));
    group.bench_function("v4", |b| {
        b.iter(|| {
            for ([a, b, c, d, ..], [e, f, g, h, ..], port) in &flows {
                black_box(hash.v4([*a, *b, *c, *d], [*e, *f, *g, *h], 17, (*port, 4791)));
            }
        });
    });
    group.bench_function("v6", |b| {
        b.iter(|| {
            for (src, dst, port) in &flows {
                black_box(hash.v6(*src, *dst, 17, (*port, 4791)));
            }
        });
    });
    group.finish();
}

criterion_group!(benches, lookups, compiling, hashing);
criterion_main!(benches);
