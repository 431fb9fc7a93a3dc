//! `knotless capture` at a switch under load: what it sees is what the counters say, tshark reads
//! it, and nobody who captures harms the switch.

use crate::lab::{Lab, Setup, knotless};
use crate::process::Running;
use crate::raw_frames::{HOSTS, dead_ends, dropped_between, packet, send_raw};
use nix::sys::signal::Signal;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs::{self, File, Permissions};
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;
use tests::tree;

/// How long a process may take to end.
const PATIENCE: Duration = Duration::from_secs(30);

/// A capture into a file.
struct Capture {
    running: Running,
    file: PathBuf,
}

impl Capture {
    /// Begins to capture, with `more` arguments.
    fn start(lab: &Lab, name: &str, more: &[&str]) -> Self {
        let file = lab.path(&format!("{name}.pcapng"));
        let mut command = Command::new(knotless());
        command.arg("capture").arg("--socket").arg(lab.path("lab.sock"));
        command.args(more).arg("-w").arg(&file);
        let mut running = Running::start(command, lab.directory.path(), name);
        running.wait_for("capturing");
        Self { running, file }
    }

    /// Ends it; nothing may have been missed. The fields of each packet, as tshark sees them.
    fn stop(self, lab: &Lab, fields: &[&str]) -> Vec<Vec<String>> {
        self.running.signal(Signal::SIGINT);
        let ended = self.running.end(PATIENCE);
        assert!(ended.status.success() && ended.stderr.contains("none was missed"), "{ended:?}");
        tshark(lab, &self.file, fields)
    }
}

/// What tshark says of each packet of `file`, with the dissector of the packages. It runs as
/// nobody: as root it loads no scripts.
fn tshark(lab: &Lab, file: &Path, fields: &[&str]) -> Vec<Vec<String>> {
    let script = lab.path("knotless.lua");
    fs::copy(tree::root().join("packaging/wireshark/knotless.lua"), &script).expect("it is there");
    let open = |path: &Path, mode| fs::set_permissions(path, Permissions::from_mode(mode));
    open(lab.directory.path(), 0o755).expect("the directory is ours");
    open(&script, 0o644).expect("the file is ours");
    let mut command = Command::new("setpriv");
    command.args(["--reuid=65534", "--regid=65534", "--clear-groups", "env", "HOME=/", "tshark"]);
    command.arg("-X").arg(format!("lua_script:{}", script.display()));
    command.args(["-r", "-", "-T", "fields"]);
    for field in fields {
        command.args(["-e", field]);
    }
    command.stdin(File::open(file).expect("it was written")).stderr(Stdio::piped());
    let output = command.output().expect("tshark is installed");
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && !told.contains("Lua"), "{told}");
    let text = String::from_utf8(output.stdout).expect("tshark writes text");
    text.lines().map(|line| line.split('\t').map(str::to_owned).collect()).collect()
}

#[test]
fn captured_drops_are_those_of_the_counters_cause_by_cause() {
    let setup = Setup::new()
        .head("[[wred]]\npriority = 0\nkmin = \"100KB\"\nkmax = \"600KB\"\npmax = 0.02\n")
        .file("routes", "routes.txt", "10.66.0.0/16 blackhole\n")
        .port(1, "mac = \"02:00:00:00:00:01\"\nsource_check = true\ntrusted = true");
    let Some(mut lab) = setup.start() else { return };
    lab.host(1).ping("10.1.3.2");
    lab.host(1).ping("10.1.2.2");
    let before = lab.switch.settled();
    let drops = Capture::start(&lab, "drops", &["--dir", "drop"]);

    // Lossy frames at twice what h3's port carries: its queue is full.
    let receiver = lab.host(3).recv("");
    let flow = "--speed 1G --duration 2s --flow name=a,dst-ip=10.1.3.2,dscp=0,size=1000,rate=200M";
    lab.host(1).send(flow).report();
    receiver.report();
    // Port h2 is out of service: what is for it has nowhere to go, and what comes from it neither.
    lab.switch.ask(&json!({ "request": "link", "port": "h2", "up": false }));
    let (from, to) = HOSTS;
    let mut frames = dead_ends();
    frames.push(packet(from, [10, 1, 2, 2]));
    send_raw(&lab, lab.host(1), &frames);
    send_raw(&lab, lab.host(2), &[packet([10, 1, 2, 2], to)]);
    lab.switch.ask(&json!({ "request": "link", "port": "h2", "up": true }));

    let after = lab.switch.settled();
    let fields =
        ["frame.interface_name", "knotless.drop_cause", "knotless.verdict", "frame.comment"];
    let mut seen = BTreeMap::new();
    for packet in drops.stop(&lab, &fields) {
        let [port, cause, verdict, comment] = packet.try_into().expect("four fields");
        assert_eq!(verdict, "drop", "{comment}");
        assert!(comment.starts_with(&format!("dropped: {cause} ")), "{comment}");
        *seen.entry((port, cause)).or_default() += 1;
    }
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
    ] {
        assert!(causes.contains(&cause), "no {cause}: {seen:?}");
    }
    lab.stop();
}

