//! `[[flow]]` and `[[traffic]]`: who sends what to whom.

use super::reader::Reader;
use super::schema::{FlowTable, PaceFields, TrafficTable};
use super::settings::one_of;
use crate::error::ConfigError;
use crate::fields::Size;
use crate::network::schema::Field;
use dataplane::time::Speed;
use std::collections::BTreeSet;
use toml::Spanned;

/// The shortest frame, Ethernet header included, FCS not, that has room for its mark.
const FRAME_BYTES_LEAST: u16 = 60;
/// The longest frame of emulated networks, Ethernet header included, FCS not: an MTU of 1,500.
pub const FRAME_BYTES_MOST: u16 = 1_514;

/// A flow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flow {
    /// Its name, no other flow's.
    pub name: String,
    /// The sending host.
    pub from: u32,
    /// The receiving host.
    pub to: u32,
    /// Its way.
    pub route: Route,
    /// How it sends.
    pub pace: Pace,
}

/// A flow's way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Route {
    /// As [`Routing`](super::Routing) says.
    Routed,
    /// These turns, each the slots it comes in and goes out by.
    Path(Vec<(u32, u32)>),
}

/// How a source sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    /// Whether it is RoCE, as [`Roce`](super::Roce) says.
    pub is_roce: bool,
    /// How fast; `None` for as fast as its wire.
    pub rate: Option<Speed>,
    /// Bytes on their way at the most; `None` for no window and no resending.
    pub window_bytes: Option<u64>,
    /// Length of frames, FCS not counted.
    pub frame_bytes: u16,
    /// When it starts.
    pub start_ns: u64,
    /// When it stops; `None` for with the run.
    pub stop_ns: Option<u64>,
    /// Bytes that it carries; `None` for without end.
    pub size_bytes: Option<u64>,
    /// In the lossy class.
    pub lossy: bool,
    /// Its application class, counted from 1.
    pub class: u8,
    /// The DSCP of its frames, where switches have files; `None`: the lowest lossless one.
    pub dscp: Option<u8>,
}

/// Many flows at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Traffic {
    /// Who sends to whom.
    pub kind: TrafficKind,
    /// The senders; empty for all hosts, or [`Self::senders`] of them.
    pub from: Vec<u32>,
    /// So many of them, at random.
    pub senders: Option<usize>,
    /// One flow a pair, or many that come at random.
    pub sizes: Option<Sizes>,
    /// How each sends.
    pub pace: Pace,
}

/// Who sends to whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrafficKind {
    /// Each host to one other, each of which gets one.
    Permutation,
    /// All to one.
    Incast {
        /// The receiver.
        to: u32,
    },
    /// Random pairs.
    Random {
        /// So many.
        flows: usize,
    },
    /// Each to each.
    AllToAll,
}

/// Flows that come at random.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// How long they are.
    pub distribution: SizeDistribution,
    /// The load they make, in millionths of a link.
    pub load_millionths: u32,
}

/// How long flows are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SizeDistribution {
    /// A web search cluster (Alizadeh et al., DCTCP, 2010).
    WebSearch,
    /// A data mining cluster (Greenberg et al., VL2, 2009).
    DataMining,
}

pub(super) fn flows(
    reader: &Reader<'_>,
    tables: &[Spanned<FlowTable>],
) -> Result<Vec<Flow>, ConfigError> {
    let mut names = BTreeSet::new();
    let mut flows = Vec::with_capacity(tables.len());
    for spanned in tables {
        let table = spanned.get_ref();
        let (from, to) = (reader.host(&table.from)?, reader.host(&table.to)?);
        if from == to {
            let message = format!("`{}` would send to itself; name two hosts", table.to.get_ref());
            return Err(reader.wrong(table.to.span(), message));
        }
        let ends = [table.from.get_ref().as_str(), table.to.get_ref().as_str()];
        let name = table.name.clone().unwrap_or_else(|| format!("{}-{}", ends[0], ends[1]));
        if !names.insert(name.clone()) {
            let message = format!("there is a flow `{name}` already; give this one a `name`");
            return Err(reader.wrong(spanned.span(), message));
        }
        let route = match &table.path {
            Some(path) => Route::Path(reader.path(path, ends)?),
            None => Route::Routed,
        };
        flows.push(Flow { name, from, to, route, pace: pace(reader, table.pace())? });
    }
    Ok(flows)
}

pub(super) fn traffic(
    reader: &Reader<'_>,
    tables: &[Spanned<TrafficTable>],
) -> Result<Vec<Traffic>, ConfigError> {
    tables.iter().map(|table| one_traffic(reader, table.get_ref())).collect()
}

