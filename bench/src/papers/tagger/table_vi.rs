//! Table VI: what RoCE loses without PFC, with one lossless priority, with two.
//!
//! Hosts have RoCE endpoints with DCQCN, as the paper's. Flows of web search and of data mining
//! sizes come at random; each has a random way through a fat-tree that lost a fifth of its links.
//! Over the seeds of a cell ten million frames are sent, so that the paper's 10^-6 can be seen. The
//! paper says neither how long lossy queues are nor when they mark: here 512 KB, and DCQCN's own
//! thresholds (5 to 200 KB).
//!
//! With one lossless priority a frame turns lossy where it bounces, with two where it bounces a
//! second time. What must hold: without such frames nothing is lost, in any seed.

use super::PAPER;
use crate::row::{Row, Verdict};
use bench::stats::{Interval, SEEDS_MIN};
use config::ScenarioConfig;
use config::scenario::{Ecn, SchemeKind, SizeDistribution, Sizes};
use netsim::scenario::{Options, run};
use rayon::prelude::*;
use roce::congestion::{Algorithm, DcqcnParameters};
use std::error::Error;
use std::path::Path;

/// Senders, and the paper's shares of lost frames: without PFC, with one, with two lossless
/// priorities.
const SHARES: [(u32, [f64; 3]); 3] =
    [(8, [1.25e-2, 0.0, 0.0]), (16, [6.6e-2, 6.87e-7, 0.0]), (24, [1.27e-1, 1.61e-6, 0.0])];

/// How long sources send: about half a million frames in a run. Flows of data mining come seldom.
const fn duration_ns(sizes: SizeDistribution) -> u64 {
    match sizes {
        SizeDistribution::WebSearch => 130_000_000,
        SizeDistribution::DataMining => 260_000_000,
    }
}

/// What one lossy queue may hold.
const LOSSY_QUEUE_BYTES: u32 = 512_000;
/// How queues mark, lossy ones too.
const ECN: Ecn =
    Ecn { kmin_bytes: 5_000, kmax_bytes: 200_000, pmax_millionths: 10_000, marks_lossy: true };

/// What one run lost.
#[derive(Clone, Copy, Debug)]
struct Loss {
    sent: u64,
    /// Lost of sent.
    share: f64,
    /// Frames that rules made lossy.
    demoted: u64,
    /// Lossless frames that found no headroom.
    overruns: u64,
}

/// The runs of so many senders: of each seed, without PFC, with one, with two priorities.
struct Line {
    senders: u32,
    sizes: SizeDistribution,
    seeds: Vec<[Loss; 3]>,
}

impl Line {
    fn measure(senders: u32, sizes: SizeDistribution) -> Result<Self, Box<dyn Error>> {
        eprintln!("  Table VI: {senders}-to-1, {sizes:?}, {SEEDS_MIN} seeds");
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../netsim/scenarios");
        let file = folder.join(format!("failures-{senders}-to-1.toml"));
        let mut config = ScenarioConfig::load(&file)?;
        config.duration_ns = duration_ns(sizes);
        config.roce.algorithm = Algorithm::Dcqcn(DcqcnParameters::default());
        config.buffers.ecn = Some(ECN);
        config.buffers.lossy_queue_bytes = LOSSY_QUEUE_BYTES;
        for traffic in &mut config.traffic {
            traffic.pace.is_roce = true;
            traffic.sizes = traffic.sizes.map(|it| Sizes { distribution: sizes, ..it });
        }
        let seeds: Vec<u64> = (1..).take(SEEDS_MIN).collect();
        let of = |&seed| [0, 1, 2].map(|priorities| lose(&config, priorities, seed));
        let runs: Vec<[Result<Loss, String>; 3]> = seeds.par_iter().map(of).collect();
        let seeds = runs.into_iter().map(|[none, one, two]| Ok([none?, one?, two?]));
        Ok(Self { senders, sizes, seeds: seeds.collect::<Result<_, String>>()? })
    }

    /// Whether no lossless frame was lost, nothing where no frame was made lossy, and a further
    /// priority does not lose more on average. Flows of data mining sizes are so few at a time that
    /// even without PFC hardly any queue is full; frames that rules make lossy then stand behind
    /// lossless ones, and one priority can lose more than none.
    fn is_sound(&self) -> bool {
        let overruns: u64 = self.seeds.iter().flatten().map(|loss| loss.overruns).sum();
        let [none, one, two] = [0, 1, 2].map(|priorities| self.share(priorities));
        let mut tagged = self.seeds.iter().flat_map(|seed| &seed[1..]);
        let is_clean = tagged.all(|loss| loss.demoted > 0 || loss.share == 0.0);
        let is_busy = matches!(self.sizes, SizeDistribution::WebSearch);
        overruns == 0 && is_clean && one >= two && (none >= one || !is_busy)
    }

    /// Lost of sent, over all seeds.
    fn share(&self, priorities: usize) -> f64 {
        let losses = || self.seeds.iter().map(|seed| seed[priorities]);
        let sent: u64 = losses().map(|loss| loss.sent).sum();
        let lost: f64 = losses().map(|loss| loss.share * loss.sent as f64).sum();
        lost / sent.max(1) as f64
    }

