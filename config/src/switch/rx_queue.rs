//! What a port's device keeps while nobody polls it, and how long either end of it may be away.

use super::Device;
use dataplane::limits::{FRAME_BYTES_MIN, WIRE_OVERHEAD_BYTES};
use dataplane::time::Speed;
use std::ops::RangeInclusive;

/// What kind of device is behind a port, as far as losses are concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeviceKind {
    /// A NIC: peers react within what IEEE 802.3 allows.
    Nic,
    /// `net_tap`: the kernel queues what a process sends until the switch polls.
    Tap,
    /// `net_af_packet`, `net_af_xdp`: an interface of the kernel.
    KernelInterface,
    /// `net_pcap`: frames of a file wait in the file, and obey no pause.
    File,
    /// Another virtual device, with a process that polls at its other end.
    Polled,
}

/// How long the switch, and a process beyond a device of the kernel, may wait for a core: they are
/// scheduled like any other. Machines with two busy cores show 16 ms now and then.
pub(super) const KERNEL_GAP_NS: u64 = 10_000_000;
/// How long a worker may be away that has its core. One that sleeps when idle wakes to what its
/// devices' rings have kept, with empty VIQs.
pub(super) const POLL_GAP_NS: u64 = 20_000;
/// Frames of a kernel device's queue that headroom makes room for: the kernel's own default
/// (`txqueuelen`). What a longer queue holds beyond that waits there.
pub(super) const KERNEL_QUEUE_FRAMES: u64 = 1_000;
/// How long the queue of a tap lasts at the port's speed, with the shortest frames.
const TAP_QUEUE_NS: u64 = 250_000_000;
/// The longest queue that a tap is given.
const TAP_QUEUE_FRAMES_MAX: u64 = 32_768;
/// Receive descriptors of a NIC where the configuration sets none. Many have no more than 4,096.
const NIC_RX_RING: RangeInclusive<u64> = 1_024..=4_096;
/// The driver's default `framecnt` of `net_af_packet`.
pub const PACKET_FRAMES_DEFAULT: u32 = 512;
/// The longest sleep of an idle worker (`idle = "sleep"`).
pub const IDLE_SLEEP_NS_MAX: u64 = 1_000_000;

impl Device {
    /// What kind of device this is.
    pub fn kind(&self) -> DeviceKind {
        let Self::Virtual(_) = self else { return DeviceKind::Nic };
        let name = self.key().trim_end_matches(|c: char| c.is_ascii_digit());
        match name {
            "net_tap" => DeviceKind::Tap,
            "net_af_packet" | "net_af_xdp" => DeviceKind::KernelInterface,
            "net_pcap" => DeviceKind::File,
            _ => DeviceKind::Polled,
        }
    }

    /// Frames that the device holds while nobody polls it, and beyond which it loses some; `None`
    /// if the frames wait elsewhere. `ring`: its receive descriptors. `queue`: a tap's queue.
    pub(super) fn lossy_queue_frames(&self, ring: u32, queue: Option<u32>) -> Option<u32> {
        match self.kind() {
            DeviceKind::Nic => Some(ring),
            DeviceKind::Tap => queue,
            DeviceKind::KernelInterface if self.key().starts_with("net_af_xdp") => Some(ring),
            DeviceKind::KernelInterface => {
                let count = self.text().split(',').find_map(|word| word.strip_prefix("framecnt="));
                let count = count.and_then(|count| count.parse().ok());
                Some(count.unwrap_or(PACKET_FRAMES_DEFAULT))
            }
            DeviceKind::File | DeviceKind::Polled => None,
        }
    }

    /// The setting that makes that queue longer.
    pub(super) fn queue_setting(&self) -> &'static str {
        match self.kind() {
            DeviceKind::Tap => "a lower `speed`",
            DeviceKind::KernelInterface if self.key().starts_with("net_af_packet") => {
                "a larger `framecnt=` of the device"
            }
            _ => "a larger `rx_desc`",
        }
    }
}

impl DeviceKind {
    /// Whether the kernel decides when the other end runs.
    pub(super) const fn is_kernel(self) -> bool {
        matches!(self, Self::Tap | Self::KernelInterface)
    }

    /// The speed of a virtual device for which the configuration states none. The longest pause,
    /// 65,535 quanta of 512 bit times, lasts 34 ms at 1G and 3.4 ms at 10G, and must outlast
    /// [`KERNEL_GAP_NS`] behind a device of the kernel.
    pub(super) const fn speed(self) -> Speed {
        Speed::from_gbps(if self.is_kernel() { 1 } else { 10 })
    }