fn one_traffic(reader: &Reader<'_>, table: &TrafficTable) -> Result<Traffic, ConfigError> {
    let hosts = reader.network.hosts();
    let kinds = [("permutation", 0), ("incast", 1), ("random", 2), ("all-to-all", 3)];
    let kind = one_of("traffic", table.kind.get_ref(), &kinds)
        .map_err(|message| reader.wrong(table.kind.span(), message))?;
    let only = |field: Option<std::ops::Range<usize>>, name: &str, of: usize| match field {
        Some(span) if kind != of => {
            Err(reader.wrong(span, format!("`{name}` is of `{}` traffic; remove it", kinds[of].0)))
        }
        _ => Ok(()),
    };
    only(table.to.as_ref().map(Spanned::span), "to", 1)?;
    only(table.flows.as_ref().map(Spanned::span), "flows", 2)?;
    if hosts < 2 {
        return Err(reader.wrong(table.kind.span(), "traffic needs two hosts; add hosts"));
    }
    let kind = match kind {
        0 => TrafficKind::Permutation,
        1 => TrafficKind::Incast {
            to: table.to.as_ref().map(|name| reader.host(name)).transpose()?.unwrap_or(0),
        },
        2 => {
            let Some(flows) = &table.flows else {
                return Err(reader.wrong(table.kind.span(), "how many? add `flows`"));
            };
            let flows = reader.number("flows", flows, 1..=1_000_000)?;
            TrafficKind::Random { flows: usize::try_from(flows).unwrap_or(1) }
        }
        _ => TrafficKind::AllToAll,
    };
    let from = senders(reader, table, kind)?;
    // Whom all send to does not send.
    let most = hosts - usize::from(matches!(kind, TrafficKind::Incast { .. }));
    let most = i64::try_from(most).unwrap_or(i64::MAX);
    let each_other = matches!(kind, TrafficKind::Permutation | TrafficKind::AllToAll);
    let least = 1 + i64::from(each_other);
    let senders = table.senders.as_ref().map(|field| reader.number("senders", field, least..=most));
    let senders = senders.transpose()?.map(|count| usize::try_from(count).unwrap_or(1));
    if let (Some(field), true) = (&table.senders, senders.is_some() && !from.is_empty()) {
        let message = "senders are named or counted; remove `from` or `senders`";
        return Err(reader.wrong(field.span(), message));
    }
    let pace = pace(reader, table.pace())?;
    Ok(Traffic { kind, from, senders, sizes: sizes(reader, table)?, pace })
}

/// The senders that are named: each once, and enough of them for somebody to send.
fn senders(
    reader: &Reader<'_>,
    table: &TrafficTable,
    kind: TrafficKind,
) -> Result<Vec<u32>, ConfigError> {
    let Some(field) = &table.from else { return Ok(Vec::new()) };
    let mut from = Vec::with_capacity(field.get_ref().len());
    for name in field.get_ref() {
        let host = reader.host(name)?;
        if from.contains(&host) {
            let message = format!("`{}` is named twice; name each sender once", name.get_ref());
            return Err(reader.wrong(name.span(), message));
        }
        if kind == (TrafficKind::Incast { to: host }) {
            let message = format!("`{}` would send to itself; name other senders", name.get_ref());
            return Err(reader.wrong(name.span(), message));
        }
        from.push(host);
    }
    let (least, why) = match kind {
        TrafficKind::Permutation | TrafficKind::AllToAll => {
            (2, "they send to each other; name two")
        }
        TrafficKind::Incast { .. } | TrafficKind::Random { .. } => (1, "nobody sends; name a host"),
    };
    if from.len() < least {
        return Err(reader.wrong(field.span(), why));
    }
    Ok(from)
}

fn sizes(reader: &Reader<'_>, table: &TrafficTable) -> Result<Option<Sizes>, ConfigError> {
    let Some(sizes) = &table.sizes else {
        if let Some(load) = &table.load {
            let message = "`load` is of flows that come at random; add `sizes`";
            return Err(reader.wrong(load.span(), message));
        }
        return Ok(None);
    };
    let known = [
        ("web-search", SizeDistribution::WebSearch),
        ("data-mining", SizeDistribution::DataMining),
    ];
    let distribution = one_of("distribution", sizes.get_ref(), &known)
        .map_err(|message| reader.wrong(sizes.span(), message))?;
    if let Some(size) = &table.size {
        let message = "flows have one `size` or random `sizes`; remove one";
        return Err(reader.wrong(size.span(), message));
    }
    let Some(load) = &table.load else {
        return Err(reader.wrong(sizes.span(), "how much? add `load`, such as 0.5"));
    };
    let load_millionths = reader.share(load, 10.0)?;
    if load_millionths == 0 {
        return Err(reader.wrong(load.span(), "a load of 0 sends nothing; use more"));
    }
    Ok(Some(Sizes { distribution, load_millionths }))
}

