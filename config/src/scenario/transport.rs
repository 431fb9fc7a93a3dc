//! `[roce]`: the transport of flows that have `transport = "roce"`, and of collectives.

use super::reader::Reader;
use super::roce_schema::{DcqcnTable, HpccTable, RoceTable, SwiftTable, TimelyTable};
use super::settings::one_of;
use crate::error::ConfigError;
use crate::fields::{Duration, Rate, Size};
use crate::network::schema::Field;
use roce::congestion::{
    Algorithm, DcqcnParameters, HpccParameters, SwiftParameters, TimelyParameters,
};

/// Picoseconds in a nanosecond, which durations are in.
const PS_PER_NS: u64 = 1_000;
/// Payloads of a full packet, the longest that fit a frame first.
const MTUS: [u32; 3] = [1_024, 512, 256];

/// How RoCE senders and receivers work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Roce {
    /// Congestion control.
    pub algorithm: Algorithm,
    /// Packets in flight under selective repeat; `None` for go-back-N.
    pub selective_packets: Option<u32>,
    /// Payload of a full packet, bytes.
    pub mtu: u32,
    /// An acknowledgment for so many packets.
    pub acknowledge_every: u32,
    /// What is not acknowledged for this long is sent again.
    pub timeout_ns: u64,
    /// Between two notifications of a queue pair, at the least.
    pub cnp_interval_ns: u64,
    /// The round trip of an idle path that HPCC and Swift begin with; `None`: each path's own.
    pub base_rtt_ns: Option<u64>,
}

impl Default for Roce {
    fn default() -> Self {
        Self {
            algorithm: Algorithm::None,
            selective_packets: None,
            mtu: MTUS[0],
            acknowledge_every: 16,
            timeout_ns: 4_000_000,
            cnp_interval_ns: 50_000,
            base_rtt_ns: None,
        }
    }
}

pub(super) fn roce(reader: &Reader<'_>, table: &RoceTable) -> Result<Roce, ConfigError> {
    let default = Roce::default();
    let algorithm = algorithm(reader, table)?;
    let modes = [("go-back-n", false), ("selective-repeat", true)];
    let is_selective = match &table.mode {
        None => false,
        Some(field) => one_of("mode", field.get_ref(), &modes)
            .map_err(|message| reader.wrong(field.span(), message))?,
    };
    if let (Some(field), false) = (&table.window, is_selective) {
        let message = "`window` is of `selective-repeat`; set `mode`, or remove it";
        return Err(reader.wrong(field.span(), message));
    }
    let window = count(reader, "window", &table.window, 1..=16_384)?;
    let mtu = count(reader, "mtu", &table.mtu, 256..=1_024)?.unwrap_or(default.mtu);
    if let (Some(field), false) = (&table.mtu, MTUS.contains(&mtu)) {
        return Err(reader.wrong(field.span(), "packets carry 256, 512 or 1024 bytes"));
    }
    // Algorithms that measure need an answer to each packet.
    let measures =
        matches!(algorithm, Algorithm::Hpcc(_) | Algorithm::Swift(_) | Algorithm::Timely(_));
    let every = if measures { 1 } else { default.acknowledge_every };
    let ns = |field: &Field<Duration>| field.as_ref().map(|field| field.get_ref().0);
    let timeout = table.timeout.as_ref().map(|field| {
        reader.at_least(field, 1_000, "packets need time to arrive; use 1us at the least")
    });
    Ok(Roce {
        algorithm,
        selective_packets: is_selective.then_some(window.unwrap_or(256)),
        mtu,
        acknowledge_every: count(reader, "acknowledge_every", &table.acknowledge_every, 1..=1_024)?
            .unwrap_or(every),
        timeout_ns: timeout.transpose()?.unwrap_or(default.timeout_ns),
        cnp_interval_ns: ns(&table.cnp_interval).unwrap_or(default.cnp_interval_ns),
        base_rtt_ns: ns(&table.base_rtt),
    })
}

/// A whole number of a field, if it is there.
fn count(
    reader: &Reader<'_>,
    name: &str,
    field: &Field<i64>,
    range: std::ops::RangeInclusive<i64>,
) -> Result<Option<u32>, ConfigError> {
    let value = field.as_ref().map(|field| reader.number(name, field, range)).transpose()?;
    Ok(value.map(|value| u32::try_from(value).unwrap_or(u32::MAX)))
}

/// The algorithm, with the parameters of its table.
fn algorithm(reader: &Reader<'_>, table: &RoceTable) -> Result<Algorithm, ConfigError> {
    let known = Algorithm::NAMES.map(|name| (name, name));
    let name = match &table.congestion {
        None => "none",
        Some(field) => one_of("congestion control", field.get_ref(), &known)
            .map_err(|message| reader.wrong(field.span(), message))?,
    };
    // A file may hold the parameters of all, so that a campaign tries one after the other.
    let mut dcqcn_parameters = DcqcnParameters::default();
    let mut timely_parameters = TimelyParameters::default();
    let mut hpcc_parameters = HpccParameters::default();
    let mut swift_parameters = SwiftParameters::default();
    on(&table.dcqcn, |table| dcqcn(reader, table, &mut dcqcn_parameters))?;
    on(&table.timely, |table| timely(reader, table, &mut timely_parameters))?;
    on(&table.hpcc, |table| hpcc(reader, table, &mut hpcc_parameters))?;
    on(&table.swift, |table| swift(reader, table, &mut swift_parameters))?;
    Ok(match Algorithm::from_name(name).unwrap_or_default() {
        Algorithm::None => Algorithm::None,
        Algorithm::Dcqcn(_) => Algorithm::Dcqcn(dcqcn_parameters),
        Algorithm::Timely(_) => Algorithm::Timely(timely_parameters),
        Algorithm::Hpcc(_) => Algorithm::Hpcc(hpcc_parameters),
        Algorithm::Swift(_) => Algorithm::Swift(swift_parameters),
    })
}

