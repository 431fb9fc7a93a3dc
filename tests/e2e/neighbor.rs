//! A real LLDP neighbor: Debian's lldpd behind a port. Each sees what the other says, the
//! organizations' TLVs included, and tshark has nothing to complain of.

use crate::host::Host;
use crate::lab::Setup;
use crate::process::{LOOK, Running};
use nix::sys::signal::Signal;
use serde_json::{Value, json};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(40);

/// lldpd at a host.
struct Lldpd<'a> {
    host: &'a Host,
    socket: String,
    running: Running,
}

impl<'a> Lldpd<'a> {
    fn start(host: &'a Host, directory: &Path) -> Self {
        let socket = directory.join("lldpd.sock").display().to_string();
        let pid = directory.join("lldpd.pid").display().to_string();
        // In the foreground, without privilege separation, which needs a user of its own.
        let arguments =
            format!("-d -u {socket} -p {pid} -I {} -S a-linux-host -O /dev/null", host.dev);
        let running = host.start("lldpd", &arguments);
        Self { host, socket, running }
    }

    fn cli(&self, arguments: &str) -> String {
        self.host.run("lldpcli", &format!("-u {} {arguments}", self.socket)).stdout
    }

    /// What lldpcli says, once it says something of a neighbor.
    fn neighbor(&self) -> Value {
        let asked = Instant::now();
        loop {
            let said = self.cli("-f json0 show neighbors details");
            let said: Value = serde_json::from_str(&said).unwrap_or_default();
            if let Some(interface) = said["lldp"][0]["interface"].get(0) {
                return interface.clone();
            }
            assert!(asked.elapsed() < PATIENCE, "lldpd hears nobody: {}", self.running.told());
            std::thread::sleep(10 * LOOK);
        }
    }
}

/// The value of the only member of a list, as lldpcli writes it.
fn only<'a>(value: &'a Value, name: &str) -> &'a str {
    value[name][0]["value"].as_str().unwrap_or_else(|| panic!("no {name}: {value}"))
}

/// What tshark says of a file: each frame's LLDP, and anything it finds wrong with what `mac` sent.
/// Of lldpd's own frames it has something to say.
fn decode(file: &Path, mac: &str) -> (String, String) {
    let run = |arguments: &[&str]| {
        let output = Command::new("tshark").arg("-r").arg(file).args(arguments).output();
        let output = output.expect("tshark is installed");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).expect("tshark writes text")
    };
    (
        run(&["-V", "-Y", "lldp"]),
        run(&["-V", "-Y", &format!("eth.src == {mac} && (_ws.expert || _ws.malformed)")]),
    )
}

