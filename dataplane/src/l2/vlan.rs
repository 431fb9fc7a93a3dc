//! Which VLANs a port takes part in, and who hears a flooded frame (IEEE 802.1Q-2018, 6.9 and 8.6).

use super::{Vid, VidSet};
use crate::ids::PortId;
use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::vec;
use alloc::vec::Vec;

/// How a bridged port takes part in VLANs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VlanPort {
    /// The VLAN of frames that carry none: an access port's only VLAN, a trunk's native one. Its
    /// frames leave untagged.
    pub native: Option<Vid>,
    /// The VLANs whose frames are tagged here. If the native VLAN is one of them, its frames leave
    /// tagged too.
    pub tagged: VidSet,
}

/// Whether a frame leaves with a VLAN tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EgressForm {
    /// With its VLAN's tag.
    Tagged,
    /// Without one.
    Untagged,
}

impl VlanPort {
    /// The VLAN of a received frame; `None` if it must not enter here. `frame_vid` is the VLAN
    /// field of the frame's tag, `None` for a frame without one. 0 stands for no VLAN: such a frame
    /// carries a priority only.
    #[inline(always)]
    pub fn admit(&self, frame_vid: Option<u16>) -> Option<Vid> {
        match frame_vid {
            None | Some(0) => self.native,
            Some(value) => Vid::new(value).filter(|&vid| self.is_member(vid)),
        }
    }

    /// How a frame of `vid` leaves here; `None` if it must not.
    #[inline(always)]
    pub fn egress(&self, vid: Vid) -> Option<EgressForm> {
        if self.tagged.contains(vid) {
            Some(EgressForm::Tagged)
        } else if self.native == Some(vid) {
            Some(EgressForm::Untagged)
        } else {
            None
        }
    }

    /// Whether frames of `vid` enter and leave here.
    #[inline(always)]
    pub fn is_member(&self, vid: Vid) -> bool {
        self.native == Some(vid) || self.tagged.contains(vid)
    }
}

/// The VLANs of a whole switch, for the packet path.
///
/// Flood lists are stored once for each different set of ports: a switch where 64 trunks carry
/// every VLAN has one list, not 4094.
#[derive(Clone, Debug)]
pub struct VlanTable {
    /// For each VLAN, the number of its list.
    list_of: Box<[u16; 4096]>,
    lists: Vec<Vec<PortId>>,
}

impl VlanTable {
    /// The table of a switch with these bridged `ports`, the lowest first.
    pub(crate) fn compile(ports: &[(PortId, &VlanPort)]) -> Self {
        let mut list_of = Box::new([0; 4096]);
        let mut numbers = BTreeMap::from([(Vec::new(), 0)]);
        for vid in Vid::all() {
            let members = ports.iter().filter(|(_, port)| port.is_member(vid)).map(|&(id, _)| id);
            let next = u16::try_from(numbers.len()).expect("fewer lists than VLANs");
            list_of[vid.index()] = *numbers.entry(members.collect()).or_insert(next);
        }
        let mut lists = vec![Vec::new(); numbers.len()];
        for (list, number) in numbers {
            lists[usize::from(number)] = list;
        }
        Self { list_of, lists }
    }

    /// The ports that a frame of `vid` is flooded to, the lowest first; the caller leaves out the
    /// one it came from.
    #[inline]
    pub(crate) fn members(&self, vid: Vid) -> &[PortId] {
        &self.lists[usize::from(self.list_of[vid.index()])]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn vid(value: u16) -> Vid {
        Vid::new(value).unwrap()
    }

    fn port(number: usize) -> PortId {
        PortId::from_number(number).unwrap()
    }

    fn vlan_port(native: Option<u16>, tagged: &[u16]) -> VlanPort {
        VlanPort {
            native: native.map(vid),
            tagged: tagged.iter().map(|&value| vid(value)).collect(),
        }
    }

    #[test]
    fn an_access_port_takes_untagged_frames_and_its_own_vlan() {
        let access = vlan_port(Some(10), &[]);
        assert_eq!(access.admit(None), Some(vid(10)));
        assert_eq!(access.admit(Some(0)), Some(vid(10)), "a priority is not a VLAN");
        assert_eq!(access.admit(Some(10)), Some(vid(10)));
        for other in [1, 11, 4094, 4095, 4096 + 10, u16::MAX] {
            assert_eq!(access.admit(Some(other)), None, "{other}");
        }
        assert_eq!(access.egress(vid(10)), Some(EgressForm::Untagged));
        assert_eq!(access.egress(vid(11)), None);
    }

    #[test]
    fn a_trunk_takes_its_vlans_tagged_and_the_native_one_bare() {
        let trunk = vlan_port(Some(1), &[10, 20]);
        assert_eq!(trunk.admit(None), Some(vid(1)));
        assert_eq!(trunk.egress(vid(1)), Some(EgressForm::Untagged));
        assert_eq!(trunk.egress(vid(20)), Some(EgressForm::Tagged));
        assert_eq!((trunk.admit(Some(20)), trunk.admit(Some(30))), (Some(vid(20)), None));
        let strict = vlan_port(None, &[10]);
        assert_eq!((strict.admit(None), strict.admit(Some(0))), (None, None));
        let native_tagged = vlan_port(Some(10), &[10]);
        assert_eq!(native_tagged.egress(vid(10)), Some(EgressForm::Tagged));
    }

    #[test]
    fn trunks_with_every_vlan_share_one_flood_list() {
        let trunk = VlanPort { native: Some(Vid::DEFAULT), tagged: Vid::all().collect() };
        let trunks: Vec<_> = (1..=64).map(|number| (port(number), &trunk)).collect();
        let table = VlanTable::compile(&trunks);
        assert_eq!(table.members(vid(4094)).len(), 64);
        assert_eq!(table.lists.len(), 2, "the empty list is the other");
    }

    proptest! {
        #[test]
        fn flood_lists_are_the_ports_that_a_frame_may_leave_by(
            ports in proptest::collection::vec(
                (
                    proptest::option::of(1..20_u16),
                    proptest::collection::vec(1..20_u16, 0..10),
                ),
                0..20,
            ),
        ) {
            let ports: Vec<VlanPort> =
                ports.iter().map(|(native, tagged)| vlan_port(*native, tagged)).collect();
            let numbered: Vec<_> = (1..).map(port).zip(&ports).collect();
            let table = VlanTable::compile(&numbered);
            for vid in Vid::all().filter(|vid| vid.value() < 25 || vid.value() > 4090) {
                let truth = numbered.iter().filter(|(_, port)| port.egress(vid).is_some());
                let truth: Vec<PortId> = truth.map(|&(id, _)| id).collect();
                prop_assert_eq!(table.members(vid), truth.as_slice(), "{}", vid);
                for port in numbered.iter().filter(|(id, _)| truth.contains(id)) {
                    prop_assert_eq!(port.1.admit(Some(vid.value())), Some(vid));
                }
            }
        }
    }
}
