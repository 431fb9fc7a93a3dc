//! A shaped queue on virtual time: the emulator wakes the switch when the queue may send again.

use config::ScenarioConfig;
use netsim::outcome::Outcome;
use netsim::scenario::{Options, run};
use std::fs;

/// A switch with two hosts at 10G. The queue of priority 3 to the second has this peak rate.
fn outcome(peak_rate: &str) -> Outcome {
    let port = |number: u8| {
        format!(
            "[[port]]\nname = 'p{number}'\npci = '0000:0{number}:00.0'\nspeed = '10G'\ntrusted = true\n\
             addresses = ['10.0.{number}.254/24']\n"
        )
    };
    let switch = format!(
        "name = 's'\n[[lossless]]\npriority = 3\nstatic_th = '40KB'\n[[shaper]]\npriority = 3\nports = ['p2']\n\
         peak_rate = '{peak_rate}'\npeak_burst = 0\n{}{}",
        port(1),
        port(2)
    );
    let host = |number: u8| {
        format!(
            "[[host]]\nname = 'h{number}'\naddresses = ['10.0.{number}.1']\n\
             [[link]]\nends = ['s:p{number}', 'h{number}']\n"
        )
    };
    let network = format!("[[switch]]\nname = 's'\nconfig = 's.toml'\n{}{}", host(1), host(2));
    let flow =
        "[[flow]]\nfrom = 'h1'\nto = 'h2'\nrate = '1G'\nsize = '100KB'\nframe = 1000\ndscp = 3\n";
    let scenario = format!("duration = '100ms'\nnetwork = 'network.toml'\n{flow}");
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in [("s.toml", &switch), ("network.toml", &network)] {
        fs::write(folder.path().join(name), text).unwrap();
    }
    let file = folder.path().join("scenario.toml");
    let scenario = ScenarioConfig::parse(&file, &scenario).unwrap_or_else(|it| panic!("{it}"));
    run(&scenario, Options::default()).unwrap()
}

/// Each frame of the queue waits for its own time, with nothing else to wake the switch: the sender
/// is paused, or done.
#[test]
fn a_lossless_queue_sends_at_its_rate_until_all_is_there() {
    let outcome = outcome("10M");
    assert_eq!((outcome.lossless_drops, outcome.frames_stuck, outcome.storms), (0, 0, 0));
    assert_eq!(outcome.violations, [""; 0]);
    assert!(outcome.pfc_frames > 0, "the sender is paused");
    let flow = &outcome.flows[0];
    assert_eq!((flow.sent_frames, flow.missing_frames), (flow.received_frames, 0));
    // The last frame begins when all before are paid for: 800 ns an octet.
    let due_ps = (flow.received_frames - 1) * 1_004 * 800_000;
    assert_eq!(flow.received_frames, 100);
    let took_ps = flow.finished_ps.expect("all of it") - flow.start_ps;
    assert!((due_ps..due_ps + 20_000_000).contains(&took_ps), "{took_ps} of {due_ps}");
}