#[test]
fn lldpd_and_the_switch_know_each_other() {
    let setup = Setup::new().head("[lldp]\ninterval = \"1s\"\n");
    let Some(mut lab) = setup.start() else { return };
    let capture = lab.path("lldp.pcapng");
    let host = &lab.hosts[0];
    let limits = "-a duration:100 -f ether[12:2]==0x88cc";
    let mut dumpcap =
        host.start("dumpcap", &format!("-q -i {} {limits} -w {}", host.dev, capture.display()));
    dumpcap.wait_for("File:");
    let lldpd = Lldpd::start(host, lab.directory.path());

    // As lldpd sees the switch.
    let seen = lldpd.neighbor();
    let chassis = &seen["chassis"][0];
    assert_eq!(only(chassis, "name"), "lab");
    assert!(only(chassis, "descr").starts_with("Knotless "), "{chassis}");
    assert_eq!(only(chassis, "mgmt-ip"), "10.1.1.1");
    assert_eq!(chassis["id"][0]["type"], "mac", "{chassis}");
    let is_on = |name: &str| {
        let all = chassis["capability"].as_array().expect("capabilities");
        all.iter().find(|one| one["type"] == name).map(|one| one["enabled"].clone())
    };
    assert_eq!((is_on("Router"), is_on("Bridge")), (Some(json!(true)), Some(json!(false))));
    let port = &seen["port"][0];
    assert_eq!(only(port, "id"), "h1");
    assert_eq!(only(port, "ttl"), "4", "four intervals of a second");
    assert_eq!(only(port, "mfs"), "1518");
    let unknown =
        seen["unknown-tlvs"][0]["unknown-tlv"].as_array().expect("TLVs lldpd has no name for");
    let octets = |oui: &str, subtype: &str| {
        let one = unknown.iter().find(|tlv| tlv["oui"] == oui && tlv["subtype"] == subtype);
        one.unwrap_or_else(|| panic!("no {oui} {subtype}: {unknown:?}"))["value"].clone()
    };
    // Priorities 3 and 4; bits of the enable vector.
    assert_eq!(octets("00,80,C2", "11"), "08,18");

    // As the switch sees lldpd.
    let asked = Instant::now();
    let row = loop {
        let table = lab.switch.ask(&json!({ "request": "lldp" }));
        if let Some(row) = table["neighbors"].get(0) {
            break row.clone();
        }
        assert!(asked.elapsed() < PATIENCE, "the switch hears nobody: {table}");
        std::thread::sleep(10 * LOOK);
    };
    assert_eq!((&row["port"], &row["system_description"]), (&json!("h1"), &json!("a-linux-host")));
    assert_eq!((&row["management"], &row["ttl_s"]), (&json!("10.1.1.2"), &json!(120)));
    assert_eq!(row["orientation"], json!("unknown"), "levels are not learned here");
    // lldpd has no words for these two, and can be made to say them octet by octet: an end station,
    // whose PFC protects priority 3 only.
    for (subtype, octets) in [(20, "00,00,ff"), (11, "08,08")] {
        lldpd.cli(&format!(
            "configure lldp custom-tlv add oui 00,80,c2 subtype {subtype} oui-info {octets}"
        ));
    }
    let told =
        [("device", json!("end-station")), ("level", json!(0)), ("pfc_priorities", json!([3]))];
    let asked = Instant::now();
    loop {
        let table = lab.switch.ask(&json!({ "request": "lldp" }));
        let row = &table["neighbors"][0];
        let knows = told.iter().all(|(field, value)| row[field] == *value);
        if knows && row["conditions"] == json!(["pfc_mismatch"]) {
            break;
        }
        assert!(asked.elapsed() < PATIENCE, "{row}");
        std::thread::sleep(10 * LOOK);
    }
    lab.switch.wait_for("port h1: the neighbor protects other priorities with PFC than we do");

    // It stops, and says so; the switch forgets it at once.
    lldpd.running.signal(Signal::SIGTERM);
    lldpd.running.end(PATIENCE);
    let stopped = Instant::now();
    while lab.switch.ask(&json!({ "request": "lldp" }))["neighbors"] != json!([]) {
        assert!(stopped.elapsed() < PATIENCE, "the goodbye is not heard");
        std::thread::sleep(10 * LOOK);
    }

    let stats = lab.switch.settled();
    let counters = stats.lldp.as_ref().expect("it speaks LLDP").counters.clone();
    assert_eq!(
        (counters["malformed"], counters["not_lldp"], counters["tlvs_discarded"]),
        (0, 0, 0)
    );
    assert_eq!((counters["inserted"], counters["deleted"], counters["aged_out"]), (1, 1, 0));
    assert_eq!((stats.totals.imbalance, stats.lossless_dropped()), (0, 0));
    let mac = stats.ports[0].mac.clone();
    // What it has captured is in the file when it has ended, but not when its interface has gone.
    std::thread::sleep(Duration::from_millis(300));
    dumpcap.signal(Signal::SIGINT);
    dumpcap.end(PATIENCE).success();

    let (decoded, wrong) = decode(&capture, &mac);
    assert_eq!(wrong, "", "tshark has something to say");
    for text in [
        "System Name = lab",
        "System Description = a-linux-host",
        "Interface name, Id: h1",
        "IEEE 802.3 - Maximum Frame Size",
        "Priority Flow Control Configuration",
        "Time To Live = 0",
    ] {
        let text = text.to_lowercase();
        assert!(decoded.to_lowercase().contains(&text), "no `{text}` in {decoded}");
    }
    lab.stop();
}

/// The same with levels: a Linux host with lldpd makes the switch a leaf, by its capabilities.
#[test]
fn a_host_with_lldpd_makes_the_switch_a_leaf() {
    let setup = Setup::fabric();
    let Some(mut lab) = setup.start() else { return };
    let capture = lab.path("levels.pcapng");
    let host = &lab.hosts[1];
    let limits = "-a duration:100 -f ether[12:2]==0x88cc";
    let mut dumpcap =
        host.start("dumpcap", &format!("-q -i {} {limits} -w {}", host.dev, capture.display()));
    dumpcap.wait_for("File:");
    let lldpd = Lldpd::start(host, lab.directory.path());
    let asked = Instant::now();
    while lab.switch.stats().lldp.and_then(|lldp| lldp.level) != Some(1) {
        assert!(asked.elapsed() < PATIENCE, "no level: {}", lab.switch.told());
        std::thread::sleep(10 * LOOK);
    }
    let types =
        lab.switch.stats().ports.into_iter().map(|port| port.lldp.expect("spoken").orientation);
    assert_eq!(types.collect::<Vec<_>>(), ["unknown", "downlink", "unknown"]);
    // Topology Recognition: a router of level 1, whose port leads down.
    let asked = Instant::now();
    loop {
        let seen = lldpd.neighbor();
        let unknown =
            seen["unknown-tlvs"][0]["unknown-tlv"].as_array().cloned().unwrap_or_default();
        let topology = unknown.iter().find(|tlv| tlv["subtype"] == "20");
        if topology.is_some_and(|tlv| tlv["oui"] == "00,80,C2" && tlv["value"] == "02,01,01") {
            break;
        }
        assert!(asked.elapsed() < PATIENCE, "{seen}");
        std::thread::sleep(10 * LOOK);
    }
    let mac = lab.switch.stats().ports[1].mac.clone();
    lldpd.running.signal(Signal::SIGTERM);
    lldpd.running.end(PATIENCE);
    dumpcap.signal(Signal::SIGINT);
    dumpcap.end(PATIENCE).success();
    let (decoded, wrong) = decode(&capture, &mac);
    assert_eq!(wrong, "", "tshark has something to say of {decoded}");
    lab.stop();
}
