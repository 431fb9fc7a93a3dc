//! sFlow: what foreign tools make of it, against the switch's own counters. dumpcap records what
//! the collectors get; tshark and nfdump's sfcapd decode it, and the crate `sflow-parser`, which
//! knows samples of dropped frames.

use crate::lab::{Lab, Setup, knotless};
use crate::process::Running;
use crate::raw_frames::{
    HOSTS, PORT_MAC, dead_ends, dropped_between, frame, ipv4, long, packet, send_raw,
};
use nix::sys::signal::Signal;
use serde_json::json;
use sflow_parser::models::{CountersSample, DiscardedPacket, FlowData, FlowSample};
use sflow_parser::{SFlowDatagram, SampleData, parse_datagram};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};
use switch::control::stats::{SflowStats, Stats};

/// How long a process may take to end.
const PATIENCE: Duration = Duration::from_secs(30);
/// How long a sample may take until it is recorded: far longer than it does.
const ARRIVAL: Duration = Duration::from_millis(500);

/// Records what is sent to the collectors, which are in the switch's own namespace.
struct Wire {
    running: Running,
    file: PathBuf,
}

impl Wire {
    fn record(lab: &Lab, name: &str) -> Self {
        lab.namespace.ip("link set lo up");
        let file = lab.path(&format!("{name}.pcapng"));
        let mut command = lab.namespace.command("dumpcap");
        command.args(["-i", "lo", "-f", "udp", "-q", "-w"]).arg(&file);
        let mut running = Running::start(command, lab.directory.path(), name);
        running.wait_for("File:");
        Self { running, file }
    }

    /// Ends it; what was recorded for each port of UDP, decoded.
    fn end(self) -> BTreeMap<u16, Vec<SFlowDatagram>> {
        std::thread::sleep(ARRIVAL);
        self.running.signal(Signal::SIGINT);
        let ended = self.running.end(PATIENCE);
        assert!(ended.status.success(), "{ended:?}");
        let mut datagrams: BTreeMap<u16, Vec<SFlowDatagram>> = BTreeMap::new();
        for fields in tshark(&self.file, "f", &["udp.dstport", "udp.payload"]) {
            let [port, payload] = &fields[..] else { panic!("{fields:?}") };
            let octet = |at: usize| u8::from_str_radix(&payload[at..at + 2], 16).expect("hex");
            let octets: Vec<u8> = (0..payload.len()).step_by(2).map(octet).collect();
            let datagram = parse_datagram(&octets).expect("it is sFlow");
            datagrams.entry(port.parse().expect("a number")).or_default().push(datagram);
        }
        datagrams
    }
}

/// These fields of each packet of `file`: the first of a name (`f`), or all (`a`): what is in the
/// samples has names of its own.
fn tshark(file: &Path, occurrence: &str, fields: &[&str]) -> Vec<Vec<String>> {
    let mut command = Command::new("tshark");
    command.args(["-d", "udp.port==6343,sflow", "-T", "fields", "-r"]).arg(file);
    command.arg("-E").arg(format!("occurrence={occurrence}"));
    for field in fields {
        command.args(["-e", field]);
    }
    let output = command.output().expect("tshark is installed");
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout).expect("tshark writes text");
    text.lines().map(|line| line.split('\t').map(str::to_owned).collect()).collect()
}

fn samples(datagrams: &[SFlowDatagram]) -> impl Iterator<Item = &SampleData> {
    datagrams.iter().flat_map(|datagram| &datagram.samples).map(|sample| &sample.sample_data)
}

fn flows(datagrams: &[SFlowDatagram]) -> Vec<&FlowSample> {
    let mut found = Vec::new();
    for sample in samples(datagrams) {
        if let SampleData::FlowSample(flow) = sample {
            found.push(flow);
        }
    }
    found
}

fn discards(datagrams: &[SFlowDatagram]) -> Vec<&DiscardedPacket> {
    let mut found = Vec::new();
    for sample in samples(datagrams) {
        if let SampleData::DiscardedPacket(discard) = sample {
            found.push(discard);
        }
    }
    found
}

