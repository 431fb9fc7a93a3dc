//! The metrics of the real program by HTTP: the page, and clients that misbehave.
#![cfg(feature = "dpdk")]

#[allow(dead_code, reason = "each test file uses a part of it")]
mod binary;
mod http;

use binary::{Place, Switch};
use http::{Response, ask, exchange};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::ptrace;
use nix::sys::signal::Signal;
use nix::sys::wait::{WaitPidFlag, waitpid};
use nix::unistd::Pid;
use std::collections::BTreeMap;
use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

/// One port makes frames without end, and all of them are dropped.
const SWITCH: &str = r#"
name = "s1"
[buffer]
size = "4MB"
[control]
socket = "s.sock"
[memory]
hugepages = "never"
[workers]
idle = "sleep"
[[lossless]]
priority = 3
[[port]]
name = "a"
device = "net_null0"
addresses = ["10.0.1.254/24"]
[[port]]
name = "b"
device = "net_ring0"
addresses = ["10.0.2.254/24"]
"#;

const TCP: &str = "[metrics]\nlisten = \"127.0.0.1:0\"\n";
const UNIX: &str = "[metrics]\nlisten = \"unix:s.metrics\"\n";
const OPEN_METRICS: &str = "Accept: application/openmetrics-text;version=1.0.0,*/*;q=0.1\r\n";

fn place(more: &str) -> Place {
    Place::new(&format!("{SWITCH}{more}"))
}

/// The address at which the switch says that it serves metrics.
fn address(switch: &Switch<'_>) -> SocketAddr {
    let said = &switch.startup_output;
    let line = said.lines().find_map(|line| line.strip_prefix("metrics: http://"));
    let address = line.unwrap_or_else(|| panic!("{said}")).split('/').next().unwrap();
    address.parse().unwrap_or_else(|error| panic!("{error}: {said}"))
}

fn connect(at: SocketAddr) -> TcpStream {
    TcpStream::connect(at).unwrap()
}

fn get(at: SocketAddr, path: &str, headers: &str) -> Response {
    ask(&mut connect(at), "GET", path, headers)
}

/// The samples of a page with their values.
fn samples(page: &str) -> BTreeMap<&str, f64> {
    let lines = page.lines().filter(|line| !line.starts_with('#'));
    let pairs = lines.map(|line| line.rsplit_once(' ').unwrap_or_else(|| panic!("{line}")));
    pairs.map(|(sample, value)| (sample, value.parse().unwrap())).collect()
}

/// Whether a sample cannot be compared with that of another moment: time goes on, workers turn, and
/// port `a` receives.
fn moves(sample: &str) -> bool {
    let name = sample.split('{').next().unwrap();
    let of_time = name == "knotless_uptime_seconds" || name.starts_with("knotless_mbufs");
    let of_frames = name.starts_with("knotless_frames") || name.starts_with("knotless_burst");
    let of_port = sample.contains("port=\"a\"") && name.ends_with("_total");
    of_time || of_frames || of_port || name.starts_with("knotless_worker")
}

/// Whether the page by HTTP is that of `ctl metrics`.
fn assert_same(page: &str, switch: &Switch<'_>) {
    let shown = switch.ask(&["metrics"]);
    let (page, shown) = (samples(page), samples(&shown));
    assert!(page.keys().eq(shown.keys()), "other samples");
    assert!(page.len() > 500, "{}", page.len());
    let fixed = |samples: &BTreeMap<&str, f64>| -> Vec<String> {
        let fixed = samples.iter().filter(|(sample, _)| !moves(sample));
        fixed.map(|(sample, value)| format!("{sample} {value}")).collect()
    };
    assert_eq!(fixed(&page), fixed(&shown));
}

#[test]
fn the_page_is_what_ctl_shows_by_tcp_and_by_a_unix_socket() {
    let place = place(TCP);
    let switch = place.start(&[]);
    let response = get(address(&switch), "/metrics", "");
    assert_eq!(response.status, 200, "{response:?}");
    let text = "text/plain; version=0.0.4; charset=utf-8";
    assert_eq!(response.header("content-type"), Some(text));
    assert_same(&response.body, &switch);
    let build = response.body.lines().find(|line| line.starts_with("knotless_build_info{"));
    let version = env!("CARGO_PKG_VERSION");
    assert!(build.unwrap().contains(&format!("version=\"{version}\",dpdk=\"DPDK ")), "{build:?}");
    switch.interrupt();

    place.write("SWITCH.toml", &format!("{SWITCH}{UNIX}"));
    let switch = place.start(&[]);
    let said = "metrics: unix socket s.metrics, for its user and group";
    assert!(switch.startup_output.contains(said), "{}", switch.startup_output);
    let mode = fs::metadata(place.path("s.metrics")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o660);
    let mut stream = UnixStream::connect(place.path("s.metrics")).unwrap();
    assert_same(&ask(&mut stream, "GET", "/metrics", "").body, &switch);
    switch.interrupt();
    assert!(!place.path("s.metrics").exists(), "the socket is gone");
}

