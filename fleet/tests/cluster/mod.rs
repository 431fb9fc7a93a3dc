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
    /// Whether clients need a certificate.
    is_tls: bool,
}

fn free_ports() -> [u16; 2] {
    let listeners = [0, 0].map(|port| TcpListener::bind(("127.0.0.1", port)).unwrap());
    listeners.map(|listener| listener.local_addr().unwrap().port())
}

impl Cluster {
    pub(crate) fn start(members: usize) -> Self {
        let ports = (0..members).map(|_| free_ports()).collect();
        let folder = tempfile::tempdir().unwrap();
        Self { folder, ports, members: Vec::new(), is_tls: false }.started(members)
    }

    /// One member, which speaks TLS with clients that have a certificate of the same authority.
    pub(crate) fn start_tls() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let openssl = |words: &str| {
            let mut command = Command::new("openssl");
            let done = command.current_dir(folder.path()).args(words.split(' ')).output().unwrap();
            assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        };
        let key = "-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes";
        openssl(&format!("req -x509 {key} -keyout ca.key -out ca.pem -subj /CN=ca -days 2"));
        std::fs::write(folder.path().join("names"), "subjectAltName=IP:127.0.0.1\n").unwrap();
        for name in ["member", "switch"] {
            openssl(&format!("req {key} -keyout {name}.key -out {name}.csr -subj /CN={name}"));
            openssl(&format!(
                "x509 -req -in {name}.csr -CA ca.pem -CAkey ca.key -CAcreateserial -out {name}.pem \
                 -days 2 -extfile names"
            ));
        }
        Self { folder, ports: vec![free_ports()], members: Vec::new(), is_tls: true }.started(1)
    }

    fn started(self, members: usize) -> Self {
        let mut cluster = self;
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
        let scheme = if self.is_tls { "https" } else { "http" };
        let endpoints = self.ports.iter().map(|[port, _]| format!("{scheme}://127.0.0.1:{port}"));
        let file = |name: &str| self.folder().join(name);
        Access {
            endpoints: endpoints.collect(),
            ca: self.is_tls.then(|| file("ca.pem")),
            identity: self.is_tls.then(|| (file("switch.pem"), file("switch.key"))),
            user: None,
        }
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
        let client = &self.access().endpoints[member];
        let all = (0..self.ports.len()).map(|member| format!("m{member}={}", peer(member)));
        let all: Vec<String> = all.collect();
        let mut command = Command::new("etcd");
        if self.is_tls {
            let file = |name: &str| self.folder().join(name);
            command.arg("--client-cert-auth").arg("--trusted-ca-file").arg(file("ca.pem"));
            command.arg("--cert-file").arg(file("member.pem"));
            command.arg("--key-file").arg(file("member.key"));
        }
        command
            .args(["--name", &format!("m{member}")])
            .arg("--data-dir")
            .arg(self.folder.path().join(format!("m{member}")))
            .args(["--listen-client-urls", client, "--advertise-client-urls", client])
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
        let mut command = Command::new("etcdctl");
        if self.is_tls {
            let file = |name: &str| self.folder().join(name);
            command.arg("--cacert").arg(file("ca.pem")).arg("--cert").arg(file("switch.pem"));
            command.arg("--key").arg(file("switch.key"));
        }
        let output = command
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
