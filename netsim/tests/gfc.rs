//! Gentle flow control in packets: 2 to 64 senders to one receiver at the bound and below it, the
//! GFC paper's Fig. 5, and a cycle.

use config::ScenarioConfig;
use config::gfc::{slack, staged, tight, time_based};
use config::scenario::SchemeKind;
use dataplane::report::PortReport;
use netsim::event::Picoseconds;
use netsim::outcome::Outcome;
use netsim::scenario::{Options, build, run};
use std::fmt::Write as _;
use std::path::Path;

const US: Picoseconds = 1_000_000;
const FRAME_BYTES: u64 = 1_514;
/// `tau` of section 5.4 in bytes at 10G, with all that is on the wire: a frame that delays the
/// message, a frame that has begun (each with FCS, preamble and gap), the message, and twice 500 m,
/// 2.5 us. Nodes react at once.
const C_TAU: u64 = 2 * (FRAME_BYTES + 24) + 84 + 6_250;
const TAU_PS: Picoseconds = C_TAU * 800;
const BM: u64 = 60_000;
/// All of section 4.2 must hold for these numbers of senders.
const SENDERS: std::ops::RangeInclusive<u64> = 2..=64;

fn load(name: &str) -> ScenarioConfig {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios");
    ScenarioConfig::load(&folder.join(name)).unwrap_or_else(|error| panic!("{error}"))
}

fn simulate(config: &ScenarioConfig, scheme: SchemeKind) -> Outcome {
    let options = Options { scheme: Some(scheme), ..Options::default() };
    let outcome = run(config, options).unwrap_or_else(|error| panic!("{}: {error}", config.name));
    assert!(outcome.violations.is_empty(), "{}: {:?}", config.name, outcome.violations);
    outcome
}

/// Bytes of each queue at the end of each step of the last half of the time that sources send.
fn late_depths(outcome: &Outcome) -> Vec<u64> {
    let queues = &outcome.timeline.queues;
    let sending = usize::try_from(outcome.duration_ps / outcome.timeline.step_ps).unwrap();
    queues.iter().take(2).flat_map(|queue| queue.bytes[sending / 2..sending].to_vec()).collect()
}

/// Fig. 5: under PFC the queue swings around its threshold and senders stop and go; under gentle
/// flow control it settles at 75 KB, where the rate is half.
#[test]
fn figure_5_pfc_swings_and_gentle_flow_control_settles_at_75_kb() {
    let config = load("gentle-figure-5.toml");
    let (pfc, gfc) = (simulate(&config, SchemeKind::Pfc), simulate(&config, SchemeKind::Gfc));
    let (swinging, settled) = (late_depths(&pfc), late_depths(&gfc));
    let span = |depths: &[u64]| depths.iter().max().unwrap() - depths.iter().min().unwrap();
    assert!(span(&swinging) > 12_000, "{swinging:?}");
    assert!(span(&settled) < 5_000, "{settled:?}");
    assert!(settled.iter().all(|depth| depth.abs_diff(75_000) < 4_000), "{settled:?}");
    assert!(pfc.paused_ps > 1_000 * US && gfc.paused_ps == 0);
}

/// A cycle whose queues serve frames as they come slows itself down without end; where ingress
/// ports are served in turn, it does not.
#[test]
fn gentle_flow_control_in_a_cycle_needs_queues_that_serve_ports_in_turn() {
    let mut config = load("gentle-ring.toml");
    let late = |config: &ScenarioConfig| {
        simulate(config, SchemeKind::Gfc).flows.iter().map(|flow| flow.late_bytes).sum::<u64>()
    };
    let in_turn = late(&config);
    config.buffers.fair = Some(false);
    let as_they_come = late(&config);
    assert!(as_they_come < in_turn / 4, "{as_they_come} and {in_turn} bytes");
}

