//! `[[collective]]`: messages among many hosts, each of which waits for others.

use super::reader::Reader;
use super::schema::CollectiveTable;
use super::settings::one_of;
use crate::error::ConfigError;
use std::collections::BTreeSet;
use toml::Spanned;

/// The longest message of RoCE.
const BYTES_MOST: u64 = 1 << 31;

/// A collective operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Collective {
    /// Its name, no other's.
    pub name: String,
    /// What is sent when.
    pub kind: CollectiveKind,
    /// Its hosts, by rank.
    pub ranks: Vec<u32>,
    /// Whether the ranks are put on these hosts in a random order.
    pub is_shuffled: bool,
    /// Bytes that each rank holds (`all-reduce`, `all-to-all`), or hands on (`pipeline`).
    pub bytes: u64,
    /// Parts that a tree or a pipeline works on one after the other.
    pub chunks: u32,
    /// So often, one after the other.
    pub rounds: u32,
    /// When it starts.
    pub start_ns: u64,
    /// From what a rank receives to what it sends for it.
    pub compute_ns: u64,
    /// So many ranks, at random, take longer.
    pub stragglers: u32,
    /// By so much.
    pub straggle_ns: u64,
    /// Its application class, counted from 1.
    pub class: u8,
}

/// What is sent when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CollectiveKind {
    /// Sums up, by chunks that go around a ring twice.
    AllReduceRing,
    /// Sums up a binary tree, and hands the sum down.
    AllReduceTree,
    /// Sums up halves of halves with ever nearer ranks, and doubles them again.
    AllReduceHalvingDoubling,
    /// Each rank sends a part to each other, to one at a time.
    AllToAll,
    /// Each rank hands chunks on to the next.
    Pipeline,
}

impl CollectiveKind {
    /// What people call it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::AllReduceRing => "all-reduce, ring",
            Self::AllReduceTree => "all-reduce, tree",
            Self::AllReduceHalvingDoubling => "all-reduce, halving-doubling",
            Self::AllToAll => "all-to-all",
            Self::Pipeline => "pipeline",
        }
    }
}

pub(super) fn collectives(
    reader: &Reader<'_>,
    tables: &[Spanned<CollectiveTable>],
) -> Result<Vec<Collective>, ConfigError> {
    let mut names = BTreeSet::new();
    let read = |(number, spanned): (usize, &Spanned<CollectiveTable>)| {
        let table = spanned.get_ref();
        let name =
            table.name.clone().unwrap_or_else(|| format!("{} {number}", table.kind.get_ref()));
        if !names.insert(name.clone()) {
            let message = format!("there is a collective `{name}` already; give this one a `name`");
            return Err(reader.wrong(spanned.span(), message));
        }
        one(reader, table, name)
    };
    (1..).zip(tables).map(read).collect()
}

fn kind(reader: &Reader<'_>, table: &CollectiveTable) -> Result<CollectiveKind, ConfigError> {
    let kinds = [
        ("all-reduce", CollectiveKind::AllReduceRing),
        ("all-to-all", CollectiveKind::AllToAll),
        ("pipeline", CollectiveKind::Pipeline),
    ];
    let kind = one_of("collective", table.kind.get_ref(), &kinds)
        .map_err(|message| reader.wrong(table.kind.span(), message))?;
    let Some(field) = &table.algorithm else { return Ok(kind) };
    if kind != CollectiveKind::AllReduceRing {
        let message = "`algorithm` is of `all-reduce`; remove it";
        return Err(reader.wrong(field.span(), message));
    }
    let algorithms = [
        ("ring", CollectiveKind::AllReduceRing),
        ("tree", CollectiveKind::AllReduceTree),
        ("halving-doubling", CollectiveKind::AllReduceHalvingDoubling),
    ];
    one_of("algorithm", field.get_ref(), &algorithms)
        .map_err(|message| reader.wrong(field.span(), message))
}

