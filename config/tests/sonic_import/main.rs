//! `config_db.json` to SWITCH.toml and back.

mod egress;
mod round_trip;

use config::SwitchConfig;
use config::sonic::{ImportOptions, Imported, SonicError, import_text};
use std::path::Path;

/// Two ports whose class 3 is lossless, all of it with an exact counterpart.
const EXACT: &str = r#"{
  "DEVICE_METADATA": { "localhost": { "hostname": "tor1", "mac": "02:00:00:00:00:01" } },
  "PORT": {
    "Ethernet0": { "speed": "100000", "mtu": "1500", "admin_status": "up", "lanes": "1" },
    "Ethernet4": { "speed": "2500", "mtu": "1500", "admin_status": "up" },
    "Ethernet8": { "speed": "40000", "admin_status": "down" }
  },
  "CABLE_LENGTH": { "AZURE": { "Ethernet0": "40m", "Ethernet4": "5m" } },
  "INTERFACE": { "Ethernet0": {}, "Ethernet0|10.0.0.1/31": {}, "Ethernet4|10.0.1.1/24": {} },
  "DSCP_TO_TC_MAP": { "AZURE": { "3": "3", "4": "4", "46": "5" } },
  "TC_TO_PRIORITY_GROUP_MAP": { "AZURE": { "0": "0", "3": "3", "4": "0", "5": "0" } },
  "TC_TO_QUEUE_MAP": { "AZURE": { "0": "0", "3": "3", "4": "4", "5": "5" } },
  "MAP_PFC_PRIORITY_TO_QUEUE": { "AZURE": { "3": "3" } },
  "PORT_QOS_MAP": {
    "Ethernet0,Ethernet4": { "dscp_to_tc_map": "[DSCP_TO_TC_MAP|AZURE]", "tc_to_pg_map": "AZURE",
      "tc_to_queue_map": "[TC_TO_QUEUE_MAP|AZURE]", "pfc_to_queue_map": "AZURE",
      "pfc_enable": "3", "pfcwd_sw_enable": "3" }
  },
  "BUFFER_POOL": {
    "ingress_lossless_pool": { "type": "ingress", "mode": "dynamic", "size": "20000000" },
    "egress_lossy_pool": { "type": "egress", "mode": "dynamic", "size": "5000000" }
  },
  "BUFFER_PROFILE": {
    "lossless": { "pool": "[BUFFER_POOL|ingress_lossless_pool]", "size": "4096", "xoff": "300000",
      "xon": "0", "xon_offset": "3072", "dynamic_th": "-2" },
    "lossy_queue": { "pool": "egress_lossy_pool", "size": "0", "static_th": "400000" }
  },
  "BUFFER_PG": { "Ethernet0|3": { "profile": "lossless" },
                 "Ethernet4|3": { "profile": "[BUFFER_PROFILE|lossless]" } },
  "BUFFER_QUEUE": { "Ethernet0,Ethernet4|0-2": { "profile": "lossy_queue" } },
  "SCHEDULER": { "fast": { "type": "STRICT" }, "some": { "type": "DWRR", "weight": "15" } },
  "WRED_PROFILE": { "W": { "ecn": "ecn_all", "wred_green_enable": "false",
    "green_min_threshold": "100000", "green_max_threshold": "400000",
    "green_drop_probability": "5" } },
  "QUEUE": { "Ethernet0|5": { "scheduler": "fast" }, "Ethernet4|5": { "scheduler": "[SCHEDULER|fast]" },
             "Ethernet0|3": { "scheduler": "some", "wred_profile": "W" },
             "Ethernet4|3": { "scheduler": "some", "wred_profile": "[WRED_PROFILE|W]" } },
  "PFC_WD": { "GLOBAL": { "POLL_INTERVAL": "200" },
    "Ethernet0": { "action": "forward", "detection_time": "200", "restoration_time": "300" } },
  "STATIC_ROUTE": { "10.9.0.0/16": { "nexthop": "10.0.0.0,10.0.1.2" }, "10.8.0.0/16": { "blackhole": "true" } },
  "NEIGH": { "Ethernet4|10.0.1.2": { "neigh": "02:00:00:00:01:02", "family": "IPv4" } },
  "NTP_SERVER": { "10.0.0.9": {} }
}"#;

