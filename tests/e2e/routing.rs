//! A real routing daemon: Debian's FRR gives the switch its routes by FPM. They are those of the
//! kernel beside it, they outlive the daemon, and a peer that is none of its kind changes nothing.

use crate::can_run;
use crate::lab::knotless;
use crate::namespace::Namespace;
use crate::process::{LOOK, Running};
use crate::switch::Switch;
use nix::sys::signal::Signal;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};
use tempfile::TempDir;

const PATIENCE: Duration = Duration::from_secs(60);
/// Where FRR's daemons are.
const DAEMONS: &str = "/usr/lib/frr";
/// The folder of its files and sockets.
const FRR: &str = "frr";
/// `RTPROT_ZSTATIC`.
const STATIC: &str = "196";

/// What staticd is given: several paths, both families, a link-local gateway, nowhere.
const ROUTES: &str = "\
ip route 10.21.0.0/16 10.0.1.2
ip route 10.22.0.0/16 10.0.1.2
ip route 10.22.0.0/16 10.0.2.2
ip route 10.23.0.0/16 blackhole
ip route 10.24.0.0/16 kr2
ipv6 route fd01::/48 fd00:1::2
ipv6 route fd02::/48 fe80::2 kr2
";

/// A switch and FRR in one namespace; the ports' interfaces are FRR's.
struct Router {
    switch: Switch,
    namespace: Namespace,
    directory: TempDir,
}

/// A route as both sides can tell it: gateways with their interfaces, or `blackhole`.
type Table = BTreeMap<String, BTreeSet<String>>;

impl Router {
    fn start() -> Option<Self> {
        if !can_run() {
            return None;
        }
        let installed = Path::new(DAEMONS).join("zebra").exists();
        assert!(installed, "{DAEMONS}/zebra is missing: install FRR with `make setup`");
        let directory = tempfile::tempdir().expect("there is room");
        let namespace = Namespace::new();
        namespace.ip("link set lo up");
        let port = |number: u8| {
            format!(
                "\n[[port]]\nname = \"kr{number}\"\ndevice = \"net_tap{number},iface=kr{number}\"\n\
                 addresses = [\"10.0.{number}.254/24\", \"fd00:{number}::fe/64\"]\n"
            )
        };
        let toml = format!(
            "name = \"router\"\n[workers]\nidle = \"sleep\"\n[memory]\nhugepages = \"never\"\n\
             [routing]\nfpm = \"127.0.0.1:2620\"\n{}{}",
            port(1),
            port(2)
        );
        let switch = Switch::start(knotless(), &namespace, directory.path(), "router", &toml);
        for number in [1, 2] {
            namespace.ip(&format!("link set kr{number} up"));
            namespace.ip(&format!("addr add 10.0.{number}.1/24 dev kr{number}"));
            namespace.ip(&format!("addr add fd00:{number}::1/64 dev kr{number} nodad"));
        }
        // FRR's daemons become a user of their own, who makes sockets there.
        let frr = directory.path().join(FRR);
        fs::create_dir(&frr)
            .and_then(|()| fs::write(frr.join("zebra.conf"), "fpm address 127.0.0.1 port 2620\n"))
            .and_then(|()| fs::write(frr.join("staticd.conf"), ROUTES))
            .and_then(|()| fs::set_permissions(&frr, Permissions::from_mode(0o777)))
            .and_then(|()| fs::set_permissions(directory.path(), Permissions::from_mode(0o755)))
            .expect("the directory is ours");
        Some(Self { switch, namespace, directory })
    }

    /// Starts one of FRR's daemons.
    fn daemon(&self, name: &str, module: &str) -> Running {
        let frr = self.directory.path().join(FRR);
        let path = |end: &str| frr.join(format!("{name}.{end}"));
        let mut command = self.namespace.command(&format!("{DAEMONS}/{name}"));
        command.args(["-P", "0", "-z"]).arg(frr.join("zserv.api"));
        command.arg("--vty_socket").arg(&frr);
        command.arg("-f").arg(path("conf")).arg("-i").arg(path("pid"));
        if !module.is_empty() {
            command.args(["-M", module]);
        }
        Running::start(command, self.directory.path(), name)
    }

    fn zebra(&self) -> Running {
        self.daemon("zebra", "dplane_fpm_nl")
    }

    /// Configures staticd while it runs.
    fn configure(&self, line: &str) {
        let mut command = self.namespace.command("vtysh");
        command.arg("--vty_socket").arg(self.directory.path().join(FRR));
        let output = command.args(["-c", "configure terminal", "-c", line]).output();
        let output = output.expect("vtysh comes with FRR");
        assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
    }

    /// The kernel's routes that come from staticd.
    fn kernel(&self) -> Table {
        let of_family = |family: &str| -> Vec<Value> {
            let mut command = self.namespace.command("ip");
            let output =
                command.args(["-j", "-N", family, "route"]).output().expect("ip is installed");
            serde_json::from_slice(&output.stdout).unwrap_or_default()
        };
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let path = |hop: &Value| format!("{}%{}", text(&hop["gateway"]), text(&hop["dev"]));
        let is_static = |route: &Value| text(&route["protocol"]) == STATIC;
        let all = of_family("-4").into_iter().chain(of_family("-6"));
        all.filter(is_static)
            .map(|route| {
                let paths = match route["nexthops"].as_array() {
                    _ if route["type"] == "blackhole" || route["type"] == "6" => {
                        ["blackhole".to_owned()].into()
                    }
                    Some(hops) => hops.iter().map(path).collect(),
                    None => [path(&route)].into(),
                };
                (text(&route["dst"]), paths)
            })
            .collect()
    }