#[test]
fn a_flow_is_followed_from_port_to_port_and_pauses_are_seen() {
    let Some(mut lab) = Setup::new().port(1, "trusted = true").start() else { return };
    lab.host(1).ping("10.1.3.2");
    let before = lab.switch.settled();
    // One of three flows, by its marking.
    let flow = Capture::start(
        &lab,
        "flow",
        &["--filter", "udp and ip[1] & 0xfc == 104", "--dir", "in", "--dir", "out"],
    );
    let receiver = lab.host(3).recv("");
    let sender = lab.host(1).send(
        "--speed 1G --duration 2s --flow name=three,dst-ip=10.1.3.2,dscp=26,size=1000,rate=10M \
         --flow name=four,dst-ip=10.1.3.2,dscp=34,size=1000,rate=10M \
         --flow name=zero,dst-ip=10.1.3.2,dscp=0,size=1000,rate=10M",
    );
    let sent = sender.report();
    receiver.report();
    lab.switch.settled();
    let fields = [
        "knotless.dir",
        "knotless.verdict",
        "knotless.in_port",
        "knotless.out_port",
        "knotless.in_class",
        "knotless.out_class",
        "knotless.in_tag",
        "knotless.out_tag",
        "knotless.waited_ns",
        "frame.len",
        "ip.dsfield.dscp",
        "frame.interface_name",
    ];
    let packets = flow.stop(&lab, &fields);
    let three = sent.flows.iter().find(|flow| flow.name == "three").expect("it was sent");
    for (dir, verdict, at) in [("in", "forward", "h1"), ("out", "sent", "h3")] {
        let of_dir: Vec<_> = packets.iter().filter(|packet| packet[0] == dir).collect();
        assert_eq!(of_dir.len() as u64, three.frames, "{dir}");
        for packet in of_dir {
            assert_eq!(packet[1..6], [verdict, "h1", "h3", "3", "3"], "{packet:?}");
            assert_eq!(
                (&packet[7][..], &packet[9][..], &packet[10][..]),
                ("1", "1000", "26"),
                "{packet:?}"
            );
            assert_eq!(packet[11], at);
            assert_eq!(dir == "out", packet[8].parse::<u64>().is_ok(), "{packet:?}");
        }
    }
    assert_eq!(packets.len() as u64, 2 * three.frames, "nothing else matches");

    let pauses = Capture::start(&lab, "pauses", &["--port", "h3", "--dir", "pause"]);
    let pauser = lab.host(3).traffic("pfc", "--classes 3:100");
    pauser.end(PATIENCE).success();
    let after = lab.switch.stats_when("a pause", |stats| {
        stats.ports[2].pfc.rx_frames > before.ports[2].pfc.rx_frames
    });
    let seen = pauses.stop(&lab, &["knotless.dir", "knotless.verdict", "macc.cbfc.enbv"]);
    let received = after.ports[2].pfc.rx_frames - before.ports[2].pfc.rx_frames;
    let consumed = seen.iter().filter(|packet| packet[..2] == ["pause", "consume"]).count();
    assert_eq!(consumed as u64, received, "{seen:?}");
    assert!(seen.iter().all(|packet| !packet[2].is_empty()), "tshark decodes PFC: {seen:?}");
    lab.stop();
}

/// Distances are uniform in 1 to 2 N - 1, so that of M frames M / N are taken, with the variance
/// M / (3 N) or less. Six deviations: a wrong failure has a probability of 2e-9.
#[test]
fn one_frame_in_n_of_those_that_match_is_followed() {
    const RATE: f64 = 20.0;
    let Some(mut lab) = Setup::new().port(1, "trusted = true").start() else { return };
    lab.host(1).ping("10.1.3.2");
    let flow =
        Capture::start(&lab, "sampled", &["--filter", "udp dst port 4791", "--sample", "20"]);
    let receiver = lab.host(3).recv("");
    let sent = lab
        .host(1)
        .send(
            "--speed 1G --duration 3s --flow name=three,dst-ip=10.1.3.2,dscp=26,size=500,rate=8M \
             --flow name=other,dst-ip=10.1.3.2,port=9,dscp=26,size=500,rate=8M",
        )
        .report();
    receiver.report();
    lab.switch.settled();
    let packets = flow.stop(&lab, &["knotless.dir", "udp.dstport", "ip.id", "udp.payload"]);
    let of_dir = |dir: &str| -> Vec<_> {
        packets.iter().filter(|packet| packet[0] == dir).map(|packet| &packet[1..]).collect()
    };
    let (arrivals, departures) = (of_dir("in"), of_dir("out"));
    assert_eq!(arrivals, departures, "each that is chosen is followed");
    assert_eq!(packets.len(), 2 * arrivals.len());
    assert!(packets.iter().all(|packet| packet[1] == "4791"), "{packets:?}");
    let flow = sent.flows.iter().find(|flow| flow.name == "three").expect("it was sent");
    let expected = flow.frames as f64 / RATE;
    let bound = 6.0 * (expected / 3.0).sqrt() + 1.0;
    assert!(expected > 200.0, "{} frames", flow.frames);
    let taken = arrivals.len() as f64;
    assert!((taken - expected).abs() <= bound, "{taken} of {}, not {expected:.0}", flow.frames);
    lab.stop();
}

