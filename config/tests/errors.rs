//! Every error says where: the place of each is checked by the text that stands there.

use config::{ConfigError, SwitchConfig};
use std::path::Path;

/// A valid switch that uses most tables.
const BASE: &str = r#"
name = "A"

[buffer]
size = "12MB"
lossy = "3MB"

[headroom]
poll = "20us"

[[lossless]]
priority = 3
static_th = "100KB"
xon = "50KB"

[[lossless]]
priority = 4

[[tag]]
tag = 1
dscp = 26
pcp = 3
priority = 3

[[tag]]
tag = 2
priority = 4

[[port]]
name = "p1"
device = "net_tap0,iface=kt0"
addresses = ["10.0.1.1/24", "fd00:1::1/64"]

[[port]]
name = "p2"
device = "net_tap1,iface=kt1"
addresses = ["10.0.2.1/24"]
mtu = 9000

[[port]]
name = "p3"
device = "net_tap2"
vlan = 10

[[route]]
to = "10.9.0.0/16"
via = ["10.0.1.2", "10.0.2.2"]

[[neighbor]]
address = "10.0.1.2"
mac = "02:00:00:00:00:09"

[scheduler]
weights = { 0 = 1, 3 = 4 }
strict = [7]

[[ecn]]
priority = 3
kmin = "20KB"
kmax = "80KB"
pmax = 0.1

[workers]
count = 2
"#;

fn error(text: &str) -> ConfigError {
    SwitchConfig::parse(Path::new("A.toml"), text).expect_err(text)
}

/// `BASE` with `old` replaced by `new` fails where `place` stands, with a message that has `words`.
#[track_caller]
fn check(old: &str, new: &str, place: &str, words: &str) {
    assert!(BASE.contains(old), "the base has no `{old}`");
    let text = BASE.replacen(old, new, 1);
    let error = error(&text);
    let line = text.lines().nth(error.line - 1).unwrap_or_default();
    let found: String = line.chars().skip(error.column - 1).collect();
    assert!(found.starts_with(place), "at `{found}`, not at `{place}`: {error}");
    assert!(error.message.contains(words), "{error}");
    assert!(!error.to_string().contains('\n'), "{error}");
}

#[test]
fn the_base_is_valid() {
    let config = SwitchConfig::parse(Path::new("A.toml"), BASE).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(config.warnings, []);
}

#[test]
fn syntax_and_unknown_words() {
    check("size = \"12MB\"", "size = 12MB", "12MB", "");
    check("[buffer]", "[bufer]", "bufer", "unknown field `bufer`; did you mean `buffer`?");
    check("static_th = ", "static_thr = ", "static_thr", "did you mean `static_th`?");
    check("xon = ", "colour = ", "colour", "known here: priority, ports, size, static_th");
    check("count = 2", "idle = \"bussy\"", "\"bussy\"", "known here: poll, sleep");
    check("name = \"A\"", "", "", "`name` is missing here");
    check("name = \"A\"", "name = \"A/B\"", "\"A/B\"", "is no name for a switch");
    check(
        "priority = 3",
        "priority = 3\npriority = 4",
        "priority = 4",
        "`priority` stands here twice",
    );
    check("size = \"12MB\"", "size = \"12XB\"", "\"12XB\"", "write bytes as 9216");
    check("size = \"12MB\"", "size = 1.5", "1.5", "expected a size");
}

#[test]
fn priorities() {
    check("priority = 4\n", "priority = 8\n", "8", "there are eight, 0 to 7");
    check("priority = 4\n", "priority = 3\n", "3", "has a [[lossless]] already");
    let all: String = (0..8).map(|p| format!("[[lossless]]\npriority = {p}\n")).collect();
    let text = BASE.split("[[lossless]]").next().unwrap().to_owned() + &all;
    assert!(error(&text).message.contains("leave one for lossy frames"));
}

