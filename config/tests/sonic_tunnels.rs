//! SONiC's tunnels, mux cables and PFC by port, as SWITCH.toml and back.

use config::SwitchConfig;
use config::sonic::{ImportOptions, Imported, MuxState, SonicError, export, import_text};
use dataplane::fib::Route;
use dataplane::ids::Tag;
use dataplane::settings::Threshold;
use dataplane::tunnel::{TunnelMode, TunnelPriorityGroup};
use std::fs;
use std::path::{Path, PathBuf};

fn example(name: &str) -> String {
    let path = examples().join(name);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/pcbb")
}

fn import_with(file: &str, text: &str, options: &ImportOptions) -> Result<Imported, Vec<String>> {
    import_text(Path::new(file), text, None, None, options).map_err(|error| match error {
        SonicError::File(error) => vec![error.to_string()],
        SonicError::Refused(lines) => lines,
    })
}

fn import(text: &str, approximate: bool) -> Result<Imported, Vec<String>> {
    import_with("db.json", text, &ImportOptions { approximate, ..ImportOptions::default() })
}

fn switch(text: &str) -> SwitchConfig {
    SwitchConfig::parse(Path::new("SWITCH.toml"), text).unwrap_or_else(|error| panic!("{error}"))
}

/// `text`, in which each of `changes` is made, once.
fn changed(text: &str, changes: &[(&str, &str)]) -> String {
    changes.iter().fold(text.to_owned(), |text, (from, to)| {
        assert!(text.contains(from), "{from}");
        text.replacen(from, to, 1)
    })
}

/// A database without the remapping, as SONiC's templates write it then.
fn without_remapping(text: &str) -> String {
    let mut db: serde_json::Value = serde_json::from_str(text).unwrap();
    db["SYSTEM_DEFAULTS"]["tunnel_qos_remap"]["status"] = "disabled".into();
    if let Some(tunnel) = db.pointer_mut("/TUNNEL/MuxTunnel0") {
        let fields = tunnel.as_object_mut().unwrap();
        fields.retain(|field, _| !field.ends_with("_map"));
        fields["dscp_mode"] = "uniform".into();
    }
    db.to_string()
}

/// The files beside the databases are what an import gives, to the letter.
#[test]
fn the_examples_are_imports_of_their_databases() {
    for name in ["tor-a", "tor-b", "t1-1", "t1-2"] {
        let database = example(&format!("{name}.json"));
        let file = format!("{name}.json");
        let exact = ImportOptions::default();
        let imported = import_with(&file, &database, &exact).unwrap();
        assert_eq!(imported.approximations, [""; 0]);
        assert_eq!(imported.text, example(&format!("{name}.toml")), "{name}");
        let plain = import_with(&file, &without_remapping(&database), &exact).unwrap();
        assert_eq!(plain.text, example(&format!("plain/{name}.toml")), "plain {name}");
    }
}

/// What the example means: which tags are remapped, what is lossless where, and what bounces.
#[test]
fn a_tor_bounces_what_is_for_servers_on_standby_in_another_class() {
    let tor = switch(&example("tor-a.toml"));
    assert_eq!(tor.loopback, ["10.1.0.32".parse::<std::net::IpAddr>().unwrap()]);
    let [config] = tor.tunnels.as_slice() else { panic!("{:?}", tor.tunnels) };
    let tunnel = &config.tunnel;
    assert_eq!(
        (config.name.as_str(), tunnel.local.to_string()),
        ("MuxTunnel0", "10.1.0.32".into())
    );
    assert_eq!(tunnel.remote.unwrap().to_string(), "10.1.0.33");
    assert!(!tunnel.any_remote);
    assert_eq!((tunnel.dscp, tunnel.ttl), (TunnelMode::Pipe, TunnelMode::Pipe));
    assert_eq!(tunnel.priority_group, TunnelPriorityGroup::Inner);
    // As TC_TO_DSCP_MAP has it; a DSCP without a class of its own is in class 0.
    let outer = |tag: usize| match tag {
        3 => 2,
        4 => 6,
        46 | 48 => tag,
        _ => 0,
    };
    let found: Vec<usize> = tunnel.outer_tag.iter().map(|tag| tag.index()).collect();
    assert_eq!(found, (0..64).map(outer).collect::<Vec<_>>());
    let lossless: Vec<u8> = tor.settings.ports.iter().map(|port| port.lossless_bits()).collect();
    let (uplink, server) = (0b101_1100, 0b001_1000);
    assert_eq!(lossless, [uplink, uplink, server, server, server, server]);
    let tunneled: Vec<String> = tor
        .routes
        .iter()
        .filter(|(_, route)| matches!(route, Route::Tunnel { .. }))
        .map(|(prefix, _)| prefix.to_string())
        .collect();
    assert_eq!(tunneled, ["192.168.0.3/32", "192.168.0.7/32"]);
    let standby: Vec<bool> = tor.ports.iter().map(|port| port.checks_source).collect();
    assert_eq!(standby, [false, false, false, true, false, true]);
    let plain = switch(&example("plain/tor-a.toml"));
    let own: Vec<Tag> = Tag::all().collect();
    assert_eq!(plain.tunnels[0].tunnel.outer_tag.to_vec(), own);
    assert_eq!(plain.tunnels[0].tunnel.dscp, TunnelMode::Uniform);
    assert_eq!(plain.tunnels[0].tunnel.priority_group, TunnelPriorityGroup::Outer);
    let bits: Vec<u8> = plain.settings.ports.iter().map(|port| port.lossless_bits()).collect();
    assert_eq!(bits, lossless);
}

