//! A network of switch files: how ports are found, and what is refused.

use crate::NetworkConfig;
use fabric::network::End;
use std::fs;
use std::net::IpAddr;

const SWITCH: &str = "name = \"A\"\n\
    [[port]]\nname = \"up\"\ndevice = \"net_null0\"\nspeed = \"10G\"\naddresses = [\"10.0.0.0/31\"]\n\
    [[port]]\nname = \"h\"\ndevice = \"net_null1\"\nspeed = \"1G\"\naddresses = [\"10.1.0.1/24\"]\n";

const NETWORK: &str = "[[switch]]\nname = \"A\"\nconfig = \"a.toml\"\n\
    [[switch]]\nname = \"B\"\nconfig = \"b.toml\"\n\
    [[host]]\nname = \"x\"\naddresses = [\"10.1.0.2\", \"fd00::2\"]\n\
    [[host]]\nname = \"y\"\naddresses = [\"10.2.0.2\"]\ndscp = [0, 3]\n\
    [[link]]\nends = [\"A:up\", \"B:up\"]\n\
    [[link]]\nends = [\"A:h\", \"x\"]\n\
    [[link]]\nends = [\"B:2\", \"y\"]\nspeed = \"2G\"\n";

/// The network after `old` is replaced by `new` in `file`.
fn load(file: &str, old: &str, new: &str) -> Result<NetworkConfig, String> {
    let place = tempfile::tempdir().unwrap();
    let other = SWITCH.replace("10.0.0.0/31", "10.0.0.1/31").replace("10.1.0.1", "10.2.0.1");
    let files = [("n.toml", NETWORK), ("a.toml", SWITCH), ("b.toml", &other)];
    for (name, text) in files {
        assert!(name != file || text.contains(old), "{name} has no {old:?}");
        let text = if name == file { text.replacen(old, new, 1) } else { text.to_owned() };
        fs::write(place.path().join(name), text).unwrap();
    }
    let path = place.path().join("n.toml");
    let text = fs::read_to_string(&path).unwrap();
    let found = NetworkConfig::parse(&path, &text).map_err(|error| error.to_string());
    let folder = format!("{}/", place.path().display());
    found.map_err(|error| error.replace(&folder, ""))
}

#[test]
fn links_name_ports_as_the_files_do_and_have_the_speed_of_the_slower_one() {
    let config = load("n.toml", "", "").unwrap();
    let network = &config.network;
    let files = config.files.as_ref().expect("they have files");
    assert_eq!((network.switches(), network.hosts(), network.slots()), (2, 2, 4));
    assert_eq!(network.linked_end("A:h"), Some(End::Slot(1)));
    assert_eq!(network.linked_end("A:2"), Some(End::Slot(1)));
    assert_eq!((network.show(0), network.show(3)), ("A:up".to_owned(), "B:h".to_owned()));
    let speeds = network.links().iter().map(|link| link.speed.unwrap().bps() / 1_000_000_000);
    assert_eq!(speeds.collect::<Vec<_>>(), [10, 1, 2]);
    let addresses: Vec<IpAddr> = vec!["10.1.0.2".parse().unwrap(), "fd00::2".parse().unwrap()];
    assert_eq!((&files.hosts[0].addresses, files.hosts[0].dscps), (&addresses, u64::MAX));
    assert_eq!(files.hosts[1].dscps, 0b1001);
    assert_eq!(files.port(network, 3).name, "h");
}

#[test]
fn what_does_not_fit_is_refused_where_it_stands() {
    let refused = |file: &str, old: &str, new: &str| load(file, old, new).unwrap_err();
    let of_network = |old: &str, new: &str| refused("n.toml", old, new);
    assert_eq!(
        of_network("config = \"b.toml\"", "ports = 2"),
        "n.toml:5:8: other switches of this network have a `config`, and this one has none; add its \
         SWITCH.toml"
    );
    assert_eq!(
        of_network("config = \"b.toml\"", "config = \"b.toml\"\nports = 2"),
        "n.toml:7:9: `config` says which ports there are; remove `ports`"
    );
    assert_eq!(
        of_network("addresses = [\"10.1.0.2\", \"fd00::2\"]\n", ""),
        "n.toml:8:8: this host has no address, so no switch knows it; add `addresses`"
    );
    assert_eq!(
        of_network("A:up", "A:upp"),
        "n.toml:15:9: `A` has no port `upp`; did you mean `up`?"
    );
    assert_eq!(
        of_network("A:up", "A:Ethernet0"),
        "n.toml:15:9: `A` has no port `Ethernet0`; its ports are 1 to 2"
    );
    let bridges = refused("a.toml", "addresses = [\"10.1.0.1/24\"]", "vlan = 7");
    assert_eq!(
        bridges,
        "n.toml:3:10: a.toml: port `h` bridges, and where its frames go no file says; give it \
         `addresses`"
    );
    let wrong = refused("a.toml", "speed = \"1G\"", "speed = \"1Q\"");
    assert!(wrong.starts_with("a.toml:10:9: "), "{wrong}");
}

#[test]
fn only_a_network_of_files_has_addresses() {
    let text = "[[switch]]\nname = \"A\"\nports = 1\n[[host]]\nname = \"x\"\naddresses = \
                [\"10.1.0.2\"]\n[[link]]\nends = [\"A:1\", \"x\"]\n";
    let parse =
        |text: &str| NetworkConfig::parse("n.toml".as_ref(), text).map_err(|e| e.to_string());
    assert_eq!(
        parse(text).unwrap_err(),
        "n.toml:6:14: only hosts at switches with a `config` have addresses and DSCPs of their own; \
         remove this"
    );
    assert!(parse(&text.replace("addresses = [\"10.1.0.2\"]\n", "")).unwrap().files.is_none());
    assert_eq!(
        parse("[[switch]]\nname = \"A\"\n").unwrap_err(),
        "n.toml:2:8: this switch has no ports; add `ports`, how many it has, or `config`, its \
         SWITCH.toml"
    );
}