#[test]
fn thresholds() {
    let xoff = "static_th = \"100KB\"\nxon = \"50KB\"";
    check(xoff, "static_th = 1000", "1000", "is 522 B below the longest frame of port `p1`");
    check(xoff, "static_th = 3000", "3000", "44 B below the two longest frames");
    check(xoff, "static_th = \"100KB\"\nsize = \"150KB\"", "\"100KB\"", "50 KB below `size`");
    check(xoff, "static_th = \"9MB\"", "\"9MB\"", "is never reached: it lies");
    check("xon = \"50KB\"", "xon = \"98KB\"", "\"98KB\"", "XON is 2 KB below XOFF");
    let above =
        "`xon` 120 KB is not below `static_th`, 100 KB; for port `p1` it is 96,956 B at the most";
    check("xon = \"50KB\"", "xon = \"120KB\"", "\"120KB\"", above);
    check(
        "xon = \"50KB\"",
        "xon = \"100KB\"",
        "\"100KB\"",
        "`xon` 100 KB is not below `static_th`",
    );
    check("xon = \"50KB\"", "xon_offset = 3043", "3043", "the least, 3,044 B");
    check("xon = \"50KB\"", "xon_offset = \"101KB\"", "\"101KB\"", "more than `static_th`");
    check("xon = \"50KB\"", "xon = 1\nxon_offset = 1", "1", "two of the longest frames");
    check("xon = \"50KB\"", "dynamic_th = 1", "1", "not both");
    check(xoff, "dynamic_th = 9", "9", "it is -8 to 8");
    check(xoff, "size = 1521", "1521", "each port needs one at least");
    check(xoff, "headroom = 1000", "1000", "less than the longest frame");
}

#[test]
fn the_buffer() {
    // 2 priorities on 3 ports: what they need is said to the byte, and that much is enough.
    let text = BASE.replace("size = \"12MB\"", "size = \"3MB\"");
    let error = error(&text);
    assert!(error.message.starts_with("the buffer of 3 MB promises "), "{error}");
    assert!(error.message.contains("6 lossless queues reserve "), "{error}");
    let needed =
        error.message.split("give `size` ").nth(1).unwrap().split(" at least").next().unwrap();
    let bytes: u64 = needed.replace([',', 'B', ' '], "").parse().unwrap();
    let with = |bytes: u64| text.replace("size = \"3MB\"", &format!("size = {bytes}"));
    let exact = with(bytes).replace("static_th = \"100KB\"\nxon = \"50KB\"", "dynamic_th = 0");
    let config = SwitchConfig::parse(Path::new("A.toml"), &exact.replace("\"20KB\"", "2000"));
    assert_eq!(config.map(|config| config.settings.buffer.size_bytes), Ok(bytes));
    assert!(self::error(&with(bytes - 1)).message.contains("promises 1 B too much"));

    check("size = \"12MB\"", "size = 1000", "1000", "it is 64 KB to 64 GB");
    check("size = \"12MB\"", "cell = 32", "32", "it is 64 B to 2,048 B");
    check("lossy = \"3MB\"", "lossy = 100", "100", "`lossy` is 100 B; it is 9,022 B to 12 MB");
    check("lossy = \"3MB\"", "lossy_queue = \"20MB\"", "\"20MB\"", "`lossy_queue` is 20 MB");
    check("lossy = \"3MB\"", "lossy_queue_dynamic_th = 9", "9", "it is -8 to 8");
    check(
        "count = 2",
        "count = 2\n[memory]\nsize = \"100MB\"",
        "\"100MB\"",
        "short: a buffer of 12 MB",
    );
}

