//! Ports of shared memory with a virtual machine's devices: the switch's `net_virtio_user` at
//! another process's `net_vhost`, and its `net_vhost` at another one's `net_virtio_user`. Both of
//! the others are DPDK's own `testpmd`, between that device and capture files.
#![cfg(feature = "dpdk")]

#[allow(dead_code, reason = "each test file uses a part of it")]
mod binary;
#[allow(dead_code, reason = "each test file uses a part of it")]
mod pcap;

use binary::Place;
use dataplane::testing::wire::{Udp, host_mac, port_mac, sequence};
use pcap::{read_pcap, write_pcap};
use std::fs::{self, File};
use std::io::Write;
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(60);
const FRAMES: u32 = 400;

const SWITCH: &str = r#"
name = "vhost"
[buffer]
size = "4MB"
[control]
socket = "s.sock"
[memory]
hugepages = "never"
[workers]
count = 2
idle = "sleep"
[[lossless]]
priority = 3
[[port]]
name = "frontend"
device = "net_virtio_user0,path=one.sock,queue_size=1024"
mac = "02:00:00:00:00:01"
addresses = ["10.0.1.254/24"]
trusted = true
[[port]]
name = "backend"
device = "net_vhost0,iface=two.sock"
mac = "02:00:00:00:00:02"
addresses = ["10.0.2.254/24"]
trusted = true
[[neighbor]]
address = "10.0.1.1"
mac = "02:00:00:01:01:01"
[[neighbor]]
address = "10.0.2.1"
mac = "02:00:00:01:02:01"
"#;

/// A `testpmd` that forwards between a device and a pair of capture files once it is told to.
struct Testpmd {
    child: Child,
    commands: ChildStdin,
    log: PathBuf,
}

impl Testpmd {
    /// Starts one; the files are `NAME-in.pcap`, which must be there, and `NAME-out.pcap`.
    fn start(place: &Place, name: &str, device: &str) -> Self {
        let log = place.path(&format!("{name}.log"));
        let files = format!("net_pcap0,rx_pcap={name}-in.pcap,tx_pcap={name}-out.pcap");
        let prefix = format!("--file-prefix=knotless-{name}-{}", std::process::id());
        let mut command = Command::new("dpdk-testpmd");
        command.args(["--no-huge", "--no-shconf", "--no-pci", "--no-telemetry", &prefix]);
        command.args(["-m", "128", "--lcores=0@0-1,1@0-1", "--vdev", device, "--vdev", &files]);
        // It throws away what is in its queues when it starts to forward, unless told not to.
        command.args(["--", "-i", "--no-flush-rx", "--total-num-mbufs=4096"]);
        command.current_dir(place.path("")).stdin(Stdio::piped());
        command.stdout(File::create(&log).unwrap()).stderr(File::create(&log).unwrap());
        let mut child = command.spawn().expect("`make setup` installs dpdk-testpmd");
        let commands = child.stdin.take().unwrap();
        let mut testpmd = Self { child, commands, log };
        testpmd.wait_for("testpmd>");
        testpmd
    }

    fn wait_for(&mut self, text: &str) {
        let until = Instant::now() + PATIENCE;
        let log = || fs::read_to_string(&self.log).unwrap_or_default();
        while !log().contains(text) {
            assert!(Instant::now() < until, "no {text}: {}", log());
            assert!(self.child.try_wait().unwrap().is_none(), "it ended: {}", log());
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn order(&mut self, command: &str) {
        writeln!(self.commands, "{command}").unwrap();
    }

    /// Ends it, so that its capture file is whole.
    fn stop(mut self) {
        self.order("quit");
        let until = Instant::now() + PATIENCE;
        while self.child.try_wait().unwrap().is_none() {
            assert!(Instant::now() < until, "{}", fs::read_to_string(&self.log).unwrap());
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for Testpmd {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ended = self.child.kill();
        let _ended = self.child.wait();
    }
}

/// Numbered frames of all lengths from a host of port `from` to one of port `to`.
fn numbered(from: u8, to: u8) -> Vec<Vec<u8>> {
    let frame = |number: u32| {
        let dscp = if number.is_multiple_of(2) { 0 } else { 3 };
        let frame_bytes = 60 + number as usize * 7 % 1_455;
        Udp { sequence: number, frame_bytes, ..Udp::routed(from, to, dscp) }.bytes()
    };
    (0..FRAMES).map(frame).collect()
}

/// All of them have left by port `to`, changed as a router changes them and not otherwise.
fn check(place: &Place, file: &str, from: u8, to: u8) {
    let mut got: Vec<Vec<u8>> = read_pcap(&place.path(file));
    got.retain(|frame| frame[12..14] == [8, 0] && frame[23] == 17);
    got.sort_by_key(|frame| sequence(frame));
    let sent = numbered(from, to);
    assert_eq!(got.len(), sent.len(), "{file}");
    for (got, mut sent) in got.into_iter().zip(sent) {
        sent[..6].copy_from_slice(&host_mac(to, 1).0);
        sent[6..12].copy_from_slice(&port_mac(to).0);
        sent[22] -= 1;
        // The checksum's high byte is one more for a TTL of one less, with the carry to the end.
        let sum = u32::from(u16::from_be_bytes([sent[24], sent[25]])) + 0x0100;
        let sum = u16::try_from((sum & 0xFFFF) + (sum >> 16)).unwrap();
        sent[24..26].copy_from_slice(&sum.to_be_bytes());
        assert_eq!(got, sent, "{file}");
    }
}

#[test]
fn frames_pass_a_frontend_and_a_backend_of_virtio_both_ways() {
    let place = Place::new(SWITCH);
    write_pcap(&place.path("one-in.pcap"), &numbered(1, 2));
    write_pcap(&place.path("two-in.pcap"), &numbered(2, 1));
    // Each socket is made by the side with `net_vhost`, and must be there first.
    let mut one = Testpmd::start(&place, "one", "net_vhost0,iface=one.sock");
    let switch = place.start(&[]);
    let mut two = Testpmd::start(&place, "two", "net_virtio_user0,path=two.sock,queue_size=1024");
    switch.wait_for("both links", |switch| {
        let stats = switch.json(&["stats"]);
        (0..2).all(|port| stats["ports"][port]["link"] == true)
    });
    for testpmd in [&mut one, &mut two] {
        testpmd.order("start");
    }
    switch.wait_for("every frame", |switch| {
        let sent = |port: usize| {
            switch.number(&format!("/ports/{port}/tx_frames/0"))
                + switch.number(&format!("/ports/{port}/tx_frames/3"))
        };
        (0..2).all(|port| sent(port) >= u64::from(FRAMES))
    });
    std::thread::sleep(Duration::from_millis(200));
    let (output, _) = switch.interrupt();
    assert!(output.contains("imbalance 0") && output.contains("buffers are back"), "{output}");
    assert!(output.contains("lossless drops: 0"), "{output}");
    one.stop();
    two.stop();
    check(&place, "two-out.pcap", 1, 2);
    check(&place, "one-out.pcap", 2, 1);
}
