//! Hosts with RoCE endpoints: flows complete, congestion control keeps pauses away, losses are
//! repaired, collectives end; a run repeats to the bit, whatever the threads.

use config::ScenarioConfig;
use config::scenario::SchemeKind;
use netsim::outcome::Outcome;
use netsim::scenario::{Options, run};
use std::num::NonZeroUsize;

/// A scenario of hosts under one switch, at 40 Gb/s.
fn star(hosts: usize, rest: &str) -> ScenarioConfig {
    let mut text = format!("{rest}\n[[switch]]\nname = 'S'\nports = {hosts}\n");
    for host in 1..=hosts {
        text += &format!("[[host]]\nname = 'h{host}'\n[[link]]\nends = ['S:{host}', 'h{host}']\n");
    }
    ScenarioConfig::parse("star.toml".as_ref(), &text).unwrap()
}

fn clos(rest: &str) -> ScenarioConfig {
    let text = format!(
        "generate = {{ kind = 'clos', leaves = 4, spines = 2, hosts = 4 }}\n\
         routing = {{ kind = 'ecmp' }}\n{rest}"
    );
    ScenarioConfig::parse("clos.toml".as_ref(), &text).unwrap()
}

fn outcome(config: &ScenarioConfig, scheme: SchemeKind) -> Outcome {
    let outcome = run(config, Options { scheme: Some(scheme), ..Options::default() }).unwrap();
    assert_eq!(outcome.violations, Vec::<String>::new());
    outcome
}

const INCAST: &str = "duration = '20ms'
[switches]
ecn = { kmin = '5KB', kmax = '200KB', pmax = 0.01 }
[[traffic]]
kind = 'incast'
to = 'h1'
transport = 'roce'
";

#[test]
fn dcqcn_keeps_pauses_away_and_shares_the_link() {
    let [none, dcqcn] = ["none", "dcqcn"].map(|congestion| {
        let config = star(9, &format!("{INCAST}[roce]\ncongestion = '{congestion}'\n"));
        outcome(&config, SchemeKind::Pfc)
    });
    let roce = |outcome: &Outcome| outcome.roce.clone().unwrap();
    let (without, with) = (roce(&none), roce(&dcqcn));
    assert!(without.paused_millionths > 500_000, "{without:?}");
    assert!(with.paused_millionths * 10 < without.paused_millionths, "{with:?}");
    assert_eq!((with.retransmitted_packets, with.timeouts, with.failures), (0, 0, 0));
    assert!(with.cnps_received > 100 && with.cnps_sent >= with.cnps_received);
    for flow in &dcqcn.flows {
        // An eighth of 40 Gb/s, less the headers, in the last quarter of 20 ms: 2.9 MB.
        assert!((1_700_000..=4_300_000).contains(&flow.late_bytes), "{flow:?}");
    }
    assert!(with.fairness_permille.unwrap() > 900, "{with:?}");
    let marked: u64 = dcqcn.flows.iter().map(|flow| flow.marked_frames).sum();
    assert!(marked == with.ecn_marked_packets && marked > 100, "{marked}");
    let late: u64 = dcqcn.flows.iter().map(|flow| flow.late_bytes).sum();
    assert!(late > 22_500_000, "{late}: the link is idle");
}

#[test]
fn hpcc_keeps_the_queue_short_and_the_link_busy() {
    // So long that each of eight windows is several packets.
    let table = "[links]\nlength = '300m'\n[roce]\ncongestion = 'hpcc'\n\
                 [roce.hpcc]\nadditive = '40B'\n";
    let outcome = outcome(&star(9, &format!("{INCAST}{table}")), SchemeKind::Pfc);
    let roce = outcome.roce.clone().unwrap();
    // The queue of an incast that starts at line rate and is then below the target.
    assert!(roce.paused_millionths < 1_000, "{roce:?}");
    assert_eq!((roce.retransmitted_packets, roce.timeouts, roce.failures), (0, 0, 0));
    assert!(roce.fairness_permille.unwrap() > 900, "{roce:?}");
    let late: u64 = outcome.flows.iter().map(|flow| flow.late_bytes).sum();
    // Of 25 MB in the last quarter 95 % are aimed at, on the wire: of 1,148 bytes there, 1,024 are
    // payload.
    let aimed = 25_000_000.0 * 0.95 * 1_024.0 / 1_148.0;
    assert!((late as f64 / aimed - 1.0).abs() < 0.03, "{late} of {aimed}");
    // Without telemetry the windows stay as large as they begin, and the switch pauses.
    let none =
        self::outcome(&star(9, &format!("{INCAST}[links]\nlength = '300m'\n")), SchemeKind::Pfc);
    assert!(none.roce.unwrap().paused_millionths > 500_000);
}

