//! Switches that are files: what they are in the emulator, and which DSCPs are lossless.

use super::ScenarioError;
use config::SwitchConfig;
use config::network::switch_files::SwitchFiles;
use config::scenario::Pace;
use dataplane::ids::{Priority, Tag, WorkerId};
use dataplane::time::Speed;
use fabric::Network;
use fabric::network::End;
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};

/// The lossless DSCPs of any switch and their priorities, lowest first: the emulator's tags are
/// DSCPs, whatever tags the files have for them.
///
/// # Errors
/// Two switches have one DSCP in different lossless priorities: no checker could tell which.
pub(super) fn lossless(files: &SwitchFiles) -> Result<Vec<(Tag, Priority)>, ScenarioError> {
    let mut lossless: BTreeMap<Tag, (Priority, &str)> = BTreeMap::new();
    for switch in &files.switches {
        let map = &switch.tag_map;
        for tag in Tag::all().filter(|&tag| map.is_lossless(tag)) {
            let dscp = Tag::from_low_bits(map.dscp[tag.index()]);
            let priority = map.priority[tag.index()];
            let known = lossless.entry(dscp).or_insert((priority, &switch.name));
            if known.0 != priority {
                let what = format!(
                    "gives DSCP {dscp} priority {priority}, and `{}` gives it {}; make them the same",
                    known.1, known.0
                );
                return Err(ScenarioError::Mismatch { switch: switch.name.clone(), what });
            }
        }
    }
    Ok(lossless.into_iter().map(|(dscp, (priority, _))| (dscp, priority)).collect())
}

/// The tag of a flow's frames, of which `lossless` are lossless.
pub(super) fn tag(pace: &Pace, lossless: &[Tag]) -> Tag {
    let lowest = || lossless.first().copied().unwrap_or_default();
    let lossless = pace.dscp.map_or_else(lowest, Tag::from_low_bits);
    if pace.lossy { Tag::default() } else { lossless }
}

/// By host: its IPv4 address.
pub(super) fn addresses(files: &SwitchFiles) -> Vec<Ipv4Addr> {
    let v4 = |address: &IpAddr| match address {
        IpAddr::V4(address) => Some(*address),
        IpAddr::V6(_) => None,
    };
    let of_host = files.hosts.iter().map(|host| host.addresses.iter().find_map(v4));
    of_host.map(|address| address.unwrap_or(Ipv4Addr::UNSPECIFIED)).collect()
}

/// A switch as the emulator has it: one worker, and ports as fast as their links, which pace them.
pub(super) fn emulated(
    network: &Network,
    config: &SwitchConfig,
    switch: u32,
    default: Speed,
) -> SwitchConfig {
    let mut config = config.clone();
    for (slot, port) in network.slots_of(switch).zip(&mut config.settings.ports) {
        let link = network.link_with(End::Slot(slot)).map(|link| network.links()[link]);
        if let Some(link) = link {
            port.speed = link.speed.unwrap_or(default);
        }
        port.paced = false;
        port.worker = WorkerId::default();
        port.further_queues = Vec::new();
    }
    config
}