fn import(text: &str, approximate: bool) -> Result<Imported, Vec<String>> {
    import_with(text, None, None, approximate)
}

fn import_with(
    text: &str,
    lookup: Option<&str>,
    ports: Option<&str>,
    approximate: bool,
) -> Result<Imported, Vec<String>> {
    let options = ImportOptions { approximate, ..ImportOptions::default() };
    import_text(Path::new("db.json"), text, lookup, ports, &options).map_err(|error| match error {
        SonicError::File(error) => vec![error.to_string()],
        SonicError::Refused(lines) => lines,
    })
}

fn switch(text: &str) -> SwitchConfig {
    SwitchConfig::parse(Path::new("SWITCH.toml"), text).unwrap()
}

/// The lines without the comments behind them, comments alone and empty lines.
fn plain(text: &str) -> Vec<&str> {
    let lines = text.lines().map(|line| line.split("  # ").next().unwrap_or_default().trim());
    lines.filter(|line| !line.is_empty() && !line.starts_with('#')).collect()
}

#[test]
fn what_has_a_counterpart_is_imported_exactly() {
    let imported = import(EXACT, false).unwrap();
    assert_eq!(imported.approximations, [""; 0]);
    assert_eq!(imported.skipped, ["NTP_SERVER"]);
    let expected = r#"
        name = "tor1"
        tag = [
        { tag = 3, priority = 3 },
        { tag = 4, priority = 4 },
        { tag = 46, priority = 5 },
        ]
        [host]
        taps = true
        [buffer]
        size = 25600000
        lossy = 5000000
        lossy_queue = 400000
        [[lossless]]
        priority = 3
        size = 4096
        dynamic_th = -2
        xon_offset = 3072
        headroom = 300000
        [scheduler]
        strict = [5]
        weights.3 = 15
        [[ecn]]
        priority = 3
        kmin = 100000
        kmax = 400000
        pmax = 0.05
        [watchdog]
        detection_time = "200ms"
        restoration_time = "300ms"
        action = "forward"
        [[port]]
        name = "Ethernet0"
        device = "net_af_packet0,iface=eth1"
        speed = "100G"
        mtu = 1500
        cable_length = "40m"
        addresses = ["10.0.0.1/31"]
        trusted = true
        [[port]]
        name = "Ethernet4"
        device = "net_af_packet1,iface=eth2"
        speed = "2500M"
        mtu = 1500
        cable_length = "5m"
        addresses = ["10.0.1.1/24"]
        watchdog = false
        trusted = true
        [[route]]
        to = "10.8.0.0/16"
        blackhole = true
        [[route]]
        to = "10.9.0.0/16"
        via = ["10.0.0.0", "10.0.1.2"]
        [[neighbor]]
        address = "10.0.1.2"
        mac = "02:00:00:00:01:02"
        port = "Ethernet4"
    "#;
    let expected: Vec<&str> = expected.lines().map(str::trim).filter(|l| !l.is_empty()).collect();
    assert_eq!(plain(&imported.text), expected);
    let key = "headroom = 300000  # BUFFER_PROFILE|lossless";
    assert!(imported.text.contains(key), "each line names its key:\n{}", imported.text);
    switch(&imported.text);
}

