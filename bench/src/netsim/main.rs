//! prototype
use config::network::{End, NetworkConfig, Peer};
use dataplane::ids::{Priority, Tag};
use netsim::{FlowSpec, LinkSpec, NetworkBuilder, SwitchSpec};
use std::time::Instant;
fn main() {
    for k in std::env::args().skip(2).map(|k| k.parse::<usize>().unwrap()) {
        let text = format!("[generate]\nkind='fat-tree'\nk={k}\n[paths]\nkind='shortest-trees'\n");
        let config = NetworkConfig::parse("n.toml".as_ref(), &text).unwrap();
        let n = &config.network;
        let mut builder = NetworkBuilder::new(1);
        let tag = Tag::from_low_bits(1);
        builder.lossless(tag, Priority::from_low_bits(3));
        let switches: Vec<_> = (0..n.switches() as u32)
            .map(|s| builder.switch(n.switch_name(s), SwitchSpec::default()))
            .collect();
        let hosts: Vec<_> = (0..n.hosts() as u32).map(|s| builder.host(n.host_name(s))).collect();
        for link in n.links() {
            let end = |e: End| -> netsim::End {
                match e {
                    End::Slot(s) => switches[n.owner(s) as usize].port(n.port(s).number()),
                    End::Host(h) => hosts[h as usize].into(),
                }
            };
            builder.link(end(link.ends[0]), end(link.ends[1]), LinkSpec::new(40, 10));
        }
        let _ = Peer::None;
        let c = hosts.len();
        let mut prng = netsim::Prng::new(5);
        let mut perm: Vec<usize> = (0..c).collect();
        prng.shuffle(&mut perm);
        for i in 0..c {
            if perm[i] != i {
                builder.flow(FlowSpec {
                    frame_bytes: 1000,
                    ..FlowSpec::new(hosts[i], hosts[perm[i]], tag)
                });
            }
        }
        let mut network = builder.build().unwrap();
        let start = Instant::now();
        let us = std::env::args().nth(1).map_or(500, |s| s.parse::<u64>().unwrap());
        network.run_until(us * 1_000_000 * 128 / c as u64);
        let s = start.elapsed().as_secs_f64();
        println!(
            "k {k}: {} hosts, {} hops {:.2} M/s  data {:.2}",
            c,
            network.hops(),
            network.hops() as f64 / s / 1e6,
            network.data_hops() as f64 / s / 1e6
        );
        network.check().unwrap();
    }
}