    /// The switch's routes that come from staticd.
    fn own(&mut self) -> Table {
        let rows = self.switch.ask(&json!({ "request": "routes" }));
        let rows = rows["routes"].as_array().cloned().unwrap_or_default();
        let learned = rows.iter().filter(|row| row["origin"] == "zebra-static");
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        learned
            .map(|row| {
                let via = row["via"].as_array().into_iter().flatten().map(text);
                let paths =
                    if row["kind"] == "via" { via.collect() } else { [text(&row["kind"])].into() };
                (text(&row["prefix"]), paths)
            })
            .collect()
    }

    /// Waits until the switch has the kernel's routes, and they are as `is_so` says: daemons take
    /// their time to follow their configuration.
    fn settle(&mut self, is_so: impl Fn(&Table) -> bool) -> Table {
        let asked = Instant::now();
        loop {
            let (kernel, own) = (self.kernel(), self.own());
            if kernel == own && is_so(&kernel) {
                return own;
            }
            let told = self.switch.told();
            assert!(asked.elapsed() < PATIENCE, "{kernel:?} is not {own:?}\n{told}");
            std::thread::sleep(10 * LOOK);
        }
    }
}

fn kill(daemon: Running) {
    daemon.signal(Signal::SIGKILL);
    daemon.end(PATIENCE);
}

#[test]
fn zebras_routes_are_those_of_the_kernel_and_outlive_it() {
    let Some(mut router) = Router::start() else { return };
    let (zebra, staticd) = (router.zebra(), router.daemon("staticd", ""));
    router.settle(|routes| routes.len() == 6 && routes["10.22.0.0/16"].len() == 2);
    router.configure("no ip route 10.21.0.0/16 10.0.1.2");
    router.configure("ip route 10.25.0.0/16 10.0.2.2");
    router.configure("no ip route 10.22.0.0/16 10.0.1.2");
    let second: BTreeSet<String> = ["10.0.2.2%kr2".to_owned()].into();
    let is_changed = |routes: &Table| {
        let of = |prefix| routes.get(prefix);
        of("10.21.0.0/16").is_none()
            && of("10.22.0.0/16") == Some(&second)
            && of("10.25.0.0/16") == Some(&second)
    };
    let routes = router.settle(is_changed);
    assert_eq!(routes.len(), 6);

    // zebra is killed and comes back: no route is away at any time.
    kill(zebra);
    let stats = |router: &mut Router| router.switch.stats().fpm.expect("[routing] fpm is set");
    let asked = Instant::now();
    while stats(&mut router).connected {
        assert!(asked.elapsed() < PATIENCE, "{}", router.switch.told());
        std::thread::sleep(LOOK);
    }
    assert_eq!(router.own(), routes);
    let zebra = router.zebra();
    let is_back = |router: &mut Router| {
        let stats = stats(router);
        stats.sessions == 2 && stats.stale_routes == 0
    };
    let asked = Instant::now();
    while !is_back(&mut router) {
        assert_eq!(router.own(), routes, "not one is lost in between");
        assert!(asked.elapsed() < PATIENCE, "{:?}", stats(&mut router));
        std::thread::sleep(LOOK);
    }
    assert_eq!(router.settle(is_changed), routes);
    let stats = stats(&mut router);
    assert_eq!((stats.errors, stats.refused.values().sum::<u64>()), (0, 0), "{stats:?}");
    kill(staticd);
    kill(zebra);
    router.switch.stop();
}

#[test]
fn a_peer_that_is_no_daemon_changes_nothing() {
    let Some(mut router) = Router::start() else { return };
    let (zebra, staticd) = (router.zebra(), router.daemon("staticd", ""));
    let has_all = |routes: &Table| routes.len() == 6;
    let routes = router.settle(has_all);
    let send = |router: &Router, bytes: &str| {
        let script = format!("exec 3<>/dev/tcp/127.0.0.1/2620; printf '{bytes}' >&3; cat <&3");
        let mut command: Command = router.namespace.command("timeout");
        command.args(["10", "bash", "-c", &script]).output().expect("there is a shell")
    };
    // Beside zebra nobody is heard.
    send(&router, "GET / HTTP/1.0\\r\\n\\r\\n");
    router.switch.wait_for("is refused");
    kill(zebra);
    router.switch.wait_for("is disconnected: ");
    // Noise; a frame shorter than its header; a message that claims to be longer than its frame.
    for bytes in
        ["GET / HTTP/1.0\\r\\n\\r\\n", "\\x01\\x01\\x00\\x01", r"\x01\x01\x00\x08\xff\xff\xff\xff"]
    {
        let output = send(&router, bytes);
        // What was not read when it is closed resets it, which `cat` reports.
        assert_ne!(output.status.code(), Some(124), "the switch closes the connection");
    }
    assert_eq!(router.own(), routes);
    let stats = router.switch.stats().fpm.expect("[routing] fpm is set");
    assert_eq!(stats.errors, 4, "{stats:?}");
    let told = router.switch.told();
    assert_eq!(told.matches("is disconnected: ").count(), 4, "zebra, and three: {told}");
    // The next zebra is welcome.
    let zebra = router.zebra();
    let asked = Instant::now();
    while !router.switch.stats().fpm.is_some_and(|fpm| fpm.connected) {
        assert!(asked.elapsed() < PATIENCE, "{}", router.switch.told());
        std::thread::sleep(10 * LOOK);
    }
    router.settle(has_all);
    kill(staticd);
    kill(zebra);
    router.switch.stop();
}
