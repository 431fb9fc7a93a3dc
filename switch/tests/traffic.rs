//! `knotless traffic` between two network namespaces that a veth joins: the real program, the
//! kernel's real interfaces. Needs root; see `privilege`.

mod privilege;

use nix::sched::{CloneFlags, setns};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;
use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::net::UdpSocket;
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

const PROGRAM: &str = env!("CARGO_BIN_EXE_knotless");

/// Two namespaces, `left` with 10.9.0.1 and fd00::1 on its `eth`, `right` with .2 and ::2 on its
/// own. Both are gone when this is dropped.
struct Pair {
    left: String,
    right: String,
}

impl Pair {
    /// `None` if this user may not make namespaces, and that is all right.
    fn new() -> Option<Self> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        if !privilege::can_run() {
            return None;
        }
        let name = format!("kntr{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let pair = Self { left: format!("{name}l"), right: format!("{name}r") };
        ip(&["netns", "add", &pair.left]);
        ip(&["netns", "add", &pair.right]);
        let (left, right) = (pair.left.as_str(), pair.right.as_str());
        let veth = ["link", "add", "eth", "netns", left, "type", "veth", "peer", "name", "eth"];
        ip(&[&veth[..], &["netns", right]].concat());
        for (namespace, host) in [(left, "1"), (right, "2")] {
            ip(&["-n", namespace, "addr", "add", &format!("10.9.0.{host}/24"), "dev", "eth"]);
            let ipv6 = format!("fd00::{host}/64");
            ip(&["-n", namespace, "addr", "add", &ipv6, "dev", "eth", "nodad"]);
            ip(&["-n", namespace, "link", "set", "eth", "up"]);
        }
        Some(pair)
    }
}

impl Drop for Pair {
    fn drop(&mut self) {
        for namespace in [&self.left, &self.right] {
            let _ = Command::new("ip").args(["netns", "del", namespace]).status();
        }
    }
}

fn ip(arguments: &[&str]) {
    let output = Command::new("ip").args(arguments).output().expect("iproute2 is installed");
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "ip {}: {message}", arguments.join(" "));
}

fn traffic(namespace: &str, arguments: &str) -> Command {
    let mut command = Command::new("ip");
    command.args(["netns", "exec", namespace, PROGRAM, "traffic"]).args(arguments.split(' '));
    command
}

fn report(output: &Output) -> Value {
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{message}");
    serde_json::from_slice(&output.stdout).expect("one JSON object and nothing else")
}

fn send(namespace: &str, arguments: &str) -> Value {
    let output = traffic(namespace, &format!("send --json --dev eth {arguments}")).output();
    report(&output.expect("it runs"))
}

/// `traffic recv`, listening; killed when dropped before its end.
struct Running(Option<Child>);

impl Running {
    fn start(namespace: &str, arguments: &str) -> Self {
        let mut child = traffic(namespace, &format!("recv --json --dev eth {arguments}"))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("it runs");
        let mut ready = String::new();
        let stderr = child.stderr.take().expect("piped");
        BufReader::new(stderr).read_line(&mut ready).expect("it says that it listens");
        let receiver = Self(Some(child));
        assert_eq!(ready, "knotless traffic: listening on eth\n");
        receiver
    }

    /// Asks it to end, as the system does at shutdown; it still reports. What a sender that has
    /// ended gave to its end of the veth has arrived at the other.
    fn terminate(self) -> Value {
        let id = self.0.as_ref().map(Child::id).and_then(|id| i32::try_from(id).ok());
        let id = Pid::from_raw(id.expect("not yet ended"));
        kill(id, Signal::SIGTERM).expect("it still runs");
        self.report()
    }

    fn report(mut self) -> Value {
        let child = self.0.take().expect("not yet ended");
        report(&child.wait_with_output().expect("it ends"))
    }
}

/// A child that a failed test does not leave behind.
struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        let _ended_already = self.0.kill();
        let _ended_already = self.0.wait();
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(child) = &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("{value} is no count"))
}

/// Asserts that a flow arrived whole, and says how many frames it had.
fn whole(sent: &Value, received: &Value) -> u64 {
    assert_eq!(sent["name"], received["name"]);
    for fault in ["lost", "reordered", "duplicates", "corrupt", "ecn_ce"] {
        assert_eq!(received[fault], 0, "{fault}: {received}");
    }
    assert_eq!(sent["frames"], received["frames"]);
    assert_eq!(sent["bytes"], received["bytes"]);
    number(&sent["frames"])
}

