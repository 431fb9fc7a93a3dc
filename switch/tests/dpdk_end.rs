//! What DPDK's interrupt thread does after everything of the switch's is closed, until the process
//! ends.
#![cfg(feature = "dpdk")]

#[allow(dead_code, reason = "each test file uses a part of it")]
mod rig;

use nix::sys::socket::{AddressFamily, SockFlag, SockType, UnixAddr, connect, socket};
use rig::Pools;
use std::os::fd::AsRawFd;
use std::thread;
use std::time::Duration;
use switch::dpdk::eal::{Eal, EalOptions};
use switch::dpdk::memory::Memory;
use switch::dpdk::port::{Port, PortOptions};

/// The driver leaves the listener of a server's socket with the interrupt thread. A peer that
/// connects late wakes it, and what it reads must still be there.
#[test]
fn a_late_peer_finds_a_process_that_can_end_well() {
    let eal = Eal::init(&EalOptions::new(Memory::Plain { mb: 128 })).unwrap();
    let name = format!("knotless-end-{}", std::process::id());
    let pools = Pools::new(&eal, "end", 255);
    let vdev = format!("net_memif0,role=server,socket={name},socket-abstract=yes");
    drop(Port::open(&eal, &vdev, &PortOptions::default(), &pools.data).unwrap());
    drop((pools, eal));

    let peer = socket(AddressFamily::Unix, SockType::SeqPacket, SockFlag::empty(), None).unwrap();
    let address = UnixAddr::new_abstract(name.as_bytes()).unwrap();
    // The address may be free by now; if it is not, the thread wakes up.
    let _connected = connect(peer.as_raw_fd(), &address);
    thread::sleep(Duration::from_millis(200));
}