fn pace(reader: &Reader<'_>, fields: PaceFields<'_>) -> Result<Pace, ConfigError> {
    let size = |field: &Field<Size>| field.as_ref().map(|field| field.get_ref().0);
    let (least, most) = (FRAME_BYTES_LEAST, FRAME_BYTES_MOST);
    let frame_bytes = size(fields.frame).unwrap_or_else(|| most.into());
    let frame_bytes = u16::try_from(frame_bytes)
        .ok()
        .filter(|bytes| (least..=most).contains(bytes))
        .ok_or_else(|| {
            let span = fields.frame.as_ref().map(Spanned::span).unwrap_or_default();
            reader.wrong(span, format!("a frame of {frame_bytes} bytes; use {least} to {most}"))
        })?;
    if let Some(window) = fields.window
        && window.get_ref().0 < u64::from(frame_bytes)
    {
        let message =
            format!("a window below a frame sends nothing; use {frame_bytes} at the least");
        return Err(reader.wrong(window.span(), message));
    }
    let start_ns = fields.start.as_ref().map_or(0, |field| field.get_ref().0);
    if let Some(stop) = fields.stop
        && stop.get_ref().0 <= start_ns
    {
        return Err(reader.wrong(stop.span(), "it stops before it starts; use a later time"));
    }
    if let Some(carried) = fields.size
        && carried.get_ref().0 == 0
    {
        return Err(reader.wrong(carried.span(), "a flow of 0 bytes is none; use more"));
    }
    let is_roce = is_roce(reader, &fields)?;
    Ok(Pace {
        is_roce,
        rate: fields.rate.as_ref().map(|field| field.get_ref().0),
        window_bytes: size(fields.window),
        frame_bytes,
        start_ns,
        stop_ns: fields.stop.as_ref().map(|field| field.get_ref().0),
        size_bytes: size(fields.size),
        lossy: fields.lossy,
        class: class(reader, &fields)?,
        dscp: dscp(reader, &fields)?,
    })
}

/// The DSCP of its frames: where switches have files, it is the class.
fn dscp(reader: &Reader<'_>, fields: &PaceFields<'_>) -> Result<Option<u8>, ConfigError> {
    let Some(field) = fields.dscp else { return Ok(None) };
    let message = match (reader.has_files, fields.lossy, fields.class) {
        (true, false, None) => return Ok(Some(field.get_ref().0)),
        (true, ..) => "`dscp` says its class; remove `lossy` and `class`",
        (false, ..) => {
            "only where switches have a `config` a flow has a `dscp`; remove it, or use `class`"
        }
    };
    Err(reader.wrong(field.span(), message))
}

/// Whether the flow is RoCE, which has frames and windows of its own.
fn is_roce(reader: &Reader<'_>, fields: &PaceFields<'_>) -> Result<bool, ConfigError> {
    let Some(field) = fields.transport else { return Ok(false) };
    let is_roce = one_of("transport", field.get_ref(), &[("simple", false), ("roce", true)])
        .map_err(|message| reader.wrong(field.span(), message))?;
    let simple = [("window", fields.window), ("frame", fields.frame)];
    for (name, of_simple) in simple.into_iter().filter(|_| is_roce) {
        if let Some(of_simple) = of_simple {
            let message = format!("`{name}` is of simple flows; see [roce] instead");
            return Err(reader.wrong(of_simple.span(), message));
        }
    }
    Ok(is_roce)
}

/// The application class, one of those of `[paths]`.
fn class(reader: &Reader<'_>, fields: &PaceFields<'_>) -> Result<u8, ConfigError> {
    let Some(field) = fields.class else { return Ok(1) };
    if fields.lossy {
        let message = "a lossy flow is in no application class; remove `class` or `lossy`";
        return Err(reader.wrong(field.span(), message));
    }
    let known = reader.classes;
    let class = u8::try_from(*field.get_ref()).ok().filter(|class| (1..=known).contains(class));
    class.ok_or_else(|| {
        let message = format!(
            "class {} is not one of [paths], which has {known}; use 1 to {known}, or more `classes`",
            field.get_ref()
        );
        reader.wrong(field.span(), message)
    })
}