/// The state of a cable is the database's, or the caller's.
#[test]
fn a_mux_cable_has_the_state_that_is_said() {
    let text = example("tor-a.json").replace("\"standby\"", "\"auto\"");
    let lines = import(&text, false).unwrap_err();
    let expected = "db.json: MUX_CABLE|Ethernet12|state (and 1 more keys): `auto`: only the running switch \
                    knows whether it is active; give --mux active or --mux standby; with --approximate, it is \
                    active";
    assert_eq!(lines, [expected]);
    let options = |mux| ImportOptions { mux: Some(mux), ..ImportOptions::default() };
    let standby = import_with("tor-a.json", &text, &options(MuxState::Standby)).unwrap();
    assert_eq!(standby.text, example("tor-a.toml"));
    let active = import_with("tor-a.json", &text, &options(MuxState::Active)).unwrap();
    assert!(!active.text.contains("tunnel = ") && !active.text.contains("source_check"));
    assert_eq!(switch(&active.text).routes.len(), 4, "those of STATIC_ROUTE, and no other");
}

/// An active-active server may send by both cables; a server has an address of each family.
#[test]
fn an_active_active_server_is_not_kept_from_sending() {
    let both =
        "\"192.168.0.3/32\", \"server_ipv6\": \"fd00::3/128\", \"cable_type\": \"active-active\"";
    let text = changed(&example("tor-a.json"), &[("\"192.168.0.3/32\"", both)]);
    let tor = switch(&import(&text, false).unwrap().text);
    let standby: Vec<bool> = tor.ports.iter().map(|port| port.checks_source).collect();
    assert_eq!(standby, [false, false, false, false, false, true]);
    let tunneled = tor.routes.iter().filter(|(_, route)| matches!(route, Route::Tunnel { .. }));
    let to: Vec<String> = tunneled.map(|(prefix, _)| prefix.to_string()).collect();
    assert_eq!(to, ["192.168.0.3/32", "fd00::3/128", "192.168.0.7/32"]);
}

