//! Rules as few TCAM entries: rectangles of in and out ports, first match wins (Tagger, section
//! VII-C, "joint aggregation on tag, InPort and OutPort").
//!
//! For each tag the answers are laid down in every order: what comes first may cover what comes
//! later, so a later answer can take a whole row or all ports. Within an answer, rectangles are
//! chosen greedily: the one that settles the most cells. Ports that want the same are one row.
//! Then entries of several tags that differ in nothing but the tag become one with a mask.
//!
//! Finding the fewest rectangles is NP-hard; [`expand`] and the demand say that these are right.

use super::demand::{Demand, TagDemand, is_subset, union};
use dataplane::ids::{PortId, Tag};
use dataplane::rules::{PortSet, TagMatch, TcamEntry, linear};

/// Answers up to which every order is tried: 24 orders.
const ANSWERS_MAX: usize = 4;
/// Entries up to which joining tags is tried: it takes a check of the whole table for each pair.
const JOIN_MAX: usize = 48;

/// In ports with the same demands.
#[derive(Clone, Debug)]
struct Row {
    inputs: PortSet,
    /// By answer: the cells that must get it.
    must: Vec<PortSet>,
    /// By answer: the cells that may.
    may: Vec<PortSet>,
    /// Cells that an earlier entry has settled.
    settled: PortSet,
}

/// Entries that answer as `demand` says.
pub fn compress(demand: &Demand) -> Vec<TcamEntry> {
    let mut entries: Vec<TcamEntry> = Vec::new();
    for tag in demand.tags() {
        entries.extend(compress_tag(demand, tag));
    }
    join_tags(demand, entries)
}

/// What entries answer for every tag, in port and out port: the oracle of [`compress`].
pub fn expand(
    entries: &[TcamEntry],
    ports: usize,
    lossy_tag: Tag,
) -> impl Iterator<Item = (Tag, PortId, PortId, Tag)> + '_ {
    let all = move || (0..ports).filter_map(PortId::from_index);
    Tag::all().flat_map(move |tag| {
        all().flat_map(move |input| {
            all().map(move |output| {
                (tag, input, output, linear::lookup(entries, lossy_tag, tag, input, output))
            })
        })
    })
}

fn compress_tag(demand: &Demand, tag: &TagDemand) -> Vec<TcamEntry> {
    let rows = rows(demand, tag);
    let orders = orders(tag.answers.len());
    let lists = orders.into_iter().map(|order| {
        // What is lossy comes last at no cost, as no match is lossy; an order that has it elsewhere
        // needs entries for it.
        let is_lossy = |&answer: &usize| tag.answers[answer].new_tag == demand.lossy_tag();
        let order = match order.split_last() {
            Some((last, before)) if is_lossy(last) => before.to_vec(),
            _ => order,
        };
        let mut settled = rows.clone();
        let rectangles = order.into_iter().flat_map(|answer| {
            let found = cover(&mut settled, answer).into_iter();
            found.map(move |(inputs, outputs)| Rectangle { inputs, outputs, answer })
        });
        prune(&rows, rectangles.collect(), |answer| !is_lossy(&answer))
    });
    let rectangles = lists.min_by_key(Vec::len).unwrap_or_default();
    let entry = |rectangle: Rectangle| TcamEntry {
        tag: TagMatch::exactly(tag.tag),
        in_ports: rectangle.inputs,
        out_ports: rectangle.outputs,
        new_tag: tag.answers[rectangle.answer].new_tag,
    };
    rectangles.into_iter().map(entry).collect()
}

/// What an entry covers, and with which answer.
#[derive(Clone, Copy, Debug)]
struct Rectangle {
    inputs: PortSet,
    outputs: PortSet,
    answer: usize,
}

/// Takes away what the others do as well: greedy choices may overlap until one has nothing left.
fn prune(
    rows: &[Row],
    mut rectangles: Vec<Rectangle>,
    is_lossless: impl Fn(usize) -> bool,
) -> Vec<Rectangle> {
    let is_right = |rectangles: &[Rectangle]| {
        rows.iter().all(|row| {
            let mut settled = PortSet::EMPTY;
            for rectangle in rectangles {
                if row.inputs.intersection(&rectangle.inputs).is_empty() {
                    continue;
                }
                let here = rectangle.outputs.difference(&settled);
                if !is_subset(&here, &row.may[rectangle.answer]) {
                    return false;
                }
                settled = union(&settled, &here);
            }
            let mut answers = row.must.iter().enumerate();
            answers.all(|(at, must)| !is_lossless(at) || is_subset(must, &settled))
        })
    };
    for at in (0..rectangles.len()).rev() {
        let without: Vec<Rectangle> =
            rectangles.iter().enumerate().filter(|&(n, _)| n != at).map(|(_, &r)| r).collect();
        if is_right(&without) {
            rectangles = without;
        }
    }
    rectangles
}

