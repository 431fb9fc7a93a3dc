//! What a scenario reads as.

use super::*;
use crate::units::Length;
use dataplane::ids::PortId;
use dataplane::pfc::watchdog::{Action, WatchdogSettings};
use dataplane::settings::Threshold;
use dataplane::time::Speed;
use fabric::network::End;
use fabric::paths::PathKind;

#[test]
fn a_scenario_may_have_its_network_in_a_file_of_its_own() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("net.toml"), "[generate]\nkind = 'fat-tree'\nk = 4\n")
        .unwrap();
    let file = directory.path().join("s.toml");
    let text = "network = 'net.toml'\nduration = '1ms'\n[[traffic]]\nkind = 'permutation'\n";
    std::fs::write(&file, text).unwrap();
    let scenario = ScenarioConfig::load(&file).unwrap();
    assert_eq!((scenario.network.hosts(), scenario.seed), (16, 1));
}

fn parse(text: &str) -> ScenarioConfig {
    ScenarioConfig::parse("s.toml".as_ref(), text).unwrap_or_else(|error| panic!("{error}"))
}

fn every_key() -> ScenarioConfig {
    parse(include_str!("../../examples/scenarios/every-key.toml"))
}

/// A port by switch and port, both counted as the example has them.
fn slot(config: &ScenarioConfig, switch: u32, port: usize) -> u32 {
    config.network.slot(switch, PortId::from_number(port).unwrap()).unwrap()
}

const PLAIN: Pace = Pace {
    is_roce: false,
    rate: None,
    window_bytes: None,
    frame_bytes: 1_514,
    start_ns: 0,
    stop_ns: None,
    size_bytes: None,
    lossy: false,
    class: 1,
    dscp: None,
};

#[test]
fn every_setting_is_read() {
    let config = every_key();
    assert_eq!((config.name.as_str(), config.about.as_str()), ("all of it", "Every key once."));
    assert_eq!((config.duration_ns, config.seed), (2_000_000, 7));
    let scheme = Scheme {
        kind: SchemeKind::Tagger,
        priorities_max: 3,
        rules: None,
        classes: Some(7),
        tree: true,
        partitions: true,
        hosts_by_dscp: true,
        translate: true,
        watchdog: WatchdogSettings {
            detection_ns: 300_000_000,
            restoration_ns: 500_000_000,
            action: Action::Forward,
        },
        gfc: Gfc {
            form: GfcForm::TimeBased,
            bound: Bound::Tight,
            full_bytes: Some(200_000),
            slack_bytes: Some(2_000),
            start_bytes: Some(20_000),
            period_ns: 5_000,
            senders: u32::try_from(config.network.hosts()).unwrap(),
        },
    };
    assert_eq!(config.scheme, scheme);
    let links = LinkDefaults { speed: Speed::from_gbps(25), length: Length::from_metres(30) };
    assert_eq!(config.links, links);
    let ecn =
        Ecn { kmin_bytes: 5_000, kmax_bytes: 200_000, pmax_millionths: 250_000, marks_lossy: true };
    let buffers = Buffers {
        fair: Some(true),
        size_bytes: 9_000_000,
        cell_bytes: 208,
        lossy_bytes: 2_000_000,
        lossy_queue_bytes: 100_000,
        threshold: Threshold::dynamic(-2),
        xon_offset_bytes: Some(4_000),
        ecn: Some(ecn),
    };
    assert_eq!(config.buffers, buffers);
    let routing = Routing {
        kind: RouteKind::Pinned,
        reroute_ns: Some(50_000),
        failed: vec![End::Slot(slot(&config, 3, 1))],
        failed_millionths: 100_000,
    };
    assert_eq!(config.routing, routing);
    assert!(matches!(config.paths.kind, PathKind::UpDown { bounces: 1 }));
    let network = &config.network;
    assert_eq!((network.switches(), network.hosts(), network.links().len()), (4, 3, 7));
    let first = network.links()[0];
    assert_eq!(first.speed, Some(Speed::from_gbps(10)));
    assert_eq!(first.length, Some(Length::from_metres(2_000)));
    assert_eq!((network.links()[1].speed, network.links()[1].length), (None, None));
}