#[test]
fn nothing_is_lost_at_50_megabits_and_every_field_arrives() {
    let Some(pair) = Pair::new() else { return };
    let receiver = Running::start(&pair.right, "--duration 120s");
    let sent = send(
        &pair.left,
        "--duration 1s --flow name=four,dst-ip=10.9.0.2,dscp=26,ttl=9,rate=50M \
         --flow name=six,dst-ip=fd00::2,vlan=7,pcp=5,size=200,fps=1K,count=300",
    );
    let received = receiver.terminate();
    assert_eq!((&sent["refused"], &sent["interface_tx_dropped"]), (&0.into(), &0.into()));
    assert_eq!(received["dropped_by_own_socket"], 0);
    assert_eq!((&received["misdelivered"], &received["damaged_headers"]), (&0.into(), &0.into()));
    let mut flows = received["flows"].as_array().expect("flows").clone();
    flows.sort_by_key(|flow| flow["flow"].as_u64());
    assert_eq!(flows.len(), 2);
    let frames = whole(&sent["flows"][0], &flows[0]);
    // 6,250 frames, less what a busy machine could not send and says it did not.
    let forfeited = number(&sent["flows"][0]["forfeited_ns"]) / 160_000;
    assert!(frames <= 6_251 && frames + forfeited + 63 >= 6_250, "{frames} + {forfeited}");
    assert_eq!(whole(&sent["flows"][1], &flows[1]), 300);
    assert_eq!((&flows[0]["priority"], &flows[0]["ttl_min"]), (&3.into(), &9.into()));
    assert_eq!(flows[0]["dscp"], serde_json::json!({ "26": frames }));
    assert_eq!(flows[0]["pcp"], serde_json::json!({}));
    assert_eq!(flows[1]["pcp"], serde_json::json!({ "5": 300 }));
    let latency = &flows[0]["latency_ns"];
    assert!(number(&latency["min"]) > 0 && number(&latency["p50"]) <= number(&latency["max"]));
}

/// XOFF for class 3 every 168 ms, each good for 336 ms at this speed: no ordinary stall of the
/// machine lets the pause run out.
const PAUSED: &str = "--speed 100M --duration 120s --pause-class 3 --pause-for 60s";
const TWO_CLASSES: &str = "--speed 100M --duration 1s --flow name=f3,dst-ip=10.9.0.2,dscp=26,rate=20M \
                           --flow name=f0,dst-ip=10.9.0.2,rate=20M";

#[test]
fn xoff_stops_its_class_and_no_other() {
    let Some(pair) = Pair::new() else { return };
    let receiver = Running::start(&pair.right, PAUSED);
    let sent = send(&pair.left, TWO_CLASSES);
    let received = receiver.terminate();
    let (three, other) = (&sent["flows"][0], &sent["flows"][1]);
    let paused_ns = number(&sent["priorities"][3]["paused_ns"]);
    let elapsed_ns = number(&sent["elapsed_ns"]);
    assert!(paused_ns * 2 > elapsed_ns, "paused for {paused_ns} ns of {elapsed_ns}");
    let (three, other) = (number(&three["frames"]), number(&other["frames"]));
    assert!(three * 5 < other, "class 3 sent {three} frames, class 0 {other}");
    assert_eq!(received["frames"], three + other, "and what was sent arrived");
    for class in [0, 1, 2, 4, 5, 6, 7] {
        assert_eq!(sent["priorities"][class]["xoff"], 0, "class {class}");
        assert_eq!(sent["priorities"][class]["paused_ns"], 0, "class {class}");
    }
    let xoff_sent = number(&received["pauser"]["xoff_frames"]);
    assert!(number(&sent["priorities"][3]["xoff"]) <= xoff_sent);
}

#[test]
fn with_ignore_pfc_it_keeps_sending_and_counts() {
    let Some(pair) = Pair::new() else { return };
    let receiver = Running::start(&pair.right, PAUSED);
    let sent = send(&pair.left, &format!("--ignore-pfc {TWO_CLASSES}"));
    let received = receiver.terminate();
    let frames = |flow: usize| number(&sent["flows"][flow]["frames"]);
    assert!(frames(0).abs_diff(frames(1)) <= frames(1) / 5, "{} and {}", frames(0), frames(1));
    assert!(number(&sent["priorities"][3]["xoff"]) > 2);
    assert_eq!(sent["pfc_obeyed"], false);
    assert!(number(&received["pauser"]["frames_after_xoff"]) > frames(0) / 2);
}

