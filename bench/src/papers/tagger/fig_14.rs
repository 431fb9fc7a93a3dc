//! Fig. 14: how often flows bounce in fat-trees whose links fail.
//!
//! The Tagger paper has no more than "a random candidate next hop", and says neither which links
//! fail nor between which hosts flows run. So the figure is counted three times: by its local rule
//! where any link between switches can fail; by the same rule where links to spines fail and flows
//! run between pods, which gives the paper's numbers; and by the rule of our emulator's switches,
//! which look two hops ahead.

use super::PAPER;
use crate::plot::{Line, Plot};
use crate::row::{Row, Verdict};
use bench::stats::{Interval, SEEDS_MIN};
use config::NetworkConfig;
use netsim::scenario::{BounceCounter, Bounces, Failures, Reroute, Setting};
use std::error::Error;
use std::path::Path;

/// Flows of a seed. Which links fail, so which seed, matters more than how many flows there are.
const FLOWS: u64 = 10_000;
/// Ports of a switch.
const SIZES: [usize; 4] = [8, 16, 32, 64];
/// Links that fail, in a hundred.
const FAILED: [u32; 5] = [1, 2, 5, 10, 20];

/// A way to count.
#[derive(Clone, Copy)]
struct Method {
    name: &'static str,
    reroute: Reroute,
    failures: Failures,
    between_pods: bool,
}

const LOCAL: Method = Method {
    name: "local rule, any link fails",
    reroute: Reroute::Local,
    failures: Failures::All,
    between_pods: false,
};

const AT_SPINES: Method = Method {
    name: "local rule, links to spines fail, flows between pods",
    failures: Failures::ToSpines,
    between_pods: true,
    ..LOCAL
};

const LOOK_AHEAD: Method = Method {
    name: "look-ahead of our switches, any link fails",
    reroute: Reroute::LookAhead,
    ..LOCAL
};

/// What the flows of a point did, over all seeds, in a hundred.
#[derive(Clone, Copy)]
struct Point {
    failed: u32,
    /// Bounced once, twice, more often.
    bounced: [Interval; 3],
    /// Bounced more than once.
    often: Interval,
}

/// The points of one size.
struct Curve {
    k: usize,
    points: Vec<Point>,
}

impl Curve {
    fn count(counter: &mut BounceCounter, k: usize, method: Method) -> Option<Self> {
        let Method { reroute, failures, between_pods, .. } = method;
        let point = |failed: u32| {
            let failed_millionths = failed * 10_000;
            let setting =
                Setting { reroute, failures, failed_millionths, between_pods, flows: FLOWS };
            let seeds = (1..).take(SEEDS_MIN);
            let counts: Vec<[f64; 3]> =
                seeds.map(|seed| percent(counter.count(&setting, seed))).collect();
            let of = |value: &dyn Fn(&[f64; 3]) -> f64| {
                Interval::of(&counts.iter().map(value).collect::<Vec<f64>>())
            };
            let bounced = [of(&|at| at[0])?, of(&|at| at[1])?, of(&|at| at[2])?];
            Some(Point { failed, bounced, often: of(&|at| at[1] + at[2])? })
        };
        Some(Self { k, points: FAILED.map(point).into_iter().collect::<Option<_>>()? })
    }

    /// Where most links fail.
    fn last(&self) -> Option<&Point> {
        self.points.last()
    }

    /// What the flows do where most links fail.
    fn text(&self) -> String {
        self.last().map_or_else(String::new, |last| {
            let (once, often) = (last.bounced[0].mean, last.often.mean);
            format!("k = {}: {once:.1} % once, {often:.1} % more often", self.k)
        })
    }

    /// Whether more failures are more bounces.
    fn rises(&self) -> bool {
        self.points.is_sorted_by(|one, next| one.bounced[0].mean < next.bounced[0].mean)
    }
}

/// Flows that bounced once, twice and more often, in a hundred of [`FLOWS`].
fn percent(bounces: Bounces) -> [f64; 3] {
    let Bounces { once, twice, more, .. } = bounces;
    [once, twice, more].map(|count| count as f64 * 100.0 / FLOWS as f64)
}

