//! Tagger, Table I: how often frames are rerouted, as the switches count it.
//!
//! A fat-tree of 4-port switches loses some of its links at random, each flow has a random shortest
//! way, and a switch sends it around a link that is down. Switches count the tags that their rules
//! raise; the checkers compare the counters with the tag of every frame at every hop. The share of
//! failed links is swept, as the reroutes follow it.

use super::PAPER;
use crate::plot::{Line, Plot};
use crate::row::{Row, Verdict};
use bench::stats::{Interval, SEEDS_MIN};
use config::ScenarioConfig;
use config::scenario::SchemeKind;
use netsim::outcome::Outcome;
use netsim::scenario::{Options, run};
use std::error::Error;

/// Shares of the links between switches that are down: 1, 3 and 6 of 32.
const FAILED_SHARES: [f64; 3] = [0.032, 0.1, 0.2];

/// What one run counted.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Counted {
    /// Of the frames of hosts: those that bounced.
    once: f64,
    /// Those that bounced twice or more often.
    twice: f64,
    /// Whether the counters are what the frames show, nothing was lost, and frames arrived.
    is_sound: bool,
}

/// The row, with a plot of the sweep.
pub(super) fn row() -> Result<Row, Box<dyn Error>> {
    let mut sweep = Vec::new();
    for share in FAILED_SHARES {
        eprintln!("  reroutes with {share} of the links down");
        let counted = (1..=SEEDS_MIN as u64).map(|seed| counted(share, seed));
        sweep.push((share, counted.collect::<Result<Vec<_>, _>>()?));
    }
    Ok(of(&sweep))
}

fn of(sweep: &[(f64, Vec<Counted>)]) -> Row {
    let mean = |counted: &[Counted], value: fn(&Counted) -> f64| {
        counted.iter().map(value).sum::<f64>() / counted.len().max(1) as f64
    };
    let once: Vec<f64> = sweep.iter().map(|(_, counted)| mean(counted, |one| one.once)).collect();
    let twice: Vec<f64> = sweep.iter().map(|(_, counted)| mean(counted, |one| one.twice)).collect();
    let is_sound = sweep.iter().flat_map(|(_, counted)| counted).all(|one| one.is_sound);
    let grows = once.is_sorted_by(|less, more| less < more) && once.first() > Some(&0.0);
    let few_twice = once.iter().zip(&twice).all(|(once, twice)| twice < &(once / 2.0));
    let shown = sweep.iter().zip(once.iter().zip(&twice)).map(|((share, _), (once, twice))| {
        format!("{:.0} % of the links down: {once:.1e} bounce, {twice:.1e} twice", share * 100.0)
    });
    let verdict = Verdict::differs_if(
        is_sound && grows && few_twice,
        "Tagger's networks fail by themselves; here links fail at random, and the share follows them",
        "counters are not what frames show, or bounces do not grow with the failed links, or half \
         of the frames that bounce do it twice",
    );
    let line = |name: &str, values: &[f64]| Line {
        name: name.to_owned(),
        points: sweep.iter().map(|(share, _)| *share).zip(values.iter().copied()).collect(),
    };
    let least: Vec<f64> =
        sweep.first().into_iter().flat_map(|(_, counted)| counted).map(|c| c.once).collect();
    Row {
        interval: Interval::of(&least),
        plots: vec![Plot {
            title: "Reroutes by failed links".to_owned(),
            x_label: "share of links down".to_owned(),
            is_logarithmic: false,
            lines: vec![line("bounced", &once), line("twice or more often", &twice)],
        }],
        ..Row::new(
            PAPER,
            "Table I: reroutes",
            "0.9e-5 to 1.3e-5 of the measurements",
            shown.collect::<Vec<_>>().join("; "),
            verdict,
        )
    }
}

fn counted(failed_share: f64, seed: u64) -> Result<Counted, Box<dyn Error>> {
    let text = format!(
        "duration = '200us'\n[generate]\nkind = 'fat-tree'\nk = 4\n\
         [paths]\nkind = 'up-down'\nbounces = 2\n[scheme]\nkind = 'tagger'\n\
         [routing]\nkind = 'pinned'\nreroute = '0us'\nfailed_share = {failed_share}\n\
         [[traffic]]\nkind = 'random'\nflows = 100\nrate = '200M'\nframe = 256\n"
    );
    let config = ScenarioConfig::parse("reroutes.toml".as_ref(), &text)?;
    let options =
        Options { scheme: Some(SchemeKind::Tagger), seed: Some(seed), ..Options::default() };
    Ok(read(&run(&config, options)?))
}

fn read(outcome: &Outcome) -> Counted {
    let left = |tag: u8| -> u64 {
        let changes = outcome.tag_changes.iter().filter(|change| change.tag == tag);
        changes.map(|change| change.frames).sum()
    };
    let sent: u64 = outcome.flows.iter().map(|flow| flow.sent_frames).sum();
    let share = |frames: u64| frames as f64 / sent.max(1) as f64;
    Counted {
        once: share(left(1)),
        twice: share(left(2)),
        is_sound: outcome.violations.is_empty() && outcome.lossless_drops == 0 && sent > 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sweep(change: impl Fn(usize, &mut Counted)) -> Row {
        let point = |at: usize| {
            let share = 0.01 * (at + 1) as f64;
            let mut counted = Counted { once: share, twice: share / 10.0, is_sound: true };
            change(at, &mut counted);
            (share, vec![counted; SEEDS_MIN])
        };
        of(&[point(0), point(1), point(2)])
    }

    #[test]
    fn a_run_bounces_and_its_counters_are_what_frames_show() {
        let counted = counted(0.2, 1).unwrap();
        assert!(
            counted.is_sound && counted.once > 0.0 && counted.twice < counted.once,
            "{counted:?}"
        );
        assert_eq!(super::counted(0.0, 1).unwrap().once, 0.0, "without failures nothing bounces");
    }

    #[test]
    fn the_row_fails_if_counters_are_wrong_or_do_not_follow_the_failures() {
        assert!(!sweep(|_, _| {}).verdict.is_failure());
        assert!(sweep(|at, counted| counted.is_sound = at != 1).verdict.is_failure());
        assert!(sweep(|_, counted| counted.once = 0.01).verdict.is_failure());
        assert!(sweep(|_, counted| counted.once = 0.0).verdict.is_failure());
        assert!(sweep(|_, counted| counted.twice = counted.once).verdict.is_failure());
    }
}
