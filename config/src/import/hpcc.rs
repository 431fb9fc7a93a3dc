//! The HPCC simulator's files (ns-3, "HPCC: High Precision Congestion Control", SIGCOMM 2019).
//!
//! `topology.txt`: numbers of nodes, switches and links; the numbers of the switches (all others
//! are hosts); then a link a line: two nodes, rate, delay, error rate. `flow.txt`: the number of
//! flows; then a flow a line: from, to, priority group, port, bytes, start in seconds. What follows
//! the announced number of lines is no part of either, as in their simulator: the files end with
//! notes.

use super::lines::{Line, decimal_ps, lines};
use super::model::{Flow, Imported, Link, Node};
use crate::error::ConfigError;
use crate::source::Source;
use crate::units::parse_speed;
use std::path::Path;

/// Picoseconds in a second.
const PS_PER_S: u64 = 1_000_000_000_000;
/// Nodes that a network here may have.
const NODES_MAX: usize = 100_000;

/// Reads a topology and flows.
///
/// # Errors
/// What is wrong, or has no counterpart here.
pub fn load(topology: &Path, flows: &Path) -> Result<Imported, ConfigError> {
    read(&Source::read(topology)?, &Source::read(flows)?)
}

fn read(topology: &Source, flows: &Source) -> Result<Imported, ConfigError> {
    let mut lines_of = lines(topology);
    let end = || topology.at(topology.text().len()..topology.text().len(), "the file ends here");
    let head = lines_of.next().ok_or_else(end)?;
    let nodes: usize = head.number(0, "the number of nodes")?;
    let switch_count: usize = head.number(1, "the number of switches")?;
    let link_count: usize = head.number(2, "the number of links")?;
    if nodes > NODES_MAX {
        return Err(head.wrong(0, format!("{nodes} nodes; {NODES_MAX} are the most")));
    }
    let numbers = lines_of.next().ok_or_else(end)?;
    let node_of = switches(&numbers, nodes, switch_count)?;
    let mut imported = Imported { origin: "the HPCC simulator".to_owned(), ..Imported::default() };
    for (number, node) in node_of.iter().enumerate() {
        match node {
            Node::Host(_) => imported.hosts.push(format!("h{number}")),
            Node::Switch(_) => imported.switches.push(format!("s{number}")),
        }
    }
    for line in lines_of.take(link_count) {
        imported.links.push(link(&line, &node_of)?);
    }
    if imported.links.len() != link_count {
        let count = imported.links.len();
        return Err(head.wrong(2, format!("{link_count} links are announced, {count} follow")));
    }
    imported.flows = read_flows(flows, &node_of)?;
    Ok(imported)
}

/// What each node is, hosts and switches numbered apart.
fn switches(line: &Line<'_>, nodes: usize, count: usize) -> Result<Vec<Node>, ConfigError> {
    let mut is_switch = vec![false; nodes];
    for index in 0..line.words().len() {
        let number: usize = line.number(index, "a switch's number")?;
        let Some(is_switch) = is_switch.get_mut(number) else {
            return Err(line.wrong(index, format!("there is no node {number} of {nodes}")));
        };
        *is_switch = true;
    }
    if line.words().len() != count {
        let found = line.words().len();
        return Err(line.wrong(0, format!("{count} switches are announced, {found} are here")));
    }
    let mut counts = [0, 0];
    let numbered = is_switch.iter().map(|&is_switch| {
        let count = &mut counts[usize::from(is_switch)];
        *count += 1;
        if is_switch { Node::Switch(*count - 1) } else { Node::Host(*count - 1) }
    });
    Ok(numbered.collect())
}

fn link(line: &Line<'_>, node_of: &[Node]) -> Result<Link, ConfigError> {
    let end = |index| node(line, index, node_of);
    let ends = [end(0)?, end(1)?];
    let rate = line.word(2, "the rate")?;
    let speed = parse_speed(rate).map_err(|error| line.wrong(2, error.to_string()))?;
    let delay = line.word(3, "the delay")?;
    let delay_ps = delay_ps(delay).ok_or_else(|| {
        line.wrong(3, format!("`{delay}` is not a delay; write \"1000ns\", \"1us\" or \"0.001ms\""))
    })?;
    if let Some(rate) = line.words().get(4)
        && rate.parse() != Ok(0.0)
    {
        return Err(line.wrong(4, format!("error rate {rate}: links here lose no frames; write 0")));
    }
    Ok(Link { ends, speed, delay_ps })
}

fn node(line: &Line<'_>, index: usize, node_of: &[Node]) -> Result<Node, ConfigError> {
    let number: usize = line.number(index, "a node's number")?;
    let none = || line.wrong(index, format!("there is no node {number} of {}", node_of.len()));
    node_of.get(number).copied().ok_or_else(none)
}

fn delay_ps(text: &str) -> Option<u64> {
    let units = [("ns", 1_000), ("us", 1_000_000), ("ms", 1_000_000_000), ("s", PS_PER_S)];
    let known = units.iter().find_map(|&(unit, ps)| Some((text.strip_suffix(unit)?, ps)));
    known.and_then(|(number, ps)| decimal_ps(number, ps))
}

fn read_flows(source: &Source, node_of: &[Node]) -> Result<Vec<Flow>, ConfigError> {
    let mut lines = lines(source);
    let Some(head) = lines.next() else { return Ok(Vec::new()) };
    let count: usize = head.number(0, "the number of flows")?;
    let lines = lines.take(count);
    let flows: Vec<Flow> = lines.map(|line| flow(&line, node_of)).collect::<Result<_, _>>()?;
    if flows.len() == count {
        return Ok(flows);
    }
    let found = flows.len();
    Err(head.wrong(0, format!("{count} flows are announced, {found} follow")))
}

fn flow(line: &Line<'_>, node_of: &[Node]) -> Result<Flow, ConfigError> {
    let host = |index| match node(line, index, node_of)? {
        Node::Host(host) => Ok(host),
        Node::Switch(_) => Err(line.wrong(index, "a switch; flows are between hosts")),
    };
    let (from, to) = (host(0)?, host(1)?);
    // Priority group and port: all flows are of one lossless class here.
    let _group: u8 = line.number(2, "the priority group")?;
    let _port: u16 = line.number(3, "the port")?;
    let size_bytes = Some(line.number(4, "the size in bytes")?);
    let start = line.word(5, "the start in seconds")?;
    let start_ps = decimal_ps(start, PS_PER_S)
        .ok_or_else(|| line.wrong(5, format!("`{start}` is not a time in seconds, as 2.000001")))?;
    Ok(Flow { from, to, size_bytes, start_ps })
}
