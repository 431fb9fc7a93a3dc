//! A Linux interface: its address, its counters, and its neighbors.

use super::{StopFlag, TrafficError};
use dataplane::wire::MacAddress;
use nix::ifaddrs::getifaddrs;
use nix::net::if_::InterfaceFlags;
use nix::sys::socket::LinkAddr;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use std::net::IpAddr;
use std::process::Command;
use std::time::{Duration, Instant};

/// An interface of this network namespace.
#[derive(Clone, Debug)]
pub(crate) struct Interface {
    /// Its name.
    pub name: String,
    /// Its MAC address.
    pub mac: MacAddress,
    pub(crate) link: LinkAddr,
    /// Whether it is set up.
    is_up: bool,
}

/// Timeout of the resolution of a neighbor.
const RESOLVE_TIME_MAX: Duration = Duration::from_secs(5);
const RESOLVE_POLL: Duration = Duration::from_millis(20);
/// Poll interval of an interface that is down.
const UP_POLL: Duration = Duration::from_millis(1);

impl Interface {
    /// Finds the interface called `name`.
    ///
    /// # Errors
    /// There is none, or the system call fails.
    pub(crate) fn find(name: &str) -> Result<Self, TrafficError> {
        let all = getifaddrs().map_err(|source| TrafficError::System {
            what: "list the interfaces",
            source: source.into(),
        })?;
        let (link, is_up) = all
            .filter(|interface| interface.interface_name == name)
            .find_map(|interface| {
                let is_up = interface.flags.contains(InterfaceFlags::IFF_UP);
                Some((*interface.address?.as_link_addr()?, is_up))
            })
            .ok_or_else(|| TrafficError::NoInterface { interface: name.to_owned() })?;
        let mac = MacAddress(link.addr().unwrap_or_default());
        Ok(Self { name: name.to_owned(), mac, link, is_up })
    }

    /// If `ended` says that this interface went down or away: waits until the interface of this
    /// name is up again, this one or another one. A NIC keeps what it has to send meanwhile. `None`
    /// if it ended otherwise, is not up after `patience_ns`, or `stop` was asked meanwhile.
    pub(crate) fn back_after(
        &self,
        ended: &Result<(), TrafficError>,
        patience_ns: u64,
        stop: &StopFlag,
    ) -> Option<Self> {
        if !matches!(ended, Err(TrafficError::InterfaceDown { .. })) {
            return None;
        }
        let asked = Instant::now();
        while asked.elapsed() < Duration::from_nanos(patience_ns) && !stop.asked() {
            match Self::find(&self.name) {
                Ok(found) if found.is_up => return Some(found),
                _ => std::thread::sleep(UP_POLL),
            }
        }
        None
    }

    pub(crate) fn index(&self) -> i32 {
        i32::try_from(self.link.ifindex()).unwrap_or(i32::MAX)
    }

    /// Frames that this machine handed to the interface and the interface dropped, since it exists.
    ///
    /// # Errors
    /// The file cannot be read.
    pub(crate) fn tx_dropped(&self) -> Result<u64, TrafficError> {
        // Not /sys/class/net: it shows the network namespace in which it was mounted, which may be
        // another.
        let table = std::fs::read_to_string("/proc/thread-self/net/dev")
            .map_err(|source| TrafficError::System { what: "read the counters", source })?;
        tx_dropped_in(&table, &self.name)
            .ok_or_else(|| TrafficError::NoInterface { interface: self.name.clone() })
    }

    /// The kernel's route to `destination` by this interface.
    ///
    /// # Errors
    /// It has no route that leaves here.
    pub(crate) fn route(&self, destination: IpAddr) -> Result<Route, TrafficError> {
        let text = destination.to_string();
        let routes: Vec<RouteEntry> = ip(&["-j", "route", "get", &text, "oif", &self.name])
            .map_err(|why| self.unresolved(destination, why))?;
        match routes.into_iter().next() {
            Some(route) if route.dev == self.name => {
                Ok(Route { next_hop: route.gateway.unwrap_or(destination), source: route.prefsrc })
            }
            Some(route) => {
                Err(self.unresolved(destination, format!("the route leaves by {}", route.dev)))
            }
            None => Err(self.unresolved(destination, "no route".to_owned())),
        }
    }