/// Each change, what is then said, and whether it comes near.
#[test]
fn what_a_tunnel_cannot_be_here_is_said_at_its_place() {
    let cases: [(&str, &str, &str, bool); 18] = [
        ("\"IPINIP\"", "\"VXLAN\"", "TUNNEL|MuxTunnel0|tunnel_type: is no IPINIP", false),
        (
            "\"src_ip\": \"10.1.0.33\"",
            "\"src_ip\": \"10.1.0.99\"",
            "|src_ip: is not PEER_SWITCH's",
            false,
        ),
        (
            "\"dst_ip\": \"10.1.0.32\"",
            "\"dst_ip\": \"fc00::1\"",
            "|dst_ip: a tunnel is between IPv4",
            false,
        ),
        (
            "\"dst_ip\": \"10.1.0.32\"",
            "\"dst_ip\": \"lo0\"",
            "|dst_ip: `lo0` is no IPv4 address",
            false,
        ),
        ("\"dst_ip\": \"10.1.0.32\", ", "", "TUNNEL|MuxTunnel0: has no dst_ip", false),
        (
            "\"dst_ip\": \"10.1.0.32\"",
            "\"dst_ip\": \"10.1.0.34\"",
            "|dst_ip: no LOOPBACK_INTERFACE",
            true,
        ),
        (
            "\"dscp_mode\": \"pipe\"",
            "\"dscp_mode\": \"none\"",
            "|dscp_mode: `none` is neither",
            false,
        ),
        (
            "\"ttl_mode\": \"pipe\"",
            "\"ttl_mode\": \"uniform\"",
            "|ttl_mode: outer headers begin",
            true,
        ),
        ("\"copy_from_outer\"", "\"none\"", "|ecn_mode: `none` is no mode", false),
        (
            "\"tunnel_type\"",
            "\"color\": \"1\", \"tunnel_type\"",
            "|color: is not known of a tunnel",
            true,
        ),
        ("\"encap_tc_to_dscp_map\": \"AZURE_TUNNEL\", ", "", "encap_tc_to_dscp_map", false),
        (
            "\"encap_tc_to_dscp_map\": \"AZURE_TUNNEL\", ",
            "",
            "TC_TO_QUEUE_MAP|AZURE_TUNNEL|3: class 3 leaves in the tunnel by queue 2, and other frames with \
             its outer DSCP, 3, by queue 3",
            false,
        ),
        // The queue of a bounced frame, and the group that the peer pauses.
        (
            "{\"3\": \"2\", \"4\": \"6\", \"5\": \"5\"",
            "{\"3\": \"3\", \"4\": \"6\", \"5\": \"5\"",
            "TC_TO_QUEUE_MAP|AZURE_TUNNEL|3: class 3 leaves in the tunnel by queue 3",
            false,
        ),
        (
            "{\"3\": \"2\", \"4\": \"6\"}",
            "{\"3\": \"3\", \"4\": \"6\"}",
            "|decap_tc_to_pg_map: DSCP 3 comes out of the tunnel in priority group 3",
            false,
        ),
        (
            "\"AZURE_TUNNEL\": {\"3\": \"3\", \"4\": \"4\", \"46\": \"5\"",
            "\"AZURE_TUNNEL\": {\"3\": \"3\", \"4\": \"4\", \"46\": \"7\"",
            "DSCP_TO_TC_MAP|AZURE_TUNNEL|46: DSCP 46 comes out of the tunnel in class 7",
            true,
        ),
        (
            "\"address_ipv4\": \"10.1.0.33\"",
            "\"mac\": \"1\"",
            "PEER_SWITCH|tor-b: has no address_ipv4",
            false,
        ),
        (
            "\"state\": \"standby\"",
            "\"state\": \"off\"",
            "MUX_CABLE|Ethernet12|state: `off` is none of",
            false,
        ),
        (
            "\"status\": \"enabled\"",
            "\"status\": \"disabled\"",
            "SYSTEM_DEFAULTS|tunnel_qos_remap|status: is not enabled, and MuxTunnel0",
            true,
        ),
    ];
    for (from, to, why, is_near) in cases {
        let text = changed(&example("tor-a.json"), &[(from, to)]);
        let lines = import(&text, false).expect_err(why);
        assert!(lines.iter().any(|line| line.contains(why)), "{why}: {lines:#?}");
        match (import(&text, true), is_near) {
            (Ok(imported), true) => {
                assert!(imported.approximations.iter().any(|line| line.contains(why)), "{why}");
                switch(&imported.text);
            }
            (Err(_), false) => {}
            (other, _) => panic!("{why}: {other:?}"),
        }
    }
}