#[test]
fn every_flow_and_all_traffic_is_read() {
    let config = every_key();
    let [la, s_from_l, m_from_s] =
        [(0, 3), (2, 1), (1, 1)].map(|(switch, port)| slot(&config, switch, port));
    let [l_to_s, s_to_m, mc] =
        [(0, 1), (2, 2), (1, 3)].map(|(switch, port)| slot(&config, switch, port));
    let first = Flow {
        name: "first".to_owned(),
        from: 0,
        to: 2,
        route: Route::Path(vec![(la, l_to_s), (s_from_l, s_to_m), (m_from_s, mc)]),
        pace: Pace {
            is_roce: false,
            rate: Some(Speed::from_gbps(3)),
            window_bytes: Some(64_000),
            frame_bytes: 1_000,
            start_ns: 10_000,
            stop_ns: Some(900_000),
            size_bytes: Some(1_000_000),
            lossy: true,
            class: 1,
            dscp: None,
        },
    };
    let second = Flow { name: "b-c".to_owned(), from: 1, to: 2, route: Route::Routed, pace: PLAIN };
    let third = Flow {
        name: "rdma".to_owned(),
        from: 0,
        to: 1,
        route: Route::Routed,
        pace: Pace { is_roce: true, size_bytes: Some(1_000_000), ..PLAIN },
    };
    assert_eq!(config.flows, [first, second, third]);

    let plain = |kind| Traffic { kind, from: Vec::new(), senders: None, sizes: None, pace: PLAIN };
    let sizes = |distribution, load_millionths| Some(Sizes { distribution, load_millionths });
    let pace = Pace {
        is_roce: false,
        rate: Some(Speed::from_gbps(4)),
        window_bytes: Some(32_000),
        frame_bytes: 500,
        start_ns: 20_000,
        stop_ns: Some(800_000),
        size_bytes: None,
        lossy: true,
        class: 1,
        dscp: None,
    };
    let expected = [
        Traffic { senders: Some(2), ..plain(TrafficKind::Permutation) },
        Traffic {
            from: vec![0, 1],
            sizes: sizes(SizeDistribution::WebSearch, 500_000),
            pace,
            ..plain(TrafficKind::Incast { to: 2 })
        },
        Traffic {
            pace: Pace { is_roce: true, size_bytes: Some(20_000), ..PLAIN },
            ..plain(TrafficKind::Random { flows: 12 })
        },
        Traffic {
            sizes: sizes(SizeDistribution::DataMining, 1_500_000),
            ..plain(TrafficKind::AllToAll)
        },
    ];
    assert_eq!(config.traffic, expected);
}

#[test]
fn every_fault_and_expectation_is_read() {
    let config = every_key();
    let speed = Some(Speed::from_gbps(1));
    let kinds = [
        (100, FaultKind::LinkDown { link: End::Slot(slot(&config, 0, 1)) }),
        (300, FaultKind::Route { switch: 2, to: 2, via: slot(&config, 2, 1) }),
        (1, FaultKind::SlowReceiver { host: 2, speed }),
        (2, FaultKind::SlowReceiver { host: 1, speed: None }),
        (3, FaultKind::PauseStorm { host: 0 }),
        (4, FaultKind::LosePfc { to: End::Slot(slot(&config, 0, 3)), millionths: 1_000_000 }),
        (5, FaultKind::CorruptPfc { to: End::Host(0), millionths: 125_000 }),
        (6, FaultKind::Restart { switch: 3 }),
    ];
    let fault = |(at_us, kind): (u64, FaultKind)| {
        let until_ns = matches!(kind, FaultKind::LinkDown { .. }).then_some(200_000);
        Fault { at_ns: at_us * 1_000, until_ns, kind }
    };
    assert_eq!(config.faults, kinds.map(fault));

    let rate = |name: &str, gbps| (name.to_owned(), Speed::from_gbps(gbps));
    let tagger = Expectation {
        deadlock: Some(false),
        drains: Some(true),
        lossless_drops: Some(false),
        headroom_overruns: Some(false),
        lossy_drops: Some(true),
        at_least: vec![rate("first", 1)],
        at_most: vec![rate("b-c", 3), rate("first", 2)],
        ..Expectation::default()
    };
    let pfc = Expectation {
        deadlock: Some(true),
        deadlock_after_ns: Some(1_000),
        deadlock_before_ns: Some(1_500_000),
        ..Expectation::default()
    };
    let expected = [(SchemeKind::Pfc, pfc), (SchemeKind::Tagger, tagger)];
    assert_eq!(config.expectations, expected.into_iter().collect());
}

#[test]
fn what_is_not_said_has_its_default() {
    let config = parse(
        "duration = '1ms'\ngenerate = { kind = 'clos', leaves = 2, spines = 1 }\n\
         [[traffic]]\nkind = 'incast'\n",
    );
    assert_eq!((config.name.as_str(), config.about.as_str(), config.seed), ("s", "", 1));
    let gfc = Gfc { senders: 2, ..Gfc::default() };
    assert_eq!(config.scheme, Scheme { gfc, ..Scheme::default() });
    let links = LinkDefaults { speed: Speed::from_gbps(40), length: Length::from_metres(10) };
    assert_eq!(config.links, links);
    let buffers = Buffers {
        fair: None,
        size_bytes: 12_000_000,
        cell_bytes: 256,
        lossy_bytes: 3_000_000,
        lossy_queue_bytes: 512_000,
        threshold: Threshold::Static { xoff_bytes: 40_000 },
        xon_offset_bytes: None,
        ecn: None,
    };
    assert_eq!(config.buffers, buffers);
    let kind = RouteKind::Shortest;
    let failed = Vec::new();
    assert_eq!(config.routing, Routing { kind, reroute_ns: None, failed, failed_millionths: 0 });
    assert_eq!(config.traffic[0].kind, TrafficKind::Incast { to: 0 });
    assert_eq!(config.traffic[0].pace, PLAIN);
    assert!(config.faults.is_empty() && config.expectations.is_empty() && config.flows.is_empty());
}
