//! What goes wrong, one kind after the other on a small network, and the whole of what follows: the
//! drops that it causes and no others, flows that go on, and nothing that must hold broken.

use crate::support::{MS, US};
use config::scenario::ScenarioConfig;
use netsim::outcome::Outcome;
use netsim::scenario::{Options, build, run};

/// Two leaves, two spines, two hosts at each leaf, at 10G.
const DIAMOND: &str = r#"
duration = "1ms"
links = { speed = "10G", length = "10m" }
switch = [
    { name = "L", ports = 4 }, { name = "M", ports = 4 },
    { name = "S", ports = 2 }, { name = "T", ports = 2 },
]
host = [{ name = "a" }, { name = "b" }, { name = "c" }, { name = "d" }]
link = [
    { ends = ["L:1", "S:1"] }, { ends = ["L:2", "T:1"] },
    { ends = ["M:1", "S:2"] }, { ends = ["M:2", "T:2"] },
    { ends = ["L:3", "a"] }, { ends = ["L:4", "b"] },
    { ends = ["M:3", "c"] }, { ends = ["M:4", "d"] },
]
"#;

pub(crate) fn scenario(text: &str) -> ScenarioConfig {
    let text = format!("{DIAMOND}{text}");
    ScenarioConfig::parse("diamond.toml".as_ref(), &text).unwrap_or_else(|error| panic!("{error}"))
}

/// The outcome of the diamond with `text`, in which all held that must.
pub(crate) fn outcome(text: &str) -> Outcome {
    let outcome = run(&scenario(text), Options::default()).unwrap();
    assert_eq!(outcome.violations, [""; 0]);
    assert_eq!(outcome.deadlock, None);
    check_lossless_drops(&outcome);
    outcome
}

/// All flows are lossless, so each frame that is missing and not in the network any more is a
/// lossless drop, and has a cause among the drops.
fn check_lossless_drops(outcome: &Outcome) {
    assert_eq!(outcome.lossless_drops + outcome.frames_stuck, missing(outcome));
    let by_cause = &outcome.lossless_drops_by_cause;
    assert_eq!(outcome.lossless_drops, by_cause.iter().map(|drop| drop.frames).sum::<u64>());
    let data = outcome.drops.iter().filter(|drop| drop.reason != "pfc_lost");
    assert_eq!(by_cause.iter().collect::<Vec<_>>(), data.collect::<Vec<_>>());
}

pub(crate) fn drops(outcome: &Outcome) -> Vec<(&str, u64)> {
    outcome.drops.iter().map(|drop| (drop.reason.as_str(), drop.frames)).collect()
}

/// All drops, which must be for these reasons only.
fn lost_for(outcome: &Outcome, reasons: &[&str]) -> u64 {
    let drops = drops(outcome);
    assert!(drops.iter().all(|(reason, _)| reasons.contains(reason)), "{drops:?}");
    drops.iter().map(|(_, frames)| frames).sum()
}

fn missing(outcome: &Outcome) -> u64 {
    outcome.flows.iter().map(|flow| flow.missing_frames).sum()
}

/// Bytes that the link with this end carried, both ways.
fn carried(outcome: &Outcome, end: &str) -> u64 {
    let link = outcome.topology.links.iter().find(|link| link.ends.iter().any(|e| e == end));
    link.expect("a link").bytes.iter().sum()
}

/// One flow of 1G over a spine, which is 81 frames of 1,514 bytes in a millisecond.
const FLOW: &str = "[[flow]]\nfrom = 'a'\nto = 'c'\nrate = '1G'\n";

#[test]
fn without_a_fault_nothing_is_lost_or_paused() {
    let outcome = outcome(FLOW);
    assert_eq!((drops(&outcome), missing(&outcome)), (vec![], 0));
    assert_eq!((outcome.pfc_frames, outcome.paused_ps, outcome.frames_stuck), (0, 0, 0));
    assert!(outcome.drained_ps.is_some());
    assert_eq!(outcome.flows[0].sent_frames, 82);
}