#[test]
fn pfc_frames_reach_the_other_side() {
    let Some(pair) = Pair::new() else { return };
    let receiver = Running::start(&pair.right, "--udp-port 4791");
    let arguments = "pfc --json --dev eth --classes 3:65535,4:0 --repeat 1ms --count 20";
    let sent = report(&traffic(&pair.left, arguments).output().expect("it runs"));
    assert_eq!(sent["pfc_frames"], 20);
    let received = receiver.terminate();
    let received = |class: usize| {
        let priority = &received["priorities"][class];
        (number(&priority["xoff"]), number(&priority["xon"]))
    };
    assert_eq!((received(3), received(4), received(0)), ((20, 0), (0, 20), (0, 0)));
}

#[test]
fn the_kernels_own_udp_takes_our_frames() {
    let Some(pair) = Pair::new() else { return };
    let namespace = File::open(format!("/run/netns/{}", pair.right)).expect("it was made");
    let receiver = std::thread::spawn(move || {
        // Of this thread only.
        setns(namespace, CloneFlags::CLONE_NEWNET).expect("root may");
        let sockets =
            ["10.9.0.2:4791", "[fd00::2]:4792"].map(|at| UdpSocket::bind(at).expect("free"));
        for socket in &sockets {
            socket.set_read_timeout(Some(Duration::from_secs(10))).expect("a valid time");
        }
        sockets
    });
    let sockets = receiver.join().expect("bound");
    send(
        &pair.left,
        "--flow dst-ip=10.9.0.2,src-port=700,size=100,count=1 \
         --flow dst-ip=fd00::2,src-port=701,port=4792,size=1400,count=1",
    );
    let mut buffer = [0; 2_000];
    for (socket, (from, bytes)) in
        sockets.iter().zip([("10.9.0.1:700", 58), ("[fd00::1]:701", 1_338)])
    {
        let (received, sender) = socket.recv_from(&mut buffer).expect("checksums fit");
        assert_eq!((received, sender.to_string()), (bytes, from.to_owned()));
    }
}

#[test]
fn frames_refused_by_the_interface_are_not_losses() {
    let Some(pair) = Pair::new() else { return };
    ip(&["-n", &pair.left, "tuntap", "add", "tap", "mode", "tap"]);
    ip(&["-n", &pair.left, "link", "set", "tap", "up"]);
    let arguments = "send --json --dev tap --duration 200ms --flow \
                     dst-ip=10.8.0.2,src-ip=10.8.0.1,dst-mac=02:00:00:00:00:02,fps=1K";
    let sent = report(&traffic(&pair.left, arguments).output().expect("it runs"));
    assert_eq!(sent["frames"], 0);
    assert!(number(&sent["refused"]) > 0);
}

/// Holds the tap `tap` and reads nothing before it is told to; then says how many frames of ours
/// (UDP) and of others it finds.
const TAP_HOLDER: &str = r#"
import fcntl, os, struct, sys
IFF_TAP, IFF_NO_PI, TUNSETIFF = 0x0002, 0x1000, 0x400454CA
tap = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
fcntl.ioctl(tap, TUNSETIFF, struct.pack("16sH22x", b"tap", IFF_TAP | IFF_NO_PI))
print("held", flush=True)
sys.stdin.readline()
ours = others = 0
while True:
    try:
        frame = os.read(tap, 4096)
    except BlockingIOError:
        break
    if frame[12:14] == b"\x08\x00" and frame[23] == 17:
        ours += 1
    else:
        others += 1
print(f'{{"ours": {ours}, "others": {others}}}', flush=True)
"#;

