//! How many frames a device holds while nobody receives from it, and what counts those that it then
//! loses.
//!
//! | driver | holds | loses | counted by |
//! |---|---|---|---|
//! | a NIC's | its receive descriptors | yes | the NIC (`imissed`), if its driver reads that |
//! | `net_tap` | the interface's `txqueuelen` | yes | the interface's `tx_dropped` |
//! | `net_af_packet` | `framecnt` frames | yes | the socket's `tp_drops` |
//! | `net_af_xdp` | its receive descriptors | yes | the socket's `rx_dropped` (`imissed`) |
//! | `net_pcap` on an interface | libpcap's buffer | yes | libpcap's `ps_drop` (`imissed`) |
//! | `net_pcap` on a file | all | no | - |
//! | `net_memif` | 2^`rsize` frames | no: the peer keeps what does not fit | - |
//! | `net_ring` | 1,023 frames | no: the sender keeps what does not fit | - |
//! | `net_null` | all | no | - |
//!
//! A frame for which no buffer was left is `rx_no_buffer` (`rx_nombuf`) where a driver counts it:
//! NICs do. `net_tap` and `net_af_packet` leave it in their queue until there is a buffer. Corrupt
//! frames are `rx_error_frames` (`ierrors`), of which `q_errors` is the part of each queue.

use super::device_args::DeviceArgs;
use config::switch::PACKET_FRAMES_DEFAULT;
use std::fmt;

/// The driver's default `rsize` of `net_memif`.
const MEMIF_RSIZE_DEFAULT: u32 = 10;
/// A `net_ring` has 1,024 places, of which one stays empty.
const RING_FRAMES: u32 = 1_023;

/// What counts the frames that a full receive queue lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RxLosses {
    /// They are in `rx_missed_frames`.
    Counted {
        /// The counter.
        by: &'static str,
    },
    /// It loses none: frames wait.
    None,
    /// Nothing counts them.
    Uncounted,
}

impl RxLosses {
    /// Of a device with this driver, by its arguments.
    pub(super) fn of(driver: &str, args: &DeviceArgs) -> Self {
        match driver {
            "net_tap" => Self::Counted { by: "the interface's tx_dropped" },
            "net_af_packet" => Self::Counted { by: "the socket's tp_drops" },
            "net_af_xdp" => Self::Counted { by: "the socket's rx_dropped" },
            "net_pcap" if reads_interface(args) => Self::Counted { by: "libpcap's ps_drop" },
            "net_pcap" | "net_memif" | "net_ring" | "net_null" => Self::None,
            _ if driver.starts_with("net_") && args.is_virtual() => Self::Uncounted,
            _ => Self::Counted { by: "the NIC's imissed" },
        }
    }
}

impl fmt::Display for RxLosses {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Counted { by } => write!(f, "losses are counted as rx_missed ({by})"),
            Self::None => write!(f, "it loses no frames"),
            Self::Uncounted => write!(f, "losses are not counted"),
        }
    }
}

/// Properties by the device's driver and arguments.
pub(super) struct RxQueueFacts<'a> {
    pub(super) args: &'a DeviceArgs,
    pub(super) driver: &'a str,
    pub(super) rx_descriptors: u16,
    pub(super) tap_queue_frames: Option<u32>,
}

impl RxQueueFacts<'_> {
    /// Frames that it holds; `None`: all.
    pub(super) fn frames(&self) -> Option<u32> {
        let number = |key, default| {
            self.args.value(key).and_then(|text| text.parse().ok()).unwrap_or(default)
        };
        match self.driver {
            "net_tap" => self.tap_queue_frames,
            "net_af_packet" => Some(number("framecnt", PACKET_FRAMES_DEFAULT)),
            "net_memif" => 1_u32.checked_shl(number("rsize", MEMIF_RSIZE_DEFAULT)),
            "net_ring" => Some(RING_FRAMES),
            "net_null" => None,
            "net_pcap" if !reads_interface(self.args) => None,
            _ => Some(u32::from(self.rx_descriptors)),
        }
    }
}

/// Whether a `net_pcap` device receives from an interface.
fn reads_interface(args: &DeviceArgs) -> bool {
    ["iface", "rx_iface", "rx_iface_in"].iter().any(|key| args.value(key).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_driver_has_the_properties_of_the_table() {
        let counted = |by| RxLosses::Counted { by };
        for (device, driver, frames, losses) in [
            ("0000:01:00.0", "net_ice", Some(256), counted("the NIC's imissed")),
            ("net_tap0,iface=x", "net_tap", Some(77), counted("the interface's tx_dropped")),
            (
                "net_af_packet0,iface=x",
                "net_af_packet",
                Some(512),
                counted("the socket's tp_drops"),
            ),
            (
                "net_af_packet0,iface=x,framecnt=64",
                "net_af_packet",
                Some(64),
                counted("the socket's tp_drops"),
            ),
            ("net_af_xdp0,iface=x", "net_af_xdp", Some(256), counted("the socket's rx_dropped")),
            ("net_pcap0,rx_iface=x", "net_pcap", Some(256), counted("libpcap's ps_drop")),
            ("net_pcap0,rx_pcap=x", "net_pcap", None, RxLosses::None),
            ("net_memif0", "net_memif", Some(1_024), RxLosses::None),
            ("net_memif0,rsize=4", "net_memif", Some(16), RxLosses::None),
            ("net_ring0", "net_ring", Some(1_023), RxLosses::None),
            ("net_null0", "net_null", None, RxLosses::None),
            ("net_vhost0", "net_vhost", Some(256), RxLosses::Uncounted),
        ] {
            let args = DeviceArgs::parse(device).unwrap();
            let facts = RxQueueFacts {
                args: &args,
                driver,
                rx_descriptors: 256,
                tap_queue_frames: (driver == "net_tap").then_some(77),
            };
            assert_eq!((facts.frames(), RxLosses::of(driver, &args)), (frames, losses), "{device}");
        }
    }
}
