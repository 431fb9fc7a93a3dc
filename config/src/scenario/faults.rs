//! `[[fault]]`: what goes wrong, and when.

use super::reader::{MILLION, Reader};
use super::schema::FaultTable;
use super::settings::one_of;
use crate::error::ConfigError;
use crate::network::schema::Field;
use dataplane::time::Speed;
use fabric::network::{End, Peer};
use std::ops::Range;
use toml::Spanned;

/// Something that goes wrong for a while.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// When.
    pub at_ns: u64,
    /// When it is over; `None` for never.
    pub until_ns: Option<u64>,
    /// What.
    pub kind: FaultKind,
}

/// What goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultKind {
    /// A link is down; what is on it is lost.
    LinkDown {
        /// One of its ends.
        link: End,
    },
    /// A switch sends frames for a host to a neighbor that is not on their way.
    Route {
        /// The switch.
        switch: u32,
        /// The host.
        to: u32,
        /// The port to the neighbor.
        via: u32,
    },
    /// A host takes frames only so fast; `None` for not at all. It sends PFC.
    SlowReceiver {
        /// The host.
        host: u32,
        /// How fast.
        speed: Option<Speed>,
    },
    /// A host pauses every lossless priority, whatever it gets.
    PauseStorm {
        /// The host.
        host: u32,
    },
    /// PFC frames on their way to an end are lost.
    LosePfc {
        /// The end.
        to: End,
        /// So many of a million.
        millionths: u32,
    },
    /// PFC frames on their way to an end arrive with a bit turned over.
    CorruptPfc {
        /// The end.
        to: End,
        /// So many of a million.
        millionths: u32,
    },
    /// A switch loses all it holds, is away, and comes back empty. Its links are down meanwhile.
    Restart {
        /// The switch.
        switch: u32,
    },
}

/// The kinds by name, with the fields that each needs and may have besides `at` and `until`.
const KINDS: [(&str, &[&str], &[&str]); 8] = [
    ("link-down", &["link"], &[]),
    ("route", &["switch", "to", "via"], &[]),
    ("slow-receiver", &["host", "speed"], &[]),
    ("hung-receiver", &["host"], &[]),
    ("pause-storm", &["host"], &[]),
    ("lose-pfc", &["to"], &["share"]),
    ("corrupt-pfc", &["to"], &["share"]),
    ("restart", &["switch"], &[]),
];

pub(super) fn faults(
    reader: &Reader<'_>,
    tables: &[Spanned<FaultTable>],
) -> Result<Vec<Fault>, ConfigError> {
    tables.iter().map(|table| fault(reader, table.get_ref())).collect()
}

fn fault(reader: &Reader<'_>, table: &FaultTable) -> Result<Fault, ConfigError> {
    let at_ns = table.at.get_ref().0;
    if let Some(until) = &table.until
        && until.get_ref().0 <= at_ns
    {
        return Err(reader.wrong(until.span(), "it is over before it begins; use a later time"));
    }
    let until_ns = table.until.as_ref().map(|field| field.get_ref().0);
    Ok(Fault { at_ns, until_ns, kind: kind(reader, table)? })
}

fn kind(reader: &Reader<'_>, table: &FaultTable) -> Result<FaultKind, ConfigError> {
    let indices: Vec<_> = (0..).zip(KINDS).map(|(at, (name, ..))| (name, at)).collect();
    let which = one_of("fault", table.kind.get_ref(), &indices)
        .map_err(|message| reader.wrong(table.kind.span(), message))?;
    check_fields(reader, table, KINDS[which])?;
    let host = || table.host.as_ref().map_or(Ok(0), |name| reader.host(name));
    let end = |field: &Field<String>| field.as_ref().map(|name| reader.end(name));
    Ok(match KINDS[which].0 {
        "link-down" => {
            FaultKind::LinkDown { link: end(&table.link).transpose()?.unwrap_or(End::Host(0)) }
        }
        "route" => route(reader, table)?,
        "slow-receiver" => FaultKind::SlowReceiver {
            host: host()?,
            speed: table.speed.as_ref().map(|field| field.get_ref().0),
        },
        "hung-receiver" => FaultKind::SlowReceiver { host: host()?, speed: None },
        "pause-storm" => FaultKind::PauseStorm { host: host()? },
        "restart" => FaultKind::Restart {
            switch: table.switch.as_ref().map_or(Ok(0), |name| reader.switch(name))?,
        },
        name => {
            let to = end(&table.to).transpose()?.unwrap_or(End::Host(0));
            let share = table.share.as_ref().map(|field| reader.share(field, 1.0));
            let millionths = share.transpose()?.unwrap_or(MILLION);
            if name == "lose-pfc" {
                FaultKind::LosePfc { to, millionths }
            } else {
                FaultKind::CorruptPfc { to, millionths }
            }
        }
    })
}

/// Each kind has its fields and no others.
fn check_fields(
    reader: &Reader<'_>,
    table: &FaultTable,
    (name, needs, allows): (&str, &[&str], &[&str]),
) -> Result<(), ConfigError> {
    let given: [(&str, Option<Range<usize>>); 7] = [
        ("link", table.link.as_ref().map(Spanned::span)),
        ("switch", table.switch.as_ref().map(Spanned::span)),
        ("host", table.host.as_ref().map(Spanned::span)),
        ("to", table.to.as_ref().map(Spanned::span)),
        ("via", table.via.as_ref().map(Spanned::span)),
        ("speed", table.speed.as_ref().map(Spanned::span)),
        ("share", table.share.as_ref().map(Spanned::span)),
    ];
    for (field, span) in given {
        match span {
            None if needs.contains(&field) => {
                let message = format!("`{name}` needs `{field}`, {}", meaning(name, field));
                return Err(reader.wrong(table.kind.span(), message));
            }
            Some(span) if !needs.contains(&field) && !allows.contains(&field) => {
                return Err(reader.wrong(span, format!("`{name}` has no `{field}`; remove it")));
            }
            _ => {}
        }
    }
    Ok(())
}

/// What to write in a field that is missing.
fn meaning(kind: &str, field: &str) -> &'static str {
    match (kind, field) {
        (_, "link") => "one end of a link, such as \"A:1\"",
        (_, "switch") => "the switch",
        (_, "host") => "the host",
        ("route", "to") => "the host that frames are for",
        (_, "to") => "the end that PFC is on its way to, such as \"A:1\"",
        (_, "via") => "the neighbor that frames go to",
        (_, "speed") => "such as \"1G\"; one that takes nothing is a `hung-receiver`",
        _ => "a value",
    }
}

fn route(reader: &Reader<'_>, table: &FaultTable) -> Result<FaultKind, ConfigError> {
    let (Some(switch), Some(to), Some(via)) = (&table.switch, &table.to, &table.via) else {
        return Err(reader.wrong(table.kind.span(), "`route` needs `switch`, `to` and `via`"));
    };
    let (number, host, neighbor) = (reader.switch(switch)?, reader.host(to)?, reader.switch(via)?);
    let network = reader.network;
    let leads = |slot: &u32| matches!(network.peer(*slot), Peer::Slot(far) if network.owner(far) == neighbor);
    let Some(via_slot) = network.slots_of(number).find(leads) else {
        let message =
            format!("`{}` has no link to `{}`; name a neighbor", switch.get_ref(), via.get_ref());
        return Err(reader.wrong(via.span(), message));
    };
    Ok(FaultKind::Route { switch: number, to: host, via: via_slot })
}