#[test]
fn tags() {
    check("tag = 2\n", "tag = 64\n", "64", "tags are 0 to 63");
    check("tag = 2\n", "tag = 1\ndscp = 27\n", "1", "has a [[tag]] already");
    check("tag = 2\n", "tag = 26\n", "26", "DSCP 26 already carries tag 1");
    check("tag = 2\n", "tag = 5\ndscp = 26\n", "26", "DSCP 26 already carries tag 1");
    check("tag = 2\npriority = 4", "tag = 2\npriority = 5", "4", "no [[tag]] leads to priority 4");
    check(
        "tag = 2\n",
        "tag = 2\npcp = 3\n[[tag]]\ntag = 40\npcp = 3\n[[tag]]\ntag = 9\n",
        "3",
        "PCP 3 carries",
    );
    let shared = "tag = 2\npcp = 3\n";
    let text =
        BASE.replacen("tag = 2\n", shared, 1).replace("vlan = 10", "vlan = 10\nclassify = \"pcp\"");
    let error = error(&text);
    assert!(error.message.contains("the PCP cannot tell tag 1 from 2"), "{error}");
}

#[test]
fn ports() {
    let device = "device = \"net_tap0,iface=kt0\"";
    check(device, "", "[[port]]", "a port needs a `device`");
    check(device, "device = \"eth0\"", "\"eth0\"", "`eth0` is no virtual device");
    check(device, "pci = \"1:0.0\"", "\"1:0.0\"", "write it as \"0000:01:00.0\"");
    check(device, "pci = \"01:00.0\"", "[[port]]", "a NIC needs its `speed`");
    check(device, "device = \"net_tap0\"\npci = \"01:00.0\"", "\"01:00.0\"", "not both");
    check(
        "device = \"net_tap2\"",
        "device = \"net_tap0\"",
        "\"net_tap0\"",
        "port 1 has net_tap0 already",
    );
    check("name = \"p3\"", "name = \"p1\"", "\"p1\"", "port 1 is named `p1` already");
    check("name = \"p3\"", "name = \"1\"", "\"1\"", "the number of another");
    check("vlan = 10", "vlan = 0", "0", "they are 1 to 4094");
    check("vlan = 10", "", "[[port]]", "a port needs `addresses` to route");
    check("vlan = 10", "vlan = 10\nvlans = [20]", "10", "or `vlans` and `native` for a trunk");
    check("vlan = 10", "vlan = 10\nnative = 20", "20", "give it `vlans`");
    check("vlan = 10", "vlans = []", "[]", "a trunk needs VLANs");
    check("vlan = 10", "vlans = [\"9-5\"]", "\"9-5\"", "a range such as \"100-199\"");
    check("mtu = 9000", "vlans = [10]", "[10]", "routes and has one VLAN at most");
    check("mtu = 9000", "mtu = 9707", "9707", "it is 68 to 9706");
    check(device, "device = \"net_tap9\"\nmtu = 1279", "1279", "1280 to 9706 for IPv6");
    check("mtu = 9000", "worker = 2", "2", "there is no worker 2; [workers] has 2");
    check("mtu = 9000", "rx_desc = 16", "16", "it is 32 to 32768");
    check("mtu = 9000", "rx_backlog = 32768", "32768", "it is 1 to 32767");
    check("mtu = 9000", "tx_byte_limit = 1000", "1000", "less than the longest frame");
    check("mtu = 9000", "pace = true", "[[port]]", "`pace` needs a `speed`");
    let group = "is a group's address, not a station's; make the first octet even, as in 02";
    check("mtu = 9000", "mac = \"01:00:00:00:00:01\"", "\"01:", group);
    let zero = "00:00:00:00:00:00 is no station's address; use one such as 02:00:00:00:00:01";
    check("mtu = 9000", "mac = \"00:00:00:00:00:00\"", "\"00:", zero);
    check(
        "mtu = 9000",
        "cable_length = \"1200000m\"",
        "\"1200000m\"",
        "`1200000m` is out of range; a length is at most 1000km",
    );
    for (name, words) in [
        ("net_tapp0", "there is no virtual device `net_tapp0`; did you mean `net_tap0`?"),
        ("net_nul0", "did you mean `net_null0`?"),
        ("net_af_paket7,iface=eth0", "did you mean `net_af_packet7`?"),
        (
            "net_tunnel0",
            "DPDK has net_af_packet, net_af_xdp, net_memif, net_null, net_pcap, net_ring, net_tap",
        ),
        ("net_tun0", "did you mean `net_tap0`?"),
        ("net_tap", "did you mean `net_tap0`?"),
    ] {
        check(device, &format!("device = \"{name}\""), "\"net_", words);
    }
    for right in
        ["net_pcap_in,rx_pcap=a", "net_virtio_user0,path=/dev/vhost-net", "net_tap12", "net_ring-b"]
    {
        let text = BASE.replacen(device, &format!("device = \"{right}\""), 1);
        let config = SwitchConfig::parse(Path::new("A.toml"), &text);
        assert!(config.is_ok(), "{right}: {}", config.unwrap_err());
    }
    check("mtu = 9000", "pfc = false\ndefault_tag = 1", "1", "tag 1 is lossless");
    let ports = BASE.split("[[port]]").next().unwrap();
    assert!(error(ports).message.contains("a switch needs ports"));
    let lossy: String = BASE.split("[[lossless]]").next().unwrap().to_owned();
    let text = lossy + "[[port]]\ndevice = \"net_null0\"\nvlan = 1\npfc = true\n";
    assert!(error(&text).message.contains("add a [[lossless]] table"));
}

