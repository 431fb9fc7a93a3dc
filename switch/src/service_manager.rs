//! What a service manager (systemd, `Type=notify`) hears of a running switch: when it forwards,
//! reads its files again and stops, and that all of its workers take turns (`sd_notify`(3),
//! `WatchdogSec=` in `systemd.service`(5)).
//!
//! Without a service manager, `NOTIFY_SOCKET` is not set and nothing is sent.

use dataplane::time::Instant;
use sd_notify::NotifyState;

/// The connection to the service manager.
#[derive(Debug, Default)]
pub(crate) struct ServiceManager {
    /// How often it wants to hear that the switch is alive, if at all.
    watchdog_ns: Option<u64>,
    alive_at: Instant,
    is_reloading: bool,
}

impl ServiceManager {
    /// The one that started this process, if any.
    pub(crate) fn of_this_process() -> Self {
        let interval = sd_notify::watchdog_enabled();
        let watchdog_ns = interval.map(|time| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX));
        Self { watchdog_ns, ..Self::default() }
    }

    /// The ports are started, and the control socket answers.
    pub(crate) fn ready(&self, status: &str) {
        send(&[NotifyState::Ready, NotifyState::Status(status)]);
    }

    /// Files are being read, or tables are on their way to the workers; or that is over.
    pub(crate) fn set_reloading(&mut self, is_reloading: bool) {
        if std::mem::replace(&mut self.is_reloading, is_reloading) == is_reloading {
            return;
        }
        match NotifyState::monotonic_usec_now() {
            Ok(now) if is_reloading => send(&[NotifyState::Reloading, now]),
            _ => send(&[NotifyState::Ready]),
        }
    }

    /// The workers take turns. It hears so twice in the time after which it would kill the switch.
    pub(crate) fn alive(&mut self, now: Instant) {
        let Some(watchdog_ns) = self.watchdog_ns else { return };
        if now >= self.alive_at {
            self.alive_at = now + watchdog_ns / 2;
            send(&[NotifyState::Watchdog]);
        }
    }

    /// The switch drains its queues and stops.
    pub(crate) fn stopping(&self) {
        send(&[NotifyState::Stopping]);
    }
}

/// A service manager that does not listen must not stop a switch.
fn send(states: &[NotifyState<'_>]) {
    let _nobody_listens = sd_notify::notify(states);
}
