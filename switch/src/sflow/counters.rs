//! The counters of IF-MIB (RFC 2863), from the statistics of a port.

use super::structures::IfCounters;
use crate::control::stats::PortStats;
use dataplane::counters::DropReason;

/// What the counters of a cause are for IF-MIB.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    InDiscards,
    InErrors,
    InUnknown,
    OutDiscards,
}

const fn part(cause: DropReason) -> Part {
    match cause {
        DropReason::Truncated
        | DropReason::BadHeader
        | DropReason::BadChecksum
        | DropReason::TooLong => Part::InErrors,
        DropReason::NotIp => Part::InUnknown,
        // These are counted where the frame was to leave, or where both ends of it are down.
        DropReason::TailDrop | DropReason::WredDrop | DropReason::PortDown => Part::OutDiscards,
        _ => Part::InDiscards,
    }
}

/// The counters of `port`.
pub(crate) fn of_port(port: &PortStats) -> IfCounters {
    let sum = |counters: &[u64]| counters.iter().fold(0_u64, |sum, it| sum.wrapping_add(*it));
    let drops = |wanted: Part| {
        let of_part = DropReason::ALL.iter().filter(|cause| part(**cause) == wanted);
        let counted = of_part.filter_map(|cause| port.drops.get(cause.name()).copied());
        counted.fold(0, u64::wrapping_add)
    };
    let (device, losses) = (&port.device_counters, &port.device_losses);
    IfCounters {
        port: u32::try_from(port.number).unwrap_or_default(),
        name: port.name.clone(),
        speed_bps: port.speed_bps,
        is_in_service: port.in_service,
        is_up: port.up,
        in_bytes: sum(&port.rx_bytes),
        in_frames: sum(&port.rx_frames).wrapping_add(port.rx_unclassified_frames),
        in_discards: sum(&[
            drops(Part::InDiscards),
            device.rx_missed_frames,
            device.rx_no_buffer,
            losses.rx_after_stop_frames,
        ]),
        in_errors: sum(&[
            drops(Part::InErrors),
            device.rx_error_frames,
            losses.rx_unreadable_frames,
        ]),
        in_unknown: drops(Part::InUnknown),
        out_bytes: sum(&port.tx_bytes),
        out_frames: sum(&port.tx_frames),
        out_discards: sum(&[drops(Part::OutDiscards), losses.tx_segmented_frames]),
        out_errors: device.tx_error_frames,
    }
}