/// A row for each way to count.
pub(super) fn rows() -> Result<Vec<Row>, Box<dyn Error>> {
    let mut curves: [Vec<Curve>; 3] = [const { Vec::new() }; 3];
    for k in SIZES {
        let text = format!("[generate]\nkind = 'fat-tree'\nk = {k}\n");
        let network = NetworkConfig::parse(Path::new("fat-tree.toml"), &text)?.network;
        let mut counter = BounceCounter::new(&network)?;
        for (method, curves) in [LOCAL, AT_SPINES, LOOK_AHEAD].into_iter().zip(&mut curves) {
            let curve = Curve::count(&mut counter, k, method).ok_or("too few seeds")?;
            eprintln!("  Fig. 14: {}: {}", method.name, curve.text());
            curves.push(curve);
        }
    }
    let [local, spines, ahead] = &curves;
    Ok(vec![
        row("Fig. 14: local rule, links to spines", spines, is_the_papers(spines)),
        row(
            "Fig. 14: local rule, any link",
            local,
            Verdict::differs_if(
                local.iter().all(Curve::rises) && is_more_often(local, spines),
                "a leaf without its link to the ToR sends flows up again, so they bounce on",
                "not more bounces than with failures of links to spines only",
            ),
        ),
        row(
            "Fig. 14: look-ahead of our switches",
            ahead,
            Verdict::differs_if(
                ahead.iter().all(Curve::rises) && is_more_often(local, ahead),
                "36 % of the flows meet a link that is down on their way down",
                "look-ahead does not spare flows second bounces",
            ),
        ),
    ])
}

/// Whether flows bounce more than once more often by the first way to count, at every size.
fn is_more_often(more: &[Curve], less: &[Curve]) -> bool {
    let pairs = || more.iter().zip(less).filter_map(|(more, less)| more.last().zip(less.last()));
    pairs().count() == SIZES.len()
        && pairs().all(|(more, less)| more.often.low() > less.often.high())
}

/// About 16 % once and about 3 % more often, where k is 8 and 20 % of the links fail.
fn is_the_papers(curves: &[Curve]) -> Verdict {
    let Some(last) = curves.first().and_then(Curve::last) else {
        return Verdict::Fails("no point was counted".to_owned());
    };
    let [once, often] = [last.bounced[0].mean, last.often.mean];
    let is_it = (15.0..=17.0).contains(&once) && (2.0..=4.0).contains(&often);
    let rises = curves.len() == SIZES.len() && curves.iter().all(Curve::rises);
    Verdict::holds_if(is_it && rises, "not 15 to 17 % once and 2 to 4 % more often, or not rising")
}

fn row(item: &'static str, curves: &[Curve], verdict: Verdict) -> Row {
    let ours: Vec<String> = curves.iter().map(Curve::text).collect();
    let titles = ["once", "twice", "more than twice"].into_iter().enumerate();
    let plots = titles.map(|(which, title)| plot(which, title, curves)).collect();
    let paper = "k = 8, 20 % of links: 16 % once, 3 % more often";
    let row = Row::new(PAPER, item, paper, ours.join("; "), verdict);
    let interval = curves.first().and_then(Curve::last).map(|last| last.bounced[0]);
    Row { interval, plots, ..row }
}

fn plot(which: usize, title: &str, curves: &[Curve]) -> Plot {
    let points = |curve: &Curve| {
        curve.points.iter().map(|at| (f64::from(at.failed), at.bounced[which].mean)).collect()
    };
    let line = |curve: &Curve| Line { name: format!("k = {}", curve.k), points: points(curve) };
    Plot {
        title: format!("{title}, % of flows"),
        x_label: "% of links".to_owned(),
        is_logarithmic: false,
        lines: curves.iter().map(line).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn curve(once: f64, often: f64) -> Curve {
        let interval = |mean| Interval { mean, half_width: 0.1, seeds: SEEDS_MIN };
        let point = |failed: u32| {
            let share = f64::from(failed) / 20.0;
            let bounced = [once * share, often * share, 0.0].map(interval);
            Point { failed, bounced, often: interval(often * share) }
        };
        Curve { k: 8, points: FAILED.map(point).into() }
    }

    #[test]
    fn other_numbers_than_the_papers_fail() {
        let of = |once, often| [(); 4].map(|()| curve(once, often));
        assert_eq!(is_the_papers(&of(16.2, 2.9)), Verdict::Holds);
        for (once, often) in [(17.1, 3.0), (14.9, 3.0), (16.0, 4.1), (16.0, 1.9)] {
            assert!(is_the_papers(&of(once, often)).is_failure(), "{once} {often}");
        }
        assert!(is_the_papers(&[]).is_failure());
        let mut falls = of(16.0, 3.0);
        falls[3].points.reverse();
        assert!(is_the_papers(&falls).is_failure());
        assert!(is_more_often(&of(20.0, 15.0), &of(16.0, 3.0)));
        assert!(!is_more_often(&of(20.0, 3.1), &of(16.0, 3.0)), "the intervals overlap");
    }
}
