//! A thread that follows the addresses of the TAPs, and tells the kernel what the switch changes:
//! carriers, and addresses of SWITCH.toml.
//!
//! The kernel notifies of each change, but a socket whose buffer is full loses notifications
//! (`ENOBUFS`). So a notification only says that something changed, and the addresses are read
//! anew, all of them: after any loss, too, the switch ends with what the kernel has.

use super::addresses::HostAddresses;
use super::interface_indexes::InterfaceIndexes;
use super::rtnetlink::{InterfaceAddress, Rtnetlink};
use crate::tap_queue::Queue;
use crate::{log, named_thread};
use crossbeam::channel::{Receiver, Sender, unbounded};
use dataplane::ids::PortId;
use netlink_sys::{Socket, SocketAddr, protocols::NETLINK_ROUTE};
use nix::libc;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::thread::JoinHandle;

/// The thread's name, by which it keeps `CAP_NET_ADMIN`.
pub(crate) const THREAD: &str = "host-watch";
/// `RTMGRP_IPV4_IFADDR` and `RTMGRP_IPV6_IFADDR`.
const ADDRESS_GROUPS: u32 = 0x10 | 0x100;

/// What the kernel is to be told.
#[derive(Clone, Debug)]
pub(super) enum HostChange {
    /// The link of this port is up or down.
    Carrier(PortId, bool),
    /// This address is to be added to its interface.
    Add(InterfaceAddress),
    /// This one is to be removed.
    Remove(InterfaceAddress),
}

/// The control thread's end.
#[derive(Debug)]
pub(super) struct Watch {
    changes: Option<Sender<HostChange>>,
    wake: UnixStream,
    addresses: Receiver<HostAddresses>,
    thread: Option<JoinHandle<()>>,
}

impl Watch {
    /// Starts the thread. It tells of all addresses at once.
    pub(super) fn start(
        queues: BTreeMap<PortId, Arc<Queue>>,
        indexes: InterfaceIndexes,
    ) -> io::Result<Self> {
        let mut notifications = Socket::new(NETLINK_ROUTE)?;
        notifications.bind(&SocketAddr::new(0, ADDRESS_GROUPS))?;
        notifications.set_non_blocking(true)?;
        let (wake, woken) = UnixStream::pair()?;
        wake.set_nonblocking(true)?;
        woken.set_nonblocking(true)?;
        let (changes, to_make) = unbounded();
        let (tell, addresses) = unbounded();
        let rtnetlink = Rtnetlink::open()?;
        let watcher = Watcher {
            rtnetlink,
            notifications,
            woken,
            changes: to_make,
            tell,
            queues,
            indexes,
            last: None,
        };
        let thread = Some(named_thread::spawn(THREAD, move || watcher.run())?);
        Ok(Self { changes: Some(changes), wake, addresses, thread })
    }

    /// Has the kernel told of a change.
    pub(super) fn change(&self, change: HostChange) {
        if let Some(changes) = &self.changes {
            let _thread_has_ended = changes.send(change);
            self.wake();
        }
    }

    /// The addresses, if they have changed.
    pub(super) fn take_addresses(&self) -> Option<HostAddresses> {
        self.addresses.try_iter().last()
    }

    fn wake(&self) {
        // A full socket wakes it as well.
        let _is_awake = (&self.wake).write(&[0]);
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.changes = None;
        self.wake();
        if let Some(thread) = self.thread.take() {
            let _panicked = thread.join();
        }
    }
}

/// The thread's state.
struct Watcher {
    rtnetlink: Rtnetlink,
    notifications: Socket,
    woken: UnixStream,
    changes: Receiver<HostChange>,
    tell: Sender<HostAddresses>,
    queues: BTreeMap<PortId, Arc<Queue>>,
    indexes: InterfaceIndexes,
    last: Option<HostAddresses>,
}

impl Watcher {
    fn run(mut self) {
        self.read_addresses();
        while self.make_changes() {
            self.wait();
            if self.has_notification() {
                self.read_addresses();
            }
        }
    }

    /// Makes what changes wait; returns false if no more can come.
    fn make_changes(&mut self) -> bool {
        use crossbeam::channel::TryRecvError;
        loop {
            match self.changes.try_recv() {
                Ok(change) => self.make(&change),
                Err(TryRecvError::Empty) => return true,
                Err(TryRecvError::Disconnected) => return false,
            }
        }
    }

    fn make(&mut self, change: &HostChange) {
        let outcome = match change {
            HostChange::Carrier(port, up) => {
                self.queues.get(port).map_or(Ok(()), |queue| queue.set_carrier(*up))
            }
            HostChange::Add(address) => self.rtnetlink.add_address(*address),
            HostChange::Remove(address) => self.rtnetlink.remove_address(*address),
        };
        if let Err(error) = outcome {
            log::warning("host", format!("the kernel refuses a change of a TAP: {error}"));
            // The control thread counts on it, and is told how it is.
            self.last = None;
            self.read_addresses();
        }
    }

    /// Waits for notifications and changes.
    fn wait(&mut self) {
        let sockets = [self.notifications.as_fd(), self.woken.as_fd()];
        let mut readable = sockets.map(|fd| PollFd::new(fd, PollFlags::POLLIN));
        let _interrupted = poll(&mut readable, PollTimeout::NONE);
        let mut bytes = [0; 64];
        while self.woken.read(&mut bytes).is_ok_and(|count| count > 0) {}
    }

    /// Reads all notifications. Whether there was one, or one was lost.
    fn has_notification(&self) -> bool {
        let (mut any, mut bytes) = (false, Vec::with_capacity(8_192));
        loop {
            bytes.clear();
            match self.notifications.recv_from(&mut bytes, 0) {
                Ok(_) => any = true,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                // Some were lost. What is left is read by the next call.
                Err(error) if error.raw_os_error() == Some(libc::ENOBUFS) => any = true,
                Err(_) => return any,
            }
        }
    }

    /// Reads all addresses, and tells of them if they have changed.
    fn read_addresses(&mut self) {
        match self.rtnetlink.addresses() {
            Ok(all) => {
                let addresses = HostAddresses::of(&all, &self.indexes);
                if self.last.as_ref() != Some(&addresses) {
                    self.last = Some(addresses.clone());
                    let _switch_stops = self.tell.send(addresses);
                }
            }
            Err(error) => {
                log::error("host", format!("cannot read the addresses of the TAPs: {error}"));
            }
        }
    }
}
