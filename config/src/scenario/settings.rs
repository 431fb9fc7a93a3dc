//! `[links]`, `[switches]` and `[routing]`.

use super::reader::Reader;
use super::schema::{LinksTable, RoutingTable, SwitchesTable};
use crate::did_you_mean;
use crate::error::ConfigError;
use crate::network::schema::Field;
use crate::units::Length;
use dataplane::settings::Threshold;
use dataplane::time::Speed;
use fabric::network::{End, Peer};
use toml::Spanned;

/// What a link is that does not say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkDefaults {
    /// Its rate.
    pub speed: Speed,
    /// Its length.
    pub length: Length,
}

/// Buffers and queues of every switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Buffers {
    /// The whole buffer.
    pub size_bytes: u64,
    /// What a frame costs at the least.
    pub cell_bytes: u16,
    /// What lossy frames together may hold.
    pub lossy_bytes: u64,
    /// What one lossy queue may hold.
    pub lossy_queue_bytes: u32,
    /// When each lossless VIQ asks for silence.
    pub threshold: Threshold,
    /// How far below it a VIQ resumes; `None` for two longest frames.
    pub xon_offset_bytes: Option<u32>,
    /// Whether a queue serves ingress ports in turn; `None`: only under `gfc`, which needs it.
    pub fair: Option<bool>,
    /// ECN of lossless queues.
    pub ecn: Option<Ecn>,
}

/// When queues are marked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ecn {
    /// Nothing is marked below.
    pub kmin_bytes: u32,
    /// Everything is marked above.
    pub kmax_bytes: u32,
    /// Marked at `kmax_bytes`: so many of a million.
    pub pmax_millionths: u32,
    /// Whether lossy queues mark, too.
    pub marks_lossy: bool,
}

/// How ways are found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Routing {
    /// By which rule.
    pub kind: RouteKind,
    /// How long after a link goes down its switches send around it; `None` for never.
    pub reroute_ns: Option<u64>,
    /// Links that are down from the start, each by one of its ends.
    pub failed: Vec<End>,
    /// So many millionths of the links between switches are down from the start, at random.
    pub failed_millionths: u32,
}

/// A rule for finding ways.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RouteKind {
    /// By destination: a shortest way, the lowest port where there are several.
    Shortest,
    /// By destination: all shortest ways, the switches spread flows by hash.
    Ecmp,
    /// Each flow has a random shortest way of its own.
    Pinned,
}

/// What `name` stands for among `known`; `Err` is the whole message.
pub(super) fn one_of<T: Copy>(what: &str, name: &str, known: &[(&str, T)]) -> Result<T, String> {
    if let Some(&(_, value)) = known.iter().find(|(known, _)| *known == name) {
        return Ok(value);
    }
    let names = known.iter().map(|&(name, _)| name);
    Err(match did_you_mean::nearest(name, names.clone()) {
        Some(near) => format!("there is no {what} `{name}`; did you mean `{near}`?"),
        None => {
            format!("there is no {what} `{name}`; use {}", names.collect::<Vec<_>>().join(", "))
        }
    })
}

pub(super) fn links(table: &LinksTable) -> LinkDefaults {
    LinkDefaults {
        speed: table.speed.as_ref().map_or(Speed::from_gbps(40), |field| field.get_ref().0),
        length: table.length.as_ref().map_or(Length::from_metres(10), |field| field.get_ref().0),
    }
}

