//! A case in the emulator: its switches and links, and a sender and a receiver for each path.

use super::cases::Case;
use dataplane::ids::{PortId, Priority, Tag};
use dataplane::settings::Threshold;
use fabric::plan::{Kind, NamedPath};
use netsim::builder::NetworkBuilder;
use netsim::flow::Way;
use netsim::flow::{FlowId, FlowSpec};
use netsim::link::LinkSpec;
use netsim::network::Network;
use netsim::reconfiguration::PathOperation;
use netsim::switch_spec::SwitchSpec;
use netsim::topology::SwitchId;
use std::error::Error;

/// The network of a case with two hosts for each path, and its operations.
pub(super) fn emulated(
    case: &Case,
    all: bool,
    seed: u64,
) -> Result<(Network, Vec<PathOperation>), Box<dyn Error>> {
    let Case { network, change, .. } = case;
    let mut builder = NetworkBuilder::new(seed);
    let tag = Tag::from_low_bits(1);
    builder.lossless(tag, Priority::from_low_bits(3));
    let spec = SwitchSpec {
        threshold: Threshold::Static { xoff_bytes: 20_000 },
        xon_offset_bytes: Some(18_000),
        ..SwitchSpec::default()
    };
    let switches: Vec<SwitchId> = network
        .all_switches()
        .map(|switch| builder.switch(network.switch_name(switch), spec.clone()))
        .collect();
    let wire = LinkSpec::new(40, 50);
    for slot in (0..).take(network.slots()) {
        if let Some(far) = network.far_slot(slot).filter(|&far| far > slot) {
            let end = |slot| switches[network.owner(slot) as usize].port(port(network, slot));
            builder.link(end(slot), end(far), wire);
        }
    }
    let mut used: Vec<usize> = network.all_switches().map(|switch| network.ports(switch)).collect();
    let mut add = |path: &NamedPath| {
        let route = &path.route;
        let on_path: Vec<u32> = route.switches(network).collect();
        let last = *on_path.last()?;
        let mut host = |switch: u32, side: &str| {
            used[switch as usize] += 1;
            let host = builder.host(&format!("{side} {}", path.name));
            builder.link(switches[switch as usize].port(used[switch as usize]), host, wire);
            (host, used[switch as usize])
        };
        let ((from, _), (to, exit)) = (host(route.first, "from"), host(last, "to"));
        let exits = route.inputs.iter().map(|&input| {
            network.far_slot(input).and_then(|slot| PortId::from_index(port(network, slot) - 1))
        });
        let exits = exits.chain([PortId::from_index(exit - 1)]);
        let hop =
            |(&switch, port): (&u32, Option<PortId>)| Some((switches[switch as usize], port?));
        let hops: Option<Vec<(SwitchId, PortId)>> = on_path.iter().zip(exits).map(hop).collect();
        let hops = hops?;
        let way = Way::Ports(hops.clone());
        Some((builder.flow(FlowSpec { way, ..FlowSpec::new(from, to, tag) }), hops))
    };
    let mut operations = Vec::new();
    let operation =
        |kind, (flow, hops): (FlowId, Vec<(SwitchId, PortId)>)| PathOperation { kind, flow, hops };
    for one in &change.operations {
        let found = add(&one.path).ok_or("a path without a link")?;
        operations.push(operation(one.kind, found));
    }
    let kept: Option<Vec<_>> = change.kept.iter().map(&mut add).collect();
    let kept = kept.ok_or("a kept path without a link")?;
    if all {
        operations.extend(kept.iter().map(|found| operation(Kind::Remove, found.clone())));
        operations.extend(kept.into_iter().map(|found| operation(Kind::Add, found)));
    }
    Ok((builder.build()?, operations))
}

/// The number of a slot's port.
fn port(network: &fabric::Network, slot: u32) -> usize {
    network.port(slot).number()
}
