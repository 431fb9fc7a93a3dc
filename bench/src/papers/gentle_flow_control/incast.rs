//! Gentle flow control in packets: 2 to 64 hosts send to one through a switch, at 10G.

use super::Error;
use bench::stats::Interval;
use config::ScenarioConfig;
use config::scenario::SchemeKind;
use dataplane::report::{PortReport, Report};
use netsim::scenario::build;
use random::Draw;
use rayon::prelude::*;
use std::fmt::Write as _;
use std::path::Path;

/// The numbers of senders.
pub(super) const SENDERS: std::ops::RangeInclusive<u64> = 2..=64;
/// Runs of each; they differ in when senders start and, where asked, in how long frames are.
pub(super) const SEEDS: u64 = 20;
/// `C tau` of section 5.4 at 10G, with all that is on the wire: a frame that delays the message, a
/// frame that has begun, the message, and twice 500 m. Nodes react at once: 7.5 us.
pub(super) const C_TAU: u64 = 2 * (FRAME_BYTES + 24) + 84 + 6_250;
/// What a longest frame costs a queue.
pub(super) const FRAME_BYTES: u64 = 1_514;
/// Bits of a message.
const MESSAGE_BITS: f64 = 512.0;
/// `Bm` of each queue.
const BM: u64 = 60_000;
/// Time in which senders start and queues fill, and time in which messages are counted.
const START_MS: u64 = 1;
const STEADY_MS: u64 = 3;
const PS_PER_MS: u64 = 1_000_000_000;

/// How queues slow their senders down.
#[derive(Clone, Debug)]
pub(super) struct Setting {
    /// Lines of `[scheme]` of a SCENARIO.toml.
    pub(super) scheme: String,
    /// Meters of each cable.
    pub(super) meters: u64,
    /// Whether each sender has a length of frame of its own, 200 to 1,514 bytes.
    pub(super) is_mixed: bool,
}

impl Setting {
    /// Cables of 500 m, and frames of 1,514 bytes.
    pub(super) const fn new(scheme: String) -> Self {
        Self { scheme, meters: 500, is_mixed: false }
    }

    /// The same, with frames of random lengths.
    pub(super) fn mixed(&self) -> Self {
        Self { is_mixed: true, ..self.clone() }
    }
}

/// What the queues of the senders did in one run.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seen {
    pub(super) senders: u64,
    /// XOFFs that the switch sent.
    pub(super) xoffs: u64,
    /// The most that a queue held.
    pub(super) peak_bytes: u32,
    /// Messages of the port that sent most, in Mb/s: at the start, and in a steady state.
    pub(super) start_mbps: f64,
    pub(super) steady_mbps: f64,
    /// The part of the receiver's link that carried frames in the steady state.
    pub(super) share: f64,
}

impl Seen {
    /// By how much the fullest queue was above `Bm`.
    pub(super) fn excess_bytes(&self) -> f64 {
        f64::from(self.peak_bytes) - BM as f64
    }
}

/// Rates that begin to fall `bytes` before `Bm`.
pub(super) fn below(bytes: u64) -> String {
    format!("bm = '{BM}B'\nb1 = '{}B'", BM - bytes)
}

/// A setting below the bound for `senders`: until light has been to a sender and back, no message
/// has taken effect, and a queue has grown by what comes at full speed, less its part of what
/// leaves. XOFF stands three frames less than that above `B1`: one frame has not arrived whole, and
/// the egress port may be two ahead with a queue.
pub(super) fn below_the_bound(senders: u64) -> Setting {
    const METERS: u64 = 2_000;
    // 5 ns a meter, twice, at 10G.
    let arriving = METERS * 25 / 2 * FRAME_BYTES / (FRAME_BYTES + 24);
    let grows = arriving - arriving / senders - 3 * FRAME_BYTES;
    Setting { meters: METERS, ..Setting::new(format!("slack = '0B'\n{}", below(grows))) }
}

/// Runs `setting` with every number of senders and every seed.
///
/// # Errors
/// As of [`some`].
pub(super) fn all(setting: &Setting) -> Result<Vec<Seen>, Error> {
    let runs: Vec<u64> = SENDERS.collect();
    let seen = runs.par_iter().map(|&senders| some(setting, senders, SEEDS));
    seen.collect::<Result<Vec<_>, _>>().map(|seen| seen.concat()).map_err(Error::from)
}

