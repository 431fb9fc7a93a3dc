//! Settings that change while the workers run. They are not in the tables: each has its command.

use super::Control;
use crate::log;
use crate::platform::Platform;
use dataplane::control_rings::Command;
use dataplane::ids::{PortId, Priority};
use dataplane::pfc::watchdog::Watchdog;
use dataplane::settings::{PortSettings, SwitchSettings};

impl<P: Platform> Control<P> {
    /// Tells the workers what has changed since `old`.
    pub(super) fn reload_settings(&mut self, old: &SwitchSettings) {
        let Self { tables, workers, .. } = self;
        let new = &tables.config().settings;
        for priority in Priority::all() {
            let at = priority.index();
            for worker in workers.iter_mut() {
                if new.ecn[at] != old.ecn[at] {
                    worker.command(Command::Ecn(priority, new.ecn[at]));
                }
                if new.wred[at] != old.wred[at] {
                    worker.command(Command::Wred(priority, new.wred[at]));
                }
            }
        }
        for (port, (old, new)) in tables.config().ports.iter().zip(old.ports.iter().zip(&new.ports))
        {
            for command in of_port(port.id, old, new) {
                workers.command(port.id, command);
            }
        }
        let is_big_red = new.big_red_switch;
        if is_big_red != old.big_red_switch {
            let what = if is_big_red { "on: all lossless traffic is dropped" } else { "off" };
            log::warning("watchdog", format!("the big red switch is {what}"));
            for worker in workers.iter_mut() {
                worker.command(Command::BigRedSwitch(is_big_red));
            }
        }
    }
}

/// What the owner of `port` is told: its watchdog, and the peak rates of its queues.
fn of_port<F>(
    port: PortId,
    old: &PortSettings,
    new: &PortSettings,
) -> impl Iterator<Item = Command<F>> {
    let watchdog = (new.watchdog != old.watchdog).then(|| {
        let watchdog = new.watchdog.map(|settings| Box::new(Watchdog::new(settings)));
        Command::Watchdog(port, watchdog)
    });
    let changed =
        Priority::all().filter(move |p| new.peak_rates[p.index()] != old.peak_rates[p.index()]);
    let peaks = changed.map(move |p| Command::PeakRate(port, p, new.peak_rates[p.index()]));
    watchdog.into_iter().chain(peaks)
}
