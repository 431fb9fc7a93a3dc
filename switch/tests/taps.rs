//! The real program on taps and other devices that two switches may want: who comes second is
//! refused, whoever is killed leaves nothing behind, and a port whose interface is down costs
//! nothing. Needs root; without, each test says so and does nothing.
#![cfg(feature = "dpdk")]

#[allow(dead_code, reason = "each test file uses a part of it")]
mod binary;
#[allow(dead_code, reason = "each test file uses a part of it")]
#[path = "rig/netns.rs"]
mod netns;

use binary::{Place, Switch};
use netns::{Other, enter_own, ip};
use nix::sys::signal::Signal;
use std::fs;
use std::net::UdpSocket;
use std::time::{Duration, Instant};

/// A switch `name` that routes between these devices; port n has 10.0.n.254.
fn place(name: &str, devices: &[&str], more: &str) -> Place {
    let ports = devices.iter().enumerate().map(|(index, device)| {
        let number = index + 1;
        format!(
            "[[port]]\nname = \"p{number}\"\ndevice = \"{device}\"\n\
             addresses = [\"10.0.{number}.254/24\"]\nmac = \"02:00:00:00:00:0{number}\"\n"
        )
    });
    Place::new(&format!(
        "name = \"{name}\"\n[buffer]\nsize = \"24MB\"\n[control]\nsocket = \"s.sock\"\n\
         [memory]\nhugepages = \"never\"\n[workers]\nidle = \"sleep\"\n\
         [[lossless]]\npriority = 3\n{}{more}",
        ports.collect::<String>()
    ))
}

/// All interfaces, without the operational state: the kernel sets it some time after the carrier.
fn links() -> String {
    let shown = ip("-o link show");
    let lines = shown.lines().map(|line| {
        let (before, after) = line.split_once(" state ").expect("every interface has a state");
        format!("{before} {}\n", after.split_once(' ').expect("and more").1)
    });
    lines.collect()
}

#[test]
fn the_second_switch_on_a_device_is_refused_and_the_first_goes_on() {
    if !enter_own() {
        return;
    }
    ip("link add va type veth peer name vb");
    ip("link set va up");
    ip("link set vb up");
    let folder = tempfile::tempdir().unwrap();
    let shared = |name: &str| folder.path().join(name).display().to_string();
    for (device, wrong) in [
        ("net_tap0,iface=kt0".to_owned(), "the tap kt0 is in use by process"),
        ("net_af_packet0,iface=vb".to_owned(), "the interface vb is in use by process"),
        (format!("net_pcap0,tx_pcap={}", shared("out.pcap")), "is being written by process"),
        (
            format!("net_memif0,role=server,socket={},socket-abstract=no", shared("m.sock")),
            "is served by process",
        ),
        (format!("net_memif0,role=server,socket={}", shared("a.sock")), "is served by process"),
    ] {
        let (one, two) = (place("one", &[&device], ""), place("two", &[&device], ""));
        let first = one.start(&[]);
        let is_up = |it: &Switch<'_>| it.json(&["stats"])["ports"][0]["up"] == true;
        if !device.contains("memif") {
            first.wait_for("the link", is_up);
        }
        let before = links();
        let error = two.refused(&["run", "SWITCH.toml"]);
        println!("{error}");
        let holder = format!("{wrong} {} (knotless)", first.pid());
        assert!(error.contains(&holder), "{error}");
        assert_eq!(links(), before, "nothing was touched");
        assert_eq!(is_up(&first), !device.contains("memif"));
        // Killed, it leaves nothing that refuses the next.
        first.signal(Signal::SIGKILL);
        drop(first);
        two.start(&[]).interrupt();
    }
}

/// CPU time that a process has had.
fn cpu_time(pid: u32) -> Duration {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let fields: Vec<&str> = stat.rsplit_once(") ").unwrap().1.split(' ').collect();
    let ticks: u64 = fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap();
    Duration::from_millis(ticks * 10)
}

/// Two hosts behind taps, each in a namespace of its own.
fn hosts() -> [Other; 2] {
    let hosts = [Other::new(), Other::new()];
    for (index, host) in hosts.iter().enumerate() {
        let (number, peer) = (index + 1, 2 - index);
        ip(&format!("link set kt{number} netns {} name eth", host.path()));
        host.ip("link set eth up");
        host.ip(&format!("addr add 10.0.{number}.1/24 dev eth"));
        let mac = format!("02:00:00:00:00:0{number}");
        host.ip(&format!("neigh add 10.0.{number}.254 lladdr {mac} dev eth nud permanent"));
        host.ip(&format!("route add 10.0.{peer}.0/24 via 10.0.{number}.254"));
    }
    hosts
}