/// `senders` hosts that send to one, all links at 10G and `metres` long. The receiver sends to them
/// too, so that messages wait for frames.
fn incast(senders: u64, metres: u64, scheme: &str) -> ScenarioConfig {
    let mut text = format!(
        "duration = '1s'\n[scheme]\nkind = 'gfc'\nbound = 'none'\n{scheme}\n[links]\nspeed = '10G'\n\
         length = '{metres}m'\n[switches]\nsize = '12MB'\ncell = 64\nfair = true\n[[switch]]\nname = 'S'\n\
         ports = {}\n[[host]]\nname = 'to'\n[[link]]\nends = ['S:1', 'to']\n",
        senders + 1
    );
    for sender in 1..=senders {
        let port = sender + 1;
        write!(
            text,
            "[[host]]\nname = 'h{sender}'\n[[link]]\nends = ['S:{port}', 'h{sender}']\n[[flow]]\n\
             from = 'h{sender}'\nto = 'to'\n[[flow]]\nfrom = 'to'\nto = 'h{sender}'\n"
        )
        .unwrap();
    }
    let file = Path::new("test.toml");
    ScenarioConfig::parse(file, &text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// Rates that begin to fall `bytes` before `Bm`.
fn below(bytes: u64) -> String {
    format!("bm = '{BM}B'\nb1 = '{}B'", BM - bytes)
}

/// What the queues of the senders did in a time and in the same time again.
#[derive(Debug)]
struct Seen {
    /// XOFFs by port.
    xoffs: Vec<u64>,
    peak_bytes: u64,
    /// Messages of the port that sent most, in the first time and in the second.
    messages: [u64; 2],
    /// The part of the receiver's link that carried frames in the second time.
    share: f64,
}

fn twice(config: &ScenarioConfig, time_ps: Picoseconds) -> Seen {
    let mut network = build(config, Some(SchemeKind::Gfc), None).unwrap().network;
    let switch = network.switch_ids().next().unwrap();
    let [half, all] = [(); 2].map(|()| {
        network.run_for(time_ps);
        network.check().unwrap();
        network.switch(switch).ports
    });
    let sum = |values: &[u64; 8]| values.iter().sum::<u64>();
    let messages = |port: &PortReport| {
        let pfc = &port.counters.pfc;
        sum(&pfc.tx_slowed) + sum(&pfc.tx_xon)
    };
    let second = half[1..].iter().zip(&all[1..]).map(|(one, two)| messages(two) - messages(one));
    let queues = all[1..].iter().flat_map(|port| &port.queues);
    let bits =
        |port: &PortReport| 8 * (sum(&port.counters.tx_bytes) + 24 * sum(&port.counters.tx_frames));
    Seen {
        xoffs: all[1..].iter().map(|port| sum(&port.counters.pfc.tx_xoff)).collect(),
        peak_bytes: queues.map(|queue| u64::from(queue.viq_peak_bytes)).max().unwrap(),
        messages: [half[1..].iter().map(messages).max().unwrap(), second.max().unwrap()],
        share: (bits(&all[0]) - bits(&half[0])) as f64 / (time_ps as f64 / 100.0),
    }
}

/// No XOFF, no queue beyond the slack, and a link in use.
fn assert_never_paused(senders: u64, seen: &Seen) {
    assert!(seen.xoffs.iter().all(|&xoffs| xoffs == 0), "{senders} senders: {seen:?}");
    let slack = slack(FRAME_BYTES, senders, 0);
    assert!(seen.peak_bytes <= BM + slack, "{senders} senders: {seen:?}");
    assert!(seen.share > 0.95, "{senders} senders: {seen:?}");
}

/// Equation 5 and the slack; section 4.2: at most a message every `tau` at first, and one every 8
/// `tau` in a steady state.
#[test]
fn stages_at_the_bound_never_pause_and_messages_are_as_many_as_the_paper_says() {
    let mut most = 0;
    for senders in SENDERS {
        let time_ps = 4_000 * US;
        let seen = twice(&incast(senders, 500, &below(staged(C_TAU))), time_ps);
        assert_never_paused(senders, &seen);
        let [first, steady] = seen.messages;
        assert!(first >= 1 && first <= time_ps / TAU_PS, "{senders} senders: {seen:?}");
        assert!(steady <= time_ps / (8 * TAU_PS), "{senders} senders: {seen:?}");
        most = most.max(steady);
    }
    assert!(most > 20, "{most} messages at most: no queue went up and down");
}

/// `e C tau` and the time-based form's bound, each with the slack.
#[test]
fn the_linear_forms_at_their_bounds_never_pause() {
    let period_bytes = 6_250;
    let periodic =
        format!("form = 'time-based'\nperiod = '5us'\n{}", below(time_based(C_TAU, period_bytes)));
    let conceptual = format!("form = 'conceptual'\n{}", below(tight(C_TAU)));
    for senders in SENDERS {
        for scheme in [&conceptual, &periodic] {
            assert_never_paused(senders, &twice(&incast(senders, 500, scheme), 1_500 * US));
        }
    }
}

/// No message takes effect before light has been to the sender and back, 20 us. Until then each
/// queue grows by what comes at full speed, less its part of what leaves. A stage that is three
/// frames shorter cannot prevent XOFF: one has not arrived whole, and the egress port may be two
/// ahead with a queue.
#[test]
fn every_sender_is_paused_below_the_bound() {
    for senders in SENDERS {
        let arriving = 25_000 * FRAME_BYTES / (FRAME_BYTES + 24);
        let grows = arriving - arriving / senders - 3 * FRAME_BYTES;
        let scheme = format!("slack = '0B'\n{}", below(grows));
        let seen = twice(&incast(senders, 2_000, &scheme), 100 * US);
        assert!(seen.xoffs.iter().all(|&xoffs| xoffs > 0), "{senders} senders: {seen:?}");
    }
}

/// A queue that drains at `C / n` settles `4 C tau / n` below `Bm` at most. Where that is less than
/// half a frame, frames reach `Bm` again and again, so XOFF must not stand there.
#[test]
fn without_the_slack_many_senders_are_paused() {
    for senders in SENDERS.filter(|senders| 4 * C_TAU / senders < FRAME_BYTES / 2) {
        let scheme = format!("slack = '0B'\n{}", below(staged(C_TAU)));
        let seen = twice(&incast(senders, 500, &scheme), 1_500 * US);
        assert!(seen.xoffs.iter().any(|&xoffs| xoffs > 0), "{senders} senders: {seen:?}");
    }
}

/// With a check of the bound: by default the slack is there, and less is refused.
#[test]
fn a_slack_that_is_too_small_is_refused_with_the_figure_that_would_do() {
    let mut config = incast(64, 500, "bm = '120KB'\nslack = '1570B'");
    config.scheme.gfc.bound = config::scenario::Bound::Theorem;
    let error = run(&config, Options::default()).unwrap_err().to_string();
    assert!(
        error.contains("for each of 65 hosts above `bm`, 1,579 B: `slack` is 9 B less"),
        "{error}"
    );
    config.scheme.gfc.slack_bytes = Some(1_579);
    config.duration_ns = 100_000;
    assert_eq!(simulate(&config, SchemeKind::Gfc).paused_ps, 0);
    config.scheme.gfc.slack_bytes = None;
    assert_eq!(simulate(&config, SchemeKind::Gfc).paused_ps, 0);
}
