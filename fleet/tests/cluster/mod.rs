//! A cluster of etcd on free ports of this machine, which ends with its test.

#![allow(dead_code, reason = "tests and the bench each take what they need")]

use fleet::Access;
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

pub(crate) struct Cluster {
    folder: TempDir,
    /// By member: the ports of its clients and of its peers.
    ports: Vec<[u16; 2]>,
    members: Vec<Option<Child>>,
}

fn free_ports() -> [u16; 2] {
    let listeners = [0, 0].map(|port| TcpListener::bind(("127.0.0.1", port)).unwrap());
    listeners.map(|listener| listener.local_addr().unwrap().port())
}

impl Cluster {
    pub(crate) fn start(members: usize) -> Self {
        let ports = (0..members).map(|_| free_ports()).collect();
        let folder = tempfile::tempdir().unwrap();
        let mut cluster = Self { folder, ports, members: Vec::new() };
        for member in 0..members {
            let child = cluster.spawn(member);
            cluster.members.push(Some(child));
        }
        let until = Instant::now() + Duration::from_secs(60);
        while !cluster.etcdctl(&["put", "ready", "1"]).0 {
            assert!(Instant::now() < until, "etcd does not come up");
        }
        cluster
    }

    pub(crate) fn access(&self) -> Access {
        let endpoints = self.ports.iter().map(|[port, _]| format!("http://127.0.0.1:{port}"));
        Access { endpoints: endpoints.collect(), ..Access::default() }
    }

    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn client_ports(&self) -> impl Iterator<Item = u16> + '_ {
        self.ports.iter().map(|[port, _]| *port)
    }

    pub(crate) fn processes(&self) -> impl Iterator<Item = u32> + '_ {
        self.members.iter().flatten().map(Child::id)
    }

    fn spawn(&self, member: usize) -> Child {
        let peer = |member: usize| format!("http://127.0.0.1:{}", self.ports[member][1]);
        let client = format!("http://127.0.0.1:{}", self.ports[member][0]);
        let all = (0..self.ports.len()).map(|member| format!("m{member}={}", peer(member)));
        let all: Vec<String> = all.collect();
        Command::new("etcd")
            .args(["--name", &format!("m{member}")])
            .arg("--data-dir")
            .arg(self.folder.path().join(format!("m{member}")))
            .args(["--listen-client-urls", &client, "--advertise-client-urls", &client])
            .args(["--listen-peer-urls", &peer(member)])
            .args(["--initial-advertise-peer-urls", &peer(member)])
            .args(["--initial-cluster", &all.join(","), "--initial-cluster-state", "new"])
            .args(["--log-level", "error"])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("etcd is installed by scripts/setup.sh etcd-server etcd-client")
    }

    pub(crate) fn kill(&mut self, member: usize) {
        let mut child = self.members[member].take().unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
    }

    pub(crate) fn restart(&mut self, member: usize) {
        self.members[member] = Some(self.spawn(member));
    }

    pub(crate) fn enable_authentication(&self) {
        for words in [
            &["user", "add", "root:root"][..],
            &["user", "grant-role", "root", "root"],
            &["auth", "enable"],
        ] {
            let (is_done, said) = self.etcdctl(words);
            assert!(is_done, "{words:?}: {said}");
        }
    }

    /// Whether etcdctl succeeds, and what it says.
    pub(crate) fn etcdctl(&self, arguments: &[&str]) -> (bool, String) {
        let output = Command::new("etcdctl")
            .env("ETCDCTL_API", "3")
            .args(["--endpoints", &self.access().endpoints.join(",")])
            .args(arguments)
            .output()
            .expect("etcdctl is installed by scripts/setup.sh etcd-server etcd-client");
        let said = [output.stdout, output.stderr].concat();
        (output.status.success(), String::from_utf8_lossy(&said).into_owned())
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        for child in self.members.iter_mut().flatten() {
            let _gone_already = child.kill();
            let _gone_already = child.wait();
        }
    }
}