/// A raw request for a capture, whose reply is not waited for.
fn request(filter: Option<&[[u32; 4]]>, snap: u16) -> Value {
    json!({ "request": "capture", "filter": filter, "snap": snap })
}

#[test]
fn filters_and_second_captures_are_refused_in_a_line() {
    let Some(mut lab) = Setup::new().start() else { return };
    let run = |more: &[&str]| {
        let mut command = Command::new(knotless());
        command.arg("capture").arg("--socket").arg(lab.path("lab.sock")).args(more);
        command.output().expect("it runs")
    };
    for (arguments, expected) in [
        (["--filter", "host and"], "filter `host and`: "),
        (
            ["--port", "h9"],
            "there is no port `h9`; name a port of `ctl ports`, or a number, 1 to 3",
        ),
        (["--class", "8"], "`8` is wrong for `--class <N>`; it takes a whole number, 0 to 7"),
    ] {
        let output = run(&arguments);
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{told}");
        assert!(told.contains(expected) && told.lines().count() == 1, "{told}");
    }
    let mut client = lab.switch.client();
    let program = |first: [u32; 4]| [first, [6, 0, 0, 1]];
    for (first, expected) in [
        ([0x05, 0, 0, u32::MAX], "it jumps back, so the filter could loop"),
        ([0x20, 0, 0, 70_000], "it reads 70004 bytes of a frame, and the longest has 9728"),
        ([0x15, 9, 0, 0], "it jumps to 10, behind the last of 2 instructions"),
    ] {
        let refusal = client.refusal(&request(Some(&program(first)), 128));
        assert!(refusal.starts_with("the filter is refused: instruction 0: "), "{refusal}");
        assert!(refusal.contains(expected), "{refusal}");
        // The switch closes the connection, which was to carry records.
        client = lab.switch.client();
    }

    let first = Capture::start(&lab, "first", &[]);
    let refusal = lab.switch.client().refusal(&request(None, 128));
    assert!(refusal.contains("captures already; there is one capture at a time"), "{refusal}");
    // A client that is killed captures no more.
    first.running.signal(Signal::SIGKILL);
    first.running.end(PATIENCE);
    lab.switch.wait_for("has ended its capture");
    Capture::start(&lab, "second", &[]).stop(&lab, &["knotless.dir"]);
    lab.switch.stats();
    lab.stop();
}

#[test]
fn a_client_that_reads_nothing_harms_nobody() {
    let Some(mut lab) = Setup::new().port(1, "trusted = true").start() else { return };
    lab.host(1).ping("10.1.2.2");
    lab.switch.settled();
    let mut stream = UnixStream::connect(lab.path("lab.sock")).expect("it listens");
    let asked = format!("{}\n", request(None, 1_500));
    std::io::Write::write_all(&mut stream, asked.as_bytes()).expect("it reads");
    lab.switch.wait_for("captures frames");
    // More than the ring of a worker and the socket hold, at 1,064 bytes an event.
    let receiver = lab.host(2).recv("");
    let flow = "--speed 1G --duration 4s --flow name=a,dst-ip=10.1.2.2,dscp=26,size=1000,rate=50M";
    let sender = lab.host(1).send(flow);
    for _ in 0..20 {
        // The control thread answers meanwhile.
        lab.switch.stats();
        std::thread::sleep(Duration::from_millis(100));
    }
    let sent = sender.report();
    let received = receiver.report();
    assert_eq!(received.frames, sent.frames, "no lossless frame is lost");
    stream.shutdown(std::net::Shutdown::Write).expect("it is open");
    let mut all = Vec::new();
    stream.read_to_end(&mut all).expect("the switch closes it");
    // The last chunk: eight octets of head, and the number of events that found no room.
    let missed = all.last_chunk().map(|&last| u64::from_le_bytes(last)).expect("an end");
    let events = 2 * sent.frames;
    assert!(missed > 0 && missed < events, "{missed} of {events} events");
    lab.stop();
}
