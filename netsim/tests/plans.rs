//! Plans, executed and watched: the wrong way round the reconfiguration paper's reconfigurations
//! deadlock, as planned they do not.

use config::NetworkConfig;
use config::ScenarioConfig;
use config::path_file::{load, parse};
use fabric::Network;
use fabric::plan::{Change, Execution, Model, Order, Planner, Timing, scenario};
use netsim::outcome::Outcome;
use netsim::scenario::{Options, run};
use std::path::{Path, PathBuf};

fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../config/examples/plans")
}

/// A network, its tables as text, and what is to change in it.
struct Case {
    tables: String,
    network: Network,
    change: Change,
}

/// The reconfiguration paper's Fig. 2.
fn tree() -> Case {
    let file = |name: &str| examples().join(name);
    let network = NetworkConfig::load(&file("tree.toml")).expect("a network").network;
    let paths = |name: &str| load(&file(name), &network).unwrap_or_else(|e| panic!("{e}"));
    let change = Change::between(&network, paths("tree-old.txt"), paths("tree-new.txt"));
    Case {
        tables: format!("network = {:?}", file("tree.toml").display().to_string()),
        network,
        change,
    }
}

/// The reconfiguration paper's Fig. 3: four switches, all linked but S2 and S3.
fn mesh() -> Case {
    let switch = |name| format!("[[switch]]\nname = \"{name}\"\nports = 5\n");
    let mut tables: String = ["S1", "S2", "S3", "S4"].map(switch).concat();
    for host in ["H1", "K1", "H2", "K2", "H3", "K3", "H4", "K4"] {
        tables += &format!("[[host]]\nname = \"{host}\"\n");
        let port = if host.starts_with('H') { 4 } else { 5 };
        tables += &format!("[[link]]\nends = [\"S{}:{port}\", \"{host}\"]\n", &host[1..]);
    }
    for (one, other) in
        [("S1:1", "S2:1"), ("S1:2", "S3:1"), ("S1:3", "S4:1"), ("S2:3", "S4:2"), ("S3:3", "S4:3")]
    {
        tables += &format!("[[link]]\nends = [\"{one}\", \"{other}\"]\n");
    }
    let network = NetworkConfig::parse(Path::new("N.toml"), &tables).expect("a network").network;
    let paths = |text| parse(Path::new("P.txt"), text, &network).expect("paths");
    let old = "p1: H1 S1 S2 S4 H4\nq1: K1 S1 S3 K3";
    let new = "p2: H2 S2 S4 S1 H1\np3: K4 S4 S1 S2 K2";
    let change = Change::between(&network, paths(old), paths(new));
    Case { tables, network, change }
}

impl Case {
    fn plan(&self) -> Order {
        let planner = Planner::new(&self.network, &self.change, Timing::default());
        planner.expect("both sets are free of cycles").plan(Model::Parallel).order
    }

    fn outcome(&self, order: &Order, execution: Execution) -> Outcome {
        let text = scenario(&self.tables, &self.network, &self.change, order, execution);
        let text = text.expect("a host at each end");
        let config = ScenarioConfig::parse(Path::new("plan.toml"), &text);
        let config = config.unwrap_or_else(|error| panic!("{error}\n{text}"));
        run(&config, Options::default()).expect("it runs")
    }
}

#[test]
fn the_wrong_way_round_the_papers_reconfigurations_deadlock_and_as_planned_they_do_not() {
    for (case, constraints) in [(tree(), 1), (mesh(), 1)] {
        let order = case.plan();
        assert_eq!(order.pairs().len(), constraints, "no more than the cycle needs");
        let naive = case.outcome(&order, Execution::Naive);
        let deadlock = naive.deadlock.expect("a deadlock");
        assert!(deadlock.closed_ps > 300_000_000, "not before the change: {}", deadlock.closed_ps);
        assert!(naive.drained_ps.is_none());

        let planned = case.outcome(&order, Execution::Planned);
        assert!(planned.deadlock.is_none(), "{:?}", planned.deadlock);
        assert!(planned.drained_ps.is_some() && planned.violations.is_empty());
        assert_eq!(planned.lossless_drops, 0);
        assert!(planned.flows.iter().all(|flow| flow.received_frames == flow.sent_frames));
    }
}
