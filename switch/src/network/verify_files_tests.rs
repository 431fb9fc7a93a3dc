//! PCBB, proven from the files of its switches; and what goes wrong with each part of it left out.

use super::verify_files::FilesVerdict;
use config::NetworkConfig;
use config::network::forwarding::FileForwarding;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// An edit of a file: its name, what stands there, and what is to.
type Edit = (&'static str, &'static str, &'static str);

/// The verdict on a network of `config/examples/dual-tor` after these edits, each of which has
/// effect.
fn verdict(network: &str, edits: &[Edit]) -> FilesVerdict {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../config/examples/dual-tor");
    let place = tempfile::tempdir().unwrap();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        let mut text = fs::read_to_string(&path).unwrap();
        for (_, old, new) in edits.iter().filter(|edit| edit.0 == name) {
            assert!(text.contains(old), "{name} has no {old:?}");
            text = text.replace(old, new);
        }
        fs::write(place.path().join(name), text).unwrap();
    }
    let config = NetworkConfig::load(&place.path().join(network)).unwrap();
    let forwarding = FileForwarding::new(&config).unwrap().expect("its switches have files");
    FilesVerdict::new(config.network, forwarding)
}

/// The edits that take T1 switch b and its links away.
const ONE_T1: [Edit; 4] = [
    ("network.toml", "[[switch]]\nname = \"t1b\"\nconfig = \"t1b.toml\"\n", ""),
    ("network.toml", "[[link]]\nends = [\"tor1:up2\", \"t1b:tor1\"]\n", ""),
    ("network.toml", "[[link]]\nends = [\"tor2:up2\", \"t1b:tor2\"]\n", ""),
    ("network.toml", "[[link]]\nends = [\"t1b:up\", \"t2:t1b\"]\n", ""),
];

/// The buffers of the cycle, as (switch, ingress port, priority, DSCP, inner DSCP).
fn cycle(verdict: &FilesVerdict) -> Vec<(String, String, u64, u64, Option<u64>)> {
    let json = verdict.as_json();
    let hop = |hop: &serde_json::Value| {
        let text = |key: &str| hop[key].as_str().unwrap().to_owned();
        let number = |key: &str| hop[key].as_u64();
        let dscp = number("dscp").unwrap();
        (text("switch"), text("in"), number("priority").unwrap(), dscp, number("inner_dscp"))
    };
    json["cycle"].as_array().unwrap().iter().map(hop).collect()
}

/// What was found beside deadlock, in lines.
fn findings(verdict: &FilesVerdict) -> Vec<String> {
    let text = verdict.as_text();
    let lines = text.lines().skip_while(|line| !line.starts_with("followed: ")).skip(1);
    lines.map(str::to_owned).collect()
}

#[test]
fn pcbb_is_free_of_deadlock_and_loses_nothing() {
    let verdict = verdict("network.toml", &[]);
    let text = verdict.as_text();
    assert!(verdict.is_deadlock_free(), "{text}");
    assert_eq!(findings(&verdict), Vec::<String>::new());
    assert!(text.starts_with("deadlock-free: "), "{text}");
    assert!(text.contains("\nfollowed: 5 switches, "), "{text}");
    let json = verdict.as_json();
    assert_eq!((&json["deadlock_free"], &json["cycle"]), (&true.into(), &serde_json::json!([])));
}

#[test]
fn with_one_t1_switch_it_is_free_of_deadlock_too() {
    let verdict = verdict("network.toml", &ONE_T1);
    assert!(verdict.is_deadlock_free(), "{}", verdict.as_text());
    assert_eq!(findings(&verdict), Vec::<String>::new());
}

#[test]
fn without_remapping_the_cycle_of_both_tors_and_a_t1_is_named() {
    let verdict = verdict("network-plain.toml", &[]);
    let text = verdict.as_text();
    assert!(!verdict.is_deadlock_free(), "{text}");
    let hops = cycle(&verdict);
    let switches: Vec<&str> = hops.iter().map(|hop| hop.0.as_str()).collect();
    assert_eq!(switches, ["tor1", "t1a", "tor2", "t1a"], "{text}");
    let priority = hops[0].2;
    assert!(hops.iter().all(|hop| hop.2 == priority && [3, 4].contains(&priority)), "{text}");
    // A ToR sends up what came down for its standby server; a T1 switch sends that down again.
    assert_eq!(
        hops.iter().map(|hop| hop.4.is_some()).collect::<Vec<_>>(),
        [false, true, false, true]
    );
    let head = "NOT deadlock-free: 4 buffers form a dependency cycle\n  tor1:up1 priority 3  waits, \
                going out by port up1 in queue 3, for  t1a:tor1 priority 3\n      DSCP 3 to \
                192.168.0.3 leaves as DSCP 3 to 10.1.0.33 (inner DSCP 3 to 192.168.0.3): route \
                192.168.0.3/32 into tunnel mux0, route 0.0.0.0/0 via 10.0.0.0 10.0.0.2\n";
    assert!(text.starts_with(head), "{text}");
    assert!(text.contains("route 10.1.0.33/32 via 10.0.0.5\n"), "{text}");
}