fn counters(datagrams: &[SFlowDatagram]) -> Vec<&CountersSample> {
    let mut found = Vec::new();
    for sample in samples(datagrams) {
        if let SampleData::CountersSample(counters) = sample {
            found.push(counters);
        }
    }
    found
}

/// The start of the frame, and the cause as the switch counts it.
fn header_and_cause(discard: &DiscardedPacket) -> (&[u8], &str) {
    let (mut header, mut cause) = (None, None);
    for record in &discard.flow_records {
        match &record.flow_data {
            FlowData::SampledHeader(it) => header = Some(&it.header[..]),
            FlowData::ExtendedFunction(it) => cause = Some(it.symbol.as_str()),
            FlowData::ExtendedEgressQueue(queue) => assert!(queue.queue < 8),
            other => panic!("{other:?}"),
        }
    }
    (header.expect("a header"), cause.expect("a cause"))
}

fn sflow(stats: &Stats) -> &SflowStats {
    stats.sflow.as_ref().expect("there is an [sflow]")
}

/// The figures once all that was sampled has been sent.
fn settled(lab: &mut Lab) -> Stats {
    lab.switch.settled();
    std::thread::sleep(ARRIVAL);
    lab.switch.stats()
}

/// The codes of sFlow's list by cause; those of frames that the control thread got stand apart.
const CODES: [(&str, u32); 19] = [
    ("bad_checksum", 275),
    ("bad_header", 275),
    ("truncated", 275),
    ("too_long", 262),
    ("not_our_mac", 284),
    ("not_ip", 270),
    ("unroutable", 281),
    ("blackhole", 269),
    ("source_check", 258),
    ("port_down", 256),
    ("tail_drop", 259),
    ("wred_drop", 260),
    ("vlan_not_allowed", 265),
    ("ingress_limit", 259),
    ("oversize", 262),
    ("punted_ttl_expired", 257),
    ("punted_no_route", 6),
    ("punted_too_big", 262),
    ("punted_unreachable", 279),
];

