//! What DPDK opens for a port, how fast it is, and the MAC address it has.

use super::Device;
use super::port_draft::PortReader;
use super::schema::PortTable;
use crate::did_you_mean;
use crate::error::ConfigError;
use dataplane::ids::PortId;
use dataplane::time::Speed;
use dataplane::wire::MacAddress;

impl PortReader<'_> {
    pub(super) fn device(&self, table: &PortTable) -> Result<Device, ConfigError> {
        match (&table.device, &table.pci) {
            (Some(_), Some(pci)) => {
                self.wrong(pci.span(), "a port has a `device` or a `pci`, not both")
            }
            (None, None) => self.wrong(
                self.span.clone(),
                "a port needs a `device`, such as \"net_tap0,iface=kt0\", or a `pci` address",
            ),
            (Some(field), None) => {
                let text = field.get_ref().trim();
                let name = text.split(',').next().unwrap_or_default();
                let word = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
                if !name.starts_with("net_") || !name.chars().all(word) || name.len() > 63 {
                    let message = format!(
                        "`{name}` is no virtual device; DPDK's begin with net_, as net_tap0, net_pcap0 \
                         or net_af_packet0 do"
                    );
                    return self.wrong(field.span(), message);
                }
                if let Err(message) = check_driver(name) {
                    return self.wrong(field.span(), message);
                }
                Ok(Device::Virtual(text.to_owned()))
            }
            (None, Some(field)) => match pci_address(field.get_ref()) {
                Some(address) => Ok(Device::Pci(address)),
                None => {
                    let text = field.get_ref();
                    let message =
                        format!("`{text}` is no PCI address; write it as \"0000:01:00.0\"");
                    self.wrong(field.span(), message)
                }
            },
        }
    }

    pub(super) fn speed(
        &self,
        table: &PortTable,
        device: &Device,
    ) -> Result<(Speed, bool), ConfigError> {
        match (&table.speed, device) {
            (Some(field), Device::Virtual(_)) => {
                Ok((field.get_ref().0, table.pace.unwrap_or(true)))
            }
            (Some(field), Device::Pci(_)) => Ok((field.get_ref().0, table.pace.unwrap_or(false))),
            (None, Device::Virtual(_)) if table.pace == Some(true) => {
                self.wrong(self.span.clone(), "`pace` needs a `speed` to hold the port to")
            }
            (None, Device::Virtual(_)) => Ok((device.kind().speed(), false)),
            (None, Device::Pci(_)) => self.wrong(
                self.span.clone(),
                "a NIC needs its `speed`, such as \"40G\"; the headroom follows from it",
            ),
        }
    }

    pub(super) fn mac(&self, table: &PortTable) -> Result<MacAddress, ConfigError> {
        let Some(field) = &table.mac else { return Ok(derived_mac(self.switch, self.id)) };
        let mac = field.get_ref().0;
        if mac == MacAddress::default() {
            let message =
                format!("{mac} is no station's address; use one such as 02:00:00:00:00:01");
            return self.wrong(field.span(), message);
        }
        if mac.is_multicast() {
            let message = format!(
                "{mac} is a group's address, not a station's; make the first octet even, as in 02"
            );
            return self.wrong(field.span(), message);
        }
        Ok(mac)
    }
}

/// The drivers of virtual devices that Knotless is tried with.
const DRIVERS: [&str; 7] =
    ["net_af_packet", "net_af_xdp", "net_memif", "net_null", "net_pcap", "net_ring", "net_tap"];
/// DPDK's other drivers of virtual Ethernet devices, from 22.11 to 25.11. What this build of DPDK
/// has is told when the switch starts. `net_tun` is not among them: its packets have no Ethernet
/// header.
const OTHER_DRIVERS: [&str; 6] = [
    "net_bonding",
    "net_failsafe",
    "net_softnic",
    "net_vdev_netvsc",
    "net_vhost",
    "net_virtio_user",
];

/// That the name is a driver's, with a number or a word of its own behind it. DPDK itself takes the
/// longest driver whose name the device's begins with, so that a misspelled name opens another
/// device, or opens one with the arguments of another. `Err` is the whole message.
fn check_driver(name: &str) -> Result<(), String> {
    let own = |driver: &str| name.strip_prefix(driver);
    let is_own = |rest: &str| rest.starts_with(|c: char| !c.is_ascii_alphabetic());
    if DRIVERS.iter().chain(&OTHER_DRIVERS).any(|driver| own(driver).is_some_and(is_own)) {
        return Ok(());
    }
    let stem = name.trim_end_matches(|c: char| c.is_ascii_digit());
    let number = &name[stem.len()..];
    let number = if number.is_empty() { "0" } else { number };
    Err(match did_you_mean::nearest(stem, DRIVERS) {
        Some(near) => {
            format!("there is no virtual device `{name}`; did you mean `{near}{number}`?")
        }
        None => {
            let known = DRIVERS.join(", ");
            format!("there is no virtual device `{name}`; DPDK has {known}, each with a number")
        }
    })
}

/// `text` as DOMAIN:BUS:DEVICE.FUNCTION in lower case; the domain may be left out.
fn pci_address(text: &str) -> Option<String> {
    let lower = text.trim().to_ascii_lowercase();
    let full = if lower.matches(':').count() == 1 { format!("0000:{lower}") } else { lower };
    let (address, function) = full.split_once('.')?;
    let hex = |part: &str, digits: usize| {
        part.len() == digits && part.chars().all(|c| c.is_ascii_hexdigit())
    };
    let parts: Vec<&str> = address.split(':').collect();
    let &[domain, bus, device] = parts.as_slice() else { return None };
    let right = hex(domain, 4) && hex(bus, 2) && hex(device, 2) && hex(function, 1);
    (right && function < "8").then_some(full)
}

/// A locally administered address, the same at every start: 02, four octets of the switch's name,
/// and the port's number.
fn derived_mac(switch: &str, id: PortId) -> MacAddress {
    let [.., a, b, c, d] = super::name_hash(switch).to_be_bytes();
    #[expect(clippy::cast_possible_truncation, reason = "port 256 is 0; all 256 still differ")]
    let number = id.number() as u8;
    MacAddress([0x02, a, b, c, d, number])
}