#[test]
fn addresses() {
    let first = "\"10.0.1.1/24\"";
    check(first, "\"10.0.1.1\"", "\"10.0.1.1\"", "such as \"10.0.1.1/24\"");
    check(first, "\"10.0.1.0/24\"", "\"10.0.1.0/24\"", "is the network itself");
    check(first, "\"10.0.1.255/24\"", "\"10.0.1.255/24\"", "broadcast");
    check(first, "\"224.0.0.1/24\"", "\"224.0.0.1/24\"", "use a unicast one");
    check(first, "\"10.0.1.1/0\"", "\"10.0.1.1/0\"", "the whole internet");
    let broadcast = "\"255.255.255.255/32\"";
    check(
        first,
        broadcast,
        broadcast,
        "255.255.255.255/32 is the broadcast address; use a unicast one",
    );
    check(first, "\"0.1.2.3/24\"", "\"0.1.2.3/24\"", "is no address of a port");
    check(first, "\"127.0.0.1/8\"", "\"127.0.0.1/8\"", "is no address of a port");
    let six = "\"fd00:1::1/64\"";
    check(six, "\"::1/128\"", "\"::1/128\"", "is no address of a port");
    check(six, "\"ff02::1/64\"", "\"ff02::1/64\"", "is no address of a port");
    check(six, "\"::ffff:10.0.0.1/120\"", "\"::ffff:", "is no address of a port");
    check(six, "\"fd00:1::/64\"", "\"fd00:1::/64\"", "is the network's router anycast address");
    // RFC 3021 and RFC 6164: both addresses of a point-to-point link are hosts'; so is a /32's.
    for right in ["10.0.1.0/31", "10.0.1.1/31", "10.9.1.255/32", "fd00:9::/127", "fd00:9::/128"] {
        let text = BASE.replacen("via = [\"10.0.1.2\", \"10.0.2.2\"]", "via = [\"10.0.2.2\"]", 1);
        let text = text.replacen(
            "[[neighbor]]\naddress = \"10.0.1.2\"",
            "[[neighbor]]\naddress = \"10.0.2.2\"",
            1,
        );
        let text = text.replacen("\"10.0.1.1/24\", \"fd00:1::1/64\"", &format!("\"{right}\""), 1);
        let config = SwitchConfig::parse(Path::new("A.toml"), &text);
        assert!(config.is_ok(), "{right}: {}", config.unwrap_err());
    }
    check("\"fd00:1::1/64\"", "\"10.0.1.1/16\"", "\"10.0.1.1/16\"", "stands here twice");
    check(
        "[\"10.0.2.1/24\"]",
        "[\"10.0.0.1/16\"]",
        "\"10.0.0.1/16\"",
        "overlaps 10.0.1.1/24 of port `p1`",
    );
}