#[test]
fn everything_that_is_wrong_is_said_at_once_at_its_place() {
    let text = EXACT
        .replace("\"100000\", \"mtu\"", "\"fast\", \"mtu\"")
        .replace("\"pfc_to_queue_map\": \"AZURE\"", "\"pfc_to_queue_map\": \"MISSING\"")
        .replace("\"action\": \"forward\"", "\"action\": \"explode\"")
        .replace("\"family\"", "\"asic\"")
        .replace("10.0.1.1/24", "10.0.1.1")
        .replace("\"NTP_SERVER\"", "\"VXLAN_TUNNEL\"");
    let lines = import(&text, false).unwrap_err();
    let expected = [
        "db.json: PORT|Ethernet0|speed: `fast` is no whole number from 1 to 1600000",
        "db.json: INTERFACE|Ethernet4|10.0.1.1: has no address with the length of its network, as 10.0.0.1/31",
        "db.json: VXLAN_TUNNEL|10.0.0.9: a tunnel is IP in IP here; with --approximate, it is left out",
        "there is no MAP_PFC_PRIORITY_TO_QUEUE|MISSING; add it",
    ];
    for expected in expected {
        assert!(lines.iter().any(|line| line.contains(expected)), "{expected}\n{lines:#?}");
    }
}

#[test]
fn a_part_of_several_asics_is_refused() {
    for (field, value) in [("asic_name", "asic0"), ("switch_type", "voq"), ("num_asics", "2")] {
        let more = format!("\"hostname\": \"tor1\", \"{field}\": \"{value}\"");
        let lines = import(&EXACT.replace("\"hostname\": \"tor1\"", &more), true).unwrap_err();
        assert_eq!(lines.len(), 1, "{lines:?}");
        let place = format!("db.json: DEVICE_METADATA|localhost|{field}: ");
        assert!(lines[0].starts_with(&place), "{lines:?}");
    }
    let single =
        EXACT.replace("\"hostname\": \"tor1\"", "\"hostname\": \"tor1\", \"num_asics\": \"1\"");
    assert!(import(&single, false).is_ok());
}

#[test]
fn what_comes_near_is_approximated_on_demand_and_said() {
    let cases = [
        (
            "\"wred_green_enable\": \"false\"",
            "\"wred_green_enable\": \"true\"",
            "lossless frames that cannot be marked are not dropped early",
        ),
        ("\"size\": \"4096\"", "\"size\": \"1248\"", "one of the port's longest frames"),
        (
            "\"xon_offset\": \"3072\"",
            "\"xon_offset\": \"2288\"",
            "two of the port's longest frames",
        ),
        ("\"xon\": \"0\"", "\"xon\": \"4000\"", ""),
        (
            "\"size\": \"20000000\"",
            "\"size\": \"20000000\", \"xoff\": \"1000\"",
            "a group of a port needs",
        ),
        (
            "\"size\": \"0\", \"static_th\": \"400000\"",
            "\"size\": \"1500\", \"dynamic_th\": \"3\"",
            "nothing is set aside for a lossy queue",
        ),
        ("\"pfcwd_sw_enable\": \"3\"", "\"pfcwd_sw_enable\": \"\"", ""),
        ("\"weight\": \"15\"", "\"weight\": \"15\", \"cir\": \"1000\"", "no guaranteed rate"),
        (
            "\"pfc_enable\": \"3\"",
            "\"pfc_enable\": \"3,6\"",
            "no marking leads to priority group 6",
        ),
    ];
    for (from, to, why) in cases {
        assert!(EXACT.contains(from), "{from}");
        let text = EXACT.replacen(from, to, 1);
        if why.is_empty() {
            import(&text, false).unwrap();
            continue;
        }
        let refused = import(&text, false).unwrap_err();
        assert!(refused.iter().all(|line| line.contains("; with --approximate, ")), "{refused:?}");
        assert!(refused.iter().any(|line| line.contains(why)), "{why}: {refused:?}");
        let imported = import(&text, true).unwrap();
        assert_eq!(imported.approximations.len(), refused.len());
        assert!(imported.text.contains("# Approximated:"));
        assert!(imported.text.lines().any(|line| line.starts_with("# ") && line.contains(why)));
        switch(&imported.text);
    }
}

