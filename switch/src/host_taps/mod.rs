//! The host's TAPs: each port as an interface of the machine's kernel, by which its daemons (FRR,
//! lldpd, sshd) and tools (ping, tcpdump, iproute2) work.
//!
//! Frames that the switch is addressed by, or that it does not handle, go from the workers through
//! the policers of their class ([`dataplane::host_class`]) to the control thread, and by the TAP to
//! the kernel. What the kernel sends leaves by the port, in the priority of the switch's own
//! frames: charged to no VIQ, and never paused.
//!
//! | file | idea |
//! |---|---|
//! | `tap` | one TAP |
//! | `watch` | the thread that follows addresses and sets carriers |
//! | `rtnetlink` | what is asked of the kernel |
//! | `addresses` | what the switch is addressed by |
//! | `interface_indexes` | which interface is which port |

mod addresses;
mod interface_indexes;
mod rtnetlink;
mod tap;
mod watch;

pub(crate) use addresses::HostAddresses;
pub(crate) use interface_indexes::InterfaceIndexes;
pub(crate) use watch::THREAD;

use crate::control::stats::TapStats;
use crate::tap_queue::Queue;
use config::SwitchConfig;
use config::switch::PortConfig;
use dataplane::ids::PortId;
use dataplane::limits::FRAME_BYTES_MAX;
use dataplane::snapshot::PortMode;
use dataplane::wire::ethernet;
use ipnet::IpNet;
use nix::net::if_::if_nametoindex;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use rtnetlink::{InterfaceAddress, Rtnetlink};
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::fd::AsFd;
use std::sync::Arc;
use tap::{Tap, TapCounters};
use watch::{HostChange, Watch};

/// Frames taken from one TAP in one step, so that a kernel that sends much does not delay other
/// work.
const FRAMES_A_STEP: usize = 64;

/// Why the TAPs cannot be made.
#[derive(Debug, thiserror::Error)]
pub(crate) enum HostTapsError {
    /// An interface has the name.
    #[error(
        "port {port}: the interface {tap} exists; give the port's TAP another name, tap = \"NAME\""
    )]
    Exists {
        /// The port.
        port: String,
        /// The name.
        tap: String,
    },
    /// The kernel refuses something.
    #[error(
        "port {port}: the TAP {tap} cannot be {doing}: {error}; it takes CAP_NET_ADMIN and /dev/net/tun"
    )]
    System {
        /// The port.
        port: String,
        /// The name.
        tap: String,
        /// What was tried.
        doing: &'static str,
        /// The error.
        error: io::Error,
    },
    /// The thread cannot start, or rtnetlink does not answer.
    #[error("the TAPs cannot be watched: {0}")]
    Watch(io::Error),
}

/// All TAPs of a switch.
#[derive(Debug)]
pub(crate) struct HostTaps {
    /// Before the TAPs: its thread ends first.
    watch: Watch,
    taps: BTreeMap<PortId, Tap>,
    indexes: InterfaceIndexes,
    /// What the kernel told last.
    addresses: HostAddresses,
    /// Ports whose carrier is up.
    up: BTreeMap<PortId, bool>,
    frame: Box<[u8]>,
    scratch: Vec<u8>,
}

impl HostTaps {
    /// Makes the TAPs of `config` and gives them MAC address, MTU and the addresses of the file.
    /// They are set up, and have no carrier yet. `None` if no port has one.
    ///
    /// # Errors
    /// The kernel refuses, or an interface with such a name exists.
    pub(crate) fn open(config: &SwitchConfig) -> Result<Option<Self>, HostTapsError> {
        let with_tap = || config.ports.iter().filter_map(|port| Some((port, port.tap.as_ref()?)));
        if with_tap().next().is_none() {
            return Ok(None);
        }
        let rtnetlink = Rtnetlink::open().map_err(HostTapsError::Watch)?;
        let (mut taps, mut pairs) = (BTreeMap::new(), Vec::new());
        for (port, name) in with_tap() {
            let (tap, index) = make(config, port, name, &rtnetlink)?;
            pairs.push((index, port.id));
            taps.insert(port.id, tap);
        }
        let indexes: InterfaceIndexes = pairs.into_iter().collect();
        let queues = taps.iter().map(|(&port, tap)| (port, Arc::clone(&tap.queue)));
        let watch = Watch::start(queues.collect(), indexes.clone());
        Ok(Some(Self {
            watch: watch.map_err(HostTapsError::Watch)?,
            up: taps.keys().map(|&port| (port, false)).collect(),
            taps,
            indexes,
            addresses: HostAddresses::default(),
            frame: vec![0; FRAME_BYTES_MAX + ethernet::TAG_BYTES].into_boxed_slice(),
            scratch: Vec::new(),
        }))
    }

    /// Which interface is which port.
    pub(crate) const fn indexes(&self) -> &InterfaceIndexes {
        &self.indexes
    }

    /// Whether `port` has a TAP.
    pub(crate) fn has(&self, port: PortId) -> bool {
        self.taps.contains_key(&port)
    }

    /// Gives a frame that `port` received to the kernel.
    pub(crate) fn deliver(&mut self, port: PortId, frame: &[u8]) {
        if let Some(tap) = self.taps.get_mut(&port) {
            tap.deliver(frame, &mut self.scratch);
        }
    }

