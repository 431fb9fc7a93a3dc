//! The families of the host's TAPs.

use super::page::Page;
use crate::control::stats::{HostClassStats, Stats, TapStats};
use std::fmt;

/// Name, help, and what the family shows of a TAP.
type Family = (&'static str, &'static str, fn(&TapStats) -> u64);

const COUNTERS: [Family; 3] = [
    ("to_host_frames", "Frames given to the kernel by the TAP", |tap| tap.to_host_frames),
    ("to_host_lost_frames", "Frames that the kernel did not take", |tap| tap.to_host_lost_frames),
    ("from_host_frames", "Frames that the kernel sent by the TAP", |tap| tap.from_host_frames),
];

/// Those of a switch with TAPs; of another there are none.
pub(super) fn families(page: &mut Page<'_>, stats: &Stats) -> fmt::Result {
    if stats.taps.is_empty() {
        return Ok(());
    }
    page.gauge("knotless_tap_carrier", "Whether the TAP has a carrier", |samples| {
        stats.taps.iter().try_for_each(|tap| {
            samples.add(&[("port", tap.port.as_str()), ("tap", &tap.tap)], tap.carrier)
        })
    })?;
    for (name, help, value) in COUNTERS {
        page.counter(&format!("knotless_tap_{name}"), help, |samples| {
            stats.taps.iter().try_for_each(|tap| {
                samples.add(&[("port", tap.port.as_str()), ("tap", &tap.tap)], value(tap))
            })
        })?;
    }
    let help = "Frames for the control thread, by class";
    classes(page, stats, ("knotless_port_host_frames", help), |class| class.passed_frames)?;
    let help = "Frames for the control thread that were policed or found its ring full, by class";
    classes(page, stats, ("knotless_port_host_dropped_frames", help), |class| class.dropped_frames)
}

fn classes(
    page: &mut Page<'_>,
    stats: &Stats,
    (name, help): (&str, &str),
    value: fn(&HostClassStats) -> u64,
) -> fmt::Result {
    page.counter(name, help, |samples| {
        for port in &stats.ports {
            for (class, counted) in &port.host_classes {
                samples.add(&[("port", port.name.as_str()), ("class", class)], value(counted))?;
            }
        }
        Ok(())
    })
}