#[test]
fn a_link_that_goes_down_costs_what_is_sent_to_it_until_it_is_up() {
    let fault = "[[fault]]\nkind = 'link-down'\nlink = 'L:1'\nat = '200us'\nuntil = '400us'\n";
    let outcome = outcome(&format!("{FLOW}{fault}"));
    // 200 of 12.304 us.
    let lost = lost_for(&outcome, &["port_down", "link_down"]);
    assert!((16..=18).contains(&lost), "{lost}");
    assert_eq!(missing(&outcome), lost);
    assert_eq!(outcome.flows[0].sent_frames, 82);
    assert_eq!((outcome.pfc_frames, outcome.headroom_overruns, outcome.lossy_drops), (0, 0, 0));
    assert!(outcome.drained_ps.is_some());
    assert_eq!(carried(&outcome, "L:2"), 0, "nobody looks for another way");
}

#[test]
fn with_reroute_a_flow_goes_on_by_another_way_and_comes_back() {
    for kind in ["shortest", "ecmp", "pinned"] {
        let text = format!("routing = {{ kind = '{kind}', reroute = '30us' }}\n{FLOW}");
        let before = outcome(&text);
        let ways = ["L:1", "L:2"];
        let used = usize::from(carried(&before, ways[1]) != 0);
        assert_eq!((carried(&before, ways[1 - used]), missing(&before)), (0, 0), "{kind}");
        let fault = format!(
            "[[fault]]\nkind = 'link-down'\nlink = '{}'\nat = '200us'\nuntil = '400us'\n",
            ways[used]
        );
        let outcome = outcome(&format!("{text}{fault}"));
        let lost = lost_for(&outcome, &["port_down", "link_down"]);
        assert!((1..=4).contains(&lost), "{kind}: {lost} in 30 us");
        assert_eq!((missing(&outcome), outcome.pfc_frames), (lost, 0), "{kind}");
        assert!(outcome.drained_ps.is_some(), "{kind}");
        let around = carried(&outcome, ways[1 - used]) / 1_514;
        assert!((14..=18).contains(&around), "{kind}: {around} in 200 us");
        assert_eq!(carried(&outcome, ways[used]) / 1_514, 82 - lost - around, "{kind}");
    }
}

#[test]
fn a_path_of_ones_own_is_rerouted_too() {
    let flow = FLOW.to_owned() + "path = 'L T M'\n";
    let fault = "[[fault]]\nkind = 'link-down'\nlink = 'M:2'\nat = '200us'\nuntil = '400us'\n";
    let outcome = outcome(&format!("routing = {{ reroute = '30us' }}\n{flow}{fault}"));
    // T is left without a way but the one back: the flow turns there, by L and S.
    let lost = lost_for(&outcome, &["port_down", "link_down", "no_route"]);
    assert!((1..=20).contains(&lost), "{lost}");
    assert_eq!((missing(&outcome), outcome.pfc_frames), (lost, 0));
    assert!(outcome.flows[0].late_bytes > 250 * 125 * 90 / 100, "and goes on after it");
}

#[test]
fn a_link_that_is_down_from_the_start_is_known_to_all() {
    for kind in ["shortest", "ecmp", "pinned"] {
        let outcome =
            outcome(&format!("routing = {{ kind = '{kind}', failed = ['L:1'] }}\n{FLOW}"));
        assert_eq!((drops(&outcome), missing(&outcome)), (vec![], 0), "{kind}");
        assert_eq!(carried(&outcome, "L:1"), 0);
    }
}

