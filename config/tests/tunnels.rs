//! `loopback`, `[[tunnel]]` and routes into tunnels.

use config::SwitchConfig;
use dataplane::fib::Route;
use dataplane::ids::Tag;
use dataplane::tunnel::{Tunnel, TunnelId, TunnelMode, TunnelPriorityGroup};
use std::net::{IpAddr, Ipv4Addr};
use std::path::Path;

const LOCAL: Ipv4Addr = Ipv4Addr::new(10, 1, 0, 32);
const REMOTE: Ipv4Addr = Ipv4Addr::new(10, 1, 0, 33);

/// A switch with the tables `toml` between its name and its ports.
fn load(toml: &str) -> Result<SwitchConfig, String> {
    let text = format!(
        "name = 'A'\n{toml}\n[[lossless]]\npriority = 2\n[[lossless]]\npriority = 3\n[[port]]\nname = \
         'up'\ndevice = 'net_null0'\naddresses = ['10.0.0.1/24']\n"
    );
    SwitchConfig::parse(Path::new("A.toml"), &text).map_err(|error| error.message)
}

/// A tunnel with the keys `more`.
fn with_tunnel(more: &str) -> String {
    format!(
        "loopback = ['10.1.0.32/32', 'fd00::1/128']\n[[tunnel]]\nname = 'mux0'\nlocal = '10.1.0.32'\n{more}"
    )
}

fn tag(value: u8) -> Tag {
    Tag::new(value).unwrap()
}

#[test]
fn a_tunnel_without_more_is_uniform_and_keeps_tags() {
    let config = load(&with_tunnel("")).unwrap();
    assert_eq!(config.loopback, [IpAddr::from(LOCAL), "fd00::1".parse().unwrap()]);
    let expected = Tunnel {
        local: LOCAL,
        remote: None,
        any_remote: true,
        dscp: TunnelMode::Uniform,
        ttl: TunnelMode::Pipe,
        outer_tag: core::array::from_fn(|value| tag(u8::try_from(value).unwrap())),
        priority_group: TunnelPriorityGroup::Outer,
    };
    let found: Vec<_> = config.tunnels.iter().map(|it| (it.name.as_str(), &it.tunnel)).collect();
    assert_eq!(found, [("mux0", &expected)]);
}

#[test]
fn a_tunnel_and_its_routes_are_as_written() {
    let text = with_tunnel(
        "remote = '10.1.0.33'\nany_remote = true\ndscp = 'pipe'\nttl = 'uniform'\nouter_tag = { 3 = 2, '8-9' = 46 }\n\
         priority_group = 'inner'\n[[route]]\nto = '192.168.0.2/32'\ntunnel = 'mux0'\n",
    );
    let config = load(&text).unwrap();
    let tunnel = &config.tunnels[0].tunnel;
    assert_eq!((tunnel.remote, tunnel.any_remote), (Some(REMOTE), true));
    assert_eq!((tunnel.dscp, tunnel.ttl), (TunnelMode::Pipe, TunnelMode::Uniform));
    assert_eq!(tunnel.priority_group, TunnelPriorityGroup::Inner);
    let changed = (0..64).filter(|&value| tunnel.outer_tag[usize::from(value)] != tag(value));
    assert_eq!(changed.collect::<Vec<u8>>(), [3, 8, 9]);
    assert_eq!([3, 8, 9].map(|at: usize| tunnel.outer_tag[at].value()), [2, 46, 46]);
    let route = Route::Tunnel { id: TunnelId::from_index(0).unwrap(), remote: REMOTE };
    assert_eq!(config.routes, [("192.168.0.2/32".parse().unwrap(), route)]);
    assert_eq!(config.written_routes()["192.168.0.2/32"], ["tunnel mux0"]);
    let routes = config.routing_table().unwrap();
    assert!(routes.is_ours(LOCAL.into()) && !routes.is_ours(REMOTE.into()));
    // A remote end that is behind a gateway is asked for there.
    let gateway: IpAddr = "10.0.0.2".parse().unwrap();
    let far = format!("{text}[[route]]\nto = '10.1.0.33/32'\nvia = ['10.0.0.2']\n");
    let routes = load(&far).unwrap().routing_table().unwrap();
    let stations = routes.next_hops("192.168.0.2".parse().unwrap());
    assert_eq!(stations.iter().map(|it| it.address).collect::<Vec<_>>(), [gateway]);
}

