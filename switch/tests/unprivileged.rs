//! The switch run by a user who is not root: what each kind of port needs then.
#![cfg(feature = "dpdk")]

#[allow(dead_code, reason = "each test file uses a part of it")]
mod binary;
mod privilege;

use binary::{Place, bridge_toml};
use serde_json::Value;
use std::fs;
use std::os::unix::process::CommandExt;
use std::process::Output;

/// Debian's `nobody` and `nogroup`.
const NOBODY: u32 = 65_534;

/// Runs a script of the shell as `nobody`, in the place.
fn as_nobody(place: &Place, before: &[&str], script: &str) -> Output {
    let program = place.path("knotless");
    fs::write(place.path("script"), script).unwrap();
    let words = [before, &["sh", "-eu", "script"]].concat();
    let mut command = std::process::Command::new(words[0]);
    command.args(&words[1..]).current_dir(place.path("")).env("KNOTLESS", program);
    // Of root's groups none is left.
    command.uid(NOBODY).gid(NOBODY);
    command.output().unwrap()
}

/// Starts the switch in the background, does `then`, and stops it.
fn script(then: &str) -> String {
    format!(
        "$KNOTLESS run SWITCH.toml > run.log 2>&1 & switch=$!\n\
         trap 'kill $switch 2>/dev/null || true' EXIT\n\
         for _ in $(seq 600); do\n\
           grep -q ' runs: ' run.log && break\n\
           kill -0 $switch 2>/dev/null || {{ cat run.log; exit 3; }}\n\
           sleep 0.1\n\
         done\n\
         grep '^rights left' run.log\n\
         {then}\n\
         $KNOTLESS ctl --socket s.sock stop >/dev/null\n\
         wait $switch\n\
         trap - EXIT\n"
    )
}

fn text(output: &Output) -> String {
    let said = [&output.stdout[..], &output.stderr].concat();
    String::from_utf8(said).unwrap()
}

#[test]
fn memif_and_rings_need_no_capability() {
    if !privilege::can_run() {
        return;
    }
    let place = Place::for_everybody("");
    let socket = place.path("m.sock");
    let memif = format!("net_memif0,role=server,socket={},socket-abstract=no", socket.display());
    place.write("SWITCH.toml", &bridge_toml([&memif, "net_ring0"]));
    let output = as_nobody(&place, &[], &script("$KNOTLESS ctl --socket s.sock ports"));
    assert!(output.status.success(), "{}", text(&output));
    assert!(text(&output).contains("rights left: no capabilities"), "{}", text(&output));
}

/// As a container without root does it: a user namespace, whose root has CAP_NET_ADMIN in its own
/// network namespace only.
#[test]
fn taps_work_in_a_user_namespace_and_lose_nothing() {
    if !privilege::can_run() {
        return;
    }
    let unshare = ["unshare", "--user", "--map-root-user", "--net"];
    let place = Place::for_everybody(&bridge_toml(["net_tap0,iface=kn0", "net_tap1,iface=kn1"]));
    if !as_nobody(&place, &unshare, "true").status.success() {
        assert!(!may_make_user_namespaces(), "the kernel allows user namespaces");
        println!("skipped: this kernel does not let users make user namespaces");
        return;
    }
    let traffic = "ip address add 10.0.0.1/24 dev kn0\n\
                   $KNOTLESS traffic recv --dev kn1 --json --idle 3s --duration 60s > recv.json & recv=$!\n\
                   mac=$(ip -o link show dev kn1 | sed 's/.*ether \\([^ ]*\\).*/\\1/')\n\
                   sleep 1\n\
                   $KNOTLESS traffic send --dev kn0 --json --speed 100M --flow \
                   dst-ip=10.0.0.2,dst-mac=$mac,dscp=3,priority=3,rate=20M,count=2000 \
                   > send.json\n\
                   wait $recv\n";
    let output = as_nobody(&place, &unshare, &script(traffic));
    assert!(output.status.success(), "{}", text(&output));
    assert!(text(&output).contains("rights left: cap_net_admin"), "{}", text(&output));
    let received: Value =
        serde_json::from_slice(&fs::read(place.path("recv.json")).unwrap()).unwrap();
    let flow = &received["flows"][0];
    let seen = ["frames", "lost", "reordered", "duplicates"].map(|key| flow[key].as_u64());
    assert_eq!(seen, [Some(2_000), Some(0), Some(0), Some(0)], "{received}");
}

/// Whether the kernel's settings allow it: absent ones do.
fn may_make_user_namespaces() -> bool {
    ["kernel/unprivileged_userns_clone", "user/max_user_namespaces"].iter().all(|name| {
        let value = fs::read_to_string(format!("/proc/sys/{name}")).unwrap_or_default();
        value.trim() != "0"
    })
}

#[test]
fn a_tap_without_the_capability_says_what_it_needs() {
    if !privilege::can_run() {
        return;
    }
    let place = Place::for_everybody(&bridge_toml(["net_tap0,iface=kn0", "net_ring0"]));
    let output = as_nobody(&place, &[], "exec $KNOTLESS run SWITCH.toml");
    assert_eq!(output.status.code(), Some(2), "{}", text(&output));
    assert!(text(&output).contains("it needs /dev/net/tun, CAP_NET_ADMIN"), "{}", text(&output));
}
