//! The explicit form of a topology: `[[switch]]`, `[[host]]` and `[[link]]`.

use super::Tables;
use super::schema::{LinkTable, SwitchTable};
use super::switch_files::{self, SwitchFiles};
use crate::error::ConfigError;
use crate::names::{Names, Node, find_end, is_name};
use crate::source::Source;
use dataplane::limits::PORTS_MAX;
use fabric::Network;
use fabric::network::{End, Link, LinkError};
use toml::Spanned;

/// Builds the network of the tables, with the files of its switches, if they have files.
pub(super) fn build(
    source: &Source,
    file: &Tables<'_>,
) -> Result<(Network, Option<SwitchFiles>), ConfigError> {
    let mut network = Network::new();
    let mut names = Names::default();
    let files = switch_files::read(source, file)?;
    for (number, table) in file.switch.iter().enumerate() {
        let name = &table.get_ref().name;
        check_name(source, name)?;
        let config = files.as_ref().map(|files| &files.switches[number]);
        let count = match config {
            Some(config) => config.ports.len(),
            None => port_count(source, table)?,
        };
        let switch = network.add_switch(name.get_ref().as_str(), count);
        for (slot, port) in network.slots_of(switch).zip(config.iter().flat_map(|it| &it.ports)) {
            network.name_port(slot, port.name.as_str());
        }
        declare(source, &mut names, name, Node::Switch(switch))?;
    }
    for table in file.host {
        let name = &table.get_ref().name;
        check_name(source, name)?;
        let host = network.add_host(name.get_ref().as_str());
        declare(source, &mut names, name, Node::Host(host))?;
    }
    for table in file.link {
        add_link(source, &mut network, &names, table.get_ref(), files.as_ref())?;
    }
    for (host, table) in (0..).zip(file.host) {
        if network.host_slot(host).is_none() {
            let name = network.host_name(host);
            let message = format!("host `{name}` has no link; add one, or remove the host");
            return Err(source.at(table.get_ref().name.span(), message));
        }
    }
    Ok((network, files))
}

/// How many ports a switch without a file of its own has.
fn port_count(source: &Source, table: &Spanned<SwitchTable>) -> Result<usize, ConfigError> {
    let Some(ports) = &table.get_ref().ports else {
        let message = "this switch has no ports; add `ports`, how many it has, or `config`, its \
                       SWITCH.toml";
        return Err(source.at(table.get_ref().name.span(), message));
    };
    let count = usize::try_from(*ports.get_ref()).ok();
    count.filter(|count| (1..=PORTS_MAX).contains(count)).ok_or_else(|| {
        let message =
            format!("`ports` is {}; a switch has 1 to {PORTS_MAX} ports", ports.get_ref());
        source.at(ports.span(), message)
    })
}

/// A name becomes the name of a rule file, and a word of a path file.
fn check_name(source: &Source, name: &Spanned<String>) -> Result<(), ConfigError> {
    let text = name.get_ref();
    if is_name(text) {
        return Ok(());
    }
    let message = format!("`{text}` is no name for a node; use letters, digits, `-`, `_` and `.`");
    Err(source.at(name.span(), message))
}

fn declare<'a>(
    source: &Source,
    names: &mut Names<'a>,
    name: &'a Spanned<String>,
    node: Node,
) -> Result<(), ConfigError> {
    match names.nodes.insert(name.get_ref(), node) {
        None => Ok(()),
        Some(_) => {
            let message =
                format!("`{}` is declared twice; every node needs its own name", name.get_ref());
            Err(source.at(name.span(), message))
        }
    }
}

fn add_link(
    source: &Source,
    network: &mut Network,
    names: &Names<'_>,
    table: &LinkTable,
    files: Option<&SwitchFiles>,
) -> Result<(), ConfigError> {
    let [one, other] = &table.ends.get_ref()[..] else {
        let message = format!(
            "a link has two ends, this one has {}; write ends = [\"A:1\", \"B:1\"]",
            table.ends.get_ref().len()
        );
        return Err(source.at(table.ends.span(), message));
    };
    let find = |text: &Spanned<String>| {
        find_end(network, names, text.get_ref()).map_err(|m| source.at(text.span(), m))
    };
    let ends = [find(one)?, find(other)?];
    let link = Link {
        ends,
        speed: table.speed.as_ref().map(|speed| speed.get_ref().0).or_else(|| {
            let speeds = ends.iter().filter_map(|&end| files?.speed(network, end));
            speeds.min_by_key(|speed| speed.bps())
        }),
        length: table.length.as_ref().map(|length| length.get_ref().0),
    };
    network.add_link(link).map_err(|error| {
        let end = |end: &Spanned<String>| (format!("`{}`", end.get_ref()), end.span());
        let (what, span) = match error {
            LinkError::Used(used) if used == ends[1] => end(other),
            LinkError::Used(_) => end(one),
            LinkError::NoSwitch | LinkError::SamePort | LinkError::SameSwitch => {
                ("the link".to_owned(), table.ends.span())
            }
        };
        let hint = match error {
            LinkError::Used(End::Slot(_)) => "; a port has one link, use a free port",
            LinkError::Used(End::Host(_)) => "; a host has one port",
            _ => "",
        };
        source.at(span, format!("{what} {error}{hint}"))
    })
}
