//! The string that names a device: a PCI address, or a virtual device with its arguments.

use super::error::DpdkError;
use std::fmt;
use std::str::FromStr;

/// A PCI function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PciAddress {
    domain: u32,
    bus: u8,
    device: u8,
    function: u8,
}

impl fmt::Display for PciAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { domain, bus, device, function } = self;
        write!(f, "{domain:04x}:{bus:02x}:{device:02x}.{function:x}")
    }
}

/// The text is not `[DOMAIN:]BUS:DEVICE.FUNCTION` in hexadecimal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a PCI address; it looks like 0000:01:00.0")]
pub struct NotPci;

impl FromStr for PciAddress {
    type Err = NotPci;

    fn from_str(text: &str) -> Result<Self, NotPci> {
        let (rest, function) = text.rsplit_once('.').ok_or(NotPci)?;
        let (rest, device) = rest.rsplit_once(':').ok_or(NotPci)?;
        let (domain, bus) = rest.rsplit_once(':').unwrap_or(("0", rest));
        let address = Self {
            domain: hexadecimal(domain, 8)?,
            bus: narrow(hexadecimal(bus, 2)?, 0xff)?,
            device: narrow(hexadecimal(device, 2)?, 0x1f)?,
            function: narrow(hexadecimal(function, 1)?, 7)?,
        };
        Ok(address)
    }
}

/// `text` as a number of at most `digits` hexadecimal digits and nothing else.
fn hexadecimal(text: &str, digits: usize) -> Result<u32, NotPci> {
    if text.len() > digits || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Err(NotPci);
    }
    u32::from_str_radix(text, 16).map_err(|_| NotPci)
}

fn narrow(value: u32, max: u8) -> Result<u8, NotPci> {
    u8::try_from(value).ok().filter(|value| *value <= max).ok_or(NotPci)
}

/// Where a device sits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bus {
    /// A real NIC.
    Pci(PciAddress),
    /// A virtual device (vdev), made by its driver when it is opened.
    Virtual,
}

/// A device string, split.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceArgs {
    text: String,
    name_bytes: usize,
    bus: Bus,
}

impl DeviceArgs {
    /// Splits `net_tap0,iface=kt0` or `0000:01:00.0`. Does not check that the device exists.
    ///
    /// # Errors
    /// If there is no name before the first comma.
    pub fn parse(text: &str) -> Result<Self, DpdkError> {
        let name = text.split(',').next().unwrap_or_default();
        if name.trim().is_empty() {
            return Err(DpdkError::Device {
                device: text.to_owned(),
                cause: "no device is named".to_owned(),
                advice: SHAPE.to_owned(),
            });
        }
        let bus = name.parse().map_or(Bus::Virtual, Bus::Pci);
        Ok(Self { text: text.to_owned(), name_bytes: name.len(), bus })
    }

    /// All of it, as DPDK takes it.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The part before the first comma.
    pub fn name(&self) -> &str {
        &self.text[..self.name_bytes]
    }

    /// The values given to `key` behind the name, in order.
    pub(super) fn values<'a>(&'a self, key: &'a str) -> impl Iterator<Item = &'a str> {
        let pairs = self.text.split(',').skip(1).filter_map(|pair| pair.split_once('='));
        pairs.filter(move |(it, _)| *it == key).map(|(_, value)| value)
    }

    /// The first value given to `key`.
    pub(super) fn value<'a>(&'a self, key: &'a str) -> Option<&'a str> {
        self.values(key).next()
    }

    /// All of it, with `value` for `key` if that has none yet.
    pub(super) fn text_with(&self, key: &str, value: &str) -> String {
        match self.value(key) {
            Some(_) => self.text.clone(),
            None => format!("{},{key}={value}", self.text),
        }
    }

    /// Whether the device is made by the driver with this name: what follows tells devices of one
    /// driver apart.
    pub(super) fn is_of(&self, driver: &str) -> bool {
        let rest = self.name().strip_prefix(driver);
        self.bus == Bus::Virtual
            && rest.is_some_and(|it| !it.starts_with(|c: char| c.is_ascii_lowercase()))
    }

    /// Where the device sits.
    pub const fn bus(&self) -> Bus {
        self.bus
    }

    /// Whether it is a virtual device.
    pub(super) fn is_virtual(&self) -> bool {
        self.bus == Bus::Virtual
    }

