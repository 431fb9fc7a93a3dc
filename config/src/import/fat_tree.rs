//! The fat tree and the leaf-spine of htsim, wired as htsim wires them.

use super::model::{Imported, Link, Node};
use dataplane::time::Speed;

/// A tier of switches: ToR, aggregation, core.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Tier {
    pub(super) radix_down: usize,
    pub(super) radix_up: usize,
    /// Links of its downlinks that run in parallel.
    pub(super) bundle: usize,
    pub(super) downlink_gbps: u64,
    pub(super) downlink_latency_ns: u64,
}

impl Tier {
    fn link(&self, above: Node, below: Node) -> Link {
        Link {
            ends: [above, below],
            speed: Speed::from_gbps(self.downlink_gbps),
            delay_ps: self.downlink_latency_ns * 1_000,
        }
    }
}

/// A fat tree of `hosts`, in pods of `pod_hosts`.
#[derive(Clone, Debug)]
pub(super) struct FatTree {
    pub(super) hosts: usize,
    pub(super) pod_hosts: usize,
    /// Two or three.
    pub(super) tiers: Vec<Tier>,
}

impl FatTree {
    /// The network, without flows; `Err` says which numbers do not fit.
    pub(super) fn build(&self) -> Result<Imported, String> {
        let [tor, agg, ..] = &self.tiers[..] else { return Err("two tiers or three".into()) };
        let core = self.tiers.get(2);
        // A leaf-spine is one pod.
        let pod_hosts = if core.is_some() { self.pod_hosts } else { self.hosts };
        let pods = divide("Nodes", self.hosts, "Podsize", pod_hosts)?;
        let tors = divide("Podsize", pod_hosts, "Radix_Down of tier 0", tor.radix_down)?;
        let tor_uplinks = tors * tor.radix_up;
        let what = "the uplinks of a pod's ToRs";
        let aggs = divide(what, tor_uplinks, "Radix_Down of tier 1", agg.radix_down)?;
        if aggs * agg.bundle != tor.radix_up {
            return Err(format!(
                "a ToR has {} uplinks (Radix_Up of tier 0) for {aggs} switches above it, {} to each \
                 (Bundle of tier 1); they must be as many",
                tor.radix_up, agg.bundle
            ));
        }
        let mut network = Imported { origin: "htsim".to_owned(), ..Imported::default() };
        network.hosts = (0..self.hosts).map(|host| format!("h{host}")).collect();
        network.switches = (0..pods * tors).map(|tor| format!("tor{tor}")).collect();
        let first_agg = network.switches.len();
        network.switches.extend((0..pods * aggs).map(|agg| format!("agg{agg}")));
        let first_core = network.switches.len();
        for host in 0..self.hosts {
            let above = Node::Switch(host / tor.radix_down);
            network.links.push(tor.link(above, Node::Host(host)));
        }
        for below in 0..pods * tors {
            for above in below / tors * aggs..(below / tors + 1) * aggs {
                let link = agg.link(Node::Switch(first_agg + above), Node::Switch(below));
                network.links.extend(std::iter::repeat_n(link, agg.bundle));
            }
        }
        if let Some(core) = core {
            let agg_uplinks = pods * aggs * agg.radix_up;
            let what = "the uplinks of tier 1";
            let cores = divide(what, agg_uplinks, "Radix_Down of tier 2", core.radix_down)?;
            let above_each =
                divide("Radix_Up of tier 1", agg.radix_up, "Bundle of tier 2", core.bundle)?;
            if above_each * aggs != cores {
                return Err(format!(
                    "{cores} core switches for {aggs} places in a pod with {above_each} above each; \
                     they must be as many"
                ));
            }
            network.switches.extend((0..cores).map(|core| format!("core{core}")));
            for below in 0..pods * aggs {
                for round in 0..above_each {
                    let above = Node::Switch(first_core + below % aggs + aggs * round);
                    let link = core.link(above, Node::Switch(first_agg + below));
                    network.links.extend(std::iter::repeat_n(link, core.bundle));
                }
            }
        }
        Ok(network)
    }
}

fn divide(what: &str, number: usize, by: &str, divisor: usize) -> Result<usize, String> {
    if divisor == 0 || number == 0 || !number.is_multiple_of(divisor) {
        return Err(format!("{what} ({number}) must be a multiple of {by} ({divisor})"));
    }
    Ok(number / divisor)
}
