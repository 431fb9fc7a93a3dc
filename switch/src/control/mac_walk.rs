//! Reads the workers' MAC tables slice by slice, for one client.

use super::protocol::{MacRow, MacTable, ROWS_MAX};
use super::workers::Workers;
use config::SwitchConfig;
use dataplane::frame::Frame;
use dataplane::l2::MacEntry;

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
    pub(super) fn new(offset: usize) -> Self {
        Self { skip: offset, worker: 0, slot: Some(0), table: MacTable::default() }
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
        slice.entries().iter().for_each(|entry| self.take(entry, config));
        self.slot = Some(slice.next().unwrap_or_default());
        if slice.next().is_none() {
            self.worker += 1;
        }
        None
    }

    fn take(&mut self, entry: &MacEntry, config: &SwitchConfig) {
        self.table.total += 1;
        if self.skip > 0 {
            self.skip -= 1;
        } else if self.table.addresses.len() < ROWS_MAX {
            let port = config.ports.get(entry.port.index());
            self.table.addresses.push(MacRow {
                vlan: entry.vid.value(),
                mac: entry.mac.to_string(),
                port: port.map_or_else(|| entry.port.to_string(), |port| port.name.clone()),
            });
        }
    }
}