#[test]
fn a_moving_limit_of_lossy_queues_is_imported_exactly() {
    let profile = "\"size\": \"0\", \"static_th\": \"400000\"";
    let text = EXACT.replace(profile, "\"size\": \"0\", \"dynamic_th\": \"3\"");
    let imported = import(&text, false).unwrap().text;
    assert!(plain(&imported).contains(&"lossy_queue_dynamic_th = 3"), "{imported}");
    let buffer = switch(&imported).settings.buffer;
    assert_eq!((buffer.lossy_queue_alpha_log2, buffer.lossy_queue_bytes), (Some(3), 5_000_000));
}

/// A size of the pool of headroom goes before a ratio, and both are exact.
#[test]
fn shared_headroom_is_a_pool() {
    let ratio = r#""DEFAULT_LOSSLESS_BUFFER_PARAMETER": {
        "AZURE": { "over_subscribe_ratio": "2" } }, "PORT":"#;
    let with_ratio = EXACT.replacen("\"PORT\":", ratio, 1);
    let own = switch(&import(EXACT, false).unwrap().text).settings;
    let half = switch(&import(&with_ratio, false).unwrap().text).settings;
    assert_eq!(
        (own.buffer.headroom_pool_bytes, half.headroom_bytes()),
        (None, own.headroom_bytes() / 2)
    );

    let largest = own.ports.iter().flat_map(|port| port.lossless.iter().flatten());
    let largest = largest.map(|viq| u64::from(viq.headroom_bytes)).max().unwrap();
    let pool = format!("\"size\": \"20000000\", \"xoff\": \"{}\"", largest + 8);
    let with_both = with_ratio.replacen("\"size\": \"20000000\"", &pool, 1);
    let text = import(&with_both, false).unwrap().text;
    let from = "# BUFFER_POOL|ingress_lossless_pool|xoff";
    assert!(
        text.lines().any(|line| line.starts_with("headroom_pool = ") && line.contains(from)),
        "{text}"
    );
    let both = switch(&text).settings;
    assert_eq!(both.buffer.headroom_pool_bytes, Some(largest + 8));
    let shared = dataplane::buffer::lossless_shared_bytes;
    assert_eq!((shared(&half), shared(&both)), (shared(&own), shared(&own)), "that is beside it");
}

#[test]
fn an_access_list_is_never_left_out() {
    let list = r#"{ "ACL_TABLE": { "DATA": { "type": "L3" }, "SSH": { "type": "CTRLPLANE" } },
        "ACL_RULE": { "DATA|R1": { "PACKET_ACTION": "DROP" }, "SSH|R1": {} }, "PORT""#;
    let lines = import(
        &EXACT.replacen("{\n  \"DEVICE_METADATA\"", "{ \"DEVICE_METADATA\"", 1).replacen(
            "\"PORT\"",
            &list[1..],
            1,
        ),
        true,
    );
    let lines = lines.unwrap_err();
    assert_eq!(lines.len(), 1);
    assert!(lines[0].starts_with("db.json: ACL_RULE|DATA|R1: "), "{lines:?}");
}

/// `buffermgrd` makes lossless profiles from the lookup file by speed and cable.
#[test]
fn a_generated_profile_comes_from_the_lookup_file() {
    let lookup = "# speed cable size xon xoff threshold xon_offset\n\
                  100000 40m 4096 0 200000 -1 4096\n2500 5m 4096 0 100000 -1 4096\n";
    for profile in [
        "\"Ethernet8|0\": { \"profile\": \"lossless\" }",
        "\"Ethernet0|3\": { \"profile\": \"pg_lossless_100000_40m_profile\" }",
    ] {
        let start = EXACT.find("\"BUFFER_PG\": {").unwrap();
        let end = EXACT.find("\"BUFFER_QUEUE\"").unwrap();
        let text = format!("{}\"BUFFER_PG\": {{ {profile} }}, {}", &EXACT[..start], &EXACT[end..]);
        let lines = import(&text, false).unwrap_err();
        assert!(lines.iter().all(|line| line.contains("no --pg-lookup is given")), "{lines:?}");
        let imported = import_with(&text, Some(lookup), None, false).unwrap();
        let settings = switch(&imported.text).settings;
        let viq = |port: usize| settings.ports[port].lossless[3].unwrap();
        assert_eq!((viq(0).headroom_bytes, viq(1).headroom_bytes), (200_000, 100_000));
        assert_eq!((viq(0).reserved_bytes, viq(0).xon_offset_bytes), (4_096, 4_096));
        assert_eq!(settings.buffer.size_bytes, 20_000_000 + 300_000 + 5_000_000);
        let key = "headroom = 200000  # pg_profile_lookup.ini|100000 40m";
        assert!(imported.text.contains(key), "{}", imported.text);
        // Vendors that count the headroom into `size`.
        let counted = lookup.replace("4096 0 200000", "204096 0 200000");
        let counted = switch(&import_with(&text, Some(&counted), None, false).unwrap().text);
        assert_eq!(counted.settings.ports[0].lossless[3], Some(viq(0)));
    }
}