pub(super) fn buffers(reader: &Reader<'_>, table: &SwitchesTable) -> Result<Buffers, ConfigError> {
    let size_bytes = bytes(&table.size).unwrap_or(12_000_000);
    if let Some(field) = &table.lossy
        && field.get_ref().0 > size_bytes
    {
        let message = format!("this is more than the whole buffer; use {size_bytes} at the most");
        return Err(reader.wrong(field.span(), message));
    }
    if let Some(field) = &table.static_th
        && field.get_ref().0 > size_bytes.min(u64::from(u32::MAX))
    {
        let message =
            format!("a threshold of more than the whole buffer; use {size_bytes} at the most");
        return Err(reader.wrong(field.span(), message));
    }
    let threshold = match (&table.static_th, &table.dynamic_th) {
        (Some(_), Some(field)) => {
            let message = "a threshold is static or dynamic; remove `static_th` or \
                           `dynamic_th`";
            return Err(reader.wrong(field.span(), message));
        }
        (None, Some(field)) => {
            let alpha_log2 = reader.number("dynamic_th", field, -7..=3)?;
            Threshold::dynamic(i8::try_from(alpha_log2).unwrap_or_default())
        }
        (static_th, None) => {
            let xoff_bytes = narrow(reader, static_th)?.unwrap_or(40_000);
            Threshold::Static { xoff_bytes }
        }
    };
    let cell = table.cell.as_ref();
    let cell_bytes = u16::try_from(bytes(&table.cell).unwrap_or(256)).ok();
    let cell_bytes = cell_bytes.filter(|cell| (1..=9_728).contains(cell)).ok_or_else(|| {
        let span = cell.map(Spanned::span).unwrap_or_default();
        reader.wrong(span, "a cell is 1 to 9728 bytes")
    })?;
    let ecn = table.ecn.as_ref().map(|field| {
        let ecn = field.get_ref();
        let share = Spanned::new(field.span(), ecn.pmax);
        let at = |bytes: u64| u32::try_from(bytes).unwrap_or(u32::MAX);
        if ecn.kmin.0 > ecn.kmax.0 {
            return Err(reader.wrong(field.span(), "`kmin` is above `kmax`; swap them"));
        }
        Ok(Ecn {
            kmin_bytes: at(ecn.kmin.0),
            kmax_bytes: at(ecn.kmax.0),
            pmax_millionths: reader.share(&share, 1.0)?,
            marks_lossy: ecn.lossy,
        })
    });
    Ok(Buffers {
        size_bytes,
        cell_bytes,
        lossy_bytes: bytes(&table.lossy).unwrap_or(size_bytes / 4),
        lossy_queue_bytes: narrow(reader, &table.lossy_queue)?.unwrap_or(512_000),
        threshold,
        xon_offset_bytes: narrow(reader, &table.xon_offset)?,
        fair: table.fair,
        ecn: ecn.transpose()?,
    })
}

pub(super) fn bytes(field: &Field<crate::fields::Size>) -> Option<u64> {
    field.as_ref().map(|field| field.get_ref().0)
}

pub(super) fn narrow(
    reader: &Reader<'_>,
    field: &Field<crate::fields::Size>,
) -> Result<Option<u32>, ConfigError> {
    let Some(field) = field else { return Ok(None) };
    let wide = field.get_ref().0;
    let narrow = u32::try_from(wide).map_err(|_| {
        reader.wrong(field.span(), format!("{wide} bytes are too many; 4 GB are the most"))
    })?;
    Ok(Some(narrow))
}

pub(super) fn routing(reader: &Reader<'_>, table: &RoutingTable) -> Result<Routing, ConfigError> {
    let kinds = [
        ("shortest", RouteKind::Shortest),
        ("ecmp", RouteKind::Ecmp),
        ("pinned", RouteKind::Pinned),
    ];
    let kind = table.kind.as_ref().map(|field| {
        one_of("routing", field.get_ref(), &kinds).map_err(|m| reader.wrong(field.span(), m))
    });
    let mut failed = Vec::new();
    for name in table.failed.iter().flat_map(Spanned::get_ref) {
        let end = reader.end(name)?;
        if !matches!(end, End::Slot(slot) if matches!(reader.network.peer(slot), Peer::Slot(_))) {
            let message = format!(
                "`{}` is not on a link between switches; a host without its link has no way",
                name.get_ref()
            );
            return Err(reader.wrong(name.span(), message));
        }
        failed.push(end);
    }
    let share = table.failed_share.as_ref().map(|field| reader.share(field, 0.9)).transpose()?;
    Ok(Routing {
        kind: kind.transpose()?.unwrap_or(RouteKind::Shortest),
        reroute_ns: table.reroute.as_ref().map(|field| field.get_ref().0),
        failed,
        failed_millionths: share.unwrap_or(0),
    })
}