#[test]
fn what_lossy_queues_drop_is_sent_again_in_both_modes() {
    for mode in ["go-back-n", "selective-repeat"] {
        let text = format!(
            "duration = '40ms'\n[switches]\nlossy_queue = '30KB'\n[roce]\nmode = '{mode}'\n\
             timeout = '500us'\n[[traffic]]\nkind = 'incast'\nto = 'h1'\nsize = '300KB'\n\
             transport = 'roce'\n"
        );
        let outcome = outcome(&star(5, &text), SchemeKind::Lossy);
        let roce = outcome.roce.unwrap();
        assert!(outcome.lossy_drops > 0 && roce.retransmitted_packets > 0, "{mode}: {roce:?}");
        for flow in &outcome.flows {
            assert!(flow.finished_ps.is_some(), "{mode}: {flow:?}");
            assert_eq!(flow.received_bytes, 300_000, "{mode}: {flow:?}");
        }
        assert_eq!(roce.failures, 0);
    }
}

#[test]
fn a_flow_alone_takes_what_an_idle_network_takes() {
    for bytes in [1, 1_024, 1_025, 100_000, 10_000_000] {
        let text = format!(
            "duration = '4ms'\n[[flow]]\nfrom = 'H1'\nto = 'H9'\ntransport = 'roce'\nsize = {bytes}\n"
        );
        let outcome = outcome(&clos(&text), SchemeKind::Pfc);
        let flow = &outcome.flows[0];
        let (taken_ps, ideal_ps) =
            (flow.finished_ps.unwrap() - flow.start_ps, flow.ideal_ps.unwrap());
        // A switch takes no time; the wire is shared with nothing.
        assert!(taken_ps.abs_diff(ideal_ps) < 100_000, "{bytes}: {taken_ps} {ideal_ps}");
    }
}

/// Simple flows, RoCE of all kinds, a path of its own and collectives, all at once.
const MIXED: &str = "duration = '1ms'
[switches]
ecn = { kmin = '5KB', kmax = '100KB', pmax = 0.1 }
static_th = '30KB'
[roce]
congestion = 'dcqcn'
[[traffic]]
kind = 'permutation'
[[traffic]]
kind = 'random'
flows = 40
sizes = 'web-search'
load = 0.4
transport = 'roce'
[[flow]]
from = 'H1'
to = 'H9'
path = 'L1 S2 L3'
transport = 'roce'
rate = '10G'
[[collective]]
kind = 'all-reduce'
size = '200KB'
stragglers = 2
straggle = '3us'
[[collective]]
kind = 'all-reduce'
algorithm = 'halving-doubling'
size = '100KB'
placement = 'random'
";

#[test]
fn a_run_repeats_to_the_bit_whatever_the_threads() {
    let config = clos(MIXED);
    let of = |threads: usize| {
        let threads = NonZeroUsize::new(threads);
        run(&config, Options { threads, ..Options::default() }).unwrap()
    };
    let one = of(1);
    assert_eq!(one.violations, Vec::<String>::new());
    assert!(one.roce.as_ref().unwrap().cnps_received > 0);
    assert!(one.flows.iter().any(|flow| flow.ideal_ps.is_none()), "simple flows");
    let pinned = one.flows.iter().find(|flow| flow.name == "H1-H9").unwrap();
    assert!(pinned.received_bytes > 100_000, "{pinned:?}");
    assert_eq!(one, of(1));
    assert_eq!(one, of(3));
}

#[test]
fn collectives_end_and_take_at_least_what_the_links_allow() {
    for (kind, least_ps) in [
        // 2 * 15/16 of a megabyte over 40 Gb/s, and all others alike.
        ("kind = 'all-reduce'", 375_000_000),
        ("kind = 'all-reduce'\nalgorithm = 'tree'\nchunks = 16", 400_000_000),
        ("kind = 'all-reduce'\nalgorithm = 'halving-doubling'", 375_000_000),
        ("kind = 'all-to-all'", 187_500_000),
        ("kind = 'pipeline'\nchunks = 10", 200_000_000),
    ] {
        let text = format!("duration = '20ms'\n[[collective]]\n{kind}\nsize = '1MB'\nrounds = 2\n");
        let outcome = outcome(&clos(&text), SchemeKind::Pfc);
        let [collective] = &*outcome.collectives else { panic!("{:?}", outcome.collectives) };
        let Some(finished_ps) = collective.finished_ps else { panic!("{kind}: {collective:?}") };
        assert_eq!(collective.finished_ranks, 16, "{kind}");
        let twice = 2 * least_ps;
        assert!((twice..4 * twice).contains(&finished_ps), "{kind}: {finished_ps} {twice}");
        assert_eq!(outcome.roce.unwrap().failures, 0, "{kind}");
        assert!(outcome.messages.unwrap().count > 0);
    }
}

#[test]
fn a_straggler_holds_up_everybody() {
    let of = |stragglers: u32| {
        let straggle = if stragglers > 0 { "straggle = '100us'\n" } else { "" };
        let text = format!(
            "duration = '20ms'\n[[collective]]\nkind = 'all-reduce'\nsize = '64KB'\n\
             stragglers = {stragglers}\n{straggle}"
        );
        outcome(&clos(&text), SchemeKind::Pfc).collectives[0].finished_ps.unwrap()
    };
    // It is slow at each of its 30 steps.
    assert!(of(1) > of(0) + 29 * 100_000_000);
}
