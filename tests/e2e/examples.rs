//! The shipped examples, as they are shipped, under an overload of senders that obey PFC: what a
//! newcomer starts first must lose nothing.
//!
//! Devices, speeds, classes and markings come from each file, so that an example that is added is
//! tested without a line here. `demo/` and `knot/` have tests of their own.

mod class;
mod losses;
mod network;
mod overload;

use crate::can_run;
use crate::namespace::Namespace;
use crate::process::Running;
use network::{Network, files, load, obstacle};
use nix::sys::signal::Signal;
use std::path::Path;
use std::time::Duration;
use tests::tree;

/// The examples that cannot run between hosts of this machine, or have nothing to lose.
const ELSEWHERE: [&str; 4] = ["host.toml", "line-rate.toml", "nic.toml", "spine.toml"];

fn name(file: &Path) -> String {
    file.file_name().expect("a file").to_string_lossy().into_owned()
}

fn overload(file: &Path, meanwhile: impl Fn(&Network)) {
    let mut network = Network::start(file);
    for overload in overload::overloads(&network) {
        eprintln!("{}: {overload:?}", name(file));
        overload.run(&mut network, &meanwhile);
    }
    let before = network.switch.stats().lossless_dropped();
    let last = network.switch.last_stats();
    assert_eq!(last.lossless_dropped(), before, "{:?}", last.lossless_drops_by_cause());
}

#[test]
fn every_example_is_lossless_for_obedient_senders_in_an_overload() {
    if !can_run() {
        return;
    }
    let (elsewhere, here): (Vec<_>, Vec<_>) =
        files().into_iter().partition(|file| obstacle(&load(file)).is_some());
    for file in &elsewhere {
        eprintln!("{}: not run here: it {}", name(file), obstacle(&load(file)).unwrap_or_default());
    }
    assert_eq!(elsewhere.iter().map(|file| name(file)).collect::<Vec<_>>(), ELSEWHERE);
    here.iter().for_each(|file| overload(file, |_| ()));
}

/// As on a small machine that has other work: two processes never rest. `vlan.toml` lost a quarter
/// of its frames so, where the ring of `net_af_packet` was short and pauses lasted 3 ms.
#[test]
fn examples_are_lossless_on_a_machine_that_is_busy() {
    if !can_run() {
        return;
    }
    let directory = tempfile::tempdir().expect("there is room");
    let namespace = Namespace::new();
    let _busy = ["busy-1", "busy-2"].map(|name| {
        let mut command = namespace.command("sh");
        command.args(["-c", "while :; do :; done"]);
        Running::start(command, directory.path(), name)
    });
    for example in ["leaf.toml", "vlan.toml"] {
        overload(&tree::root().join("config/examples").join(example), |_| ());
    }
}

/// A core that is taken from the worker for far longer than headroom allows for: what comes
/// meanwhile waits in the taps' queues, and leaves in order.
#[test]
fn examples_are_lossless_when_the_switch_is_stopped_for_a_while() {
    if !can_run() {
        return;
    }
    let stop_again_and_again = |network: &Network| {
        for _ in 0..5 {
            std::thread::sleep(Duration::from_millis(300));
            network.switch.signal(Signal::SIGSTOP);
            std::thread::sleep(Duration::from_millis(100));
            network.switch.signal(Signal::SIGCONT);
        }
    };
    for example in ["leaf.toml", "vlan.toml"] {
        overload(&tree::root().join("config/examples").join(example), stop_again_and_again);
    }
}