#[test]
fn drops_are_those_of_the_counters_cause_by_cause_beside_a_capture() {
    let setup = Setup::new()
        .workers(2)
        .head(
            "[sflow]\ncollectors = [\"127.0.0.1\", \"127.0.0.1:6344\"]\nsample_rate = 0\n\
             polling_interval = \"1s\"\ndrop_monitor_limit = 10000\n[[wred]]\npriority = 0\n\
             kmin = \"100KB\"\nkmax = \"600KB\"\npmax = 0.02\n",
        )
        .file("routes", "routes.txt", "10.66.0.0/16 blackhole\n")
        .port(1, "mac = \"02:00:00:00:00:01\"\nsource_check = true\ntrusted = true")
        .port(2, "mtu = 1280");
    let Some(mut lab) = setup.start() else { return };
    lab.host(1).ping("10.1.3.2");
    lab.host(1).ping("10.1.2.2");
    let before = settled(&mut lab);
    let wire = Wire::record(&lab, "wire");
    // A capture follows every frame meanwhile.
    let mut capture = Command::new(knotless());
    capture.arg("capture").arg("--socket").arg(lab.path("lab.sock")).arg("-w");
    capture.arg(lab.path("all.pcapng"));
    let mut capture = Running::start(capture, lab.directory.path(), "capture");
    capture.wait_for("capturing");

    // Lossy frames at somewhat more than what h3's port carries: its queue is full.
    let receiver = lab.host(3).recv("");
    let flow = "--speed 1G --duration 2s --flow name=a,dst-ip=10.1.3.2,dscp=0,size=1000,rate=120M";
    lab.host(1).send(flow).report();
    receiver.report();
    let (from, to) = HOSTS;
    let mut frames = dead_ends();
    frames.extend([
        frame(PORT_MAC, 0x0800, &ipv4(1, from, to)),
        packet(from, [10, 99, 1, 1]),
        long(1_386, from, [10, 1, 2, 2]),
        frame(PORT_MAC, 0x8100, &[&[0x03, 0xE7, 8, 0][..], &ipv4(9, from, to), &[0; 26]].concat()),
    ]);
    send_raw(&lab, lab.host(1), &frames);
    // Port h2 is out of service: what is for it has nowhere to go, and what comes from it neither.
    lab.switch.ask(&json!({ "request": "link", "port": "h2", "up": false }));
    send_raw(&lab, lab.host(1), &[packet(from, [10, 1, 2, 2])]);
    send_raw(&lab, lab.host(2), &[packet([10, 1, 2, 2], to)]);
    lab.switch.ask(&json!({ "request": "link", "port": "h2", "up": true }));

    let after = settled(&mut lab);
    let datagrams = wire.end();
    capture.signal(Signal::SIGINT);
    let ended = capture.end(PATIENCE);
    assert!(ended.status.success() && ended.stderr.contains("none was missed"), "{ended:?}");
    // Both collectors have the same.
    let ours = &datagrams[&6343];
    assert_eq!(*ours, datagrams[&6344], "two collectors");

    let name = |index: u32| format!("h{index}");
    let mut seen: BTreeMap<(String, String), u64> = BTreeMap::new();
    let found = discards(ours);
    for discard in &found {
        let (header, cause) = header_and_cause(discard);
        assert!((14..=128).contains(&header.len()), "{discard:?}");
        let code = CODES.iter().find(|(known, _)| *known == cause);
        let (_, code) = code.unwrap_or_else(|| panic!("{cause} was not meant"));
        assert_eq!(discard.reason as u32, *code, "{cause}");
        // Counted where it leaves, or else where it came in.
        let at =
            if discard.output_ifindex > 0 { discard.output_ifindex } else { discard.input_ifindex };
        *seen.entry((name(at), cause.to_owned())).or_default() += 1;
        if ["tail_drop", "wred_drop"].contains(&cause) {
            assert_eq!((discard.input_ifindex, discard.output_ifindex), (1, 3));
        }
        if cause == "punted_ttl_expired" {
            // The TTL in the header is the one that it came with.
            assert_eq!(header[22], 1, "{header:?}");
        }
        assert_eq!(discard.drops, 0);
    }
    let punted: BTreeMap<_, _> =
        seen.clone().into_iter().filter(|((_, cause), _)| cause.starts_with("punted")).collect();
    let outcome = |stats: &Stats, name: &str| stats.agent.outcomes.get(name).copied().unwrap_or(0);
    for (cause, name) in [
        ("punted_ttl_expired", "ttl_expired"),
        ("punted_no_route", "no_route"),
        ("punted_too_big", "too_big"),
    ] {
        let told = punted.get(&("h1".to_owned(), cause.to_owned())).copied().unwrap_or(0);
        assert_eq!(told, outcome(&after, name) - outcome(&before, name), "{cause}");
        assert!(told > 0, "{cause}: {seen:?}");
    }
    seen.retain(|(_, cause), _| !cause.starts_with("punted"));
    assert_eq!(seen, dropped_between(&before, &after));
    let causes: Vec<&str> = seen.keys().map(|(_, cause)| cause.as_str()).collect();
    for cause in [
        "tail_drop",
        "wred_drop",
        "bad_checksum",
        "bad_header",
        "truncated",
        "not_our_mac",
        "not_ip",
        "unroutable",
        "blackhole",
        "source_check",
        "port_down",
        "vlan_not_allowed",
    ] {
        assert!(causes.contains(&cause), "no {cause}: {seen:?}");
    }
    // Numbered without a gap, and the switch counts them so.
    let numbers: Vec<u32> = found.iter().map(|discard| discard.sequence_number).collect();
    let first = numbers[0];
    assert_eq!(numbers, (first..).take(numbers.len()).collect::<Vec<_>>());
    let reported = sflow(&after).counters.drop_samples - sflow(&before).counters.drop_samples;
    assert_eq!(reported, found.len() as u64);
    assert!(!counters(ours).is_empty(), "counters are sent meanwhile");
    assert!(flows(ours).is_empty(), "no frame is sampled at a rate of 0");
    lab.stop();
}