#[test]
fn open_metrics_is_for_those_who_ask_and_head_has_no_body() {
    let place = place(TCP);
    let switch = place.start(&[]);
    let at = address(&switch);
    let open_metrics = get(at, "/metrics", OPEN_METRICS);
    let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    assert_eq!(open_metrics.header("content-type"), Some(kind));
    assert!(open_metrics.body.ends_with("\n# EOF\n"));
    assert!(open_metrics.body.contains("\n# TYPE knotless_port_rx_frames counter\n"));
    let text = get(at, "/metrics?a=b", "Accept: text/plain\r\n");
    assert!(text.body.contains("\n# TYPE knotless_port_rx_frames_total counter\n"));
    assert!(!text.body.contains("# EOF"));

    let head = ask(&mut connect(at), "HEAD", "/metrics", "");
    assert_eq!((head.status, head.body.as_str()), (200, ""));
    let bytes: usize = head.header("content-length").unwrap().parse().unwrap();
    assert!(bytes > 10_000, "{bytes}");
    switch.interrupt();
}

#[test]
fn one_connection_carries_many_requests() {
    let place = place(TCP);
    let switch = place.start(&[]);
    let mut stream = connect(address(&switch));
    let request = "GET /metrics HTTP/1.1\r\nHost: a\r\n";
    let three = format!("{request}\r\n{request}\r\n{request}Connection: close\r\n\r\n");
    let said = exchange(&mut stream, three.as_bytes());
    assert_eq!(said.matches("HTTP/1.1 200 OK\r\n").count(), 3);
    switch.interrupt();
}

#[test]
fn what_is_no_request_for_metrics_is_refused() {
    let place = place(TCP);
    let switch = place.start(&[]);
    let at = address(&switch);
    for path in ["/", "/metrics/", "/metrics/..", "/stats", "*"] {
        let response = get(at, path, "");
        assert_eq!(
            (response.status, response.body.as_str()),
            (404, "the metrics are at /metrics\n")
        );
    }
    for method in ["POST", "PUT", "DELETE", "OPTIONS", "TRACE", "NONSENSE"] {
        let response = ask(&mut connect(at), method, "/metrics", "");
        assert_eq!((response.status, response.header("allow")), (405, Some("GET, HEAD")));
    }
    let body = ask(&mut connect(at), "GET", "/metrics", "Content-Length: 3\r\n\r\nabc");
    assert_eq!(body.status, 200, "a body is of no use and of no harm");
    let long_header = format!("GET /metrics HTTP/1.1\r\nA: {}\r\n\r\n", "x".repeat(64 << 10));
    let many_headers = format!("GET /metrics HTTP/1.1\r\n{}\r\n", "A: b\r\n".repeat(2_000));
    let (lines, zeros) = ("\r\n".repeat(1_000), "\0".repeat(1_000));
    for malformed in [
        "GET\r\n\r\n",
        "GET /metrics\r\n\r\n",
        "GET /metrics HTTP/9.9\r\n\r\n",
        "GET /metrics HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
        "GET /metrics HTTP/1.1\r\nTransfer-Encoding: nonsense\r\n\r\n",
        "\u{7f}ELF\u{1}\u{1}\r\n\r\n",
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        &long_header,
        &many_headers,
        &lines,
        &zeros,
    ] {
        let mut stream = connect(at);
        let said = exchange(&mut stream, malformed.as_bytes());
        let status = said.split(' ').nth(1).unwrap_or_default();
        assert!(said.is_empty() || status.starts_with('4'), "{malformed:.80}: {said}");
    }
    assert_eq!(get(at, "/metrics", "").status, 200, "the switch goes on");
    switch.interrupt();
}

