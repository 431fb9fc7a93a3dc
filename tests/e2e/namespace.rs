//! A network namespace that exists as long as this process holds it open, without name or file.

use nix::sched::{CloneFlags, unshare};
use std::fs::File;
use std::os::fd::AsRawFd;
use std::process::Command;

/// A network namespace of our own.
#[derive(Debug)]
pub(crate) struct Namespace(File);

impl Namespace {
    pub(crate) fn new() -> Self {
        // A thread can move to a new namespace alone; the open file keeps that when it ends.
        let thread = std::thread::spawn(|| {
            unshare(CloneFlags::CLONE_NEWNET).expect("root may make network namespaces");
            File::open("/proc/thread-self/ns/net").expect("every thread has one")
        });
        Self(thread.join().expect("the thread made it"))
    }

    /// Where other processes find it.
    pub(crate) fn path(&self) -> String {
        format!("/proc/{}/fd/{}", std::process::id(), self.0.as_raw_fd())
    }

    /// `program` in this namespace, killed by the kernel if the test dies first. The process that
    /// is started becomes `program`: it has its process id.
    pub(crate) fn command(&self, program: &str) -> Command {
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "KILL", "--", "nsenter"]);
        command.arg(format!("--net={}", self.path())).args(["--", program]);
        command
    }

    /// `ip` with these arguments, here.
    pub(crate) fn ip(&self, arguments: &str) {
        let output =
            self.command("ip").args(arguments.split(' ')).output().expect("ip is installed");
        let told = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "ip {arguments}: {told}");
    }

    /// No IPv6 here, with which interfaces speak before anybody has asked them to.
    pub(crate) fn ipv4_only(&self) {
        let disable = "echo 1 >/proc/sys/net/ipv6/conf/all/disable_ipv6";
        let output = self.command("sh").args(["-c", disable]).output().expect("there is a shell");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }

    /// Moves `interface` from here to `other`.
    pub(crate) fn hand_over(&self, interface: &str, other: &Self) {
        self.ip(&format!("link set {interface} netns {}", other.path()));
    }
}
