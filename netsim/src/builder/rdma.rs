//! The RoCE endpoints of a network that is built.

use super::NetworkBuilder;
use crate::build_error::BuildError;
use crate::rdma::paths::PathLengths;
use crate::rdma::plan::{Class, Endpoints, FlowPlan, HostFacts, Planner, SIMPLE_FLOWS_MAX};
use crate::routing::Router;
use crate::topology::{HostId, Topology};
use dataplane::pipeline::classify::TagMap;
use std::collections::BTreeMap;
use std::net::Ipv4Addr;

impl NetworkBuilder {
    /// By host, its RoCE endpoint, if it has flows of RoCE or is in a collective; and the flows'
    /// ideal times.
    pub(super) fn rdma(
        &self,
        topology: &Topology,
        router: &mut Router,
        tags: &TagMap,
        plans: &[FlowPlan],
    ) -> Result<Endpoints, BuildError> {
        if plans.is_empty() && self.collectives.is_empty() {
            return Ok((self.host_names.iter().map(|_| None).collect(), BTreeMap::new()));
        }
        let (what, most) = ("flows beside those of RoCE", SIMPLE_FLOWS_MAX);
        let count = self.flows.len() - plans.len();
        if count > most {
            return Err(BuildError::TooMany { what, count, most });
        }
        for host in self.collectives.iter().flat_map(|collective| &collective.hosts) {
            router.route_to(topology.access[host.0].0);
        }
        let facts = (0..self.host_names.len()).map(|number| {
            let host = HostId(number);
            let own = self.addresses(topology, host, Ipv4Addr::UNSPECIFIED);
            let (switch, port) = topology.access[number];
            let link = topology.ports[switch.0][port.index()].as_ref().map_or(0, |at| at.link);
            HostFacts {
                mac: own.source_mac,
                address: own.source,
                gateway_mac: own.gateway_mac,
                speed: topology.links[link].spec.speed,
                access: (switch, link),
            }
        });
        let lengths = PathLengths::new(topology, &self.down);
        // Notifications are lossy, in a class apart from what they are about.
        let cnp = Class::of(tags.lossy_tag, tags);
        let mut planner = Planner::new(self.roce, facts.collect(), lengths, cnp);
        plans.iter().for_each(|plan| planner.flow(plan));
        for (number, spec) in self.collectives.iter().enumerate() {
            planner.collective(number, spec, Class::of(spec.tag, tags));
        }
        Ok(planner.finish())
    }
}