#[test]
fn a_link_that_flaps_faster_than_frames_cross_it_loses_each_frame_once() {
    // A kilometre: 5 us on the way, several frames at a time.
    let text = "[[flow]]\nfrom = 'a'\nto = 'c'\nrate = '9G'\n";
    let flaps: String = (0..40)
        .map(|n| {
            let (at, until) = (200_000 + 1_700 * n, 201_100 + 1_700 * n);
            format!(
                "[[fault]]\nkind = 'link-down'\nlink = 'S:1'\nat = '{at}ns'\nuntil = '{until}ns'\n"
            )
        })
        .collect();
    let far = format!("{DIAMOND}{text}{flaps}").replace("10m", "1km");
    let config = ScenarioConfig::parse("far.toml".as_ref(), &far).unwrap();
    let outcome = run(&config, Options::default()).unwrap();
    assert_eq!(outcome.violations, [""; 0]);
    let lost = lost_for(&outcome, &["port_down", "link_down"]);
    assert!(lost > 40, "{lost}");
    assert_eq!((missing(&outcome), outcome.frames_stuck), (lost, 0));
    assert!(outcome.drained_ps.is_some() && outcome.headroom_overruns == 0);
}

#[test]
fn what_is_planned_for_the_start_comes_before_the_first_frame() {
    let fault = "[[fault]]\nkind = 'link-down'\nlink = 'a'\nat = '0s'\nuntil = '500us'\n";
    let outcome = outcome(&format!("{FLOW}{fault}"));
    assert_eq!((drops(&outcome), missing(&outcome)), (vec![], 0), "the host waits for its link");
    assert_eq!(outcome.flows[0].sent_frames, 82, "and makes up for it");
}

#[test]
fn frames_in_a_loop_end_by_their_ttl() {
    // L sends to S, and S back to L.
    let flow = "[[flow]]\nfrom = 'a'\nto = 'c'\nrate = '100M'\n";
    let fault = "[[fault]]\nkind = 'route'\nswitch = 'S'\nto = 'c'\nvia = 'L'\nat = '200us'\n";
    let for_ever = outcome(&format!("{flow}{fault}"));
    let expired = missing(&for_ever);
    assert!(expired > 4, "{expired}");
    assert_eq!(drops(&for_ever), [("ttl_expired", expired)]);
    assert_eq!((for_ever.pfc_frames, for_ever.headroom_overruns), (0, 0));
    assert!(for_ever.drained_ps.is_some() && for_ever.flows[0].late_bytes == 0);

    let ended = outcome(&format!("{flow}{fault}until = '600us'\n"));
    let expired = missing(&ended);
    assert!((1..=4).contains(&expired), "{expired}");
    assert_eq!(drops(&ended), [("ttl_expired", expired)]);
    assert!(ended.flows[0].late_bytes > 0, "it knows better again");
}

/// A flow as fast as its wire, and one that shares nothing with it but the leaf.
const FAST: &str = "[[flow]]\nfrom = 'a'\nto = 'c'\n[[flow]]\nfrom = 'd'\nto = 'b'\nrate = '1G'\n";

/// Who was paused, by whom, each once.
fn paused(outcome: &Outcome) -> Vec<(&str, &str)> {
    let pairs = outcome.timeline.pauses.iter().map(|row| (row.sender.as_str(), row.by.as_str()));
    let mut pairs: Vec<_> = pairs.collect();
    pairs.sort_unstable();
    pairs
}

/// Pauses from the receiver c back to the sender a.
const BACK_TO_A: [(&str, &str); 4] = [("L:1", "S:1"), ("M:3", "c"), ("S:2", "M:1"), ("a", "L:3")];

#[test]
fn a_slow_receiver_pauses_all_the_way_back_and_loses_nothing() {
    let fault = "[[fault]]\nkind = 'slow-receiver'\nhost = 'c'\nspeed = '2G'\nat = '0s'\n";
    let outcome = outcome(&format!("{FAST}{fault}"));
    assert_eq!((drops(&outcome), missing(&outcome), outcome.lossless_drops), (vec![], 0, 0));
    assert_eq!(paused(&outcome), BACK_TO_A);
    let late_mbps = outcome.flows[0].late_bytes * 8 / 250;
    assert!((1_900..=2_100).contains(&late_mbps), "{late_mbps} of 2,000");
    assert!(outcome.flows[1].late_bytes * 8 / 250 > 950, "the other flow does not notice");
    assert!(outcome.pfc_frames > 10 && outcome.drained_ps.is_some());
}

