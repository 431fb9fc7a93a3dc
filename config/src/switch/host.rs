//! `[host]` and `tap` of a port: which ports the machine has as interfaces, and how fast it may be
//! spoken to.

use super::port_draft::{PortDraft, PortReader};
use super::schema::{PortTable, SwitchFile};
use super::{Device, PortConfig};
use crate::did_you_mean;
use crate::error::ConfigError;
use crate::fields::TapField;
use crate::source::Source;
use dataplane::host_class::{HostClass, HostRates};
use dataplane::limiter::PoliceRate;

/// The longest name of an interface of Linux (`IFNAMSIZ`, less its end).
const NAME_BYTES_MAX: usize = 15;

/// What a class may pass, if SWITCH.toml does not say.
const fn default_rate(class: HostClass) -> PoliceRate {
    let (per_second, burst) = match class {
        // A table of 200,000 routes takes 5,000 full segments.
        HostClass::Bgp | HostClass::Local => (10_000, 2_000),
        // Both ends of 30 sessions of 50 ms.
        HostClass::Bfd | HostClass::Ospf | HostClass::Isis => (2_000, 500),
        HostClass::ArpNd | HostClass::Icmp | HostClass::Other => (1_000, 250),
        // A neighbor sends at most five at once and one per second (IEEE 802.1AB-2016, 9.2.5.22).
        HostClass::Lldp => (32, 32),
        HostClass::Exception => (5_000, 1_000),
    };
    PoliceRate { per_second, burst }
}

/// The rates; `None` if no port has a TAP.
///
/// # Errors
/// A class that is none.
pub(super) fn rates(
    source: &Source,
    file: &SwitchFile,
    ports: &[PortConfig],
) -> Result<Option<HostRates>, ConfigError> {
    let mut rates: HostRates = core::array::from_fn(|class| default_rate(HostClass::ALL[class]));
    for (name, field) in &file.host.rates {
        let Some(&class) = HostClass::ALL.iter().find(|class| class.name() == name) else {
            let names = HostClass::ALL.iter().map(|class| class.name());
            let right = did_you_mean::nearest(name, names.clone()).map_or_else(
                || format!("they are {}", names.collect::<Vec<_>>().join(", ")),
                |near| format!("did you mean `{near}`?"),
            );
            return Err(source.at(field.span(), format!("`{name}` is no class; {right}")));
        };
        let rate = field.get_ref();
        let burst = rate.burst.unwrap_or(rate.rate / 4);
        rates[class as usize] = PoliceRate { per_second: rate.rate, burst };
    }
    Ok(ports.iter().any(|port| port.tap.is_some()).then_some(rates))
}

impl PortReader<'_> {
    /// Whether the port is to have a TAP.
    pub(super) fn has_tap(&self, table: &PortTable) -> bool {
        match &table.tap {
            Some(field) => *field.get_ref() != TapField::Is(false),
            None => self.taps,
        }
    }

    /// The name of the TAP of a port with this name and device, if it is to have one.
    pub(super) fn tap(
        &self,
        table: &PortTable,
        port: &str,
        device: &Device,
    ) -> Result<Option<String>, ConfigError> {
        if !self.has_tap(table) {
            return Ok(None);
        }
        let field = table.tap.as_ref();
        let name = match field.map(|field| field.get_ref()) {
            Some(TapField::Named(name)) => name.as_str(),
            _ => port,
        };
        let span = field.map_or_else(|| self.span.clone(), |field| field.span());
        let is_plain = |c: char| c.is_ascii_graphic() && !"/:%".contains(c);
        if name.is_empty()
            || name.len() > NAME_BYTES_MAX
            || matches!(name, "." | "..")
            || !name.chars().all(is_plain)
        {
            let message = format!(
                "`{name}` cannot be the name of an interface, which has 1 to {NAME_BYTES_MAX} letters, \
                 digits, `-`, `_` and `.`; give the port's TAP a name, tap = \"NAME\""
            );
            return self.wrong(span, message);
        }
        if device.interface() == Some(name) {
            let message = format!(
                "`{name}` is the interface behind the port's device; give its TAP a name of its own, \
                 tap = \"NAME\""
            );
            return self.wrong(span, message);
        }
        Ok(Some(name.to_owned()))
    }

    /// No two TAPs, and no TAP and the device of another port, have one name.
    pub(super) fn check_tap_apart(
        &self,
        port: &PortDraft<'_>,
        other: &PortDraft<'_>,
    ) -> Result<(), ConfigError> {
        let table = port.table.get_ref();
        let span = table.tap.as_ref().map_or_else(|| self.span.clone(), |field| field.span());
        let (tap, its_tap) = (port.config.tap.as_deref(), other.config.tap.as_deref());
        let clash = |name: Option<&str>, others: [Option<&str>; 2]| {
            name.is_some() && others.contains(&name)
        };
        if clash(tap, [its_tap, other.config.device.interface()])
            || clash(its_tap, [port.config.device.interface(), None])
        {
            let message = format!(
                "port {} has the interface `{}` already; give this TAP another name, tap = \"NAME\"",
                other.config.id,
                tap.or(its_tap).unwrap_or_default()
            );
            return self.wrong(span, message);
        }
        Ok(())
    }
}

impl Device {
    /// The kernel's interface behind a virtual device, if it names one.
    fn interface(&self) -> Option<&str> {
        let Self::Virtual(text) = self else { return None };
        text.split(',').find_map(|argument| argument.trim().strip_prefix("iface="))
    }
}
