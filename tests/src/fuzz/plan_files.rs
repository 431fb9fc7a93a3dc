//! Any text as a file of named paths and as a plan: an error says where and what in one line, every
//! path that is read follows links without a loop, and every order that is read can be checked.

use super::rules_json::check_error;
use config::NetworkConfig;
use config::path_file::parse;
use config::plan_file::PlanFile;
use fabric::Network;
use fabric::plan::{Change, Planner, Timing};
use std::path::Path;
use std::sync::OnceLock;

/// Four switches in a ring with a host at each, two links between A and B.
const NETWORK: &str = r#"
    switch = [{name = "A", ports = 4}, {name = "B", ports = 4}, {name = "C", ports = 4},
              {name = "D", ports = 4}]
    host = [{name = "HA"}, {name = "HB"}, {name = "HC"}, {name = "HD"}]
    link = [{ends = ["A:2", "B:1"]}, {ends = ["B:2", "C:1"]}, {ends = ["C:2", "D:1"]},
            {ends = ["D:2", "A:1"]}, {ends = ["A:4", "B:4"]}, {ends = ["A:3", "HA"]},
            {ends = ["B:3", "HB"]}, {ends = ["C:3", "HC"]}, {ends = ["D:3", "HD"]}]
"#;
const OLD: &str = "p1: HA A B C HC\np3: HC C D A HA\n";
const NEW: &str = "p2: HB B C D A HA\np4: HD D A B HB\n";

fn network() -> &'static Network {
    static NETWORK_ONCE: OnceLock<Network> = OnceLock::new();
    NETWORK_ONCE.get_or_init(|| {
        NetworkConfig::parse(Path::new("N.toml"), NETWORK).expect("a network").network
    })
}

/// Reads `data` as either, and what was read against the other half of a change.
pub fn run(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let (network, file) = (network(), Path::new("FILE"));
    let known = |text: &str| parse(file, text, network).expect("paths");
    match parse(file, &text, network) {
        Err(error) => check_error(&error, &text),
        Ok(paths) => {
            for path in &paths {
                let switches: Vec<u32> = path.route.switches(network).collect();
                for (at, &input) in path.route.inputs.iter().enumerate() {
                    let from = network.far_slot(input).map(|slot| network.owner(slot));
                    assert_eq!(from, Some(switches[at]), "{}", path.name);
                    assert!(!switches[..=at].contains(&switches[at + 1]), "{}", path.name);
                }
            }
            let change = Change::between(network, paths, known(NEW));
            // The new paths are free of cycles; what was read may not be.
            if let Ok(planner) = Planner::new(network, &change, Timing::default()) {
                let plan = planner.plan(fabric::plan::Model::Parallel);
                assert_eq!(planner.check(&plan.order), Ok(()));
            }
        }
    }
    match PlanFile::parse(file, &text) {
        Err(error) => check_error(&error, &text),
        Ok(plan) => {
            let change = Change::between(network, known(OLD), known(NEW));
            if let Ok(order) = plan.order(&change) {
                let planner = Planner::new(network, &change, Timing::default());
                // Safe, not safe, or no order: never a panic.
                let _judged = planner.expect("both sets are safe").check(&order);
            }
        }
    }
}