fn rows(demand: &Demand, tag: &TagDemand) -> Vec<Row> {
    let mut rows: Vec<Row> = Vec::new();
    for port in (0..demand.ports()).filter_map(PortId::from_index) {
        let of = |sets: &[PortSet]| sets[port.index()];
        let must: Vec<PortSet> = tag.answers.iter().map(|answer| of(&answer.must)).collect();
        let may: Vec<PortSet> = tag.answers.iter().map(|answer| of(&answer.may)).collect();
        // What another answer must have, none may take.
        let may: Vec<PortSet> = (0..may.len())
            .map(|at| {
                let others = must.iter().enumerate().filter(|&(other, _)| other != at);
                others.fold(may[at], |may, (_, must)| may.difference(must))
            })
            .collect();
        match rows.iter_mut().find(|row| row.must == must && row.may == may) {
            Some(row) => row.inputs.insert(port),
            None => {
                let inputs = [port].into_iter().collect();
                rows.push(Row { inputs, must, may, settled: PortSet::EMPTY });
            }
        }
    }
    rows
}

/// Every order of `count` things; the given and the reverse one if they are many.
fn orders(count: usize) -> Vec<Vec<usize>> {
    let given: Vec<usize> = (0..count).collect();
    if count > ANSWERS_MAX {
        let reverse = given.iter().rev().copied().collect();
        return vec![given, reverse];
    }
    let mut orders = vec![Vec::new()];
    for _ in 0..count {
        let longer = orders.iter().flat_map(|order: &Vec<usize>| {
            let left = given.iter().filter(|at| !order.contains(at));
            left.map(|&at| order.iter().copied().chain([at]).collect::<Vec<_>>())
        });
        orders = longer.collect();
    }
    orders
}

/// Rectangles that settle all cells that must get `answer`.
fn cover(rows: &mut [Row], answer: usize) -> Vec<(PortSet, PortSet)> {
    let mut rectangles = Vec::new();
    loop {
        let seeds = rows.iter().filter(|row| !row.open(answer).is_empty());
        let candidates = seeds.flat_map(|row| [row.open(answer), row.free(answer)]);
        let grown = candidates.map(|outputs| grow(rows, answer, &outputs));
        let gain = |outputs: &PortSet| -> usize {
            let takes = rows.iter().filter(|row| is_subset(outputs, &row.free(answer)));
            takes.map(|row| row.open(answer).intersection(outputs).len() * row.inputs.len()).sum()
        };
        let Some(outputs) = grown.max_by_key(gain) else { return rectangles };
        let mut inputs = PortSet::EMPTY;
        for row in rows.iter_mut().filter(|row| is_subset(&outputs, &row.free(answer))) {
            inputs = union(&inputs, &row.inputs);
            row.settled = union(&row.settled, &outputs);
        }
        rectangles.push((inputs, outputs));
    }
}

/// The widest out ports that all rows can take that can take `outputs`.
fn grow(rows: &[Row], answer: usize, outputs: &PortSet) -> PortSet {
    let taking = rows.iter().map(|row| row.free(answer)).filter(|free| is_subset(outputs, free));
    taking.reduce(|one, other| one.intersection(&other)).unwrap_or(*outputs)
}

impl Row {
    /// Cells that still need the answer.
    fn open(&self, answer: usize) -> PortSet {
        self.must[answer].difference(&self.settled)
    }

    /// Cells in which the answer does no harm.
    fn free(&self, answer: usize) -> PortSet {
        union(&self.may[answer], &self.settled)
    }
}

/// Makes one entry of two that differ in the tag only, where a mask can say both tags, and the
/// table still answers as it must.
fn join_tags(demand: &Demand, mut entries: Vec<TcamEntry>) -> Vec<TcamEntry> {
    if entries.len() > JOIN_MAX {
        return entries;
    }
    let mut at = 0;
    while at < entries.len() {
        let joined = (at + 1..entries.len()).find_map(|other| {
            let (one, two) = (entries[at], entries[other]);
            let same = one.in_ports == two.in_ports
                && one.out_ports == two.out_ports
                && one.new_tag == two.new_tag;
            let tag = same.then(|| smallest_mask(one.tag, two.tag))?;
            // The joined entry may stand where either stood.
            [at, other].into_iter().find_map(|place| {
                let mut list = entries.clone();
                list[place].tag = tag;
                list.remove(if place == at { other } else { at });
                is_right(demand, &list).then_some(list)
            })
        });
        match joined {
            Some(list) => entries = list,
            None => at += 1,
        }
    }
    entries
}

/// The narrowest match that has both.
const fn smallest_mask(one: TagMatch, two: TagMatch) -> TagMatch {
    let mask = one.mask & two.mask & !(one.value ^ two.value);
    TagMatch { value: one.value & mask, mask }
}

/// Whether the entries answer every cell as the demand allows. A mask must not reach a tag that
/// the demand does not have: what is not lossless would become so.
fn is_right(demand: &Demand, entries: &[TcamEntry]) -> bool {
    expand(entries, demand.ports(), demand.lossy_tag())
        .all(|(tag, input, output, answer)| demand.allows(tag, input, output, answer))
}
