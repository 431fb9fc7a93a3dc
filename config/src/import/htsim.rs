//! The files of htsim: `.topo` describes a fat tree or a leaf-spine, `.cm` has connections.

use super::fat_tree::{FatTree, Tier};
use super::lines::{Line, decimal_ps, lines};
use super::model::{Flow, Imported};
use crate::error::ConfigError;
use crate::source::Source;
use std::path::Path;

/// Hosts that a network here may have.
const HOSTS_MAX: usize = 100_000;
const TIERS: std::ops::RangeInclusive<usize> = 2..=3;

/// Reads a topology and connections.
///
/// # Errors
/// What is wrong, or has no counterpart here.
pub fn load(topology: &Path, connections: &Path) -> Result<Imported, ConfigError> {
    read(&Source::read(topology)?, &Source::read(connections)?)
}

fn read(topology: &Source, connections: &Source) -> Result<Imported, ConfigError> {
    let tree = fat_tree(topology)?;
    let at_start = |message| topology.at(0..0, message);
    let mut imported = tree.build().map_err(at_start)?;
    imported.flows = flows(connections, imported.hosts.len())?;
    Ok(imported)
}

fn fat_tree(source: &Source) -> Result<FatTree, ConfigError> {
    let mut tree = FatTree { hosts: 0, pod_hosts: 0, tiers: Vec::new() };
    let (mut tiers, mut current) = (0, None);
    for line in lines(source) {
        let key = line.word(0, "a key")?.to_ascii_lowercase();
        match (key.as_str(), current) {
            ("nodes", None) => tree.hosts = line.number(1, "the number of nodes")?,
            ("tiers", None) => tiers = line.number(1, "the number of tiers")?,
            ("podsize", None) => tree.pod_hosts = line.number(1, "the hosts of a pod")?,
            ("tier", _) => {
                let number: usize = line.number(1, "the tier's number")?;
                if number != tree.tiers.len() || number >= tiers {
                    let wrong = format!("tier {number} of {tiers}; tiers are numbered from 0");
                    return Err(line.wrong(1, wrong));
                }
                tree.tiers.push(Tier { bundle: 1, ..Tier::default() });
                current = Some(number);
            }
            (key, Some(number)) => set(&mut tree.tiers[number], key, &line)?,
            _ => return Err(line.wrong(0, "not a key of the head: Nodes, Tiers, Podsize")),
        }
    }
    let at_end = source.text().len();
    if !TIERS.contains(&tiers) || tree.tiers.len() != tiers {
        let found = tree.tiers.len();
        let message = format!("{found} tiers of {tiers}; write two or three");
        return Err(source.at(at_end..at_end, message));
    }
    if tree.hosts > HOSTS_MAX {
        let message = format!("{} hosts; {HOSTS_MAX} are the most", tree.hosts);
        return Err(source.at(0..0, message));
    }
    Ok(tree)
}

/// Sets a key of a tier. Queues are those of the switches here, which the scenario sets.
fn set(tier: &mut Tier, key: &str, line: &Line<'_>) -> Result<(), ConfigError> {
    let number = || line.number(1, "a number");
    match key {
        "downlink_speed_gbps" => tier.downlink_gbps = line.number(1, "a speed in Gb/s")?,
        "downlink_latency_ns" => tier.downlink_latency_ns = line.number(1, "a time in ns")?,
        "radix_down" => tier.radix_down = number()?,
        "radix_up" => tier.radix_up = number()?,
        "bundle" => tier.bundle = number()?,
        // Follows from the radices and speeds.
        "oversubscribed" | "queue_up" | "queue_down" => {
            let _whole: u64 = line.number(1, "a number")?;
        }
        "switch_latency_ns" if line.number::<u64>(1, "a time in ns")? != 0 => {
            let wrong = "switches here take no time of their own; write 0 and add it to the links";
            return Err(line.wrong(1, wrong));
        }
        "switch_latency_ns" => {}
        _ => {
            let known = "Downlink_speed_Gbps, Downlink_Latency_ns, Radix_Down, Radix_Up, Bundle";
            return Err(line.wrong(0, format!("not a key of a tier: {known}")));
        }
    }
    Ok(())
}

fn flows(source: &Source, hosts: usize) -> Result<Vec<Flow>, ConfigError> {
    let (mut flows, mut announced) = (Vec::new(), None::<usize>);
    for line in lines(source) {
        let key = line.word(0, "a key")?;
        match key {
            "Nodes" => {
                let nodes: usize = line.number(1, "the number of nodes")?;
                if nodes > hosts {
                    let wrong = format!("{nodes} nodes; the topology has {hosts}");
                    return Err(line.wrong(1, wrong));
                }
            }
            "Connections" => announced = Some(line.number(1, "the number of connections")?),
            "Triggers" | "Failures" if line.number::<u64>(1, "a number")? == 0 => {}
            "Triggers" | "trigger" => {
                let wrong = "connections that wait for others are not imported";
                return Err(line.wrong(0, format!("{wrong}; write them as [[collective]]")));
            }
            "Failures" | "failure" => {
                let wrong = "failures are not imported; write them as [[fault]]";
                return Err(line.wrong(0, wrong));
            }
            _ => flows.push(flow(&line, hosts)?),
        }
    }
    match announced {
        Some(count) if count != flows.len() => {
            let message = format!("{count} connections are announced, {} follow", flows.len());
            Err(source.at(0..0, message))
        }
        _ => Ok(flows),
    }
}

/// `FROM->TO start PICOSECONDS size BYTES`, and more keys.
fn flow(line: &Line<'_>, hosts: usize) -> Result<Flow, ConfigError> {
    let ends = line.word(0, "a connection")?;
    let form = || line.wrong(0, "not a connection: FROM->TO start PICOSECONDS size BYTES");
    let (from, to) = ends.split_once("->").ok_or_else(form)?;
    let host = |text: &str| {
        let number: usize = text.parse().map_err(|_| form())?;
        let none = || line.wrong(0, format!("there is no node {number} of {hosts}"));
        Some(number).filter(|number| *number < hosts).ok_or_else(none)
    };
    let (from, to) = (host(from)?, host(to)?);
    let (mut start_ps, mut size) = (None, None);
    for at in (1..line.words().len()).step_by(2) {
        match line.words()[at] {
            "start" => {
                let text = line.word(at + 1, "the start in picoseconds")?;
                let wrong = || line.wrong(at + 1, format!("`{text}` is not a time in picoseconds"));
                start_ps = Some(decimal_ps(text, 1).ok_or_else(wrong)?);
            }
            "size" => size = Some(line.number::<u64>(at + 1, "the size in bytes")?),
            // A number of the connection, which only triggers use, and its place in a ranking.
            "id" | "prio" => {
                let _number: u64 = line.number(at + 1, "a number")?;
            }
            "trigger" | "send_done_trigger" | "recv_done_trigger" | "addon" => {
                let wrong = "connections that wait for others are not imported";
                return Err(line.wrong(at, format!("{wrong}; write them as [[collective]]")));
            }
            other => {
                return Err(line.wrong(at, format!("`{other}` is not start, size, id or prio")));
            }
        }
    }
    let start_ps = start_ps.ok_or_else(|| line.wrong(usize::MAX, "the start is missing"))?;
    let size = size.ok_or_else(|| line.wrong(usize::MAX, "the size is missing"))?;
    // htsim sends without end if the size is 0.
    Ok(Flow { from, to, size_bytes: Some(size).filter(|size| *size > 0), start_ps })
}