#[test]
fn a_receiver_too_slow_for_anybodys_patience_is_no_deadlock() {
    // A frame takes it 12 ms, and the way from XOFF to XON three of them.
    let fault = "[[fault]]\nkind = 'slow-receiver'\nhost = 'c'\nspeed = '1M'\nat = '0s'\n";
    let outcome = outcome(&format!("{FAST}{fault}"));
    assert_eq!((drops(&outcome), missing(&outcome)), (vec![], 0));
    assert!(outcome.drained_ps.is_some() && outcome.frames_stuck == 0);
}

#[test]
fn a_hung_receiver_holds_frames_for_ever_and_nobody_calls_it_deadlock() {
    let fault = "[[fault]]\nkind = 'hung-receiver'\nhost = 'c'\nat = '200us'\n";
    let outcome = outcome(&format!("{FAST}{fault}"));
    assert_eq!((drops(&outcome), outcome.lossless_drops), (vec![], 0));
    assert_eq!(paused(&outcome), BACK_TO_A);
    assert_eq!((outcome.drained_ps, outcome.flows[0].late_bytes), (None, 0));
    assert!(outcome.frames_stuck > 50, "{}", outcome.frames_stuck);
    assert_eq!(missing(&outcome), outcome.frames_stuck);
    assert_eq!(outcome.flows[1].missing_frames, 0);
}

#[test]
fn a_hung_receiver_that_wakes_takes_it_all() {
    // While sources send, and when nobody has moved for long.
    for until in ["500us", "9ms"] {
        let fault = "[[fault]]\nkind = 'hung-receiver'\nhost = 'c'\nat = '200us'\n";
        let outcome = outcome(&format!("{FAST}{fault}until = '{until}'\n"));
        assert_eq!((drops(&outcome), missing(&outcome)), (vec![], 0), "{until}");
        assert_eq!(outcome.frames_stuck, 0, "{until}");
        assert_eq!(outcome.drained_ps.is_some_and(|at_ps| at_ps > 9 * MS), until == "9ms");
        assert_eq!(outcome.flows[0].late_bytes > 0, until == "500us");
    }
}

#[test]
fn a_pause_storm_silences_who_sends_there_until_it_is_over() {
    let fault = "[[fault]]\nkind = 'pause-storm'\nhost = 'c'\nat = '200us'\nuntil = '600us'\n";
    let outcome = outcome(&format!("{FAST}{fault}"));
    assert_eq!((drops(&outcome), missing(&outcome), outcome.lossless_drops), (vec![], 0, 0));
    assert_eq!(paused(&outcome), BACK_TO_A);
    let kilobits = outcome.flows[0].received_bytes * 8 / 1_000;
    let sent_late = 3 * 40 * 8;
    assert!(
        (5_800..=6_000 + sent_late).contains(&kilobits),
        "{kilobits} of 9,844 in six tenths of the time, and what three switches still held"
    );
    assert_eq!(outcome.flows[1].sent_frames, 82, "the other flow does not notice");
    assert!(outcome.flows[0].late_bytes * 8 / 250 > 9_700, "as fast as before");
    assert!(outcome.drained_ps.is_some());
}

