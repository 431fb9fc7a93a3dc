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
    ports: Box<[Option<VlanPort>]>,
    /// For each VLAN, its list.
    list_of: Box<[u16; 4096]>,
    /// List n is `members[starts[n]..starts[n + 1]]`; list 0 is empty.
    starts: Box<[u32]>,
    members: Box<[PortId]>,
}

impl VlanTable {
    /// The table of a switch; a port's index is its [`PortId`], and `None` is a port that does not
    /// bridge.
    pub fn compile(ports: &[Option<VlanPort>]) -> Self {
        let mut numbers: BTreeMap<Vec<PortId>, u16> = BTreeMap::from([(Vec::new(), 0)]);
        let mut table = Self {
            ports: ports.into(),
            list_of: Box::new([0; 4096]),
            starts: Box::new([]),
            members: Box::new([]),
        };
        let (mut starts, mut members) = (vec![0, 0], Vec::new());
        for vid in Vid::all() {
            let list: Vec<PortId> =
                table.bridged().filter(|(_, p)| p.is_member(vid)).map(|(id, _)| id).collect();
            let next = u16::try_from(numbers.len()).expect("fewer lists than VLANs");
            table.list_of[vid.index()] = *numbers.entry(list).or_insert_with_key(|list| {
                members.extend_from_slice(list);
                starts.push(u32::try_from(members.len()).expect("4094 lists of 256 ports"));
                next
            });
        }
        table.starts = starts.into_boxed_slice();
        table.members = members.into_boxed_slice();
        table
    }

    fn bridged(&self) -> impl Iterator<Item = (PortId, &VlanPort)> {
        let numbered = self.ports.iter().enumerate();
        numbered.filter_map(|(index, port)| Some((PortId::from_index(index)?, port.as_ref()?)))
    }

    /// How `port` takes part; `None` if it does not bridge.
    #[inline(always)]
    pub fn port(&self, port: PortId) -> Option<&VlanPort> {
        self.ports.get(port.index())?.as_ref()
    }

    /// The VLAN of a frame received by `port`; see [`VlanPort::admit`].
    #[inline(always)]
    pub fn admit(&self, port: PortId, frame_vid: Option<u16>) -> Option<Vid> {
        self.port(port)?.admit(frame_vid)
    }

    /// How a frame of `vid` leaves by `port`; see [`VlanPort::egress`].
    #[inline(always)]
    pub fn egress(&self, port: PortId, vid: Vid) -> Option<EgressForm> {
        self.port(port)?.egress(vid)
    }

    /// The ports that a frame of `vid` is flooded to, the lowest first; the caller leaves out the
    /// one it came from.
    #[inline]
    pub(crate) fn members(&self, vid: Vid) -> &[PortId] {
        let list = usize::from(self.list_of[vid.index()]);
        match self.starts.get(list..list + 2) {
            Some(&[start, end]) => self.members.get(start as usize..end as usize).unwrap_or(&[]),
            _ => &[],
        }
    }

    /// Bytes of memory behind the table.
    pub fn memory_bytes(&self) -> usize {
        size_of_val(&*self.ports)
            + size_of_val(&*self.list_of)
            + size_of_val(&*self.starts)
            + size_of_val(&*self.members)
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
    fn a_port_that_does_not_bridge_or_does_not_exist_admits_nothing() {
        let table = VlanTable::compile(&[Some(vlan_port(Some(1), &[])), None]);
        assert_eq!(table.admit(port(1), None), Some(vid(1)));
        for outside in [port(2), port(3), port(256)] {
            assert_eq!(table.admit(outside, None), None);
            assert_eq!(table.egress(outside, vid(1)), None);
        }
    }

    #[test]
    fn trunks_with_every_vlan_share_one_flood_list() {
        let trunk = VlanPort { native: Some(Vid::DEFAULT), tagged: Vid::all().collect() };
        let table = VlanTable::compile(&vec![Some(trunk); 64]);
        assert_eq!(table.members(vid(4094)).len(), 64);
        assert!(table.memory_bytes() < 48 * 1024, "{} bytes", table.memory_bytes());
    }

    proptest! {
        #[test]
        fn flood_lists_are_the_ports_that_a_frame_may_leave_by(
            ports in proptest::collection::vec(
                proptest::option::of((
                    proptest::option::of(1..20_u16),
                    proptest::collection::vec(1..20_u16, 0..10),
                )),
                0..20,
            ),
        ) {
            let ports: Vec<Option<VlanPort>> = ports
                .into_iter()
                .map(|port| port.map(|(native, tagged)| vlan_port(native, &tagged)))
                .collect();
            let table = VlanTable::compile(&ports);
            for vid in Vid::all().filter(|vid| vid.value() < 25 || vid.value() > 4090) {
                let leaves = |number: &PortId| table.egress(*number, vid).is_some();
                let truth: Vec<PortId> = (1..=30).map(port).filter(leaves).collect();
                prop_assert_eq!(table.members(vid), truth.as_slice(), "{}", vid);
                for &member in &truth {
                    prop_assert_eq!(table.admit(member, Some(vid.value())), Some(vid));
                }
            }
        }
    }
}
