//! For which polling gaps each port is lossless, as text; and the longest time that a thread of
//! this machine was kept from its core.

use crate::ctl::tables::port_lines;
use config::SwitchConfig;
use config::switch::{DeviceKind, PortConfig, Promise};
use config::units::show_size;
use dataplane::settings::{SwitchSettings, stale_bytes};
use dataplane::wire::ethernet::{HEADER_BYTES, TAG_BYTES};
use std::time::{Duration, Instant};

/// Duration of the measurement.
const MEASURE: Duration = Duration::from_millis(100);

/// One line for all ports with the same text.
pub(crate) fn lines(config: &SwitchConfig) -> Vec<String> {
    let promises = config.ports.iter().filter_map(|port| {
        let promise = port.promise.as_ref()?;
        Some((port.name.as_str(), describe(port, promise)))
    });
    port_lines(promises)
}

fn describe(port: &PortConfig, promise: &Promise) -> String {
    let queue = match (port.device.kind(), port.rx_queue_frames) {
        (DeviceKind::File, _) => {
            "; a capture file cannot be paused, its frames wait in it".to_owned()
        }
        (DeviceKind::Nic, _) => {
            format!("; beyond that its receive ring holds {} frames", port.rx_ring)
        }
        (_, Some(frames)) => format!("; beyond that its receive queue holds {frames} frames"),
        _ => String::new(),
    };
    let gaps = format!(
        "polling gaps of {} here and {} at the peer{queue}",
        show_ns(promise.poll_gap_ns),
        show_ns(promise.peer_gap_ns)
    );
    let gaps = match port.queues {
        1 => gaps,
        queues => format!("{gaps}{}", describe_queues(port, queues)),
    };
    match &promise.broken {
        None => format!("lossless for senders that obey PFC, with {gaps}"),
        Some(why) => format!("NOT lossless with {gaps}: {why}"),
    }
}

/// What headroom that lossless queues share can hold; `None` if each has its own in full.
pub(crate) fn headroom_line(settings: &SwitchSettings) -> Option<String> {
    let pool_bytes = settings.buffer.headroom_pool_bytes?;
    let viqs = settings.ports.iter().flat_map(|port| port.lossless.iter().flatten());
    let mut headrooms: Vec<u64> = viqs.map(|viq| u64::from(viq.headroom_bytes)).collect();
    headrooms.sort_unstable_by(|one, other| other.cmp(one));
    let all_bytes: u64 = headrooms.iter().sum();
    if pool_bytes >= all_bytes {
        return None;
    }
    let mut left_bytes = pool_bytes;
    let fits = |headroom: &&u64| match left_bytes.checked_sub(**headroom) {
        Some(rest) => {
            left_bytes = rest;
            true
        }
        None => false,
    };
    let fitting = headrooms.iter().take_while(fits).count();
    Some(format!(
        "headroom: {} lossless queues may use {} and share {}; {fitting} of them can use all of theirs at \
         once; if one more needs it, frames that obey PFC are lost",
        headrooms.len(),
        show_size(all_bytes),
        show_size(pool_bytes)
    ))
}

/// What several receive queues add.
fn describe_queues(port: &PortConfig, queues: u16) -> String {
    let frame_bytes = usize::from(port.mtu) + HEADER_BYTES + 2 * TAG_BYTES;
    let frame_bytes = u32::try_from(frame_bytes).unwrap_or(u32::MAX);
    let stale = stale_bytes(u32::from(queues), frame_bytes);
    format!(
        "; {queues} receive queues: headroom covers a gap of the queue's worker and one of the owner; \
         each priority may hold {} beyond it, because a queue knows what the others held a turn \
         before, and the buffer sets that aside",
        show_size(stale.into())
    )
}

/// The longest time for which this thread was kept from its core during the measurement.
pub(crate) fn measure_gap() -> Duration {
    let start = Instant::now();
    let (mut last, mut longest) = (start, Duration::ZERO);
    while last - start < MEASURE {
        let now = Instant::now();
        longest = longest.max(now - last);
        last = now;
    }
    longest
}