/// Where profiles differ, each has its own `[[lossless]]`; that of most ports names none.
#[test]
fn each_profile_of_a_priority_is_a_table_of_its_own() {
    let profile = |th: &str, xoff: &str| {
        format!(
            "{{\"pool\": \"p\", \"size\": \"4096\", \"xoff\": \"{xoff}\", \"xon\": \"0\", \
             \"xon_offset\": \"4096\", \"dynamic_th\": \"{th}\"}}"
        )
    };
    let pools = format!(
        "\"BUFFER_POOL\": {{\"p\": {{\"size\": \"20000000\", \"type\": \"ingress\"}}}},\n\
         \"BUFFER_PROFILE\": {{\"near\": {}, \"far\": {}, \"same\": {}}},\n\"BUFFER_PG\": {{",
        profile("-2", "300000"),
        profile("1", "500000"),
        profile("-2", "300000"),
    );
    let of = |group: &str, name: &str| {
        (
            format!("{group}\": {{\"profile\": \"NULL\"}}"),
            format!("{group}\": {{\"profile\": \"{name}\"}}"),
        )
    };
    let mut text = changed(&example("t1-1.json"), &[("\"BUFFER_PG\": {", &pools)]);
    for (from, to) in [
        of("Ethernet0|2-4", "far"),
        of("Ethernet0|6", "near"),
        of("Ethernet4|2-4", "near"),
        of("Ethernet4|6", "same"),
        of("Ethernet8|3-4", "near"),
    ] {
        text = changed(&text, &[(&from, &to)]);
    }
    let imported = import(&text, false).unwrap();
    let lines: Vec<&str> = imported
        .text
        .lines()
        .map(|line| line.split("  # ").next().unwrap_or_default())
        .skip_while(|line| *line != "[[lossless]]")
        .take_while(|line| *line != "[[port]]")
        .filter(|line| !line.is_empty())
        .collect();
    let table = |priority: u8, ports: &str, th: &str, headroom: &str| {
        let named = if ports.is_empty() { String::new() } else { format!("ports = [{ports}]\n") };
        format!(
            "[[lossless]]\npriority = {priority}\n{named}size = 4096\ndynamic_th = {th}\n\
             xon_offset = 4096\nheadroom = {headroom}\n"
        )
    };
    let (far, near) = (("1", "500000"), ("-2", "300000"));
    let expected = [
        table(2, "\"Ethernet0\"", far.0, far.1),
        table(2, "\"Ethernet4\"", near.0, near.1),
        table(3, "", near.0, near.1),
        table(3, "\"Ethernet0\"", far.0, far.1),
        table(4, "", near.0, near.1),
        table(4, "\"Ethernet0\"", far.0, far.1),
        table(6, "\"Ethernet0\", \"Ethernet4\"", near.0, near.1),
    ]
    .concat();
    assert_eq!(lines.join("\n") + "\n", expected);
    let ports = switch(&imported.text).settings.ports;
    let threshold = |port: usize, priority: usize| {
        ports[port].lossless[priority].map(|viq| match viq.threshold {
            Threshold::Dynamic { alpha_log2, .. } => (alpha_log2, viq.headroom_bytes),
            Threshold::Static { .. } => panic!("a static threshold"),
        })
    };
    let (far, near) = (Some((1, 500_000)), Some((-2, 300_000)));
    for (port, expected) in [
        (0, [None, None, far, far, far, None, near, None]),
        (1, [None, None, near, near, near, None, near, None]),
        (2, [None, None, None, near, near, None, None, None]),
    ] {
        assert_eq!([0, 1, 2, 3, 4, 5, 6, 7].map(|priority| threshold(port, priority)), expected);
    }
}

/// A switch of the pair is exported and imported as the same.
#[test]
fn an_exported_tunnel_is_imported_as_the_same() {
    for name in ["tor-a.toml", "tor-b.toml", "plain/tor-a.toml", "t1-1.toml"] {
        let one = switch(&example(name));
        let database = export(&one).unwrap_or_else(|error| panic!("{name}: {error}")).text;
        let imported = import(&database, false)
            .unwrap_or_else(|lines| panic!("{name}: {lines:#?}\n{database}"));
        let other = switch(&imported.text);
        assert_eq!(one.loopback, other.loopback, "{name}");
        let ends = |config: &SwitchConfig| {
            config.tunnels.iter().map(|tunnel| tunnel.tunnel.clone()).collect::<Vec<_>>()
        };
        assert_eq!(ends(&one), ends(&other), "{name}");
        let routes = |config: &SwitchConfig| {
            let mut routes: Vec<String> =
                config.routes.iter().map(|route| format!("{route:?}")).collect();
            routes.sort();
            routes
        };
        assert_eq!(routes(&one), routes(&other), "{name}");
        for (port, same) in one.ports.iter().zip(&other.ports) {
            assert_eq!((&port.name, port.checks_source), (&same.name, same.checks_source));
        }
        let lossless = |config: &SwitchConfig| -> Vec<_> {
            config.settings.ports.iter().map(|port| port.lossless).collect()
        };
        assert_eq!(lossless(&one), lossless(&other), "{name}");
    }
}

