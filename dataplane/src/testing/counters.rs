//! A port's counters as a list, for tests that state which of them changed.

use crate::counters::{DropReason, PfcCounters, PortCounters};
use crate::limits::PRIORITIES;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

impl PortCounters {
    /// Every counter that is not zero, with its name. Tests compare the list to check which
    /// counters changed and that no other did.
    pub fn nonzero(&self) -> Vec<(String, u64)> {
        let mut list = List::default();
        list.by_priority("rx_frames", &self.rx_frames);
        list.by_priority("rx_bytes", &self.rx_bytes);
        list.one("rx_unclassified_frames", self.rx_unclassified_frames);
        list.by_priority("tx_frames", &self.tx_frames);
        list.by_priority("tx_bytes", &self.tx_bytes);
        for &reason in DropReason::ALL {
            list.one(&format!("drop.{}", reason.name()), self.dropped(reason));
        }
        for (priority, drops) in self.lossless_drops.iter().enumerate() {
            for &reason in DropReason::ALL {
                let name = format!("lossless_drops.{}[{priority}]", reason.name());
                list.one(&name, drops[reason as usize]);
            }
        }
        list.one("punted_frames", self.punted_frames);
        list.one("injected_frames", self.injected_frames);
        list.one("copied_frames", self.copied_frames);
        list.by_priority("ecn_marked_frames", &self.ecn_marked_frames);
        list.by_priority("peak_rate_used_up", &self.peak_rate_used_up);
        list.one("telemetry_frames", self.telemetry_frames);
        list.one("telemetry_full_frames", self.telemetry_full_frames);
        list.one("remarked_frames", self.remarked_frames);
        list.one("raised_frames", self.raised_frames);
        list.one("demoted_frames", self.demoted_frames);
        self.pfc.list(&mut list);
        list.0
    }
}

impl PfcCounters {
    fn list(&self, list: &mut List) {
        list.one("pfc.rx_frames", self.rx_frames);
        list.by_priority("pfc.rx_xoff", &self.rx_xoff);
        list.by_priority("pfc.rx_xon", &self.rx_xon);
        list.by_priority("pfc.rx_ignored", &self.rx_ignored);
        list.by_priority("pfc.rx_slowed", &self.rx_slowed);
        list.by_priority("pfc.rx_pauses", &self.rx_pauses);
        list.by_priority("pfc.rx_paused_ns", &self.rx_paused_ns);
        list.one("pfc.rx_link_pause_frames", self.rx_link_pause_frames);
        list.one("pfc.rx_unknown_frames", self.rx_unknown_frames);
        list.one("pfc.rx_truncated_frames", self.rx_truncated_frames);
        list.one("pfc.tx_frames", self.tx_frames);
        list.by_priority("pfc.tx_xoff", &self.tx_xoff);
        list.by_priority("pfc.tx_xon", &self.tx_xon);
        list.by_priority("pfc.tx_slowed", &self.tx_slowed);
        list.by_priority("pfc.tx_pauses", &self.tx_pauses);
        list.by_priority("pfc.tx_paused_ns", &self.tx_paused_ns);
        list.by_priority("pfc.storms", &self.storms);
        list.by_priority("pfc.restored", &self.restored);
    }
}

#[derive(Default)]
struct List(Vec<(String, u64)>);

impl List {
    fn one(&mut self, name: &str, value: u64) {
        if value != 0 {
            self.0.push((name.into(), value));
        }
    }

    fn by_priority(&mut self, name: &str, values: &[u64; PRIORITIES]) {
        for (priority, &value) in values.iter().enumerate() {
            self.one(&format!("{name}[{priority}]"), value);
        }
    }
}
