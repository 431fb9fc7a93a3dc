//! Imported networks are scenarios that load, with the links and flows of the files.

use super::{Imported, ScenarioOptions, hpcc, htsim, scenario_text};
use crate::{ConfigError, ScenarioConfig};
use std::fs;
use std::path::Path;

const TOPOLOGY: &str = "4 1 3
0
0 1 100Gbps 0.001ms 0
0 2 25Gbps 1000ns 0.000000
3 0 40Gbps 3us 0
";
const FLOWS: &str = "2
2 1 3 100 200000000 2
3 1 3 100 1500 2.000001
First line: the number of flows
";

fn load(
    read: fn(&Path, &Path) -> Result<Imported, ConfigError>,
    topology: &str,
    flows: &str,
) -> Result<Imported, String> {
    let folder = tempfile::tempdir().unwrap();
    let paths = ["net", "flows"].map(|name| folder.path().join(name));
    fs::write(&paths[0], topology).unwrap();
    fs::write(&paths[1], flows).unwrap();
    let folder = format!("{}/", folder.path().display());
    read(&paths[0], &paths[1]).map_err(|error| error.to_string().replace(&folder, ""))
}

fn scenario(imported: &Imported) -> ScenarioConfig {
    let (name, congestion) = ("imported".to_owned(), "dcqcn".to_owned());
    let options = ScenarioOptions { name, congestion, after_us: 10_000 };
    let text = scenario_text(imported, &options);
    ScenarioConfig::parse("imported.toml".as_ref(), &text).unwrap()
}

#[test]
fn nodes_that_are_no_switches_are_hosts_and_times_begin_with_the_first_flow() {
    let imported = load(hpcc::load, TOPOLOGY, FLOWS).unwrap();
    let scenario = scenario(&imported);
    let text = scenario_text(
        &imported,
        &ScenarioOptions { name: "x".to_owned(), congestion: "none".to_owned(), after_us: 10 },
    );
    for line in [
        "name = \"s0\"\nports = 3",
        "ends = [\"s0:1\", \"h1\"]\nspeed = \"100G\"\nlength = \"200m\"",
        "ends = [\"s0:2\", \"h2\"]\nspeed = \"25G\"\nlength = \"200m\"",
        "ends = [\"h3\", \"s0:3\"]\nspeed = \"40G\"\nlength = \"600m\"",
        "from = \"h2\"\nto = \"h1\"\ntransport = \"roce\"\nsize = 200000000\n",
        "from = \"h3\"\nto = \"h1\"\ntransport = \"roce\"\nsize = 1500\nstart = \"1000ns\"",
    ] {
        assert!(text.contains(line), "{line}\nin\n{text}");
    }
    assert_eq!(scenario.flows.len(), 2);
}

/// Two tiers: four ToRs with two hosts each, and two spines with two links to each ToR.
const LEAF_SPINE: &str = "# a comment
Nodes 8
Tiers 2
Podsize 8
Tier 0
Downlink_speed_Gbps 100
Radix_Down 2
Radix_Up 4
Downlink_Latency_ns 1000
Tier 1
Downlink_speed_Gbps 200
Radix_Down 8
Downlink_Latency_ns 500
Bundle 2
";
/// Three tiers of k = 4.
const FAT_TREE: &str = "Nodes 16
Tiers 3
Podsize 4
Tier 0
Downlink_speed_Gbps 100
Radix_Down 2
Radix_Up 2
Downlink_Latency_ns 1000
Tier 1
Downlink_speed_Gbps 100
Radix_Down 2
Radix_Up 2
Downlink_Latency_ns 1000
Tier 2
Downlink_speed_Gbps 100
Radix_Down 4
Downlink_Latency_ns 1000
";
const CONNECTIONS: &str = "Nodes 8
Connections 2
0->5 start 0 size 2000000
7->1 id 3 start 1000000 size 0
";

