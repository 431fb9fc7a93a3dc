//! Which interface of the kernel is which port's TAP: rtnetlink and FPM name interfaces by number.

use dataplane::ids::PortId;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The kernel's number (ifindex) of each port's TAP. It does not change while the switch runs; a
/// clone shares the table.
#[derive(Clone, Debug, Default)]
pub(crate) struct InterfaceIndexes(Arc<BTreeMap<u32, PortId>>);

impl InterfaceIndexes {
    /// The port whose TAP the kernel knows as interface `index`.
    pub(crate) fn port_of(&self, index: u32) -> Option<PortId> {
        self.0.get(&index).copied()
    }

    /// The ports that have a TAP.
    pub(super) fn ports(&self) -> impl Iterator<Item = PortId> {
        self.0.values().copied()
    }

    /// The number of the TAP of `port`.
    pub(super) fn index_of(&self, port: PortId) -> Option<u32> {
        self.0.iter().find(|&(_, &of)| of == port).map(|(&index, _)| index)
    }
}

impl FromIterator<(u32, PortId)> for InterfaceIndexes {
    fn from_iter<I: IntoIterator<Item = (u32, PortId)>>(pairs: I) -> Self {
        Self(Arc::new(pairs.into_iter().collect()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interface_that_is_no_tap_of_the_switch_has_no_port() {
        let second = PortId::from_number(2).unwrap();
        let indexes: InterfaceIndexes = [(17, PortId::FIRST), (19, second)].into_iter().collect();
        assert_eq!(indexes.port_of(17), Some(PortId::FIRST));
        assert_eq!(indexes.port_of(19), Some(second));
        assert_eq!(indexes.port_of(1), None, "the loopback");
        assert_eq!(InterfaceIndexes::default().port_of(17), None);
    }
}