#[test]
fn a_client_that_does_not_send_or_does_not_read_is_disconnected() {
    let place = place(UNIX);
    let switch = place.start(&[]);
    let metrics = place.path("s.metrics");
    let mut half = UnixStream::connect(&metrics).unwrap();
    half.write_all(b"GET /metrics HTTP/1.1\r\nHost").unwrap();
    let mut deaf = UnixStream::connect(&metrics).unwrap();
    // More responses than the kernel holds.
    let request = "GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n".repeat(100);
    deaf.write_all(request.as_bytes()).unwrap();

    let mut other = UnixStream::connect(&metrics).unwrap();
    assert_eq!(ask(&mut other, "GET", "/metrics", "").status, 200, "others are served");
    let mut said = Vec::new();
    half.read_to_end(&mut said).unwrap();
    assert!(said.is_empty(), "{said:?}");
    let mut ends = [PollFd::new(deaf.as_fd(), PollFlags::empty())];
    assert_eq!(poll(&mut ends, PollTimeout::from(60_000_u16)).unwrap(), 1, "it is still connected");
    assert!(ends[0].revents().unwrap().contains(PollFlags::POLLHUP));
    let mut said = Vec::new();
    let _reset = deaf.read_to_end(&mut said);
    let responses = String::from_utf8(said).unwrap().matches("HTTP/1.1 200 OK").count();
    assert!((1..100).contains(&responses), "{responses}");
    switch.interrupt();
}

#[test]
fn more_connections_than_there_may_be_wait_and_the_switch_goes_on() {
    let place = place(TCP);
    let switch = place.start(&[]);
    let at = address(&switch);
    let idle: Vec<TcpStream> = (0..100).map(|_| connect(at)).collect();
    assert!(switch.ask(&["stats"]).contains("s1: process "));
    let descriptors = fs::read_dir(format!("/proc/{}/fd", switch.pid())).unwrap();
    let targets = descriptors.filter_map(|fd| fs::read_link(fd.unwrap().path()).ok());
    let sockets = targets.filter(|target| target.to_string_lossy().starts_with("socket:")).count();
    assert!(sockets < 60, "{sockets} of 100 connections are open in the switch");
    drop(idle.into_iter().skip(50).collect::<Vec<_>>());
    assert_eq!(get(at, "/metrics", "").status, 200, "idle ones make room");
    switch.interrupt();
}

#[test]
fn counters_and_buckets_never_decrease() {
    let place = place(TCP);
    let switch = place.start(&[]);
    let at = address(&switch);
    let received = "knotless_frames_total{switch=\"s1\",end=\"received\"}";
    let mut before = get(at, "/metrics", "").body;
    let first = samples(&before)[received];
    for _ in 0..100 {
        let now = get(at, "/metrics", "").body;
        let (old, new) = (samples(&before), samples(&now));
        for (sample, value) in &new {
            let name = sample.split('{').next().unwrap();
            let suffix = name.rsplit('_').next().unwrap();
            if ["total", "bucket", "count", "sum"].contains(&suffix) {
                assert!(*value >= old[sample], "{sample}: {} -> {value}", old[sample]);
            }
        }
        before = now;
    }
    let last = samples(&before);
    assert!(last[received] > first, "frames come all the time");
    let bursts = last["knotless_burst_frames_count{switch=\"s1\"}"];
    assert!(bursts > 0.0 && last["knotless_burst_frames_sum{switch=\"s1\"}"] >= bursts);
    assert_eq!(last["knotless_burst_frames_bucket{switch=\"s1\",le=\"+Inf\"}"], bursts);
    switch.interrupt();
}

/// The threads of a process with this name.
fn threads(pid: u32, name: &str) -> Vec<PathBuf> {
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).unwrap();
    let tasks = tasks.map(|task| task.unwrap().path());
    let named = |task: &PathBuf| fs::read_to_string(task.join("comm")).unwrap().trim() == name;
    tasks.filter(named).collect()
}

#[test]
fn the_thread_has_the_lowest_priority_and_nothing_listens_unless_asked() {
    let place = place(TCP);
    let switch = place.start(&[]);
    assert_eq!(get(address(&switch), "/metrics", "").status, 200);
    let [thread] = &threads(switch.pid(), "metrics")[..] else { panic!("one thread") };
    let niceness = |task: &Path| {
        let stat = fs::read_to_string(task.join("stat")).unwrap();
        let fields: Vec<String> =
            stat.rsplit(") ").next().unwrap().split(' ').map(str::to_owned).collect();
        fields[16].parse::<i32>().unwrap()
    };
    let [worker] = &threads(switch.pid(), "worker-0")[..] else { panic!("one worker") };
    assert_eq!(niceness(thread), 19);
    assert!(niceness(worker) < 19);
    switch.interrupt();

    place.write("SWITCH.toml", SWITCH);
    let switch = place.start(&[]);
    let said = &switch.startup_output;
    assert!(!said.contains("metrics") && !said.contains("telemetry"), "{said}");
    assert!(threads(switch.pid(), "metrics").is_empty());
    switch.interrupt();
}

