//! A plan as a SCENARIO.toml: its paths as flows that come and go when its operations do, so that
//! the emulator shows what happens on the way.
//!
//! The times are the most dangerous ones that the order allows: a new path is in force as soon as
//! its operation begins, an old one until its operation ends. What waits for an old path waits
//! until its frames have left, too.

use super::change::{Change, Kind};
use super::order::Order;
use super::route::NamedPath;
use crate::network::{Network, Peer};
use std::fmt::Write;

/// The change begins when traffic has settled, in microseconds.
const BEGIN_US: u64 = 300;
/// What one rule takes.
const RULE_US: u64 = 50;
/// How long frames of a removed path may be on their way still.
const LEAVE_US: u64 = 200;

/// Which moments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Execution {
    /// As the order has it.
    Planned,
    /// The worst way round: what must wait comes first, what it waits for goes last.
    Naive,
}

/// SCENARIO.toml. `tables` are the network's tables, or `network = "FILE"`.
///
/// # Errors
/// A path begins or ends at a switch without a host, so nobody can send over it: the message.
pub fn scenario(
    tables: &str,
    network: &Network,
    change: &Change,
    order: &Order,
    execution: Execution,
) -> Result<String, String> {
    let moments = moments(change, order, execution);
    let end_us = moments.iter().copied().max().unwrap_or(BEGIN_US);
    let mut text = format!(
        "duration = \"{}us\"\n{tables}\n\n[scheme]\nkind = \"pfc\"\n\n\
         # Low thresholds and long cables: pauses last long enough to go round a cycle.\n\
         [switches]\nstatic_th = \"20KB\"\nxon_offset = \"18KB\"\n[links]\nlength = \"50m\"\n",
        end_us + 1_000
    );
    let operations = change.operations.iter().zip(&moments);
    let operations = operations.map(|(operation, &at_us)| match operation.kind {
        Kind::Remove => (&operation.path, "old ", format!("stop = \"{at_us}us\"\n")),
        Kind::Add => (&operation.path, "new ", format!("start = \"{at_us}us\"\n")),
    });
    let kept = change.kept.iter().map(|path| (path, "", String::new()));
    for (path, side, moment) in operations.chain(kept) {
        let (from, to) = hosts(network, path)?;
        let route = path.route.inputs.iter().map(|&input| network.show(input));
        let first = network.switch_name(path.route.first).to_owned();
        let route: Vec<String> = [first].into_iter().chain(route).collect();
        let _always_fits = write!(
            text,
            "\n[[flow]]\nname = \"{side}{}\"\nfrom = \"{from}\"\nto = \"{to}\"\npath = \"{}\"\n{moment}",
            path.name.replace(['\\', '"'], "'"),
            route.join(" ")
        );
    }
    Ok(text)
}

/// By operation: when its path goes, or comes.
fn moments(change: &Change, order: &Order, execution: Execution) -> Vec<u64> {
    let time_us = |operation: usize| {
        let switches = u64::try_from(change.operations[operation].path.route.len());
        switches.unwrap_or(0) * RULE_US
    };
    let mut begins_us = vec![BEGIN_US; change.operations.len() + order.barriers()];
    let mut ends_us = begins_us.clone();
    for node in order.sorted().unwrap_or_default() {
        let at = node as usize;
        let is_barrier = order.is_barrier(node);
        ends_us[at] = begins_us[at] + if is_barrier { 0 } else { time_us(at) };
        let leave_us = if is_barrier { 0 } else { LEAVE_US };
        for &after in order.after(node) {
            let after = &mut begins_us[after as usize];
            *after = (*after).max(ends_us[at] + leave_us);
        }
    }
    let waits = order.waits();
    let is_awaited = |at: usize| u32::try_from(at).is_ok_and(|at| !order.after(at).is_empty());
    let moment = |at: usize| match (change.operations[at].kind, execution) {
        (Kind::Remove, Execution::Planned) => ends_us[at],
        (Kind::Add, Execution::Planned) => begins_us[at],
        (Kind::Add, Execution::Naive) if waits[at] > 0 => BEGIN_US,
        (Kind::Remove, Execution::Naive) if !is_awaited(at) => BEGIN_US + LEAVE_US,
        (Kind::Add, Execution::Naive) => BEGIN_US + 3 * LEAVE_US,
        (Kind::Remove, Execution::Naive) => BEGIN_US + 5 * LEAVE_US,
    };
    (0..change.operations.len()).map(moment).collect()
}

/// Who sends over a path, and who receives.
fn hosts<'a>(network: &'a Network, path: &NamedPath) -> Result<(&'a str, &'a str), String> {
    let switches: Vec<u32> = path.route.switches(network).collect();
    let last = switches.last().copied().unwrap_or(path.route.first);
    let host = |slot: Option<u32>, switch: u32| {
        let slot = slot.or_else(|| network.host_slots_of(switch).next());
        match slot.map(|slot| network.peer(slot)) {
            Some(Peer::Host(host)) => Ok(network.host_name(host)),
            _ => Err(format!(
                "nobody can send over `{}`: `{}` has no host; add one",
                path.name,
                network.switch_name(switch)
            )),
        }
    };
    Ok((host(path.route.source, path.route.first)?, host(path.route.target, last)?))
}
