//! `[roce]` and `[[collective]]`.

use super::*;
use roce::congestion::{Algorithm, DcqcnParameters, HpccParameters, SwiftParameters};

fn every_key() -> ScenarioConfig {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/scenarios");
    ScenarioConfig::load(&folder.join("every-key.toml")).unwrap()
}

fn parse(text: &str) -> Result<ScenarioConfig, ConfigError> {
    let base = "duration = '1ms'\ngenerate = { kind = 'clos', leaves = 2, spines = 1 }\n";
    ScenarioConfig::parse("roce.toml".as_ref(), &format!("{base}{text}"))
}

#[test]
fn every_parameter_of_the_chosen_algorithm_is_read() {
    let expected = Roce {
        algorithm: Algorithm::Dcqcn(DcqcnParameters {
            g_millionths: 62_500,
            initial_alpha_millionths: 500_000,
            alpha_interval_ps: 50_000_000,
            increase_interval_ps: 100_000_000,
            increase_bytes: 1_000_000,
            fast_recovery_steps: 3,
            additive_bps: 20_000_000,
            hyper_bps: 200_000_000,
            minimum_bps: 100_000_000,
            clamps_target: false,
        }),
        selective_packets: Some(128),
        mtu: 512,
        acknowledge_every: 4,
        timeout_ns: 2_000_000,
        cnp_interval_ns: 20_000,
        base_rtt_ns: Some(13_000),
    };
    assert_eq!(every_key().roce, expected);
}

#[test]
fn without_a_table_nothing_controls_congestion_and_measuring_needs_every_answer() {
    let flow = "[[flow]]\nfrom = 'H1'\nto = 'H2'\ntransport = 'roce'\n";
    let config = parse(flow).unwrap();
    assert!(config.flows[0].pace.is_roce);
    assert_eq!(config.roce, Roce::default());
    let config = parse(&format!("{flow}[roce]\ncongestion = 'swift'\n")).unwrap();
    assert_eq!(config.roce.algorithm, Algorithm::Swift(SwiftParameters::default()));
    assert_eq!(config.roce.acknowledge_every, 1);
    let hpcc = "congestion = 'hpcc'\nhpcc = { utilization = 0.9, stages = 0, additive = '50B' }\n";
    let config = parse(&format!("{flow}[roce]\n{hpcc}")).unwrap();
    let parameters = HpccParameters { eta_millionths: 900_000, stages_max: 0, additive_bytes: 50 };
    assert_eq!(config.roce.algorithm, Algorithm::Hpcc(parameters));
    assert_eq!(config.roce.acknowledge_every, 1);
}

#[test]
fn collectives_are_read() {
    let config = every_key();
    let [sum, line] = &*config.collectives else { panic!("{:?}", config.collectives) };
    let expected = Collective {
        name: "sum".to_owned(),
        kind: CollectiveKind::AllReduceTree,
        ranks: vec![2, 0, 1],
        is_shuffled: true,
        bytes: 1_000_000,
        chunks: 4,
        rounds: 2,
        start_ns: 5_000,
        compute_ns: 1_000,
        stragglers: 1,
        straggle_ns: 10_000,
        class: 1,
    };
    assert_eq!(*sum, expected);
    assert_eq!((line.name.as_str(), line.kind), ("pipeline 2", CollectiveKind::Pipeline));
    assert_eq!((&*line.ranks, line.rounds, line.stragglers), (&[0, 1][..], 1, 0));
}

#[test]
fn mistakes_are_said_with_what_would_be_right() {
    let roce = "[[flow]]\nfrom = 'H1'\nto = 'H2'\ntransport = 'roce'\n";
    let collective = "[[collective]]\nsize = '1MB'\n";
    for (text, message) in [
        (
            "[[flow]]\nfrom = 'H1'\nto = 'H2'\ntransport = 'rose'\n".to_owned(),
            "there is no transport `rose`; did you mean `roce`?",
        ),
        (format!("{roce}window = '8KB'\n"), "`window` is of simple flows; see [roce] instead"),
        (
            format!("{roce}[roce]\ncongestion = 'dctcp'\n"),
            "there is no congestion control `dctcp`; did you mean `dcqcn`?",
        ),
        (
            format!("{roce}[roce]\nwindow = 9\n"),
            "`window` is of `selective-repeat`; set `mode`, or remove it",
        ),
        (format!("{roce}[roce]\nmtu = 1000\n"), "packets carry 256, 512 or 1024 bytes"),
        (format!("{roce}[roce.dcqcn]\ng = 2.0\n"), "2 is no share; use 0.0 to 1.0"),
        (
            format!("{collective}kind = 'pipeline'\nalgorithm = 'tree'\n"),
            "`algorithm` is of `all-reduce`; remove it",
        ),
        (
            format!("{collective}kind = 'all-reduce'\nchunks = 2\n"),
            "`chunks` is of trees and pipelines; remove it",
        ),
        (
            format!("{collective}kind = 'all-to-all'\nhosts = ['H1']\n"),
            "a collective needs two hosts; name two",
        ),
        (
            format!("{collective}kind = 'all-to-all'\nstraggle = '1us'\n"),
            "no rank straggles; add `stragglers`, or remove this",
        ),
        (
            "[[collective]]\nkind = 'pipeline'\nsize = 0\n".to_owned(),
            "0 bytes cannot be sent; use 1 to 2147483648",
        ),
    ] {
        let error = parse(&text).unwrap_err().to_string();
        assert!(error.contains(message), "{error}\ninstead of\n{message}");
    }
    let three = "generate = { kind = 'clos', leaves = 3, spines = 1 }\nduration = '1ms'\n\
                 [[collective]]\nsize = 9\nkind = 'all-reduce'\nalgorithm = 'halving-doubling'\n";
    let error = ScenarioConfig::parse("three.toml".as_ref(), three).unwrap_err().to_string();
    assert!(error.contains("needs a power of two of ranks, not 3; use 2"), "{error}");
}