#[test]
fn a_t1_switch_without_pfc_for_the_outer_priorities_makes_bounced_frames_lossy() {
    let lossless = |priority: &'static str| -> Edit {
        let table = match priority {
            "2" => {
                "[[lossless]]\npriority = 2\nports = [\"tor1\", \"tor2\"]\nstatic_th = \"40KB\"\n"
            }
            _ => "[[lossless]]\npriority = 6\nports = [\"tor1\", \"tor2\"]\nstatic_th = \"40KB\"\n",
        };
        ("t1a.toml", table, "")
    };
    let verdict = verdict("network.toml", &[lossless("2"), lossless("6")]);
    assert!(verdict.is_deadlock_free(), "{}", verdict.as_text());
    let found = findings(&verdict);
    let at = |port: &str| {
        let start = format!("t1a:{port} lossless before, lossy here: DSCP 2 to 10.1.0.3");
        found.iter().any(|line| line.starts_with(&start))
    };
    assert!(at("tor1") && at("tor2"), "{found:?}");
    assert!(found.iter().all(|line| line.starts_with("t1a:tor")), "{found:?}");
}

#[test]
fn a_client_that_may_send_in_the_outer_priority_undoes_it() {
    let edit = ("t2.toml", "dscp = [2, 6]\ntag = 0\n", "dscp = [5]\ntag = 0\n");
    let verdict_of_all = verdict("network.toml", &[edit]);
    assert!(!verdict_of_all.is_deadlock_free());
    let hops = cycle(&verdict_of_all);
    assert!(hops.iter().all(|hop| hop.2 == hops[0].2 && [2, 6].contains(&hop.2)), "{hops:?}");
    // A network in which they are known not to is sound.
    let clients = "addresses = [\"10.2.0.";
    let known = ("network.toml", clients, "dscp = [0, 3, 4]\naddresses = [\"10.2.0.");
    let verdict = verdict("network.toml", &[edit, known]);
    assert!(verdict.is_deadlock_free(), "{}", verdict.as_text());
}

#[test]
fn a_server_that_is_standby_at_both_tors_goes_round() {
    let route = "[[route]]\nto = \"192.168.0.3/32\"\ntunnel = \"mux0\"\n";
    let both = "[[route]]\nto = \"192.168.0.1/32\"\ntunnel = \"mux0\"\n\n[[route]]\nto = \
                \"192.168.0.3/32\"\ntunnel = \"mux0\"\n";
    let verdict = verdict("network.toml", &[("tor1.toml", route, both)]);
    assert!(!verdict.is_deadlock_free());
    let found = findings(&verdict);
    assert!(found.iter().any(|line| line.contains("routing loop")), "{found:?}");
}

#[test]
fn what_has_no_route_or_no_neighbor_is_said() {
    let edits = [
        ("t2.toml", "via = [\"10.0.1.1\", \"10.0.1.3\"]", "via = [\"10.0.1.1\"]"),
        ("t1a.toml", "via = [\"10.0.0.1\", \"10.0.0.5\"]", "via = [\"10.0.0.1\"]"),
        ("tor1.toml", "[[route]]\nto = \"0.0.0.0/0\"\nvia = [\"10.0.0.0\", \"10.0.0.2\"]\n", ""),
        // Two servers have each other's address.
        (
            "network.toml",
            "\"server1\"\naddresses = [\"192.168.0.1\"]",
            "\"server1\"\naddresses = [\"192.168.0.5\"]",
        ),
        (
            "network.toml",
            "\"server3\"\naddresses = [\"192.168.0.5\"]",
            "\"server3\"\naddresses = [\"192.168.0.1\"]",
        ),
    ];
    let found = findings(&verdict("network.toml", &edits));
    let said = |text: &str| found.iter().any(|line| line.contains(text));
    assert!(said("tor1:srv1 no route: "), "{found:?}");
    assert!(said("tor1:up1 no neighbor has the next hop's address: "), "{found:?}");
}

/// The databases of `config/examples/pcbb`, as they are imported.
#[test]
fn an_imported_pair_is_proven_and_without_remapping_it_shows_its_cycle() {
    let of = |folder: &str| {
        let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../config/examples");
        let config = NetworkConfig::load(&examples.join(folder).join("network.toml")).unwrap();
        let forwarding = FileForwarding::new(&config).unwrap().expect("its switches have files");
        FilesVerdict::new(config.network, forwarding)
    };
    let (remapped, plain) = (of("pcbb"), of("pcbb/plain"));
    assert!(remapped.is_deadlock_free(), "{}", remapped.as_text());
    assert!(!plain.is_deadlock_free(), "{}", plain.as_text());
    let switches: BTreeSet<String> = cycle(&plain).into_iter().map(|hop| hop.0).collect();
    let tors = switches.iter().filter(|name| name.starts_with("tor-")).count();
    assert_eq!((tors, switches.len()), (2, 3), "{}", plain.as_text());
}