/// Runs `setting` with `senders` senders and the first `seeds` seeds.
///
/// # Errors
/// A network cannot be built, or a checker of the emulator does not hold.
pub(super) fn some(setting: &Setting, senders: u64, seeds: u64) -> Result<Vec<Seen>, String> {
    (1..=seeds).map(|seed| run(setting, senders, seed).map_err(|error| error.to_string())).collect()
}

fn run(setting: &Setting, senders: u64, seed: u64) -> Result<Seen, Error> {
    let text = scenario(setting, senders, seed);
    let config = ScenarioConfig::parse(Path::new("incast.toml"), &text)?;
    let mut network = build(&config, Some(SchemeKind::Gfc), Some(seed))?.network;
    let switch = network.switch_ids().next().ok_or("the scenario has a switch")?;
    let mut report = |ms: u64| -> Result<Report, Error> {
        network.run_for(ms * PS_PER_MS);
        network.check()?;
        Ok(network.switch(switch))
    };
    let (start, end) = (report(START_MS)?, report(STEADY_MS)?);
    let ports = |report: &'_ Report| report.ports[1..].to_vec();
    let messages =
        |port: &PortReport| sum(&port.counters.pfc.tx_slowed) + sum(&port.counters.pfc.tx_xon);
    let mbps = |messages: Option<u64>, ms: u64| {
        messages.unwrap_or_default() as f64 * MESSAGE_BITS / 1_000.0 / ms as f64
    };
    let (before, after) = (ports(&start), ports(&end));
    let steady = before.iter().zip(&after).map(|(one, both)| messages(both) - messages(one));
    let queues = after.iter().flat_map(|port| &port.queues);
    let bits = |report: &Report| {
        let counters = &report.ports[0].counters;
        (sum(&counters.tx_bytes) + 24 * sum(&counters.tx_frames)) * 8
    };
    Ok(Seen {
        senders,
        xoffs: after.iter().map(|port| sum(&port.counters.pfc.tx_xoff)).sum(),
        peak_bytes: queues.map(|queue| queue.viq_peak_bytes).max().unwrap_or_default(),
        start_mbps: mbps(before.iter().map(messages).max(), START_MS),
        steady_mbps: mbps(steady.max(), STEADY_MS),
        share: (bits(&end) - bits(&start)) as f64 / (STEADY_MS as f64 * 1e7),
    })
}

fn sum(counters: &[u64; 8]) -> u64 {
    counters.iter().sum()
}

/// The scenario: every host starts at random within 100 us.
fn scenario(setting: &Setting, senders: u64, seed: u64) -> String {
    let mut rng = random::seeded(seed << 8 | senders);
    let mut text = format!(
        "duration = '1s'\n[scheme]\nkind = 'gfc'\nbound = 'none'\n{}\n[links]\nspeed = '10G'\n\
         length = '{}m'\n[switches]\nsize = '12MB'\ncell = 64\nfair = true\n[[switch]]\n\
         name = 'S'\nports = {}\n[[host]]\nname = 'to'\n[[link]]\nends = ['S:1', 'to']\n",
        setting.scheme,
        setting.meters,
        senders + 1
    );
    for sender in 1..=senders {
        let (port, start) = (sender + 1, rng.below(100_000));
        let frame = if setting.is_mixed { 200 + rng.below(1_315) } else { 1_514 };
        // A String takes everything.
        let _ = write!(
            text,
            "[[host]]\nname = 'h{sender}'\n[[link]]\nends = ['S:{port}', 'h{sender}']\n[[flow]]\n\
             from = 'h{sender}'\nto = 'to'\nstart = '{start}ns'\nframe = '{frame}B'\n"
        );
    }
    text
}

/// Of runs in groups of [`SEEDS`], one group for each number of senders: the interval of the number
/// of senders whose mean of `figure` is greatest.
pub(super) fn worst(seen: &[Seen], figure: impl Fn(&Seen) -> f64) -> Option<(u64, Interval)> {
    let groups = seen.chunk_by(|one, other| one.senders == other.senders);
    let intervals = groups.filter_map(|group| {
        let values: Vec<f64> = group.iter().map(&figure).collect();
        Some((group.first()?.senders, Interval::of(&values)?))
    });
    intervals.max_by(|one, other| one.1.mean.total_cmp(&other.1.mean))
}