/// What that gap means for `config`; `None` if no class is lossless.
pub(crate) fn gap_line(config: &SwitchConfig, gap: Duration) -> Option<String> {
    let allowed_ns = config.poll_gap_allowed_ns()?;
    let gap_ns = u64::try_from(gap.as_nanos()).unwrap_or(u64::MAX);
    let line = format!("longest polling gap of a probe on this machine: {}", show_ns(gap_ns));
    Some(if gap_ns <= allowed_ns {
        line
    } else {
        format!(
            "{line}; headroom covers {}: longer gaps fill the devices' receive queues, which lose frames \
             when full; isolate the workers' cores, or set `[headroom] poll`",
            show_ns(allowed_ns)
        )
    })
}

fn show_ns(ns: u64) -> String {
    match ns {
        0 => "0 ns".to_owned(),
        ns if ns % 1_000_000 == 0 => format!("{} ms", ns / 1_000_000),
        ns if ns >= 1_000_000 => format!("{}.{} ms", ns / 1_000_000, ns / 100_000 % 10),
        ns if ns >= 1_000 => format!("{} us", ns / 1_000),
        ns => format!("{ns} ns"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn config(lossless: &str) -> SwitchConfig {
        let text = format!(
            "name = \"A\"\n[[lossless]]\npriority = 3\n{lossless}\n\
             [[port]]\nname = \"h1\"\ndevice = \"net_tap0\"\nspeed = \"50M\"\nvlan = 1\n\
             [[port]]\nname = \"h2\"\ndevice = \"net_tap1\"\nspeed = \"50M\"\nvlan = 1\n\
             [[port]]\nname = \"up\"\ndevice = \"net_memif0\"\nspeed = \"1G\"\nvlan = 1\n"
        );
        SwitchConfig::parse(Path::new("A.toml"), &text).unwrap_or_else(|error| panic!("{error}"))
    }

    #[test]
    fn headroom_that_is_shared_says_how_many_queues_it_holds() {
        let of = |buffer: &str| {
            let config = config(&format!("headroom = \"100KB\"\n[buffer]\n{buffer}"));
            headroom_line(&config.settings)
        };
        let text = |all: &str, count: u8| {
            format!(
                "headroom: 3 lossless queues may use 300 KB and share {all}; {count} of them can use all \
                 of theirs at once; if one more needs it, frames that obey PFC are lost"
            )
        };
        assert_eq!(of(""), None);
        assert_eq!(of("over_subscribe_ratio = 1"), None);
        assert_eq!(of("headroom_pool = \"400KB\""), None);
        assert_eq!(of("over_subscribe_ratio = 2"), Some(text("150 KB", 1)));
        assert_eq!(of("headroom_pool = \"299KB\""), Some(text("299 KB", 2)));
    }

    #[test]
    fn ports_with_the_same_text_share_a_line() {
        assert_eq!(
            lines(&config("")),
            [
                "ports h1, h2: lossless for senders that obey PFC, with polling gaps of 10 ms here \
                 and 10 ms at the peer; beyond that its receive queue holds 18601 frames",
                "port up: lossless for senders that obey PFC, with polling gaps of 20 us here and \
                 20 us at the peer",
            ]
        );
    }

    /// 65,535 quanta at 10G are 3.4 ms, of which 2.1 are left when the next refresh is due.
    #[test]
    fn a_pause_that_ends_within_a_polling_gap_is_not_called_lossless() {
        let with = |speed: &str| {
            let text = format!(
                "name = \"A\"\n[[lossless]]\npriority = 3\n[buffer]\nsize = \"60MB\"\n\
                 [[port]]\nname = \"h1\"\ndevice = \"net_tap0\"\n{speed}\nvlan = 1\n"
            );
            SwitchConfig::parse(Path::new("A.toml"), &text)
                .unwrap_or_else(|error| panic!("{error}"))
        };
        let fast = lines(&with("speed = \"10G\""));
        assert!(
            fast[0].starts_with("port h1: NOT lossless with polling gaps of 10 ms"),
            "{fast:?}"
        );
        assert!(fast[0].contains("a pause can end after 2097 us"), "{fast:?}");
        for speed in ["", "speed = \"1G\""] {
            let slow = lines(&with(speed));
            assert!(slow[0].starts_with("port h1: lossless for senders that obey PFC"), "{slow:?}");
        }
    }

    /// What arrives while nobody polls is in no VIQ, so the device must hold it.
    #[test]
    fn a_receive_queue_that_cannot_hold_a_gap_is_not_called_lossless() {
        let line = |device: &str, head: &str| {
            let text = format!(
                "name = \"A\"\n[[lossless]]\npriority = 3\n[buffer]\nsize = \"90MB\"\n{head}\n\
                 [[port]]\nname = \"p\"\n{device}\nvlan = 1\n"
            );
            let config = SwitchConfig::parse(Path::new("A.toml"), &text);
            lines(&config.unwrap_or_else(|error| panic!("{error}")))[0].clone()
        };
        let nic = |speed: &str, more: &str| {
            format!("pci = \"0000:01:00.0\"\nspeed = \"{speed}\"\n{more}")
        };
        let fast = line(&nic("100G", ""), "");
        assert_eq!(
            fast,
            "port p: NOT lossless with polling gaps of 20 us here and 20 us at the peer; beyond that \
             its receive ring holds 4096 frames: its receive queue holds 4096 frames, and up to 2048 \
             that wait and 2976 of the shortest that arrive within 20 us, a polling gap, do not fit; \
             give a larger `rx_desc` or a shorter `[headroom] poll`"
        );
        let poll = "[headroom]\npoll = \"10us\"";
        let sleep = "[workers]\nidle = \"sleep\"";
        let packet = "device = \"net_af_packet0,iface=v0";
        for (device, head, is_lossless) in [
            (nic("100G", ""), poll, true),
            (nic("100G", "rx_desc = 8192"), "", true),
            (nic("40G", ""), "", true),
            (nic("40G", "rx_desc = 1024"), "", false),
            (nic("10G", "rx_desc = 32"), "", false),
            (nic("2G", ""), sleep, true),
            (nic("10G", ""), sleep, false),
            (format!("{packet}\"\nspeed = \"10M\""), "", true),
            (format!("{packet}\""), "", false),
            (format!("{packet},framecnt=16384\""), "", true),
        ] {
            let line = line(&device, head);
            assert_eq!(!line.contains("NOT lossless"), is_lossless, "{device} {head}: {line}");
        }
        let asleep = line(&nic("10G", ""), sleep);
        assert!(asleep.contains("within 1000 us, which an idle worker may sleep"), "{asleep}");
    }

    #[test]
    fn a_headroom_that_is_too_small_is_not_called_lossless() {
        let lines = lines(&config("headroom = \"20KB\""));
        assert!(lines[0].starts_with("ports h1, h2: NOT lossless with polling gaps"), "{lines:?}");
        assert!(lines[0].contains("headroom of 20 KB is "), "{lines:?}");
    }

    #[test]
    fn a_gap_is_judged_by_the_least_that_any_port_allows_for() {
        let config = config("");
        let line = |gap| gap_line(&config, gap).unwrap();
        assert_eq!(
            line(Duration::from_micros(9)),
            "longest polling gap of a probe on this machine: 9 us"
        );
        assert!(line(Duration::from_millis(2)).contains("headroom covers 20 us"));
    }

    #[test]
    fn a_gap_is_never_longer_than_it_took_to_measure() {
        let start = Instant::now();
        let gap = measure_gap();
        assert!(gap > Duration::ZERO && gap <= start.elapsed());
    }
}