#[test]
fn where_pfc_is_lost_frames_are_and_that_is_said_and_no_violation() {
    let slow = "[[fault]]\nkind = 'slow-receiver'\nhost = 'c'\nspeed = '2G'\nat = '0s'\n";
    for (to, reason) in [("M:3", "host_overrun"), ("S:2", "headroom_overrun")] {
        let lose = format!("[[fault]]\nkind = 'lose-pfc'\nto = '{to}'\nat = '0s'\n");
        let outcome = outcome(&format!("{FAST}{slow}{lose}"));
        let lost_pfc = drops(&outcome).iter().find(|drop| drop.0 == "pfc_lost").unwrap().1;
        let lost = lost_for(&outcome, &[reason, "pfc_lost"]) - lost_pfc;
        assert!(lost > 100 && lost_pfc > 0, "{to}: {lost} {lost_pfc}");
        assert_eq!((outcome.headroom_overruns, missing(&outcome)), (lost, lost), "{to}");
        assert!(outcome.drained_ps.is_some(), "{to}");
    }
}

#[test]
fn a_share_of_pfc_lost_is_a_matter_of_the_seed() {
    let slow = "[[fault]]\nkind = 'slow-receiver'\nhost = 'c'\nspeed = '2G'\nat = '0s'\n";
    let lose = "[[fault]]\nkind = 'lose-pfc'\nto = 'M:3'\nshare = 0.5\nat = '0s'\n";
    let config = scenario(&format!("{FAST}{slow}{lose}"));
    let hash = |seed| {
        let outcome = run(&config, Options { seed: Some(seed), ..Options::default() }).unwrap();
        assert_eq!((outcome.violations, outcome.seed), (vec![], seed));
        outcome.trace_hash
    };
    assert_eq!(hash(1), hash(1));
    assert_ne!(hash(1), hash(2));
}

#[test]
fn a_pfc_frame_with_a_bit_turned_over_is_counted_and_every_frame_accounted_for() {
    let slow = "[[fault]]\nkind = 'slow-receiver'\nhost = 'c'\nspeed = '2G'\nat = '0s'\n";
    let corrupt = "[[fault]]\nkind = 'corrupt-pfc'\nto = 'a'\nat = '0s'\n";
    let config = scenario(&format!("{FAST}{slow}{corrupt}"));
    let mut built = build(&config, None, None).unwrap();
    for step in 1..=40 {
        built.network.run_until(step * 25 * US);
        built.network.check_all_but_losses().unwrap();
    }
    let a = built.network.host(built.flows[0].from).pfc;
    assert!(a.rx_unknown_frames > 0, "an opcode that nobody knows: {a:?}");
    assert!(a.rx_ignored.iter().sum::<u64>() > 0, "a priority that nobody protects: {a:?}");
    assert_eq!((a.rx_truncated_frames, a.rx_link_pause_frames), (0, 0));
    built.network.drain(200 * MS).unwrap();
    built.network.check_all_but_losses().unwrap();
    let outcome = outcome(&format!("{FAST}{slow}{corrupt}"));
    assert_eq!(missing(&outcome), outcome.headroom_overruns, "what its switch had no room for");
}

/// Two into one: S holds frames that M has no room for.
const TWO_INTO_ONE: &str = "[[flow]]\nfrom = 'a'\nto = 'c'\n[[flow]]\nfrom = 'b'\nto = 'c'\n\
    [[flow]]\nfrom = 'd'\nto = 'c'\n";

#[test]
fn a_switch_that_restarts_loses_what_it_held_and_then_goes_on() {
    let fault = "[[fault]]\nkind = 'restart'\nswitch = 'S'\nat = '200us'\nuntil = '300us'\n";
    let outcome = outcome(&format!("{TWO_INTO_ONE}{fault}"));
    let drops = drops(&outcome);
    let of = |reason| drops.iter().find(|drop| drop.0 == reason).map_or(0, |drop| drop.1);
    assert!((5..=60).contains(&of("lost_in_restart")), "what S held: {drops:?}");
    assert!(of("port_down") > 50, "what L had for it meanwhile: {drops:?}");
    let reasons = ["lost_in_restart", "link_down", "pfc_lost", "port_down"];
    let lost = lost_for(&outcome, &reasons) - of("pfc_lost");
    assert_eq!((missing(&outcome), outcome.headroom_overruns), (lost, 0));
    let late_bytes: u64 = outcome.flows.iter().map(|flow| flow.late_bytes).sum();
    assert!(late_bytes * 8 / 250 > 9_700, "c gets all it can");
    assert!(outcome.flows.iter().all(|flow| flow.late_bytes * 8 / 250 > 1_000));
    assert!(outcome.drained_ps.is_some());
}