/// What an interface drops is not only what a sender gave it. Counting those drops as the sender's
/// made `make knot` deliver more frames than were sent.
#[test]
fn sent_is_what_the_device_took_whatever_else_it_drops() {
    let Some(pair) = Pair::new() else { return };
    let left = pair.left.as_str();
    let mut holder = Command::new("ip");
    holder.args(["netns", "exec", left, "/usr/bin/python3", "-c", TAP_HOLDER]);
    holder.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut holder = Killed(holder.spawn().expect("it runs"));
    let mut message = BufReader::new(holder.0.stdout.take().expect("piped"));
    let mut line = String::new();
    message.read_line(&mut line).expect("it holds the tap");
    assert_eq!(line, "held\n");
    // Room for fewer frames than the sender has.
    for setting in ["addrgenmode none", "txqueuelen 64", "up"] {
        let words: Vec<&str> = setting.split(' ').collect();
        ip(&[&["-n", left, "link", "set", "tap"], &words[..]].concat());
    }
    ip(&["-n", left, "addr", "add", "10.8.0.1/24", "dev", "tap"]);
    let neighbor = ["10.8.0.3", "lladdr", "02:00:00:00:00:03", "dev", "tap"];
    ip(&[&["-n", left, "neigh", "replace"], &neighbor[..]].concat());

    let flow = "dst-ip=10.8.0.2,dst-mac=02:00:00:00:00:02,count=1000";
    let sender = traffic(left, &format!("send --json --dev tap --flow {flow}"))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let sender = Running(Some(sender.expect("it runs")));
    let dropped = || {
        let message =
            Command::new("ip").args(["-n", left, "-j", "-s", "link", "show", "tap"]).output();
        let message: Value =
            serde_json::from_slice(&message.expect("it runs").stdout).expect("JSON");
        number(&message[0]["stats64"]["tx"]["dropped"])
    };
    let until = Instant::now() + Duration::from_secs(20);
    while dropped() == 0 {
        assert!(Instant::now() < until, "the tap is never full");
    }
    let ping =
        ["netns", "exec", left, "ping", "-n", "-q", "-f", "-c", "50", "-W", "0.1", "10.8.0.3"];
    Command::new("ip").args(ping).output().expect("ping is installed");
    let sent = sender.terminate();
    holder.0.stdin.take().expect("piped").write_all(b"\n").expect("it waits");
    line.clear();
    message.read_line(&mut line).expect("it says what it read");
    let read: Value = serde_json::from_str(&line).expect(&line);

    assert!((1..1_000).contains(&number(&sent["frames"])), "{sent}");
    assert_eq!(sent["frames"], read["ours"], "taken is what the far side finds: {sent}, {read}");
    let others = number(&sent["interface_tx_dropped"]) - number(&sent["refused"]);
    assert!(others >= 40, "{others} frames of others were dropped, and were none of ours: {sent}");
}

#[test]
fn losses_in_the_socket_buffer_are_counted_apart() {
    let Some(pair) = Pair::new() else { return };
    let receiver = Running::start(&pair.right, "--buffer 1 --duration 120s");
    let sent = send(&pair.left, "--burst 64 --flow dst-ip=10.9.0.2,size=1500,count=5000");
    let received = receiver.terminate();
    let missing = number(&sent["frames"]) - number(&received["frames"]);
    let dropped = number(&received["dropped_by_own_socket"]);
    assert_eq!(sent["frames"], 5_000);
    assert!(missing > 0, "a buffer of one byte held 5,000 frames");
    // The buffer is shared with frames that are not ours, of which there are few.
    assert!((missing..missing + 50).contains(&dropped), "{missing} missing, {dropped} dropped");
}

#[test]
fn errors_are_one_line_and_exit_code_2() {
    let Some(pair) = Pair::new() else { return };
    let wrong = [
        ("pfc --dev nowhere --classes 3:1", "no interface `nowhere` in this network namespace"),
        (
            "send --dev eth --flow dst-ip=10.9.0.2,name=a --flow dst-ip=10.9.0.2,name=a",
            "--flow: two flows are named `a`",
        ),
        (
            "send --dev eth --flow dst-ip=10.9.0.2,size=9000",
            "a frame of 9000 bytes is longer than the MTU of eth allows",
        ),
        (
            "recv --dev eth --pause-class 3 --pause-for 2ms --pause-every 1ms",
            "--pause-every: must be longer than --pause-for, or use --pause-for alone",
        ),
    ];
    for (arguments, what) in wrong {
        let output = traffic(&pair.left, arguments).output().expect("it runs");
        assert_eq!(output.status.code(), Some(2), "{arguments}");
        let message = String::from_utf8_lossy(&output.stderr);
        assert_eq!(message.lines().last(), Some(format!("knotless traffic: {what}").as_str()));
    }
}