#[test]
fn a_leaf_spine_has_every_bundle_and_an_endless_flow_has_no_size() {
    let imported = load(htsim::load, LEAF_SPINE, CONNECTIONS).unwrap();
    assert_eq!((imported.hosts.len(), imported.switches.len()), (8, 6));
    assert_eq!(imported.links.len(), 8 + 4 * 2 * 2);
    assert_eq!(imported.flows[1].size_bytes, None);
    let scenario = scenario(&imported);
    assert_eq!(scenario.flows.len(), 2);
}

/// The oracle: a k-ary fat tree of the textbook (Al-Fares et al.), whose core switches each reach
/// every pod once.
#[test]
fn a_fat_tree_is_that_of_the_textbook() {
    let imported = load(htsim::load, FAT_TREE, CONNECTIONS).unwrap();
    assert_eq!((imported.hosts.len(), imported.switches.len()), (16, 20));
    assert_eq!(imported.links.len(), 16 + 16 + 16);
    let scenario = scenario(&imported);
    assert_eq!(scenario.flows.len(), 2);
    let switch = |name: &str| imported.switches.iter().position(|one| one == name).unwrap();
    for core in 0..4 {
        let core = super::model::Node::Switch(switch(&format!("core{core}")));
        let below = imported.links.iter().filter(|link| link.ends[0] == core);
        let mut pods: Vec<usize> = below
            .map(|link| match link.ends[1] {
                super::model::Node::Switch(agg) => (agg - switch("agg0")) / 2,
                super::model::Node::Host(_) => panic!("a host under a core switch"),
            })
            .collect();
        pods.sort_unstable();
        assert_eq!(pods, [0, 1, 2, 3]);
    }
}

#[test]
fn what_has_no_counterpart_is_refused_at_its_place() {
    let hpcc = |topology: &str, flows: &str| load(hpcc::load, topology, flows).unwrap_err();
    let htsim = |topology: &str, flows: &str| load(htsim::load, topology, flows).unwrap_err();
    assert_eq!(
        hpcc(&TOPOLOGY.replace("ms 0", "ms 0.01"), FLOWS),
        "net:3:21: error rate 0.01: links here lose no frames; write 0"
    );
    assert_eq!(
        hpcc(TOPOLOGY, "1\n0 1 3 100 5 2\n"),
        "flows:2:1: a switch; flows are between hosts"
    );
    assert_eq!(hpcc(TOPOLOGY, "3\n1 2 3 100 5 2\n"), "flows:1:1: 3 flows are announced, 1 follow");
    assert_eq!(hpcc("4 1 3\n9\n", ""), "net:2:1: there is no node 9 of 4");
    assert_eq!(
        hpcc(TOPOLOGY, "1\n1 2 3 100 5 2e0\n"),
        "flows:2:13: `2e0` is not a time in seconds, as 2.000001"
    );
    assert_eq!(hpcc("4 1\n", ""), "net:1:4: the number of links is missing");
    assert_eq!(
        htsim(LEAF_SPINE, "Connections 1\n0->1 id 1 trigger 2 size 5\n"),
        "flows:2:11: connections that wait for others are not imported; write them as [[collective]]"
    );
    assert_eq!(htsim(LEAF_SPINE, "0->8 start 0 size 1\n"), "flows:1:1: there is no node 8 of 8");
    assert_eq!(htsim(LEAF_SPINE, "0->1 size 1\n"), "flows:1:12: the start is missing");
    assert_eq!(
        htsim(&LEAF_SPINE.replace("Bundle 2", "Bundle 1"), CONNECTIONS),
        "net:1:1: a ToR has 4 uplinks (Radix_Up of tier 0) for 2 switches above it, 1 to each (Bundle \
         of tier 1); they must be as many"
    );
    assert_eq!(
        htsim("Nodes 8\nTiers 2\nPodsize 8\nTier 0\nSwitch_Latency_ns 5\n", ""),
        "net:5:19: switches here take no time of their own; write 0 and add it to the links"
    );
    assert_eq!(htsim("Nodes 8\nTiers 2\n", ""), "net:3:1: 0 tiers of 2; write two or three");
}
