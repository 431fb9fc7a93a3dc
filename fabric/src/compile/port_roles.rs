//! A switch's rules from its port types alone: the compiler's own for a tree, without the tree.
//!
//! Where links lead up and down, the tag rises on down-to-up turns and on no others (see
//! [`Order`](super::order::Order)). Which turns of a switch those are, its port types say: from an
//! uplink to an uplink. So a switch that has learned them from its neighbors
//! ([`agents::lldp`]) writes the rules that [`compile`](super::compile()) would write for it.
//!
//! A port whose type is not known counts as an uplink. If each link that counts as a downlink at
//! one end counts as an uplink at the other, turns that keep their tag close no cycle: behind a
//! turn down there are only turns down.

use super::{own_priorities, tcam, updown};
pub use agents::lldp::PortRole;

use crate::rules::RuleSet;
use dataplane::ids::{PortId, Tag};
use dataplane::rules::{PortSet, TcamEntry};

/// The rules of a switch whose ports face so, in their order, for frames that may come down and go
/// up again `bounces` times.
pub fn entries(facings: &[PortRole], bounces: u8) -> Vec<TcamEntry> {
    let set = |is_in: &dyn Fn(PortRole) -> bool| -> PortSet {
        let ports = (0..).map_while(PortId::from_index).zip(facings);
        ports.filter(|&(_, &facing)| is_in(facing)).map(|(port, _)| port).collect()
    };
    let (all, up) = (set(&|_| true), set(&|facing| facing == PortRole::Uplink));
    let may_keep =
        |&facing: &PortRole| if facing == PortRole::Uplink { all.difference(&up) } else { all };
    let turns = updown::Turns {
        linked: set(&|facing| facing != PortRole::NoLink),
        may_keep: vec![facings.iter().map(may_keep).collect(); usize::from(bounces) + 1],
    };
    tcam::compress(&turns.demand(Tag::default(), |_, _| None))
}

/// The same as the rules of `switch`: tag 1 to begin with and one more for each bounce, each in the
/// priority of its number.
pub fn rules(switch: &str, facings: &[PortRole], bounces: u8) -> RuleSet {
    RuleSet {
        switch: switch.to_owned(),
        ports: facings.len(),
        lossy_tag: Tag::default(),
        initial_tag: updown::tag_of(0),
        initial_tags: Vec::new(),
        priorities: own_priorities(usize::from(bounces) + 1),
        entries: entries(facings, bounces),
    }
}