#[test]
fn one_frame_in_fifty_is_sampled_and_sfcapd_counts_them() {
    let setup = Setup::new()
        .workers(2)
        .head(
            "[sflow]\ncollectors = [\"127.0.0.1\"]\nsample_rate = 50\npolling_interval = \"0s\"\n\
             header_bytes = 64\nagent_id = \"h3\"\n",
        )
        .port(1, "trusted = true")
        .port(2, "sample_rate = 1")
        .port(3, "sample_rate = 0");
    let Some(mut lab) = setup.start() else { return };
    lab.namespace.ip("link set lo up");
    // nfdump's collector, which is not told how sFlow is configured.
    let flows_of = lab.path("nfdump");
    std::fs::create_dir(&flows_of).expect("the directory is ours");
    // It must not lose a datagram to threads that poll: the sender does not repeat it.
    let mut sfcapd = lab.namespace.command("nice");
    sfcapd.args("-n -10 sfcapd -B 212992 -b 127.0.0.1 -p 6343 -w".split(' ')).arg(&flows_of);
    let mut sfcapd = Running::start(sfcapd, lab.directory.path(), "sfcapd");
    sfcapd.wait_for("Startup");
    let wire = Wire::record(&lab, "wire");
    let receiver = lab.host(2).recv("");
    let flow = "--speed 1G --duration 4s --flow name=a,dst-ip=10.1.2.2,dscp=26,size=1000,rate=60M";
    let sent = lab.host(1).send(flow).report();
    let received = receiver.report();
    assert_eq!(received.frames, sent.frames, "no lossless frame is lost");
    lab.host(2).ping("10.1.1.2");
    let after = settled(&mut lab);
    let datagrams = wire.end().remove(&6343).expect("some were sent");
    let sockets = lab.namespace.command("nstat").args(["-asz", "Udp*"]).output();
    let sockets = String::from_utf8(sockets.expect("iproute2 has it").stdout).expect("text");
    sfcapd.signal(Signal::SIGTERM);
    let collector = sfcapd.end(PATIENCE);

    assert!(datagrams.iter().all(|datagram| datagram.agent_address.to_string_of() == "10.1.3.1"));
    let sampled = flows(&datagrams);
    let of_port = |port: u32| -> Vec<&FlowSample> {
        sampled.iter().copied().filter(|flow| flow.source_id.index() == port).collect()
    };
    let arrived = |stats: &Stats, port: usize| {
        let port = &stats.ports[port - 1];
        let data: u64 = port.rx_frames.iter().sum();
        data + port.rx_unclassified_frames
    };
    // Each frame of h2, and none of h3. Numbers count from the start of the switch, as counters do.
    let all = of_port(2);
    let last = all.last().expect("it answers");
    assert_eq!(u64::from(last.sequence_number), arrived(&after, 2));
    assert_eq!(u64::from(last.sample_pool), arrived(&after, 2));
    assert!(of_port(3).is_empty());
    // Of h1, one in fifty. The variance of a renewal process with skips of 1 to 99, each as likely,
    // is a third of its mean; beyond six deviations is a wrong failure with a probability of 2e-9.
    let flow = of_port(1);
    let frames = arrived(&after, 1);
    assert!(frames >= sent.frames && sent.frames > 20_000, "{frames}");
    let expected = frames as f64 / 50.0;
    let bound = 6.0 * (expected / 3.0).sqrt() + 1.0;
    let last = flow.last().expect("there are many");
    let count = f64::from(last.sequence_number);
    assert!((count - expected).abs() <= bound, "{count} of {expected}, within {bound}");
    eprintln!("sampled {count} of {frames} frames, expected {expected:.1}, bound {bound:.1}");
    for sample in [&flow[..], &all[..]].concat() {
        assert_eq!(sample.drops, 0);
        assert_eq!(sample.input.0, sample.source_id.index());
        let FlowData::SampledHeader(header) = &sample.flow_records[0].flow_data else {
            panic!("{sample:?}")
        };
        assert!(header.header.len() <= 64 && header.stripped == 4, "{header:?}");
    }
    let known = flow.iter().filter(|sample| sample.output.0 == 2).count();
    assert!(known as u64 * 50 > sent.frames / 2, "they leave by h2: {known}");
    for samples in [&flow, &all] {
        let numbers: Vec<u32> = samples.iter().map(|sample| sample.sequence_number).collect();
        assert_eq!(numbers, (numbers[0]..).take(numbers.len()).collect::<Vec<_>>());
        assert!(samples.is_sorted_by_key(|sample| sample.sample_pool));
    }
    // The last sample is not the last frame: by fifty frames, or at most by 99.
    let pool = u64::from(last.sample_pool);
    assert!((pool..pool + 99).contains(&(frames + after.ports[0].pfc.rx_frames)), "{pool}");
    // A datagram may be lost before there is a network, and says so.
    assert_eq!(sflow(&after).counters.missed_samples, 0);

    // nfdump multiplies each sample by its rate.
    let mut nfdump = Command::new("nfdump");
    nfdump.arg("-R").arg(&flows_of);
    nfdump.args(["-q", "-N", "-o", "fmt:%in;%out;%pkt;%da", "src ip 10.1.1.2 and proto udp"]);
    let output = nfdump.output().expect("nfdump is installed");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let mut packets: BTreeMap<String, u64> = BTreeMap::new();
    for line in text.lines() {
        let fields: Vec<&str> = line.split(';').map(str::trim).collect();
        assert_eq!((fields[0], fields[3]), ("1", "10.1.2.2"), "{line}");
        let count: u64 = fields[2].parse().expect("a number");
        *packets.entry(fields[1].to_owned()).or_default() += count;
    }
    // By the port where they leave; 0 if they waited for the host's address first.
    let mut wire: BTreeMap<String, u64> = BTreeMap::new();
    for sample in flow.iter().filter(|sample| is_udp(sample)) {
        *wire.entry(sample.output.0.to_string()).or_default() += 50;
    }
    assert_eq!(packets, wire, "{} {sockets}", collector.stderr);
    lab.stop();
}