    /// Takes frames that the kernel sends, and gives each to `take` with its port. Returns whether
    /// there were any.
    pub(crate) fn receive(&mut self, mut take: impl FnMut(PortId, &[u8])) -> bool {
        let readable: Vec<bool> = {
            let fds = self.taps.values().map(|tap| tap.queue.as_fd());
            let mut fds: Vec<_> = fds.map(|fd| PollFd::new(fd, PollFlags::POLLIN)).collect();
            if !poll(&mut fds, PollTimeout::ZERO).is_ok_and(|ready| ready > 0) {
                return false;
            }
            fds.iter().map(|fd| fd.any().unwrap_or(false)).collect()
        };
        let mut any = false;
        for ((&port, tap), _) in
            self.taps.iter_mut().zip(readable).filter(|(_, is_readable)| *is_readable)
        {
            for _ in 0..FRAMES_A_STEP {
                // An interface that was deleted is an error, and nothing more comes.
                let Ok(frame) = tap.receive(&mut self.frame) else { break };
                any = true;
                take(port, frame);
            }
        }
        any
    }

    /// The carrier of the TAP of `port` follows its link.
    pub(crate) fn set_link(&mut self, port: PortId, up: bool) {
        if self.has(port) && self.up.insert(port, up) != Some(up) {
            self.watch.change(HostChange::Carrier(port, up));
        }
    }

    /// The addresses, if the kernel has told of a change.
    pub(crate) fn take_addresses(&mut self) -> Option<&HostAddresses> {
        self.addresses = self.watch.take_addresses()?;
        Some(&self.addresses)
    }

    /// SWITCH.toml was read again: what differs in it between `old` and `new` is changed at the
    /// TAPs. Returns the addresses as they will be.
    pub(crate) fn reload(&mut self, old: &[PortConfig], new: &[PortConfig]) -> &HostAddresses {
        for (old, new) in old.iter().zip(new) {
            let (Some(index), port) = (self.indexes.index_of(new.id), new.id) else { continue };
            let list = self.addresses.by_port.entry(port).or_default();
            for &net in old.addresses.iter().filter(|net| !new.addresses.contains(net)) {
                list.retain(|known| *known != net);
                self.watch.change(HostChange::Remove(InterfaceAddress { index, net }));
            }
            for &net in new.addresses.iter().filter(|net| !old.addresses.contains(net)) {
                list.push(net);
                self.watch.change(HostChange::Add(InterfaceAddress { index, net }));
            }
            list.sort_unstable();
        }
        &self.addresses
    }

    /// What the TAPs count, in port order.
    pub(crate) fn stats<'a>(&'a self, config: &'a SwitchConfig) -> Vec<TapStats> {
        let stats = self.taps.iter().map(|(&port, tap)| {
            let TapCounters { to_host_frames, to_host_lost_frames, from_host_frames } =
                tap.counters;
            let nets = self.addresses.by_port.get(&port).map_or(&[][..], Vec::as_slice);
            TapStats {
                port: config.ports[port.index()].name.clone(),
                tap: tap.name.clone(),
                index: self.indexes.index_of(port).unwrap_or_default(),
                carrier: self.up.get(&port).copied().unwrap_or_default(),
                addresses: nets.iter().map(IpNet::to_string).collect(),
                to_host_frames,
                to_host_lost_frames,
                from_host_frames,
            }
        });
        stats.collect()
    }
}

/// A port has a link-local address, whatever the machine's other interfaces have.
fn enable_ipv6(name: &str) {
    // A kernel without IPv6 has no such file; an address of the port's is then refused.
    let _without = fs::write(format!("/proc/sys/net/ipv6/conf/{name}/disable_ipv6"), "0");
}

/// Makes the TAP of one port; it, and its number.
fn make(
    config: &SwitchConfig,
    port: &PortConfig,
    name: &str,
    rtnetlink: &Rtnetlink,
) -> Result<(Tap, u32), HostTapsError> {
    let failed = |doing| {
        let (port, tap) = (port.name.clone(), name.to_owned());
        move |error| HostTapsError::System { port, tap, doing, error }
    };
    let queue = Queue::create_only(name).map_err(|error| match error.kind() {
        io::ErrorKind::ResourceBusy => {
            HostTapsError::Exists { port: port.name.clone(), tap: name.to_owned() }
        }
        _ => failed("made")(error),
    })?;
    let index = if_nametoindex(name).map_err(|error| failed("found")(error.into()))?;
    let settings = &config.settings.ports[port.id.index()];
    rtnetlink
        .set_link(index, settings.mac, port.mtu)
        .map_err(failed("given its MAC address and MTU"))?;
    enable_ipv6(name);
    // Before it is up, or daemons that are told of it would see a link that is none yet.
    queue.set_carrier(false).map_err(failed("without a carrier"))?;
    rtnetlink.set_up(index).map_err(failed("set up"))?;
    for &net in &port.addresses {
        let added = rtnetlink.add_address(InterfaceAddress { index, net });
        added.map_err(failed("given its addresses"))?;
    }
    let vlan = match port.mode {
        PortMode::Routed { vlan } => vlan.map(|vlan| vlan.value()),
        PortMode::Bridged(_) => None,
    };
    let counters = TapCounters::default();
    let tap = Tap { name: name.to_owned(), queue: Arc::new(queue), vlan, counters };
    Ok((tap, index))
}