    /// What a device string of this driver needs to work, to end an error message with.
    pub(crate) fn advice(&self) -> &'static str {
        if let Bus::Pci(_) = self.bus {
            return "the NIC must be there and bound to a driver that DPDK can use, such as \
                    vfio-pci (dpdk-devbind.py --status shows it)";
        }
        let known = HINTS.iter().find(|(driver, _)| self.name().starts_with(driver));
        known.map_or(SHAPE, |(_, hint)| hint)
    }
}

const SHAPE: &str =
    "name a virtual device, such as net_tap0,iface=kt0, or a PCI address, such as 0000:01:00.0";

/// A driver's name, and what it needs.
const HINTS: &[(&str, &str)] = &[
    (
        "net_pcap",
        "give rx_pcap= an existing capture and tx_pcap= a file that can be written, or iface= an \
         existing interface",
    ),
    (
        "net_tap",
        "it needs /dev/net/tun, CAP_NET_ADMIN, and in iface= a name of up to 15 characters that \
         no other interface has",
    ),
    ("net_af_packet", "give iface= an existing interface; it needs CAP_NET_RAW"),
    ("net_af_xdp", "give iface= an existing interface; it needs CAP_NET_ADMIN and CAP_BPF"),
    ("net_memif", "give role=server or role=client, and in socket= a path in a folder that exists"),
    ("net_vhost", "give iface= a path for its socket, in a folder that exists"),
    ("net_virtio_user", "give path= the socket of a net_vhost that runs, or /dev/vhost-net"),
    ("net_ring", "write net_ring0 without arguments"),
    ("net_null", "write net_null0, with size= and copy= if wanted"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pci_addresses_and_virtual_devices_are_distinguished() {
        for (text, shown) in [
            ("0000:01:00.0", "0000:01:00.0"),
            ("01:1f.7", "0000:01:1f.7"),
            ("10000:E1:00.1", "10000:e1:00.1"),
        ] {
            assert_eq!(text.parse::<PciAddress>().unwrap().to_string(), shown);
        }
        for text in ["", "net_tap0", "0000:01:00", "0000:01:20.0", "0000:01:00.8", "0:+1:00.0"] {
            assert_eq!(text.parse::<PciAddress>(), Err(NotPci), "{text}");
        }
    }

    #[test]
    fn a_device_string_is_split_at_its_first_comma() {
        let tap = DeviceArgs::parse("net_tap0,iface=kt0,mac=fixed").unwrap();
        assert_eq!((tap.name(), tap.bus()), ("net_tap0", Bus::Virtual));
        assert_eq!(tap.text(), "net_tap0,iface=kt0,mac=fixed");
        let nic = DeviceArgs::parse("0000:01:00.0,promisc=1").unwrap();
        assert!(matches!(nic.bus(), Bus::Pci(_)));
        assert!(DeviceArgs::parse("").is_err());
        assert!(DeviceArgs::parse(",iface=kt0").is_err());
    }

    #[test]
    fn arguments_are_found_by_their_key_and_drivers_by_the_name() {
        let pcap = DeviceArgs::parse("net_pcap0,rx_pcap=a,rx_pcap=b=c,tx_pcap=").unwrap();
        assert_eq!(pcap.values("rx_pcap").collect::<Vec<_>>(), ["a", "b=c"]);
        assert_eq!((pcap.value("tx_pcap"), pcap.value("net_pcap0")), (Some(""), None));
        assert_eq!(pcap.text_with("rx_pcap", "z"), pcap.text());
        let tap = DeviceArgs::parse("net_tap0").unwrap();
        assert_eq!(tap.text_with("iface", "dtap0"), "net_tap0,iface=dtap0");
        for name in ["net_tap", "net_tap0", "net_tap_a"] {
            assert!(DeviceArgs::parse(name).unwrap().is_of("net_tap"), "{name}");
        }
        assert!(!DeviceArgs::parse("net_tapestry").unwrap().is_of("net_tap"));
    }

    #[test]
    fn every_driver_has_its_own_advice() {
        let advice = |text: &str| DeviceArgs::parse(text).unwrap().advice();
        assert!(advice("net_pcap0,rx_pcap=x").contains("rx_pcap="));
        assert!(advice("net_af_packet0").contains("CAP_NET_RAW"));
        assert!(advice("net_virtio_user0").contains("path="));
        assert!(advice("0000:01:00.0").contains("vfio-pci"));
        assert_eq!(advice("nonsense"), SHAPE);
    }
}