fn is_udp(sample: &FlowSample) -> bool {
    let FlowData::SampledHeader(header) = &sample.flow_records[0].flow_data else { return false };
    header.header[12..14] == [8, 0] && header.header[23] == 17
}

/// An address in words.
trait Words {
    fn to_string_of(&self) -> String;
}

impl Words for sflow_parser::models::Address {
    fn to_string_of(&self) -> String {
        match self {
            Self::IPv4(address) => address.to_string(),
            Self::IPv6(address) => address.to_string(),
            Self::Unknown => "none".to_owned(),
        }
    }
}

#[test]
fn counters_that_tshark_reads_are_those_of_ctl() {
    let setup = Setup::new()
        .head("[sflow]\ncollectors = [\"127.0.0.1\"]\nsample_rate = 0\npolling_interval = \"1s\"\n")
        .port(1, "trusted = true");
    let Some(mut lab) = setup.start() else { return };
    let receiver = lab.host(3).recv("");
    let flow = "--speed 1G --duration 2s --flow name=a,dst-ip=10.1.3.2,dscp=0,size=1000,rate=120M";
    lab.host(1).send(flow).report();
    receiver.report();
    let stats = settled(&mut lab);
    let wire = Wire::record(&lab, "wire");
    std::thread::sleep(Duration::from_millis(2_500));
    let after = lab.switch.stats();
    let file = wire.file.clone();
    let datagrams = wire.end().remove(&6343).expect("some were sent");
    let names: Vec<&str> = ["h1", "h2", "h3"].to_vec();
    for sample in counters(&datagrams) {
        let sflow_parser::models::CounterData::OpenFlowPortName(name) =
            &sample.counters[1].counter_data
        else {
            panic!("{sample:?}")
        };
        assert_eq!(name.port_name, names[sample.source_id.index() as usize - 1]);
    }
    let fields = [
        "sflow_245.ifindex",
        "sflow_245.ifspeed",
        "sflow_245.ifinoct",
        "sflow_245.ifinpkt",
        "sflow_245.ifoutoct",
        "sflow_245.ifoutpkt",
        "sflow_245.ifoutdisc",
        "sflow_245.ifoper_status",
    ];
    let mut rounds = 0;
    for row in tshark(&file, "a", &fields) {
        // A column has the values of all ports, by comma.
        let columns: Vec<Vec<&str>> = row.iter().map(|cell| cell.split(',').collect()).collect();
        for (at, index) in columns[0].iter().enumerate() {
            let [port, still] = [&stats, &after]
                .map(|stats| &stats.ports[index.parse::<usize>().expect("a number") - 1]);
            assert_eq!(port.counters, still.counters, "nothing came meanwhile");
            let sum = |counters: &[u64]| counters.iter().sum::<u64>().to_string();
            let expected = [
                port.speed_bps.to_string(),
                sum(&port.rx_bytes),
                sum(&port.rx_frames),
                sum(&port.tx_bytes),
                sum(&port.tx_frames),
                port.drops.get("tail_drop").copied().unwrap_or_default().to_string(),
            ];
            let found: Vec<&str> = columns[1..7].iter().map(|column| column[at]).collect();
            assert_eq!(found, expected, "port {index}");
            rounds += 1;
        }
    }
    assert!(rounds >= 6, "two rounds of three ports: {rounds}");
    let tail_drops = stats.ports[2].drops.get("tail_drop").copied().unwrap_or_default();
    assert!(tail_drops > 0, "some were dropped");
    lab.stop();
}