#[test]
fn routes_and_neighbors() {
    let to = "to = \"10.9.0.0/16\"";
    check(to, "to = \"10.9.1.0/16\"", "\"10.9.1.0/16\"", "write 10.9.0.0/16");
    check(to, "to = \"10.0.1.0/24\"", "\"10.0.1.0/24\"", "is connected to port `p1`");
    check(to, "to = \"224.0.0.0/8\"", "\"224.0.0.0/8\"", "only unicast is routed");
    let via = "via = [\"10.0.1.2\", \"10.0.2.2\"]";
    check(via, "via = [\"10.0.3.2\"]", "\"10.0.3.2\"", "no port is in a network with 10.0.3.2");
    check(via, "via = [\"10.0.1.1\"]", "\"10.0.1.1\"", "is an address of this switch");
    check(via, "via = [\"p2\"]", "\"p2\"", "an IP address");
    check(via, "via = [\"10.0.1.255\"]", "\"10.0.1.255\"", "is the network's broadcast address");
    check(via, "via = [\"10.0.1.0\"]", "\"10.0.1.0\"", "is the network itself");
    check(via, "", "[[route]]", "has 0 gateways");
    check(via, "via = [\"10.0.1.2\"]\nblackhole = true", "\"10.0.1.2\"", "has no `via`");
    let twice = format!("{via}\n[[route]]\n{to}\n{via}");
    check(via, &twice, "\"10.9.0.0/16\"", "has a route already");
    check(via, "routes = 1", "routes", "unknown field `routes`");
    let mac = "mac = \"02:00:00:00:00:09\"";
    check(mac, "mac = \"03:00:00:00:00:09\"", "\"03:", "multicast");
    check(mac, "mac = \"00:00:00:00:00:00\"", "\"00:", "00:00:00:00:00:00 is no station's address");
    check(mac, &format!("{mac}\nport = \"p4\""), "\"p4\"", "did you mean `p");
    check(mac, &format!("{mac}\nport = \"p2\""), "\"p2\"", "in no network of port `p2`");
    check(mac, &format!("{mac}\nport = \"p3\""), "\"p3\"", "bridges");
    let twice = format!("{mac}\n[[neighbor]]\naddress = \"10.0.1.2\"\n{mac}");
    check(mac, &twice, "\"10.0.1.2\"", "has a [[neighbor]] already");
    check("address = \"10.0.1.2\"", "address = \"10.0.1.1\"", "\"10.0.1.1\"", "of this switch");
}

