//! How often flows bounce when links have failed (Tagger, section VIII-D and Fig. 14), computed by
//! flow, without frames.
//!
//! Every flow takes a random shortest path. At a link that is down, the switch sends it to another
//! next hop, as [`Reroute`] says. The Tagger paper does not say which links fail, nor between which
//! hosts flows run, so both are settings ([`Failures`], [`Setting::between_pods`]).

use super::build::drafts;
use crate::build_error::BuildError;
use crate::link::LinkSpec;
use crate::routing::Graph;
use crate::topology::{End, SwitchId, Topology};
use fabric::Network;
use random::{Draw, SplitMix64};

/// Flows by how often they turned from down to up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bounces {
    /// Never.
    pub never: u64,
    /// Once.
    pub once: u64,
    /// Twice.
    pub twice: u64,
    /// More often.
    pub more: u64,
    /// Flows that found no path, or none within the time to live of a frame.
    pub stranded: u64,
}

/// What a switch does with a flow when all its shortest paths are down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reroute {
    /// As the emulator's switches do: the nearest of the neighbors that have a shortest path which
    /// does not come back; no switch is visited twice.
    LookAhead,
    /// The rule of the Tagger paper: a random one of its other neighbors, but the one that the flow
    /// came from. The switch knows nothing but its own links, and keeps nothing.
    Local,
    /// The same; the flow may go back to where it came from.
    LocalOrBack,
}

/// Which links between switches can fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failures {
    /// All.
    All,
    /// Those to the switches farthest from hosts: to the spines of a fat-tree.
    ToSpines,
}

/// What is counted.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// What switches do at a link that is down.
    pub reroute: Reroute,
    /// Which links can fail.
    pub failures: Failures,
    /// Of those, so many millionths are down, at random.
    pub failed_millionths: u32,
    /// Whether flows run between switches that are as far from each other as any, which are those
    /// of different pods; otherwise between any two different switches.
    pub between_pods: bool,
    /// Flows.
    pub flows: u64,
}

/// A network whose flows are counted, with the distances that were needed so far.
#[derive(Debug)]
pub struct BounceCounter {
    topology: Topology,
    graph: Graph,
    levels: Vec<u32>,
    /// Hops of the longest shortest path between switches with hosts.
    farthest: u16,
}

impl BounceCounter {
    /// Of `network`.
    ///
    /// # Errors
    /// The network is too large for the emulator.
    pub fn new(network: &Network) -> Result<Self, BuildError> {
        let names = |count: usize, name: &dyn Fn(u32) -> String| {
            (0..).take(count).map(name).collect::<Vec<String>>()
        };
        let switches = names(network.switches(), &|at| network.switch_name(at).to_owned());
        let hosts = names(network.hosts(), &|at| network.host_name(at).to_owned());
        let links = drafts(network, LinkSpec::new(40, 10));
        let topology = Topology::new(&switches, &hosts, links)?;
        let mut graph = Graph::new(&topology);
        let mut farthest = 0;
        if let Some(&(first, _)) = topology.access.first() {
            graph.learn(first);
            let all = topology.access.iter().filter_map(|&(at, _)| graph.distance(at, first));
            farthest = all.max().unwrap_or(0);
        }
        let levels = topology.levels();
        Ok(Self { topology, graph, levels, farthest })
    }

    /// Counts the bounces of flows between random hosts of different switches.
    pub fn count(&mut self, setting: &Setting, seed: u64) -> Bounces {
        let mut rng = random::seeded(seed);
        self.fail(setting, &mut rng);
        let mut bounces = Bounces::default();
        for _ in 0..setting.flows {
            let Some((from, to)) = self.pair(setting.between_pods, &mut rng) else { break };
            match self.way(setting.reroute, from, to, &mut rng) {
                None => bounces.stranded += 1,
                Some(way) => bounces.add(self.turns_up(&way)),
            }
        }
        bounces
    }

    /// Switches of two random hosts, with the distances to the second one; `None` if no two differ
    /// as they must.
    fn pair(&mut self, between_pods: bool, rng: &mut SplitMix64) -> Option<(SwitchId, SwitchId)> {
        const TRIES: usize = 10_000;
        for _ in 0..TRIES {
            let (from, _) = *rng.choose(&self.topology.access)?;
            let (to, _) = *rng.choose(&self.topology.access)?;
            self.graph.learn(to);
            let distance = self.graph.distance(from, to).unwrap_or(0);
            if from != to && (!between_pods || distance == self.farthest) {
                return Some((from, to));
            }
        }
        None
    }