    /// The longest IP packet that it takes, bytes.
    ///
    /// # Errors
    /// `ip` does not know the interface.
    pub(crate) fn mtu(&self) -> Result<u32, TrafficError> {
        let links: Vec<LinkEntry> = ip(&["-j", "link", "show", "dev", &self.name])
            .map_err(|why| TrafficError::Arguments(format!("{}: {why}", self.name)))?;
        let link = links.into_iter().next();
        link.map(|link| link.mtu)
            .ok_or_else(|| TrafficError::NoInterface { interface: self.name.clone() })
    }

    /// The MAC of `next_hop` from the kernel's neighbor table; triggers its resolution if needed.
    ///
    /// # Errors
    /// It does not answer.
    pub(crate) fn neighbor(&self, next_hop: IpAddr) -> Result<MacAddress, TrafficError> {
        self.mac_of(next_hop).map_err(|why| self.unresolved(next_hop, why))
    }

    fn unresolved(&self, destination: IpAddr, why: String) -> TrafficError {
        TrafficError::Unresolved { destination, interface: self.name.clone(), why }
    }

    fn mac_of(&self, next_hop: IpAddr) -> Result<MacAddress, String> {
        let text = next_hop.to_string();
        let end = Instant::now() + RESOLVE_TIME_MAX;
        loop {
            let entries: Vec<NeighborEntry> =
                ip(&["-j", "neigh", "show", "to", &text, "dev", &self.name])?;
            if let Some(mac) = entries.into_iter().find_map(|entry| entry.lladdr?.parse().ok()) {
                return Ok(mac);
            }
            if Instant::now() >= end {
                return Err("it does not answer; give dst-mac".to_owned());
            }
            // `use` makes the kernel ask, without a datagram that the other side would count.
            run_ip(&["neigh", "replace", &text, "dev", &self.name, "use"])?;
            std::thread::sleep(RESOLVE_POLL);
        }
    }
}

/// How frames to a destination leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Route {
    /// The next hop.
    pub next_hop: IpAddr,
    /// The address the kernel would send from.
    pub source: Option<IpAddr>,
}

#[derive(Debug, Deserialize)]
struct LinkEntry {
    mtu: u32,
}

#[derive(Debug, Deserialize)]
struct RouteEntry {
    dev: String,
    gateway: Option<IpAddr>,
    prefsrc: Option<IpAddr>,
}

#[derive(Debug, Deserialize)]
struct NeighborEntry {
    lladdr: Option<String>,
}

/// Runs `ip` of iproute2 and reads the JSON it prints.
fn ip<T: DeserializeOwned>(arguments: &[&str]) -> Result<T, String> {
    let printed = run_ip(arguments)?;
    config::json::read(&String::from_utf8_lossy(&printed))
        .map_err(|error| format!("`ip` printed what is not understood: {error}"))
}

fn run_ip(arguments: &[&str]) -> Result<Vec<u8>, String> {
    let output = Command::new("ip")
        .args(arguments)
        .output()
        .map_err(|error| format!("cannot run `ip` (iproute2): {error}"))?;
    if output.status.success() {
        return Ok(output.stdout);
    }
    let message = String::from_utf8_lossy(&output.stderr);
    Err(message.lines().next().unwrap_or("`ip` failed").to_owned())
}

/// The transmit drops of `name` in the text of /proc/net/dev: after `name:`, eight receive columns,
/// then bytes, packets, errors and drops sent.
fn tx_dropped_in(table: &str, name: &str) -> Option<u64> {
    let columns = table.lines().find_map(|line| {
        let (interface, columns) = line.split_once(':')?;
        (interface.trim() == name).then_some(columns)
    })?;
    columns.split_ascii_whitespace().nth(11)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "\
Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop \
fifo colls carrier compressed
    lo:     10       1    2    3    4     5          6         7      8       9   10   11   12    13      14         15
  tap0: 9999999999 1 0 0 0 0 0 0 5 6 0 4242 0 0 0 0
";

    #[test]
    fn transmit_drops_are_found_by_exact_name() {
        assert_eq!(tx_dropped_in(TABLE, "lo"), Some(11));
        assert_eq!(tx_dropped_in(TABLE, "tap0"), Some(4_242));
        assert_eq!(tx_dropped_in(TABLE, "tap"), None);
        assert_eq!(tx_dropped_in("tap0: 1 2", "tap0"), None);
    }

    #[test]
    fn this_machines_loopback_is_found_and_a_made_up_name_is_not() {
        let loopback = Interface::find("lo").expect("every namespace has one");
        assert!(loopback.index() > 0);
        loopback.tx_dropped().expect("it has counters");
        let error = Interface::find("no such one").expect_err("spaces are not allowed in names");
        assert_eq!(error.to_string(), "no interface `no such one` in this network namespace");
    }
}