#[test]
fn static_macs_and_the_mac_table() {
    let last = "mac = \"02:00:00:00:00:09\"";
    let mac = "mac = \"02:00:00:00:00:09\"\n";
    let with = |table: &str| format!("{last}\n[[static_mac]]\n{table}");
    let port = "port = \"p3\"\n";
    check(last, &with(&format!("{mac}port = \"p4\"")), "\"p4\"", "did you mean `p");
    check(last, &with(&format!("{mac}port = \"p1\"")), "\"p1\"", "Use [[neighbor]] here");
    check(last, &with(&format!("{mac}{port}vlan = 11")), "11", "VLAN 11 is not on port `p3`");
    let group = format!("mac = \"01:00:5e:00:00:01\"\n{port}");
    check(last, &with(&group), "\"01:", "is no station's address");
    let zero = format!("mac = \"00:00:00:00:00:00\"\n{port}");
    check(last, &with(&zero), "\"00:", "is no station's address");
    let twice = format!("{mac}{port}[[static_mac]]\nvlan = 10\n{mac}{port}");
    let text = BASE.replace(last, &with(&twice));
    let error = SwitchConfig::parse(Path::new("A.toml"), &text).unwrap_err();
    assert!(error.to_string().contains("has a [[static_mac]] in VLAN 10 already"), "{error}");
    let many = (0..1_025).map(|n| {
        let [high, low] = u16::to_be_bytes(n);
        format!("[[static_mac]]\nmac = \"02:00:00:01:{high:02x}:{low:02x}\"\n{port}")
    });
    let text = format!("{BASE}{}", many.collect::<String>());
    let error = SwitchConfig::parse(Path::new("A.toml"), &text).unwrap_err();
    assert!(error.to_string().contains("this is static MAC 1025; 1024 are the most"), "{error}");
    let trunk = BASE.replace("vlan = 10\n", "vlans = [10, 20]\n");
    let text = trunk.replace(last, &with(&format!("{mac}{port}")));
    let error = SwitchConfig::parse(Path::new("A.toml"), &text).unwrap_err();
    assert!(error.to_string().contains("port `p3` has several VLANs; add `vlan`"), "{error}");
    let held = format!("{last}\n[mac_table]\nage = \"5s\"\nhold = \"6s\"");
    check(last, &held, "\"6s\"", "is longer than `age`");
}

#[test]
fn scheduling_and_marking() {
    check("3 = 4 }", "8 = 4 }", "4", "`8` is not a priority");
    check("3 = 4 }", "7 = 4 }", "4", "priority 7 is strict");
    check("3 = 4 }", "3 = 256 }", "256", "it is 1 to 255");
    check("strict = [7]", "quantum = 10", "10", "it is 64 B to 1 MB");
    check("strict = [7]", "strict = [9]", "9", "there are eight");
    check("kmin = \"20KB\"", "kmin = \"90KB\"", "\"90KB\"", "above `kmax`");
    check(
        "kmin = \"20KB\"\nkmax = \"80KB\"",
        "kmin = \"100KB\"\nkmax = \"1MB\"",
        "\"100KB\"",
        "PFC pauses at 100 KB",
    );
    check("pmax = 0.1", "pmax = 0.0", "0.0", "above 0 and up to 1");
    check("pmax = 0.1", "pmax = nan", "nan", "above 0 and up to 1");
    let again = "pmax = 0.1\n[[ecn]]\npriority = 3\nkmin = 1\nkmax = 1";
    check("pmax = 0.1", again, "3", "has a table [[ecn]] already");
    let lossy = "pmax = 0.1\n[[ecn]]\npriority = 0\nkmin = \"512KB\"\nkmax = \"1MB\"";
    check("pmax = 0.1", lossy, "\"512KB\"", "the lossy queue drops at 512 KB");
}

#[test]
fn early_drops() {
    let wred = |text: &str| format!("pmax = 0.1\n[[wred]]\n{text}");
    let wrong = [
        ("priority = 8\nkmin = 1\nkmax = 1", "8", "there are eight"),
        ("priority = 0\nkmin = 2\nkmax = 1", "2", "above `kmax` 1 B; early drops start at `kmin`"),
        ("priority = 0\nkmin = 1\nkmax = '5GB'", "'5GB'", "4 GB is the most"),
        ("priority = 0\nkmin = 1\nkmax = 2\npmax = 2.0", "2.0", "above 0 and up to 1"),
        ("priority = 0\nkmin = '1MB'\nkmax = '1MB'", "'1MB'", "the lossy queue drops at 512 KB"),
        ("priority = 3\nkmin = 1\nkmax = 2", "3", "nothing lossless is dropped early"),
        (
            "priority = 0\nkmin = 1\nkmax = 1\n[[wred]]\npriority = 0\nkmin = 1\nkmax = 1",
            "0",
            "has a table [[wred]] already",
        ),
    ];
    for (text, place, words) in wrong {
        check("pmax = 0.1", &wred(text), place, words);
    }
    let right = BASE.replace("pmax = 0.1", &wred("priority = 0\nkmin = 1000\nkmax = '1MB'"));
    let config = SwitchConfig::parse(Path::new("A.toml"), &right).unwrap();
    let curve = config.settings.wred[0].unwrap();
    assert_eq!((curve.kmin_bytes, curve.kmax_bytes, curve.pmax_q16), (1_000, 1_000_000, 3_277));
    assert_eq!(config.settings.wred[1..], [None; 7]);
}