    /// The switches of a flow's path, both ends included.
    fn way(
        &self,
        reroute: Reroute,
        from: SwitchId,
        to: SwitchId,
        rng: &mut SplitMix64,
    ) -> Option<Vec<SwitchId>> {
        match reroute {
            Reroute::LookAhead => {
                let way = self.graph.walk(from, to, &[], rng)?;
                Some(way.into_iter().map(|(switch, _)| switch).chain([to]).collect())
            }
            Reroute::Local => self.graph.local_walk(from, to, false, rng),
            Reroute::LocalOrBack => self.graph.local_walk(from, to, true, rng),
        }
    }

    /// Takes links down at random, and puts up all others.
    fn fail(&mut self, setting: &Setting, rng: &mut SplitMix64) {
        let top = self.levels.iter().max().copied().unwrap_or(0);
        let level = |end: &End| match end {
            End::Switch(switch, _) => Some(self.levels[switch.index()]),
            End::Host(_) => None,
        };
        let can_fail = |&link: &usize| {
            let levels = self.topology.links[link].ends.each_ref().map(level);
            let is_between = levels.iter().all(Option::is_some);
            is_between && (setting.failures == Failures::All || levels.contains(&Some(top)))
        };
        let mut between: Vec<usize> = (0..self.topology.links.len()).filter(can_fail).collect();
        rng.shuffle(&mut between);
        let count = between.len() as u128 * u128::from(setting.failed_millionths) / 1_000_000;
        let count = usize::try_from(count).unwrap_or(usize::MAX).min(between.len());
        (0..self.topology.links.len()).for_each(|link| self.graph.set_link(link, true));
        between[..count].iter().for_each(|&link| self.graph.set_link(link, false));
    }

    /// How often a path turns from down to up.
    fn turns_up(&self, way: &[SwitchId]) -> usize {
        let along: Vec<u32> = way.iter().map(|switch| self.levels[switch.index()]).collect();
        along.windows(3).filter(|hops| hops[0] > hops[1] && hops[1] < hops[2]).count()
    }
}

impl Bounces {
    const fn add(&mut self, turns: usize) {
        match turns {
            0 => self.never += 1,
            1 => self.once += 1,
            2 => self.twice += 1,
            _ => self.more += 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use config::NetworkConfig;

    fn setting(reroute: Reroute, failed_millionths: u32) -> Setting {
        let failures = Failures::All;
        Setting { reroute, failures, failed_millionths, between_pods: false, flows: 20_000 }
    }

    fn counter() -> BounceCounter {
        let text = "[generate]\nkind = 'fat-tree'\nk = 8\n";
        let config = NetworkConfig::parse("k8.toml".as_ref(), text).unwrap();
        BounceCounter::new(&config.network).unwrap()
    }

    /// The Tagger paper's two findings: local reroute bounces, and hardly ever twice.
    #[test]
    fn more_failures_are_more_bounces_and_few_bounce_twice() {
        let mut counter = counter();
        let mut count = |failed| counter.count(&setting(Reroute::LookAhead, failed), 1);
        assert_eq!(count(0), Bounces { never: 20_000, ..Bounces::default() });
        let (few, many) = (count(50_000), count(200_000));
        assert!(0 < few.once && few.once < many.once);
        assert!(many.once + many.twice + many.more > 2_000);
        assert!(many.twice + many.more < many.once / 2, "{many:?}");
        assert!(many.stranded < 200, "{many:?}");
        assert_eq!(many, count(200_000), "a seed gives one result, whatever was counted before");
    }

    /// Without look-ahead a flow goes up again to a spine that leads to the same leaf.
    #[test]
    fn a_local_rule_bounces_flows_more_often_than_look_ahead() {
        let mut counter = counter();
        let mut more = |reroute| {
            let bounces = counter.count(&setting(reroute, 200_000), 1);
            bounces.twice + bounces.more
        };
        let [ahead, local, back] =
            [Reroute::LookAhead, Reroute::Local, Reroute::LocalOrBack].map(&mut more);
        assert!(ahead < local && local < back, "{ahead} {local} {back}");
    }

    /// Where links to spines fail only, a spine that lost its link to the receiver's pod is the one
    /// place of a first bounce: one flow of five between pods.
    #[test]
    fn failures_at_spines_bounce_one_of_five_flows_between_pods() {
        let failures = Failures::ToSpines;
        let setting = Setting { failures, between_pods: true, ..setting(Reroute::Local, 200_000) };
        let mut counter = counter();
        let seeds: Vec<Bounces> = (0..10).map(|seed| counter.count(&setting, seed)).collect();
        let often = |of: &Bounces| of.twice + of.more;
        let bounced: u64 = seeds.iter().map(|of| of.once + often(of)).sum();
        assert!((36_000..44_000).contains(&bounced), "{seeds:?}");
        assert!(seeds.iter().all(|of| often(of) < of.once / 2), "{seeds:?}");
    }
}
