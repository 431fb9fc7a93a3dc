//! A network namespace for one test thread, which every process that it starts is in.

use nix::sched::{CloneFlags, setns, unshare};
use std::fs::File;
use std::net::UdpSocket;
use std::os::fd::AsRawFd;
use std::process::Command;
use std::time::{Duration, Instant};

/// Moves the calling thread to a namespace of its own; false, and a reason on stderr, if this user
/// may not.
pub(crate) fn enter_own() -> bool {
    if !nix::unistd::geteuid().is_root() {
        eprintln!("skipped: network namespaces and taps need root");
        return false;
    }
    unshare(CloneFlags::CLONE_NEWNET).unwrap();
    // Nothing is to be heard but what a test sends.
    std::fs::write("/proc/sys/net/ipv6/conf/default/disable_ipv6", "1").unwrap();
    ip("link set lo up");
    true
}

/// Another namespace, which is gone when this is dropped and nothing is in it.
pub(crate) struct Other(File);

impl Other {
    pub(crate) fn new() -> Self {
        let made = std::thread::spawn(|| {
            unshare(CloneFlags::CLONE_NEWNET).unwrap();
            File::open("/proc/thread-self/ns/net").unwrap()
        });
        Self(made.join().unwrap())
    }

    /// Where `ip` finds it.
    pub(crate) fn path(&self) -> String {
        format!("/proc/{}/fd/{}", std::process::id(), self.0.as_raw_fd())
    }

    /// Moves the calling thread there.
    pub(crate) fn enter(&self) {
        setns(&self.0, CloneFlags::CLONE_NEWNET).unwrap();
    }

    /// `ip` with these words, there.
    pub(crate) fn ip(&self, words: &str) {
        std::thread::scope(|scope| {
            scope.spawn(|| {
                self.enter();
                ip(words);
            });
        });
    }
}

/// `ip` with these words, in the calling thread's namespace.
pub(crate) fn ip(words: &str) -> String {
    let output = Command::new("ip").args(words.split(' ')).output().expect("iproute2 is installed");
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "ip {words}: {message}");
    String::from_utf8(output.stdout).unwrap()
}

/// A sender at the kernel's end of `interface`: 10.9.0.1, to a neighbor 10.9.0.2 that is known.
pub(crate) fn sender(interface: &str) -> UdpSocket {
    ip(&format!("addr add 10.9.0.1/24 dev {interface}"));
    ip(&format!("neigh add 10.9.0.2 lladdr 02:00:00:00:00:02 dev {interface} nud permanent"));
    let socket = UdpSocket::bind("10.9.0.1:0").unwrap();
    socket.connect("10.9.0.2:9").unwrap();
    socket
}

/// Waits until `done`, and returns how long that took.
pub(crate) fn wait_until(what: &str, done: impl Fn() -> bool) -> Duration {
    let began = Instant::now();
    while !done() {
        assert!(began.elapsed() < Duration::from_secs(20), "{what} does not come");
        std::thread::sleep(Duration::from_millis(2));
    }
    began.elapsed()
}