#[test]
fn a_place_that_is_taken_is_refused_and_one_that_was_left_is_not() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let at = taken.local_addr().unwrap();
    let refused = place(&format!("[metrics]\nlisten = \"{at}\"\n"));
    let error = refused.refused(&["run", "SWITCH.toml"]);
    assert!(error.contains(&format!("metrics at {at}: ")), "{error}");
    assert!(error.contains("set [metrics] listen to another address"), "{error}");

    let place = place(UNIX);
    let metrics = place.path("s.metrics");
    place.write("s.metrics", "precious");
    let error = place.refused(&["run", "SWITCH.toml"]);
    assert!(error.contains("something else is there"), "{error}");
    assert_eq!(fs::read_to_string(&metrics).unwrap(), "precious");
    fs::remove_file(&metrics).unwrap();
    let other = UnixListener::bind(&metrics).unwrap();
    let error = place.refused(&["run", "SWITCH.toml"]);
    assert!(error.contains("another process listens there"), "{error}");
    assert!(metrics.exists());
    drop(other);

    let killed = place.start(&[]);
    killed.signal(Signal::SIGKILL);
    drop(killed);
    assert!(metrics.exists(), "left behind");
    let switch = place.start(&[]);
    // Somebody else's file is not removed at the end.
    fs::remove_file(&metrics).unwrap();
    place.write("s.metrics", "precious");
    switch.interrupt();
    assert_eq!(fs::read_to_string(&metrics).unwrap(), "precious");
}

/// A debugger holds the worker's thread, and nothing else.
#[test]
fn a_worker_that_hangs_is_on_the_page() {
    let place = place(TCP);
    let switch = place.start(&[]);
    let at = address(&switch);
    let answers =
        || get(at, "/metrics", "").body.contains("knotless_workers_answer{switch=\"s1\"} 1");
    assert!(answers());
    let [worker] = &threads(switch.pid(), "worker-0")[..] else { panic!("one worker") };
    let worker = worker.file_name().unwrap().to_str().unwrap().parse().unwrap();
    let worker = Pid::from_raw(worker);
    ptrace::seize(worker, ptrace::Options::empty()).unwrap();
    ptrace::interrupt(worker).unwrap();
    waitpid(worker, Some(WaitPidFlag::__WALL)).unwrap();
    switch.wait_for("silence", |_| !answers());
    for headers in ["", OPEN_METRICS] {
        let page = get(at, "/metrics", headers).body;
        assert_eq!(
            samples(&page),
            BTreeMap::from([("knotless_workers_answer{switch=\"s1\"}", 0.0)])
        );
    }
    ptrace::detach(worker, None).unwrap();
    switch.wait_for("the worker", |_| answers());
    switch.interrupt();
}

#[test]
fn dpdk_makes_its_telemetry_socket_if_asked() {
    use nix::sys::socket::{
        AddressFamily, SockFlag, SockType, UnixAddr, connect, recv, send, socket,
    };
    use std::os::fd::AsRawFd;
    let place = place("[dpdk]\ntelemetry = true\n");
    let switch = place.start(&[]);
    let said = &switch.startup_output;
    let line = said.lines().find_map(|line| line.strip_prefix("DPDK's telemetry: unix socket "));
    let path = line.unwrap_or_else(|| panic!("{said}")).split(',').next().unwrap().to_owned();
    let client = socket(AddressFamily::Unix, SockType::SeqPacket, SockFlag::empty(), None).unwrap();
    connect(client.as_raw_fd(), &UnixAddr::new(path.as_str()).unwrap()).unwrap();
    let mut octets = vec![0; 16 << 10];
    let flags = nix::sys::socket::MsgFlags::empty();
    let mut hear = || {
        let count = recv(client.as_raw_fd(), &mut octets, flags).unwrap();
        String::from_utf8(octets[..count].to_vec()).unwrap()
    };
    assert!(hear().contains(&format!("\"pid\":{}", switch.pid())));
    send(client.as_raw_fd(), b"/ethdev/list", flags).unwrap();
    assert_eq!(hear(), r#"{"/ethdev/list":[0,1]}"#);
    switch.interrupt();
    assert!(!Path::new(&path).exists() && !Path::new(&path).parent().unwrap().exists());
}
