//! Switches of files: the emulator does with each frame what `verify` says, and PCBB's cycle closes
//! where `verify` sees it.

use config::network::forwarding::{FileForwarding, Headers};
use config::scenario::SchemeKind;
use config::{NetworkConfig, ScenarioConfig};
use dataplane::wire::MacAddress;
use fabric::verify::forwarding::{Forwarding, Turn};
use netsim::scenario::{Options, run};
use pcap_file::pcap::PcapReader;
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

fn example(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../config/examples/dual-tor").join(name)
}

/// A frame at a port: the slot it comes in by, and its headers as `verify` shows them.
type Seen = (u32, String);

/// All that `verify` says of any frame, by a walk that keeps what it met in a list.
fn predicted(config: &NetworkConfig, forwarding: &FileForwarding) -> BTreeSet<Seen> {
    let network = &config.network;
    let mut met: Vec<(u32, Headers)> = Vec::new();
    for host in (0..).take(network.hosts()) {
        let slot = network.host_slot(host).expect("it has a link");
        met.extend(forwarding.sent(host).into_iter().map(|headers| (slot, headers)));
    }
    let mut known: BTreeSet<Seen> =
        met.iter().map(|(slot, headers)| (*slot, forwarding.show(headers))).collect();
    while let Some((slot, headers)) = met.pop() {
        for turn in forwarding.forward(slot, &headers) {
            let Turn::Out(out) = turn else { continue };
            let Some(far) = network.far_slot(out.output) else { continue };
            if known.insert((far, forwarding.show(&out.headers))) {
                met.push((far, out.headers));
            }
        }
    }
    known
}

/// A capture that can be read while the run still owns its writer.
#[derive(Clone, Default)]
struct Shared(Arc<Mutex<Vec<u8>>>);

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// The frames of a capture that came to switches, by the port that has their destination MAC.
fn captured(file: &Shared, slots: &BTreeMap<MacAddress, u32>) -> BTreeSet<Seen> {
    let bytes = file.0.lock().unwrap().clone();
    let mut reader = PcapReader::new(&bytes[..]).expect("a pcap file");
    let mut seen = BTreeSet::new();
    while let Some(packet) = reader.next_packet() {
        let frame = packet.expect("a whole one").data.into_owned();
        let mac = MacAddress(frame[..6].try_into().unwrap());
        let is_ip = frame[12..14] == [8, 0];
        if let Some(&slot) = slots.get(&mac).filter(|_| is_ip) {
            seen.insert((slot, shown(&frame[14..])));
        }
    }
    seen
}

/// An IPv4 header, and the one inside, in the words of `verify`.
fn shown(header: &[u8]) -> String {
    let to = Ipv4Addr::from(<[u8; 4]>::try_from(&header[16..20]).unwrap());
    let own = format!("DSCP {} to {to}", header[1] >> 2);
    if header[9] != 4 {
        return own;
    }
    format!("{own} ({})", shown(&header[20..]).replacen("DSCP", "inner DSCP", 1))
}

#[test]
fn emulated_switches_do_with_each_frame_what_verify_says() {
    for network in ["network.toml", "network-plain.toml"] {
        let config = NetworkConfig::load(&example(network)).unwrap();
        let forwarding = FileForwarding::new(&config).unwrap().expect("its switches have files");
        let files = config.files.as_ref().expect("its switches have files");
        let macs = files.switches.iter().flat_map(|switch| &switch.settings.ports);
        let slots: BTreeMap<MacAddress, u32> = macs.map(|port| port.mac).zip(0..).collect();
        let traffic = "[[traffic]]\nkind = \"all-to-all\"\nrate = \"100M\"\nsize = \"3KB\"\n";
        let mut text =
            format!("duration = \"200us\"\nnetwork = \"{network}\"\n{traffic}lossy = true\n");
        for dscp in [2, 3, 4, 6] {
            text += &format!("{traffic}dscp = {dscp}\n");
        }
        let scenario = ScenarioConfig::parse(&example("scenario.toml"), &text).unwrap();
        let writers: Vec<Shared> =
            config.network.links().iter().map(|_| Shared::default()).collect();
        let boxed = writers.iter().map(|file| Box::new(file.clone()) as Box<dyn Write>);
        let ends = config.network.links().iter().map(|link| link.ends[0]);
        let captures = ends.zip(boxed).collect();
        let outcome = run(&scenario, Options { captures, ..Options::default() }).unwrap();
        assert_eq!((outcome.lossless_drops, outcome.frames_stuck), (0, 0), "{network}");
        let sent: u64 = outcome.flows.iter().map(|flow| flow.sent_frames).sum();
        let received: u64 = outcome.flows.iter().map(|flow| flow.received_frames).sum();
        assert_eq!(sent, received, "{network}: every frame has a way");
        let seen: BTreeSet<Seen> = writers.iter().flat_map(|file| captured(file, &slots)).collect();
        let predicted = predicted(&config, &forwarding);
        let unforeseen: Vec<&Seen> = seen.difference(&predicted).collect();
        assert!(unforeseen.is_empty(), "{network}: {unforeseen:?}");
        assert!(seen.len() > 300, "{network}: {}", seen.len());
        let outer = if network == "network.toml" { [2, 6] } else { [3, 4] };
        for (outer, inner) in outer.into_iter().zip([3, 4]) {
            let start = format!("DSCP {outer} to 10.1.0.33 (inner DSCP {inner} to ");
            assert!(seen.iter().any(|(_, it)| it.starts_with(&start)), "{network}: {start}");
        }
    }
}

/// T1, tor1, T1, tor2: the four buffers that `verify` names.
#[test]
fn the_cycle_of_bounced_frames_closes_through_both_tors_and_a_t1() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios");
    let scenario = ScenarioConfig::load(&folder.join("pcbb-plain.toml")).unwrap();
    let options = Options { scheme: Some(SchemeKind::Pfc), ..Options::default() };
    let deadlock = run(&scenario, options).unwrap().deadlock.expect("a deadlock");
    let mut switches: Vec<&str> = deadlock.cycle.iter().map(|hop| hop.switch.as_str()).collect();
    let priorities = deadlock.cycle.iter().map(|hop| (hop.input_priority, hop.output_priority));
    assert!(priorities.into_iter().all(|both| both == (3, 3)), "{deadlock:?}");
    let start = switches.iter().position(|&switch| switch == "tor1").expect("tor1 is in it");
    switches.rotate_left(start);
    assert_eq!((switches[0], switches[2], switches.len()), ("tor1", "tor2", 4), "{switches:?}");
    assert!(switches[1].starts_with("t1") && switches[1] == switches[3], "{switches:?}");
}