#[test]
fn peak_rates() {
    let shaper = |text: &str| format!("pmax = 0.1\n[[shaper]]\n{text}");
    let wrong = [
        ("priority = 8\npeak_rate = '1M'", "8", "there are eight"),
        ("priority = 0\npeak_rate = 'fast'", "'fast'", "`fast` is not a rate"),
        ("priority = 0\npeak_rate = 7", "7", "a `peak_rate` of 7 bit/s; it is 8 to 1.6T"),
        ("priority = 0\npeak_rate = '2T'", "'2T'", "it is 8 to 1.6T"),
        ("priority = 0\npeak_rate = '1M'\npeak_burst = '5GB'", "'5GB'", "4 GB is the most"),
        ("priority = 0\npeak_rate = '1M'\nports = ['p9']", "'p9'", "`p9`"),
        (
            "priority = 0\npeak_rate = '1M'\nports = ['p2', '2']",
            "'2'",
            "port `p2` has a [[shaper]] with priority 0 already",
        ),
        (
            "priority = 0\npeak_rate = '1M'\n[[shaper]]\npriority = 0\npeak_rate = '2M'",
            "0",
            "priority 0 has a [[shaper]] already; one is enough, unless they name their `ports`",
        ),
    ];
    for (text, place, words) in wrong {
        check("pmax = 0.1", &shaper(text), place, words);
    }
}

#[test]
fn the_machine() {
    check("count = 2", "count = 0", "0", "1 to 16 workers");
    check("count = 2", "count = 17", "17", "1 to 16 workers");
    check("count = 2", "cores = [1, 1]", "1]", "core 1 stands here twice");
    check("count = 2", "cores = []", "[]", "0 cores");
    check("count = 2", "cores = [1]\ncount = 1", "1", "not both");
    check("count = 2", "count = 2\n[mac_table]\nsize = 0", "0", "it is 1 to 1048576");
    check("count = 2", "count = 2\n[mac_table]\nage = \"1ms\"", "\"1ms\"", "below a second");
    let long = format!("\"{}\"", "x".repeat(108));
    check("count = 2", &format!("count = 2\n[control]\nsocket = {long}"), "\"xxx", "this has 108");
}

#[test]
fn where_metrics_are_served() {
    let check_listen = |value: &str, reason: &str| {
        let written = format!("\"{value}\"");
        check("count = 2", &format!("count = 2\n[metrics]\nlisten = {written}"), &written, reason);
    };
    for no_address in ["localhost:9477", "127.0.0.1", ":9477", "127.0.0.1:65536", "/run/m", ""] {
        check_listen(no_address, "is no place to listen; write an IP address with a port");
    }
    check_listen("unix:", "1 to 107 bytes");
    check_listen(&format!("unix:/{}", "x".repeat(107)), "this has 108");
    check("count = 2", "count = 2\n[metrics]\nlisten = 9477", "9477", "expected a text in quotes");
    check("count = 2", "count = 2\n[metrics]\nport = 9477", "port", "unknown field `port`");
    check("count = 2", "count = 2\n[dpdk]\ntelemetry = 1", "1", "expected true or false");
    let twice = "count = 2\n[control]\nsocket = \"/a\"\n[metrics]\nlisten = \"unix:/a\"";
    check("count = 2", twice, "\"unix:/a\"", "this is the control socket");
}