#[test]
fn what_was_dropped_before_a_restart_stays_counted() {
    let fault = "[[fault]]\nkind = 'link-down'\nlink = 'S:2'\nat = '100us'\nuntil = '150us'\n\
        [[fault]]\nkind = 'restart'\nswitch = 'S'\nat = '200us'\nuntil = '201us'\n";
    let outcome = outcome(&format!("{FLOW}{fault}"));
    let lost = lost_for(&outcome, &["port_down", "link_down", "lost_in_restart"]);
    assert!(lost >= 4, "{lost}");
    assert_eq!((missing(&outcome), outcome.pfc_frames), (lost, 0));
}

#[test]
fn a_restart_at_any_moment_keeps_the_books() {
    // Shorter and longer than a frame takes, while PFC waits ahead of data.
    for ns in (0..40).map(|n| 200_000 + 337 * n) {
        let restarts = format!(
            "[[fault]]\nkind = 'restart'\nswitch = 'M'\nat = '{ns}ns'\nuntil = '{}ns'\n\
             [[fault]]\nkind = 'restart'\nswitch = 'L'\nat = '{}ns'\nuntil = '{}ns'\n",
            ns + 100 + ns % 2_000,
            ns + 1_000,
            ns + 1_001
        );
        let text = format!("switches = {{ static_th = '3KB' }}\n{TWO_INTO_ONE}{restarts}");
        let outcome = outcome(&text);
        let reasons = ["lost_in_restart", "link_down", "pfc_lost", "port_down"];
        lost_for(&outcome, &reasons);
        assert!(outcome.drained_ps.is_some() && outcome.headroom_overruns == 0, "{ns}");
    }
}

#[test]
fn a_restarted_switch_knows_its_own_links_at_once() {
    let fault = "[[fault]]\nkind = 'restart'\nswitch = 'L'\nat = '200us'\nuntil = '400us'\n";
    let outcome = outcome(&format!("routing = {{ reroute = '50us' }}\n{FLOW}{fault}"));
    let lost = lost_for(&outcome, &["lost_in_restart", "link_down", "port_down"]);
    assert!(lost <= 2, "{lost}: the host waits for its link, and then nothing lacks a route");
    assert_eq!(missing(&outcome), lost);
}

#[test]
fn a_paused_link_that_comes_back_is_paused_again() {
    // c takes nothing; M and S are full to the brim when the link between them flaps.
    let fault = "[[fault]]\nkind = 'hung-receiver'\nhost = 'c'\nat = '0s'\nuntil = '800us'\n\
        [[fault]]\nkind = 'link-down'\nlink = 'S:2'\nat = '200us'\nuntil = '210us'\n\
        [[fault]]\nkind = 'link-down'\nlink = 'c'\nat = '400us'\nuntil = '410us'\n\
        [[fault]]\nkind = 'link-down'\nlink = 'L:1'\nat = '500us'\nuntil = '1100us'\n";
    let outcome = outcome(&format!("{FAST}{fault}"));
    let drops = drops(&outcome);
    let lost: u64 = drops.iter().filter(|drop| drop.0 != "pfc_lost").map(|drop| drop.1).sum();
    lost_for(&outcome, &["link_down", "port_down", "pfc_lost"]);
    assert_eq!((outcome.headroom_overruns, missing(&outcome)), (0, lost));
    assert!(outcome.drained_ps.is_some());
}