#[test]
fn the_limit_holds_and_a_reload_changes_it() {
    let head = "[sflow]\ncollectors = [\"127.0.0.1\"]\nsample_rate = 0\n\
                polling_interval = \"0s\"\ndrop_monitor_limit = 10\n";
    let setup = Setup::new()
        .head(head)
        .file("routes", "routes.txt", "10.66.0.0/16 blackhole\n")
        .port(1, "trusted = true");
    let Some(mut lab) = setup.start() else { return };
    lab.host(1).ping("10.1.3.2");
    let toml = std::fs::read_to_string(lab.path("lab.toml")).expect("it is ours");
    let change = |lab: &mut Lab, from: &str, to: &str| {
        lab.write("lab.toml", &toml.replace(from, to));
        lab.switch.ask(&json!({ "request": "reload" }));
    };
    for limit in [10, 100] {
        let before = settled(&mut lab);
        let wire = Wire::record(&lab, &format!("wire-{limit}"));
        // A thousand frames a second that a route discards.
        let flow =
            "--speed 1G --duration 2s --flow name=a,dst-ip=10.66.1.1,dscp=0,size=100,rate=800K";
        let began = Instant::now();
        lab.host(1).send(flow).report();
        let after = settled(&mut lab);
        let took = began.elapsed().as_secs_f64();
        let datagrams = wire.end().remove(&6343).expect("some were sent");
        let found = discards(&datagrams);
        let dropped: u64 = dropped_between(&before, &after).values().sum();
        assert!(dropped > 1_500, "{dropped}");
        let told = found.len() as f64;
        eprintln!("limit {limit}: {told} of {dropped} in {took:.2} s");
        // A bucket of a second at once, and then evenly.
        let limit_f = f64::from(limit);
        assert!(told <= limit_f * (took + 1.0) + 1.0, "{told} in {took} s");
        assert!(told >= 2.0 * limit_f, "{told}");
        let (old, new) = (sflow(&before).counters, sflow(&after).counters);
        assert_eq!(sflow(&after).drop_monitor_limit, limit);
        let suppressed = new.suppressed_drops - old.suppressed_drops;
        assert_eq!(new.drop_samples - old.drop_samples + suppressed, dropped, "none is forgotten");
        assert_eq!(found.len() as u64 + suppressed, dropped);
        assert!(found.last().is_some_and(|last| last.drops > 0), "and collectors see how many");
        assert!(found.iter().all(|discard| discard.reason as u32 == 269));
        if limit == 10 {
            change(&mut lab, "drop_monitor_limit = 10", "drop_monitor_limit = 100");
        }
    }
    // Off and on again.
    change(&mut lab, "[sflow]\n", "[sflow]\nadmin_state = \"down\"\n");
    assert_eq!(lab.switch.stats_when("the end", |stats| stats.sflow.is_none()).sflow, None);
    change(&mut lab, "", "");
    lab.switch.stats_when("sFlow", |stats| stats.sflow.is_some());
    // What cannot be is refused, and what is goes on.
    lab.write("lab.toml", &toml.replace("drop_monitor_limit = 10", "drop_monitor_limit = 10001"));
    let refusal = lab.switch.client().refusal(&json!({ "request": "reload" }));
    assert!(refusal.contains("10001 is out of range; it is 0 to 10000"), "{refusal}");
    assert!(lab.switch.stats().sflow.is_some());
    lab.stop();
}