fn one(
    reader: &Reader<'_>,
    table: &CollectiveTable,
    name: String,
) -> Result<Collective, ConfigError> {
    let kind = kind(reader, table)?;
    let ranks = ranks(reader, table)?;
    if kind == CollectiveKind::AllReduceHalvingDoubling && !ranks.len().is_power_of_two() {
        let message = format!(
            "halving and doubling needs a power of two of ranks, not {}; use {}",
            ranks.len(),
            ranks.len().next_power_of_two() / 2
        );
        return Err(reader.wrong(table.kind.span(), message));
    }
    let bytes = table.size.get_ref().0;
    if !(1..=BYTES_MOST).contains(&bytes) {
        let message = format!("{bytes} bytes cannot be sent; use 1 to {BYTES_MOST}");
        return Err(reader.wrong(table.size.span(), message));
    }
    let number = |field: &Option<Spanned<i64>>, name, range, default| {
        let value = field.as_ref().map(|field| reader.number(name, field, range)).transpose()?;
        Ok(value.map_or(default, |value| u32::try_from(value).unwrap_or(u32::MAX)))
    };
    if let Some(field) = &table.chunks
        && !matches!(kind, CollectiveKind::AllReduceTree | CollectiveKind::Pipeline)
    {
        let message = "`chunks` is of trees and pipelines; remove it";
        return Err(reader.wrong(field.span(), message));
    }
    let most = i64::try_from(ranks.len()).unwrap_or(i64::MAX);
    let stragglers = number(&table.stragglers, "stragglers", 0..=most, 0)?;
    if let (Some(field), 0) = (&table.straggle, stragglers) {
        let message = "no rank straggles; add `stragglers`, or remove this";
        return Err(reader.wrong(field.span(), message));
    }
    let placements = [("listed", false), ("random", true)];
    let placement = table.placement.as_ref().map(|field| {
        one_of("placement", field.get_ref(), &placements)
            .map_err(|message| reader.wrong(field.span(), message))
    });
    let ns = |field: &Option<Spanned<crate::fields::Duration>>| {
        field.as_ref().map_or(0, |field| field.get_ref().0)
    };
    let class = number(&table.class, "class", 1..=i64::from(reader.classes), 1)?;
    Ok(Collective {
        name,
        kind,
        ranks,
        is_shuffled: placement.transpose()?.unwrap_or(false),
        bytes,
        chunks: number(&table.chunks, "chunks", 1..=65_536, 1)?,
        rounds: number(&table.rounds, "rounds", 1..=1_000_000, 1)?,
        start_ns: ns(&table.start),
        compute_ns: ns(&table.compute),
        stragglers,
        straggle_ns: ns(&table.straggle),
        class: u8::try_from(class).unwrap_or(1),
    })
}

/// The hosts: those that are named, the first so many, or all.
fn ranks(reader: &Reader<'_>, table: &CollectiveTable) -> Result<Vec<u32>, ConfigError> {
    let hosts = reader.network.hosts();
    if let Some(field) = &table.hosts {
        if let Some(count) = &table.ranks {
            let message = "hosts are named or counted; remove `hosts` or `ranks`";
            return Err(reader.wrong(count.span(), message));
        }
        let mut ranks = Vec::with_capacity(field.get_ref().len());
        for name in field.get_ref() {
            let host = reader.host(name)?;
            if ranks.contains(&host) {
                let message = format!("`{}` is named twice; name each once", name.get_ref());
                return Err(reader.wrong(name.span(), message));
            }
            ranks.push(host);
        }
        if ranks.len() < 2 {
            return Err(reader.wrong(field.span(), "a collective needs two hosts; name two"));
        }
        return Ok(ranks);
    }
    if hosts < 2 {
        return Err(reader.wrong(table.kind.span(), "a collective needs two hosts; add hosts"));
    }
    let most = i64::try_from(hosts).unwrap_or(i64::MAX);
    let count = table.ranks.as_ref().map(|field| reader.number("ranks", field, 2..=most));
    let count = count.transpose()?.map_or(hosts, |count| usize::try_from(count).unwrap_or(hosts));
    Ok((0..).take(count).collect())
}