/// Under the dynamic model nothing is said, and headroom is computed there as here.
#[test]
fn the_dynamic_model_leaves_headroom_to_be_computed() {
    let default_th =
        r#""DEFAULT_LOSSLESS_BUFFER_PARAMETER": { "AZURE": { "default_dynamic_th": "1" } }"#;
    let text = EXACT
        .replace("{ \"profile\": \"lossless\" }", "{ \"profile\": \"NULL\" }")
        .replace("{ \"profile\": \"[BUFFER_PROFILE|lossless]\" }", "{ \"profile\": \"NULL\" }")
        .replace("\"NTP_SERVER\": { \"10.0.0.9\": {} }", default_th);
    let imported = import(&text, false).unwrap();
    assert!(!imported.text.contains("headroom"));
    assert!(plain(&imported.text).contains(&"dynamic_th = 1"), "{}", imported.text);
}

#[test]
fn ports_come_from_the_devices_file_too() {
    let ports = "# name lanes alias index speed\nEthernet0 1 e1 1 100000\nEthernet4 5 e2 2 2500\n";
    let text =
        EXACT.replace("\"speed\": \"100000\", ", "").replace("\"PORT\"", "\"PORTS_OF_NONE\"");
    let lines = import(&text, true).unwrap_err();
    assert!(lines.iter().any(|line| line.contains("no port is up")), "{lines:?}");
    let imported = import_with(&text, None, Some(ports), true).unwrap();
    let speeds: Vec<u64> =
        switch(&imported.text).settings.ports.iter().map(|p| p.speed.bps()).collect();
    assert_eq!(speeds, [100_000_000_000, 2_500_000_000]);
}

/// Class 5 has another queue at one of the ports.
fn with_two_queue_maps() -> String {
    let other = r#""OTHER": { "0": "0", "3": "3", "4": "4", "5": "6" }"#;
    let port = r#""Ethernet4": { "dscp_to_tc_map": "AZURE", "tc_to_pg_map": "AZURE",
                                 "tc_to_queue_map": "OTHER", "pfc_enable": "3" }"#;
    EXACT
        .replace("\"TC_TO_QUEUE_MAP\": {", &format!("\"TC_TO_QUEUE_MAP\": {{ {other},"))
        .replace("\"PORT_QOS_MAP\": {", &format!("\"PORT_QOS_MAP\": {{ {port},"))
        .replace("\"Ethernet0,Ethernet4\": { \"dscp", "\"Ethernet0\": { \"dscp")
}

/// A priority group and a queue that differ are a `[[qos_map]]`; so is a queue that differs by
/// port.
#[test]
fn what_differs_by_port_is_a_qos_map() {
    let text = with_two_queue_maps();
    let imported = import(&text, false).unwrap();
    let lines = plain(&imported.text);
    let at = lines.iter().position(|line| *line == "[[qos_map]]").expect("a map");
    assert_eq!(lines[at + 1..at + 3], ["ports = [\"Ethernet4\"]", "queue = { 46 = 6 }"]);
    assert!(!import(EXACT, false).unwrap().text.contains("[[qos_map]]"));
}
