//! Stations that the operator has put on ports, in a worker's MAC table.

use super::Core;
use crate::device::Device;
use crate::driver::Driver;
use crate::snapshot::StaticMac;

impl<D: Device, V: Driver> Core<D, V> {
    /// Enters `stations`.
    pub(super) fn put_static_macs(&mut self, stations: &[StaticMac]) {
        for &StaticMac { vid, mac, port } in stations {
            self.mac_table.put_static(vid, mac, port);
        }
        self.has_addresses |= !stations.is_empty();
    }

    /// Makes `new` of the `old` stations. A snapshot that differs in something else costs one
    /// comparison.
    pub(super) fn replace_static_macs(&mut self, old: &[StaticMac], new: &[StaticMac]) {
        if old == new {
            return;
        }
        for &StaticMac { vid, mac, .. } in old {
            self.mac_table.remove_static(vid, mac);
        }
        self.put_static_macs(new);
    }
}
