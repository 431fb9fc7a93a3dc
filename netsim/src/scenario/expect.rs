//! Compares an outcome with what was expected.

use crate::outcome::Outcome;
use config::scenario::Expectation;

/// The deviations from what was expected, a line each.
pub fn judge(outcome: &Outcome, expected: &Expectation) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut check = |is: bool, should: Option<bool>, yes: &str, no: &str| match should {
        Some(should) if should != is => {
            let [expected, found] = if should { [yes, no] } else { [no, yes] };
            wrong.push(format!("expected {expected}, found {found}"));
        }
        _ => {}
    };
    let deadlock = outcome.deadlock.as_ref();
    check(deadlock.is_some(), expected.deadlock, "a deadlock", "no deadlock");
    let drains = outcome.drained_ps.is_some();
    check(drains, expected.drains, "that it drains", "frames that stay");
    let loses = outcome.lossless_drops != 0;
    check(loses, expected.lossless_drops, "lossless drops", "no lossless drops");
    let overruns = outcome.headroom_overruns != 0;
    check(overruns, expected.headroom_overruns, "headroom overruns", "no headroom overruns");
    let drops = outcome.lossy_drops != 0;
    check(drops, expected.lossy_drops, "lossy drops", "no lossy drops");
    if let Some(deadlock) = deadlock {
        let closed_ns = deadlock.closed_ps / 1_000;
        if expected.deadlock_after_ns.is_some_and(|after_ns| closed_ns < after_ns) {
            wrong.push(format!("the deadlock closed at {closed_ns} ns, too early"));
        }
        if expected.deadlock_before_ns.is_some_and(|before_ns| closed_ns > before_ns) {
            wrong.push(format!("the deadlock closed at {closed_ns} ns, too late"));
        }
    }
    let late_bps = |name: &str| {
        let flow = outcome.flows.iter().find(|flow| flow.name == name)?;
        let bits = u128::from(flow.late_bytes) * 8 * 4 * 1_000_000_000_000;
        u64::try_from(bits / u128::from(outcome.duration_ps.max(1))).ok()
    };
    for (name, least) in &expected.at_least {
        let bps = late_bps(name).unwrap_or(0);
        if bps < least.bps() {
            wrong.push(format!(
                "flow {name} makes {} Mb/s, less than {}",
                bps / 1_000_000,
                least.bps() / 1_000_000
            ));
        }
    }
    for (name, most) in &expected.at_most {
        let bps = late_bps(name).unwrap_or(0);
        if bps > most.bps() {
            wrong.push(format!(
                "flow {name} makes {} Mb/s, more than {}",
                bps / 1_000_000,
                most.bps() / 1_000_000
            ));
        }
    }
    wrong
}