#[test]
fn what_cannot_be_is_refused() {
    let remote = "remote = '10.1.0.33'\n";
    let second = "[[tunnel]]\nname = 'b'\nlocal = '10.1.0.32'\n";
    for (more, message) in [
        (
            remote.replace("10.1.0.33", "fd00::2"),
            "fd00::2 cannot be an end of a tunnel; use an IPv4 address of a host",
        ),
        (remote.replace("33", "32"), "10.1.0.32 is our own end; name the other one"),
        (
            "any_remote = false\n".to_owned(),
            "nothing enters or leaves a tunnel without a `remote`; add it",
        ),
        (
            format!("{remote}outer_tag = {{ 64 = 2 }}\n"),
            "`64` is no tag; a key of `outer_tag` is a tag, 0 to 63, or a range, \"8-45\"",
        ),
        (
            format!("{remote}outer_tag = {{ 0 = 2 }}\n"),
            "tag 2 is lossless and tag 0 is lossy; give it a lossy outer tag",
        ),
        (
            format!("{remote}outer_tag = {{ 3 = 2, '3-3' = 2 }}\n"),
            "tag 3 stands twice in `outer_tag`; keep one",
        ),
        (format!("{remote}outer_tag = {{ 3 = 64 }}\n"), "64 is not a tag; tags are 0 to 63"),
        (second.replace("'b'", "'mux0'"), "there is a tunnel `mux0` already; use another name"),
        (second.to_owned(), "tunnel `mux0` has the same ends; keep one"),
        (
            second.replace("'b'", "'b c'"),
            "`b c` is no name for a tunnel; use letters, digits, `-`, `_` and `.`",
        ),
        (
            second.replace("32", "31"),
            "10.1.0.31 is no address of `loopback`; add \"10.1.0.31/32\" there",
        ),
        (
            "[[route]]\nto = '10.2.0.0/16'\ntunnel = 'mux'\n".to_owned(),
            "no [[tunnel]] has the name `mux`; did you mean `mux0`?",
        ),
        (
            "[[route]]\nto = '10.2.0.0/16'\ntunnel = 'mux0'\n".to_owned(),
            "tunnel `mux0` has no `remote`, so nothing can enter it; add one",
        ),
        (
            format!("{remote}[[route]]\nto = '10.2.0.0/16'\ntunnel = 'mux0'\nvia = ['10.0.0.2']\n"),
            "a `tunnel` has no `via`",
        ),
        (
            format!("{remote}[[route]]\nto = '10.2.0.0/16'\ntunnel = 'mux0'\nblackhole = true\n"),
            "a `blackhole` has no `tunnel`; remove one of them",
        ),
    ] {
        assert_eq!(load(&with_tunnel(&more)).unwrap_err(), message, "{more}");
    }
    for (loopback, message) in [
        ("10.1.0.0/24", "10.1.0.0/24 is on no port, so no network is there; write 10.1.0.0/32"),
        ("127.0.0.1/32", "127.0.0.1 cannot be an address of a switch; use another"),
        ("10.0.0.1/32", "port `up` has 10.0.0.1 already; keep one"),
        ("fd00::1/128', 'fd00::1/128", "fd00::1 stands there twice; keep one"),
    ] {
        assert_eq!(load(&format!("loopback = ['{loopback}']\n")).unwrap_err(), message);
    }
}

#[test]
fn with_classes_by_hops_there_are_no_tunnels() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/ttl.toml");
    let example = std::fs::read_to_string(file).unwrap();
    let tunnel = "[[tunnel]]\nname = 'mux0'\nlocal = '10.1.0.32'\n";
    let text = format!("loopback = ['10.1.0.32/32']\n{example}\n{tunnel}");
    let error = SwitchConfig::parse(Path::new("A.toml"), &text).unwrap_err();
    let message =
        "lossless frames go by their hops ([ttl]), which a tunnel hides; remove [[tunnel]]";
    assert_eq!(error.message, message);
}

#[test]
fn with_rules_by_levels_a_tunnel_is_uniform_and_changes_no_tag() {
    let fabric = "[fabric]\nbounces = 0\n";
    for (more, message) in [
        (
            "dscp = 'pipe'\n",
            "with `rules` or [fabric] the tag must come out of the tunnel as it was inside; use \"uniform\"",
        ),
        (
            "outer_tag = { 1 = 1 }\n",
            "with `rules` or [fabric] the rules alone change tags; remove `outer_tag`",
        ),
    ] {
        let text = format!(
            "name = 'A'\nloopback = ['10.1.0.32/32']\n[[tunnel]]\nname = 'mux0'\nlocal = '10.1.0.32'\n{more}{fabric}\
             [[lossless]]\npriority = 1\n[[port]]\nname = 'up'\ndevice = 'net_null0'\naddresses = ['10.0.0.1/24']\n"
        );
        let error = SwitchConfig::parse(Path::new("A.toml"), &text).unwrap_err();
        assert_eq!(error.message, message);
    }
}

#[test]
fn a_route_file_has_tunnels_too() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("more.routes");
    std::fs::write(&file, "10.9.0.0/16 tunnel mux0 # through it\n10.8.0.0/16 via 10.0.0.2\n")
        .unwrap();
    let config = load(&with_tunnel("remote = '10.1.0.33'\n")).unwrap();
    let config = config.with_routes(&file).unwrap();
    assert_eq!(config.written_routes()["10.9.0.0/16"], ["tunnel mux0"]);
    std::fs::write(&file, "10.9.0.0/16 tunnel\n").unwrap();
    let error = config.with_routes(&file).unwrap_err();
    assert_eq!(
        error.message,
        "a line is `PREFIX via ADDRESS [ADDRESS ...]`, `PREFIX blackhole` or `PREFIX tunnel NAME`"
    );
}
