//! Several application classes in one network (Tagger, VI-A): a class that is paused does not delay
//! another one.

use config::ScenarioConfig;
use config::scenario::SchemeKind;
use netsim::outcome::{FlowOutcome, Outcome};
use netsim::scenario::{Options, run};
use std::path::Path;

fn scenario() -> ScenarioConfig {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios/classes.toml");
    ScenarioConfig::load(&file).unwrap_or_else(|error| panic!("{error}"))
}

fn simulate(config: &ScenarioConfig) -> Outcome {
    let options = Options { scheme: Some(SchemeKind::Tagger), ..Options::default() };
    let outcome = run(config, options).unwrap_or_else(|error| panic!("{error}"));
    assert!(outcome.violations.is_empty(), "{:?}", outcome.violations);
    assert_eq!((outcome.deadlock.is_some(), outcome.lossless_drops), (false, 0));
    outcome
}

fn flow<'a>(outcome: &'a Outcome, name: &str) -> (usize, &'a FlowOutcome) {
    let found = outcome.flows.iter().enumerate().find(|(_, flow)| flow.name == name);
    found.unwrap_or_else(|| panic!("no flow {name}"))
}

/// Bytes of a flow in each step of the sending time after the receiver has hung.
fn steps_while_hung(outcome: &Outcome, name: &str) -> Vec<u64> {
    let (at, _) = flow(outcome, name);
    let timeline = &outcome.timeline;
    let first = usize::try_from(300_000_000 / timeline.step_ps).unwrap();
    let last = usize::try_from(outcome.duration_ps / timeline.step_ps).unwrap();
    timeline.flow_bytes[at][first..last].to_vec()
}

#[test]
fn a_paused_class_does_not_delay_another_class() {
    let outcome = simulate(&scenario());
    for name in ["notify-1", "notify-2"] {
        let steps = steps_while_hung(&outcome, name);
        let (least, most) = (steps.iter().min().unwrap(), steps.iter().max().unwrap());
        // The same in every step, but for the frame that falls into this step or the next.
        assert!(*least > 0 && most - least <= 2 * 128, "{name}: {steps:?}");
    }
    assert!(steps_while_hung(&outcome, "victim").iter().all(|&bytes| bytes == 0));
}

#[test]
fn in_the_same_class_it_does() {
    let mut config = scenario();
    for flow in &mut config.flows {
        flow.pace.class = 1;
    }
    let outcome = simulate(&config);
    for name in ["notify-1", "notify-2"] {
        assert!(steps_while_hung(&outcome, name).iter().all(|&bytes| bytes == 0), "{name}");
    }
}