fn port_down(switch: &Switch<'_>) -> u64 {
    let stats = switch.json(&["stats"]);
    let ports = stats["ports"].as_array().unwrap().iter();
    ports.map(|port| port["drops"]["port_down"].as_u64().unwrap_or(0)).sum()
}

#[test]
fn a_tap_that_is_set_down_drops_as_port_down_and_the_worker_rests() {
    if !enter_own() {
        return;
    }
    let neighbor = "[[neighbor]]\naddress = \"10.0.2.1\"\nmac = \"02:00:00:00:02:01\"\n";
    let devices = ["net_tap1,iface=kt1", "net_tap2,iface=kt2"];
    let place = place("s", &devices, neighbor);
    let switch = place.start(&[]);
    let [one, two] = hosts();
    let is_up = |port: usize, up: bool| {
        switch.wait_for("the link", |it| it.json(&["stats"])["ports"][port]["link"] == up);
    };
    is_up(0, true);
    is_up(1, true);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            one.enter();
            let socket = UdpSocket::bind("10.0.1.1:0").unwrap();
            let began = Instant::now();
            while began.elapsed() < Duration::from_secs(4) {
                let _full = socket.send_to(&[0; 100], "10.0.2.1:9");
                std::thread::sleep(Duration::from_micros(100));
            }
        });
        switch.wait_for("frames", |it| it.number("/ports/1/tx_frames/0") > 100);
        two.ip("link set eth down");
        let set_down = Instant::now();
        is_up(1, false);
        println!("the link was seen down after {:?}", set_down.elapsed());
        let (errors, down) =
            (switch.number("/ports/1/device_counters/tx_error_frames"), port_down(&switch));
        std::thread::sleep(Duration::from_secs(1));
        assert_eq!(switch.number("/ports/1/device_counters/tx_error_frames"), errors);
        let more = port_down(&switch) - down;
        assert!(more > 500, "{more} frames dropped at the port that is down");
    });
    let before = cpu_time(switch.pid());
    std::thread::sleep(Duration::from_secs(2));
    let took = cpu_time(switch.pid()) - before;
    assert!(took < Duration::from_millis(600), "{took:?} of CPU time in 2 s without work");
    println!("{took:?} of CPU time in 2 s without work");
    two.ip("link set eth up");
    is_up(1, true);
    two.ip("link del eth");
    is_up(1, false);
    std::thread::sleep(Duration::from_millis(500));
    let (_, error) = switch.interrupt();
    let count_lines = |text: &str| error.lines().filter(|line| line.contains(text)).count();
    assert_eq!(count_lines("port p2: its interface was deleted"), 1, "{error}");
}

#[test]
fn no_frame_is_dropped_because_its_port_is_not_known_to_be_up_yet() {
    if !enter_own() {
        return;
    }
    let devices = ["net_tap1,iface=kt1", "net_tap2,iface=kt2"];
    let place = place("s", &devices, "");
    let switch = place.start(&[]);
    let hosts = hosts();
    let answered = std::thread::scope(|scope| {
        let ping = scope.spawn(|| {
            hosts[0].enter();
            let words = ["-c", "1", "-W", "5", "10.0.1.254"];
            std::process::Command::new("ping").args(words).output().unwrap().status.success()
        });
        ping.join().unwrap()
    });
    assert!(answered, "the very first frame is answered");
    for round in 1..=5 {
        hosts[0].ip("link set eth down");
        switch.wait_for("down", |it| it.json(&["stats"])["ports"][0]["link"] == false);
        hosts[0].ip("link set eth up");
        std::thread::scope(|scope| {
            scope.spawn(|| {
                hosts[0].enter();
                let socket = UdpSocket::bind("10.0.1.1:0").unwrap();
                for _ in 0..100 {
                    socket.send_to(&[0; 100], "10.0.1.254:9").unwrap();
                }
            });
        });
        switch.wait_for("up", |it| it.json(&["stats"])["ports"][0]["link"] == true);
        // Answers that are still to leave when the port goes down next are dropped, rightly.
        switch.wait_for("each datagram", |it| {
            it.json(&["stats"])["agent"]["outcomes"]["port_unreachable"] == round * 100
        });
        switch.wait_for("its answer", |it| it.json(&["stats"])["totals"]["held"] == 0);
    }
    assert_eq!(port_down(&switch), 0, "{}", switch.json(&["stats"])["ports"][0]["drops"]);
    switch.interrupt();
}