    /// Of so many lossless priorities.
    fn interval(&self, priorities: usize) -> Option<Interval> {
        let shares: Vec<f64> = self.seeds.iter().map(|seed| seed[priorities].share).collect();
        Interval::of(&shares)
    }

    fn text(&self) -> String {
        let share = |priorities| {
            let interval = self.interval(priorities);
            let mean = self.share(priorities);
            interval.map_or_else(String::new, |it| {
                format!("{mean:.1e} ({:.1e} to {:.1e})", it.low().max(0.0), it.high())
            })
        };
        let clean = self.seeds.iter().filter(|[_, _, two]| two.share == 0.0).count();
        let [none, one, two] = [share(0), share(1), share(2)];
        let (senders, sizes) = (self.senders, self.sizes);
        format!("{senders}-to-1, {sizes:?}: {none}; {one}; {two} ({clean} seeds lose nothing)")
    }
}

fn lose(config: &ScenarioConfig, priorities: u8, seed: u64) -> Result<Loss, String> {
    let mut config = config.clone();
    config.scheme.priorities_max = priorities.max(1);
    let scheme = if priorities == 0 { SchemeKind::Lossy } else { SchemeKind::Tagger };
    let options = Options { scheme: Some(scheme), seed: Some(seed), ..Options::default() };
    let outcome = run(&config, options).map_err(|error| error.to_string())?;
    let sent: u64 = outcome.flows.iter().map(|flow| flow.sent_frames).sum();
    let lost = outcome.lossy_drops + outcome.headroom_overruns;
    let share = lost as f64 / sent.max(1) as f64;
    let demoted = outcome.tag_changes.iter().filter(|it| it.new_tag.is_none());
    let demoted = demoted.map(|it| it.frames).sum();
    Ok(Loss { sent, share, demoted, overruns: outcome.headroom_overruns })
}

/// The row: all cells.
pub(super) fn row() -> Result<Row, Box<dyn Error>> {
    let mut lines = Vec::new();
    for sizes in [SizeDistribution::WebSearch, SizeDistribution::DataMining] {
        for (senders, _) in SHARES {
            lines.push(Line::measure(senders, sizes)?);
        }
    }
    let paper = SHARES.map(|(senders, [none, one, two])| {
        format!("{senders}-to-1: {none:.1e}; {one:.1e}; {two:.0}")
    });
    let ours: Vec<String> = lines.iter().map(Line::text).collect();
    let interval = lines.first().and_then(|line| line.interval(2));
    let item = "Table VI: loss without PFC, with 1, with 2 lossless priorities";
    let row = Row::new(PAPER, item, paper.join(" | "), ours.join(" | "), verdict(&lines));
    Ok(Row { interval, ..row })
}

fn verdict(lines: &[Line]) -> Verdict {
    if lines.is_empty() || !lines.iter().all(Line::is_sound) {
        let why = "a further lossless priority loses more, or a lossless frame is lost";
        return Verdict::Fails(why.to_owned());
    }
    let seeds = || lines.iter().flat_map(|line| &line.seeds).map(|seed| seed[2]);
    let clean = seeds().filter(|loss| loss.share == 0.0).count();
    if clean == seeds().count() {
        return Verdict::Holds;
    }
    let of = seeds().count();
    Verdict::Differs(format!(
        "with two priorities {clean} of {of} runs lose nothing, as in the paper; in the others flows \
         bounce twice, and only their frames, which are lossy then, are lost"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Seeds around these shares.
    fn line(shares: [f64; 3], overruns: u64) -> Line {
        let seed = |at: usize| {
            let moved = 1.0 + 0.02 * (at % 5) as f64;
            shares.map(|share| Loss { sent: 1_000, share: share * moved, demoted: 9, overruns: 0 })
        };
        let mut seeds: Vec<[Loss; 3]> = (0..SEEDS_MIN).map(seed).collect();
        seeds[3][1].overruns = overruns;
        Line { senders: 8, sizes: SizeDistribution::WebSearch, seeds }
    }

    #[test]
    fn means_out_of_order_fail_and_so_does_loss_without_lossy_frames() {
        let of = |shares, overruns| verdict(&[(); 3].map(|()| line(shares, overruns)));
        assert!(!of([0.2, 0.1, 0.0], 0).is_failure());
        assert!(of([0.2, 0.1, 0.15], 0).is_failure());
        assert!(of([0.1, 0.2, 0.0], 0).is_failure());
        assert_eq!(of([0.2, 0.1, 0.0], 0), Verdict::Holds);
        assert!(matches!(of([0.2, 0.1, 0.05], 0), Verdict::Differs(_)));
        let mut clean = line([0.2, 0.1, 0.05], 0);
        clean.seeds[7][2].demoted = 0;
        assert!(verdict(&[clean]).is_failure(), "no frame was lossy");
        assert!(of([0.2, 0.1, 0.0], 1).is_failure(), "a lossless frame was lost");
        assert!(verdict(&[]).is_failure());
    }
}
