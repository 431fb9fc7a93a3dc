//! PFC of a receiver that cannot keep up: it pauses its peers before its socket overflows, as a NIC
//! does before its buffer does.

use dataplane::ids::Priority;
use dataplane::time::{Instant, Speed};
use dataplane::wire::mac_control::Pfc;

/// The longest pause.
const QUANTA: u16 = u16::MAX;
/// Full bursts in a row after which frames pile up in the socket.
const FULL_BURSTS: u32 = 8;

/// When to send PFC.
#[derive(Debug)]
pub(super) struct Backlog {
    priority: Priority,
    quanta_ns: u64,
    full_bursts: u32,
    /// When the pause is to be refreshed, while one is on.
    refresh_at: Option<Instant>,
    /// Pauses begun.
    pub pauses: u64,
}

impl Backlog {
    pub(super) fn new(priority: Priority, speed: Speed) -> Self {
        let quanta_ns = speed.quanta_ns(QUANTA);
        Self { priority, quanta_ns, full_bursts: 0, refresh_at: None, pauses: 0 }
    }

    /// A burst was read, `is_full` or not; the PFC frame to send now.
    pub(super) fn on_burst(&mut self, is_full: bool, now: Instant) -> Option<Pfc> {
        self.full_bursts = if is_full { self.full_bursts + 1 } else { 0 };
        let pause = |quanta| Pfc::default().with(self.priority, quanta);
        match self.refresh_at {
            None if self.full_bursts >= FULL_BURSTS => {
                self.refresh_at = Some(now + self.quanta_ns / 2);
                self.pauses += 1;
                Some(pause(QUANTA))
            }
            Some(_) if self.full_bursts == 0 => {
                self.refresh_at = None;
                Some(pause(0))
            }
            Some(at) if now >= at => {
                self.refresh_at = Some(now + self.quanta_ns / 2);
                Some(pause(QUANTA))
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_backlog_pauses_refreshes_and_resumes() {
        let three = Priority::from_low_bits(3);
        let mut backlog = Backlog::new(three, Speed::from_gbps(1));
        let at = |us: u64| Instant::from_ns(us * 1_000);
        for us in 0..7 {
            assert_eq!(backlog.on_burst(true, at(us)), None);
        }
        assert_eq!(backlog.on_burst(true, at(7)).map(|pfc| pfc.quanta[3]), Some(QUANTA));
        assert_eq!(backlog.on_burst(true, at(8)), None, "it was said");
        // 65,535 quanta of 512 bits at 1 Gb/s are 33.6 ms.
        let refresh = backlog.on_burst(true, at(17_000)).map(|pfc| pfc.quanta[3]);
        assert_eq!(refresh, Some(QUANTA));
        assert_eq!(backlog.on_burst(false, at(17_001)).map(|pfc| pfc.quanta[3]), Some(0));
        assert_eq!(backlog.on_burst(false, at(17_002)), None);
        assert_eq!(backlog.pauses, 1);
    }
}