    /// The receive backlog above which the switch pauses, where the configuration sets none, of a
    /// device that holds `held` frames. The drivers of the kernel's devices report none, and what
    /// is counted instead are frames received in full bursts: a short run of them is a sender's
    /// burst, and to pause on it would leave a core idle that has work. `framecnt` of
    /// `net_af_packet`, 512 by default, is not `rx_desc`.
    pub(super) fn backlog_xoff_frames(self, held: u32) -> u32 {
        match self {
            Self::Tap => held / 8,
            Self::KernelInterface => (held / 2).min(256),
            Self::Nic | Self::File | Self::Polled => held / 2,
        }
    }
}

/// The shortest frames that arrive at `speed` within `ns`.
pub(super) fn shortest_frames(speed: Speed, ns: u64) -> u64 {
    let frame_bits = (FRAME_BYTES_MIN + WIRE_OVERHEAD_BYTES) as u128 * 8;
    let bits = u128::from(speed.bps()) * u128::from(ns) / 1_000_000_000;
    u64::try_from(bits / frame_bits).unwrap_or(u64::MAX)
}

/// Frames that a tap's queue is given: what arrives at `speed` while a core is away.
pub(super) fn tap_queue_frames(speed: Speed) -> u32 {
    let frames = shortest_frames(speed, TAP_QUEUE_NS);
    u32::try_from(frames.clamp(KERNEL_QUEUE_FRAMES, TAP_QUEUE_FRAMES_MAX)).unwrap_or(u32::MAX)
}

/// Receive descriptors of a NIC where the configuration sets none: half of them hold what arrives
/// within `gap_ns`, as the switch pauses on a backlog of the other half.
pub(super) fn nic_rx_ring(speed: Speed, gap_ns: u64) -> u32 {
    let frames = shortest_frames(speed, gap_ns).saturating_mul(2).min(*NIC_RX_RING.end());
    let ring = frames.next_power_of_two().max(*NIC_RX_RING.start());
    u32::try_from(ring).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_are_told_by_their_drivers() {
        let kind = |text: &str| Device::Virtual(text.to_owned()).kind();
        assert_eq!(kind("net_tap12,iface=kt0"), DeviceKind::Tap);
        assert_eq!(kind("net_af_packet0,iface=v0"), DeviceKind::KernelInterface);
        assert_eq!(kind("net_af_xdp0,iface=v0"), DeviceKind::KernelInterface);
        assert_eq!(kind("net_pcap1,rx_pcap=a"), DeviceKind::File);
        assert_eq!(kind("net_memif0"), DeviceKind::Polled);
        assert_eq!(Device::Pci("0000:01:00.0".to_owned()).kind(), DeviceKind::Nic);
    }

    #[test]
    fn a_taps_queue_lasts_a_quarter_of_a_second_within_bounds() {
        // 84 bytes of the wire for each of the shortest frames.
        assert_eq!(tap_queue_frames(Speed::from_bps(50_000_000)), 18_601);
        assert_eq!(tap_queue_frames(Speed::from_bps(1_000_000)), 1_000);
        assert_eq!(tap_queue_frames(Speed::from_gbps(10)), 32_768);
        assert_eq!(tap_queue_frames(Speed::from_bps(u64::MAX)), 32_768);
    }

    #[test]
    fn half_of_a_nics_ring_holds_a_polling_gap_as_far_as_nics_go() {
        let ring = |gbps| nic_rx_ring(Speed::from_gbps(gbps), POLL_GAP_NS);
        assert_eq!([1, 10, 25, 40, 100, 800].map(ring), [1_024, 1_024, 2_048, 4_096, 4_096, 4_096]);
    }

    #[test]
    fn queues_that_lose_frames_are_known() {
        let frames = |text: &str| Device::Virtual(text.to_owned()).lossy_queue_frames(64, Some(77));
        assert_eq!(frames("net_tap0"), Some(77));
        assert_eq!(frames("net_af_packet0,iface=v0"), Some(512));
        assert_eq!(frames("net_af_packet0,iface=v0,framecnt=4096"), Some(4_096));
        assert_eq!(frames("net_af_xdp0,iface=v0"), Some(64));
        assert_eq!(["net_memif0", "net_ring0", "net_pcap0"].map(frames), [None; 3]);
        let nic = Device::Pci("0000:01:00.0".to_owned());
        assert_eq!(nic.lossy_queue_frames(64, None), Some(64));
    }
}
