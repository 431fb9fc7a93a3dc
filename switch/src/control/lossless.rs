//! The total of lost lossless frames: frames of lossless classes that were not delivered, by cause.
//!
//! A worker knows the class of a frame that it drops. Frames that a device lost, and frames that
//! arrived after the switch was told to stop, were never classified: on a port with a lossless
//! class they count as lossless, since they may have been.

use super::stats::{PortStats, loss_cause};
use dataplane::counters::{DropReason, PortCounters};
use std::collections::BTreeMap;

const TX_ERRORS: &str = "tx_error_frames";
/// Drivers that count a frame as a transmit error and leave it with the worker, which sends it
/// again or drops it under a name. Other devices have taken the frame and lost it.
const GIVES_BACK: [&str; 2] = ["net_tap", "net_af_xdp"];

/// Adds what a worker counted at a port.
pub(super) fn add_counted(stats: &mut PortStats, counters: &PortCounters) {
    for &reason in DropReason::ALL {
        add(
            &mut stats.lossless_drops_by_cause,
            reason.name(),
            counters.lossless_dropped_for(reason),
        );
    }
}

/// Adds what was lost between the wire and the workers, if the port has a lossless class.
pub(super) fn add_unclassified(stats: &mut PortStats) {
    if !stats.queues.iter().any(|queue| queue.lossless) {
        return;
    }
    let gives_back = GIVES_BACK.contains(&stats.driver.as_str());
    for (counter, frames) in stats.device_lost() {
        if !(gives_back && counter == TX_ERRORS) {
            add(&mut stats.lossless_drops_by_cause, loss_cause(counter), frames);
        }
    }
    let held_frames = stats.device_losses.lossless_held_at_stop_frames;
    add(&mut stats.lossless_drops_by_cause, "held_at_stop", held_frames);
}

fn add(causes: &mut BTreeMap<String, u64>, cause: &str, frames: u64) {
    if frames > 0 {
        *causes.entry(cause.to_owned()).or_default() += frames;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dataplane::ids::Priority;

    fn with_losses(is_lossless: bool) -> PortStats {
        let mut stats = PortStats::default();
        stats.queues[3].lossless = is_lossless;
        stats.device_counters.rx_missed_frames = 7;
        stats.device_losses.tx_segmented_frames = 2;
        stats.device_losses.lossless_held_at_stop_frames = 1;
        stats
    }

    #[test]
    fn causes_add_up_to_the_figure() {
        let mut counters = PortCounters::default();
        for reason in [DropReason::Watchdog, DropReason::Watchdog, DropReason::NotOurMac] {
            counters.count_lossless_drop(Priority::from_low_bits(3), reason);
        }
        let mut stats = with_losses(true);
        add_counted(&mut stats, &counters);
        add_unclassified(&mut stats);
        let expected =
            [("held_at_stop", 1), ("rx_missed", 7), ("tx_segmented", 2), ("watchdog", 2)];
        let expected = expected.map(|(cause, frames)| (cause.to_owned(), frames));
        assert_eq!(stats.lossless_drops_by_cause, BTreeMap::from(expected));
        assert_eq!(stats.lossless_dropped(), 12);
    }

    #[test]
    fn transmit_errors_count_where_the_device_keeps_the_frame() {
        for (driver, expected) in [("net_ixgbe", 5), ("net_af_packet", 5), ("net_tap", 0)] {
            let mut stats = PortStats { driver: driver.to_owned(), ..PortStats::default() };
            stats.queues[3].lossless = true;
            stats.device_counters.tx_error_frames = 5;
            add_unclassified(&mut stats);
            assert_eq!(stats.lossless_dropped(), expected, "{driver}");
        }
    }

    #[test]
    fn a_port_without_lossless_classes_loses_none() {
        let mut stats = with_losses(false);
        add_unclassified(&mut stats);
        assert_eq!(stats.lossless_dropped(), 0);
    }
}
