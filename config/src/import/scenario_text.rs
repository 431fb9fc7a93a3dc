//! An imported network, written as a SCENARIO.toml.

use super::model::{Flow, Imported, Node};
use dataplane::time::Speed;
use std::fmt::{self, Write};

/// What the files of other simulators do not say.
#[derive(Clone, Debug)]
pub struct ScenarioOptions {
    /// The scenario's name.
    pub name: String,
    /// Congestion control of the flows.
    pub congestion: String,
    /// How long flows may send after the last one has begun, in microseconds.
    pub after_us: u64,
}

/// SCENARIO.toml. Times begin with the first flow.
pub fn scenario_text(imported: &Imported, options: &ScenarioOptions) -> String {
    let mut text = String::new();
    // Writing to a String does not fail.
    let _never = write_scenario(&mut text, imported, options);
    text
}

fn write_scenario(
    text: &mut String,
    imported: &Imported,
    options: &ScenarioOptions,
) -> fmt::Result {
    let starts = imported.flows.iter().map(|flow| flow.start_ps);
    let first_ps = starts.clone().min().unwrap_or_default();
    let last_ps = starts.max().unwrap_or_default() - first_ps;
    let duration_us = last_ps.div_ceil(1_000_000) + options.after_us;
    writeln!(text, "name = \"{}\"", options.name)?;
    writeln!(text, "about = \"Imported from files of {}.\"", imported.origin)?;
    writeln!(text, "duration = \"{duration_us}us\"\n")?;
    writeln!(text, "[scheme]\nkind = \"pfc\"\n")?;
    // The buffer of the switches in the HPCC simulator's own configuration; the default is too
    // small for the headrooms of switches with many fast ports.
    writeln!(text, "[switches]\nsize = \"32MB\"\n")?;
    writeln!(text, "[roce]\ncongestion = \"{}\"\n", options.congestion)?;
    let ports = ports(imported);
    for (name, ports) in imported.switches.iter().zip(&ports.counts) {
        writeln!(text, "[[switch]]\nname = \"{name}\"\nports = {ports}")?;
    }
    for name in &imported.hosts {
        writeln!(text, "[[host]]\nname = \"{name}\"")?;
    }
    for (link, ends) in imported.links.iter().zip(&ports.ends) {
        let [one, other] = ends;
        writeln!(text, "[[link]]\nends = [\"{one}\", \"{other}\"]")?;
        let (speed, length) = (speed(link.speed), length(link.delay_ps));
        writeln!(text, "speed = \"{speed}\"\nlength = \"{length}\"")?;
    }
    for (number, flow) in imported.flows.iter().enumerate() {
        write_flow(text, imported, number, flow, first_ps)?;
    }
    Ok(())
}

fn write_flow(
    text: &mut String,
    imported: &Imported,
    number: usize,
    flow: &Flow,
    first_ps: u64,
) -> fmt::Result {
    let (from, to) = (&imported.hosts[flow.from], &imported.hosts[flow.to]);
    writeln!(text, "[[flow]]\nname = \"f{number}\"\nfrom = \"{from}\"\nto = \"{to}\"")?;
    writeln!(text, "transport = \"roce\"")?;
    if let Some(bytes) = flow.size_bytes {
        writeln!(text, "size = {bytes}")?;
    }
    let start_ns = (flow.start_ps - first_ps) / 1_000;
    if start_ns > 0 {
        writeln!(text, "start = \"{start_ns}ns\"")?;
    }
    Ok(())
}

/// The ends of links, with the ports of switches numbered in the order of the links.
struct Ports {
    counts: Vec<usize>,
    ends: Vec<[String; 2]>,
}

fn ports(imported: &Imported) -> Ports {
    let mut counts = vec![0; imported.switches.len()];
    let mut end = |node: Node| match node {
        Node::Host(host) => imported.hosts[host].clone(),
        Node::Switch(switch) => {
            counts[switch] += 1;
            format!("{}:{}", imported.switches[switch], counts[switch])
        }
    };
    let ends = imported.links.iter().map(|link| link.ends.map(&mut end)).collect();
    Ports { counts, ends }
}

fn speed(speed: Speed) -> String {
    match speed.bps() {
        bps if bps.is_multiple_of(1_000_000_000) => format!("{}G", bps / 1_000_000_000),
        bps if bps.is_multiple_of(1_000_000) => format!("{}M", bps / 1_000_000),
        bps => bps.to_string(),
    }
}

/// Light takes 5 ns for a meter, and so 1 ps for a fifth of a millimeter.
fn length(delay_ps: u64) -> String {
    let millimeters = delay_ps / 5;
    if millimeters.is_multiple_of(1_000) {
        format!("{}m", millimeters / 1_000)
    } else {
        format!("{millimeters}mm")
    }
}