/// What SONiC cannot say of a tunnel.
#[test]
fn a_tunnel_that_sonic_cannot_have_is_not_exported() {
    let tor = example("tor-a.toml");
    let outer = tor.lines().find(|line| line.starts_with("outer_tag")).unwrap();
    let route = "[[route]]\nto = \"10.9.0.0/16\"\ntunnel = \"MuxTunnel0\"\n";
    let second = "[[tunnel]]\nname = \"other\"\nlocal = \"10.1.0.32\"\nremote = \"10.1.0.40\"\n";
    let cases = [
        (
            tor.replacen(outer, "outer_tag = { 3 = 2, 4 = 6 }", 1),
            "[[tunnel]] outer_tag: SONiC has 16 classes",
        ),
        (
            format!("{tor}\n{route}"),
            "[[route]] 10.9.0.0/16: SONiC's tunnel takes what is for servers",
        ),
        (format!("{tor}\n{second}"), "[[tunnel]] other: SONiC has one tunnel"),
        (
            tor.replacen("ttl = \"pipe\"", "ttl = \"uniform\"", 1),
            "[[tunnel]] MuxTunnel0: SONiC's outer headers",
        ),
    ];
    for (text, why) in cases {
        match export(&switch(&text)) {
            Err(SonicError::Refused(lines)) => {
                assert!(lines.iter().any(|line| line.contains(why)), "{why}: {lines:#?}");
            }
            other => panic!("{why}: {other:?}"),
        }
    }
}

/// The tunnel as SONiC's minigraph parser writes it, over the maps of a rendered dual-ToR template.
#[test]
fn the_maps_of_sonics_template_are_exact() {
    let read = |name: &str| -> serde_json::Map<String, serde_json::Value> {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/sonic").join(name);
        serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
    };
    let mut db = read("buffer-arista7050cx3-dualtor.json");
    db.append(&mut read("qos-arista7050cx3-dualtor.json"));
    let pair: serde_json::Value = serde_json::from_str(&example("tor-a.json")).unwrap();
    for table in ["LOOPBACK_INTERFACE", "PEER_SWITCH", "TUNNEL", "SYSTEM_DEFAULTS"] {
        db.insert(table.to_owned(), pair[table].clone());
    }
    let named = db["PORT_QOS_MAP"].as_object().unwrap().keys().filter(|port| *port != "global");
    let up = serde_json::json!({ "speed": "50000", "admin_status": "up" });
    let ports: serde_json::Map<_, _> = named.map(|port| (port.clone(), up.clone())).collect();
    let is_server = |port: &str| db["PORT_QOS_MAP"][port]["pfc_enable"] == "3,4";
    let active = serde_json::json!({ "state": "active" });
    let cables: serde_json::Map<_, _> = ports
        .keys()
        .filter(|port| is_server(port))
        .map(|port| (port.clone(), active.clone()))
        .collect();
    assert_eq!((ports.len(), cables.len()), (32, 24));
    db.insert("PORT".to_owned(), ports.into());
    db.insert("MUX_CABLE".to_owned(), cables.into());
    let imported = import(&serde_json::Value::from(db).to_string(), true).unwrap();
    let of_tunnel: Vec<&String> = imported
        .approximations
        .iter()
        .filter(|line| line.to_lowercase().contains("tunnel"))
        .collect();
    assert!(of_tunnel.is_empty(), "{of_tunnel:#?}");
    let outer = "outer_tag = { \"1-2\" = 0, 3 = 2, 4 = 6, \"5-7\" = 0, \"9-32\" = 0, \"34-45\" = 0, 47 = 0, \
                 \"49-63\" = 0 }  # TC_TO_DSCP_MAP|AZURE_TUNNEL\npriority_group = \"inner\"";
    assert!(imported.text.contains(outer), "{}", imported.text);
    let bits = switch(&imported.text).settings.ports.iter().fold([0, 0], |[four, two], port| {
        let bits = port.lossless_bits();
        [four + u32::from(bits == 0b101_1100), two + u32::from(bits == 0b001_1000)]
    });
    assert_eq!(bits, [8, 24]);
}