fn on<T>(
    table: &Field<T>,
    read: impl FnOnce(&T) -> Result<(), ConfigError>,
) -> Result<(), ConfigError> {
    table.as_ref().map_or(Ok(()), |table| read(table.get_ref()))
}

fn set<T: Copy, U>(into: &mut U, field: &Field<T>, of: impl FnOnce(T) -> U) {
    if let Some(field) = field {
        *into = of(*field.get_ref());
    }
}

/// Sets a parameter that is a number of millionths.
fn set_share(
    reader: &Reader<'_>,
    into: &mut u32,
    field: &Field<f64>,
    most: f64,
) -> Result<(), ConfigError> {
    if let Some(field) = field {
        *into = reader.share(field, most)?;
    }
    Ok(())
}

const fn ps(time: Duration) -> u64 {
    time.0.saturating_mul(PS_PER_NS)
}

const fn bps(rate: Rate) -> u64 {
    rate.0.bps()
}

const fn bytes(size: Size) -> u64 {
    size.0
}

fn dcqcn(
    reader: &Reader<'_>,
    table: &DcqcnTable,
    into: &mut DcqcnParameters,
) -> Result<(), ConfigError> {
    set_share(reader, &mut into.g_millionths, &table.g, 1.0)?;
    set_share(reader, &mut into.initial_alpha_millionths, &table.initial_alpha, 1.0)?;
    set(&mut into.alpha_interval_ps, &table.alpha_interval, ps);
    set(&mut into.increase_interval_ps, &table.increase_interval, ps);
    set(&mut into.increase_bytes, &table.increase_bytes, bytes);
    set(&mut into.additive_bps, &table.additive, bps);
    set(&mut into.hyper_bps, &table.hyper, bps);
    set(&mut into.minimum_bps, &table.minimum, bps);
    let steps = count(reader, "fast_recovery", &table.fast_recovery, 0..=1_000)?;
    into.fast_recovery_steps = steps.unwrap_or(into.fast_recovery_steps);
    into.clamps_target = table.clamp_target.unwrap_or(into.clamps_target);
    Ok(())
}

fn timely(
    reader: &Reader<'_>,
    table: &TimelyTable,
    into: &mut TimelyParameters,
) -> Result<(), ConfigError> {
    set_share(reader, &mut into.alpha_millionths, &table.alpha, 1.0)?;
    set_share(reader, &mut into.beta_millionths, &table.beta, 1.0)?;
    set(&mut into.additive_bps, &table.additive, bps);
    set(&mut into.t_low_ps, &table.t_low, ps);
    set(&mut into.t_high_ps, &table.t_high, ps);
    set(&mut into.minimum_rtt_ps, &table.minimum_rtt, ps);
    set(&mut into.segment_bytes, &table.segment, bytes);
    set(&mut into.minimum_bps, &table.minimum, bps);
    let samples = count(reader, "hyper_samples", &table.hyper_samples, 1..=1_000)?;
    into.hyper_samples = samples.unwrap_or(into.hyper_samples);
    Ok(())
}

fn hpcc(
    reader: &Reader<'_>,
    table: &HpccTable,
    into: &mut HpccParameters,
) -> Result<(), ConfigError> {
    set_share(reader, &mut into.eta_millionths, &table.utilization, 1.0)?;
    set(&mut into.additive_bytes, &table.additive, bytes);
    let stages = count(reader, "stages", &table.stages, 0..=1_000)?;
    into.stages_max = stages.unwrap_or(into.stages_max);
    Ok(())
}

fn swift(
    reader: &Reader<'_>,
    table: &SwiftTable,
    into: &mut SwiftParameters,
) -> Result<(), ConfigError> {
    set(&mut into.base_target_ps, &table.base_target, ps);
    set(&mut into.hop_ps, &table.hop, ps);
    set(&mut into.scaling_range_ps, &table.scaling_range, ps);
    set_share(reader, &mut into.scaling_least_millionths, &table.scaling_least, 1_000.0)?;
    set_share(reader, &mut into.scaling_most_millionths, &table.scaling_most, 1_000.0)?;
    set_share(reader, &mut into.additive_millionths, &table.additive, 1_000.0)?;
    set_share(reader, &mut into.beta_millionths, &table.beta, 1.0)?;
    set_share(reader, &mut into.decrease_most_millionths, &table.decrease_most, 1.0)?;
    set_share(reader, &mut into.least_millionths, &table.least, 1_000.0)?;
    let losses = count(reader, "reset_losses", &table.reset_losses, 1..=1_000)?;
    into.reset_losses = losses.unwrap_or(into.reset_losses);
    Ok(())
}
