//! Reads the workers' MAC tables slice by slice, for one client.

use super::protocol::{MacRow, MacTable, ROWS_MAX};
use super::workers::Workers;
use config::SwitchConfig;
use dataplane::frame::Frame;
use dataplane::ids::PortId;
use dataplane::l2::{MacEntry, Vid};
use dataplane::wire::MacAddress;

/// A walk through all tables.
#[derive(Debug)]
pub(super) struct MacWalk {
    /// Rows still to be left out.
    skip: usize,
    /// The worker whose table is being read.
    worker: usize,
    /// The slot that is to be read next; `None` while the answer is on its way.
    slot: Option<usize>,
    table: MacTable,
}

impl MacWalk {
    /// A walk that leaves out the first `offset` rows. Static stations come first: all workers have
    /// them.
    pub(super) fn new(offset: usize, config: &SwitchConfig) -> Self {
        let mut walk = Self { skip: offset, worker: 0, slot: Some(0), table: MacTable::default() };
        for station in &config.static_macs {
            walk.take((station.vid, station.mac, station.port), true, config);
        }
        walk
    }

    /// Takes the next step; the table once all of it has been read.
    pub(super) fn step<F: Frame>(
        &mut self,
        workers: &mut Workers<F>,
        config: &SwitchConfig,
    ) -> Option<MacTable> {
        let Some(worker) = workers.iter_mut().nth(self.worker) else {
            return Some(std::mem::take(&mut self.table));
        };
        if let Some(slot) = self.slot {
            if worker.ask_mac_table(slot) {
                self.slot = None;
            }
            return None;
        }
        let slice = worker.mac_slice()?;
        for &MacEntry { vid, mac, port, .. } in slice.entries() {
            self.take((vid, mac, port), false, config);
        }
        self.slot = Some(slice.next().unwrap_or_default());
        if slice.next().is_none() {
            self.worker += 1;
        }
        None
    }

    fn take(
        &mut self,
        (vid, mac, port): (Vid, MacAddress, PortId),
        is_static: bool,
        config: &SwitchConfig,
    ) {
        self.table.total += 1;
        if self.skip > 0 {
            self.skip -= 1;
        } else if self.table.addresses.len() < ROWS_MAX {
            let named = config.ports.get(port.index());
            self.table.addresses.push(MacRow {
                vlan: vid.value(),
                mac: mac.to_string(),
                port: named.map_or_else(|| port.to_string(), |port| port.name.clone()),
                is_static,
            });
        }
    }
}
