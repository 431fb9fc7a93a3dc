//! Exclusive use of a device: what it depends on is locked before it is opened.
//!
//! DPDK opens an interface, a capture or a socket that another switch already uses; both would then
//! work on it. Each lock here is a kernel object that ends with the process, so no stale lock
//! remains:
//!
//! | device | lock |
//! |---|---|
//! | `net_tap` | a queue of the tap ([`super::tap`]) |
//! | `net_af_packet`, `net_af_xdp`, `net_pcap` on interfaces | an abstract socket by their index |
//! | files that `net_pcap` writes | a lock (`flock`) on the file itself |
//! | sockets where `net_memif` is the server | the socket, by DPDK |
//! | NICs | a lock on the device's file in sysfs, by the EAL |

use super::device_args::{DeviceArgs, PciAddress};
use super::memif::{self, SocketInUse};
use super::owners::Owners;
use super::tap::{NAME_DEFAULT, Tap, TapError};
use nix::net::if_::if_nametoindex;
use nix::sys::socket::{getsockopt, sockopt::PeerCredentials};
use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::os::fd::AsFd;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::path::{Path, PathBuf};

/// The locks of one device, until this is dropped.
#[derive(Debug, Default)]
pub(super) struct DeviceLock {
    tap: Option<Tap>,
    _interfaces: Vec<UnixListener>,
    _files: Vec<File>,
}

/// Why a device cannot be locked.
#[derive(Debug, thiserror::Error)]
pub(super) enum DeviceLockError {
    #[error(transparent)]
    Tap(#[from] TapError),
    #[error("the interface {name} is in use by {owners}")]
    Interface { name: String, owners: Owners },
    #[error("the file {} is being written by {owners}", path.display())]
    File { path: PathBuf, owners: Owners },
    #[error("the NIC is in use by {owners}")]
    Nic { owners: Owners },
    #[error(transparent)]
    Socket(#[from] SocketInUse),
}

impl DeviceLockError {
    /// The advice, where it is more specific than the driver's general one.
    pub(super) fn advice(&self) -> Option<String> {
        let advice = match self {
            Self::Tap(error) => return error.advice(),
            Self::Interface { .. } => "name another interface, or stop that process",
            Self::File { .. } => "name another file in tx_pcap=, or stop that process",
            Self::Nic { .. } => "name another NIC, or stop that process",
            Self::Socket(_) => {
                "name another path in socket=, join it with role=client, or stop that process"
            }
        };
        Some(advice.to_owned())
    }
}

impl DeviceLock {
    /// Locks what the device of `args` depends on. What does not exist or cannot be read is left to
    /// the driver to refuse.
    pub(super) fn acquire(
        args: &DeviceArgs,
        rx_queue_frames: Option<u32>,
    ) -> Result<Self, DeviceLockError> {
        let mut lock = Self::default();
        if !args.is_virtual() {
            // The EAL locks it, because the EAL accesses NICs when it starts.
        } else if args.is_of("net_tap") {
            let name = args.value("iface").unwrap_or(NAME_DEFAULT);
            lock.tap = Some(Tap::acquire(name, rx_queue_frames)?);
        } else if args.is_of("net_memif") {
            memif::check_socket(args)?;
        } else {
            let keys = ["iface", "rx_iface", "tx_iface", "rx_iface_in"];
            let mut names: Vec<&str> = keys.iter().flat_map(|key| args.values(key)).collect();
            names.sort_unstable();
            names.dedup();
            for name in names {
                lock._interfaces.extend(lock_interface(name)?);
            }
            for path in args.values("tx_pcap") {
                lock._files.extend(lock_output(Path::new(path))?);
            }
        }
        Ok(lock)
    }

    /// The device has started: the tap's interface is monitored from now on.
    pub(super) fn started(&mut self) -> Result<(), DeviceLockError> {
        Ok(self.tap.as_mut().map_or(Ok(()), Tap::monitor)?)
    }

    /// The tap, if the device is one.
    pub(super) const fn tap(&self) -> Option<&Tap> {
        self.tap.as_ref()
    }
}

/// Interfaces are numbered in each network namespace, and so are abstract sockets: a number that is
/// free here is free. An interface that was moved away after the start takes its number with it, so
/// that a new one of its name is another.
fn lock_interface(name: &str) -> Result<Option<UnixListener>, DeviceLockError> {
    let Ok(index) = if_nametoindex(name) else { return Ok(None) };
    let Ok(address) = SocketAddr::from_abstract_name(format!("knotless-interface-{index}")) else {
        return Ok(None);
    };
    match UnixListener::bind_addr(&address) {
        Ok(listener) => Ok(Some(listener)),
        Err(error) if error.kind() == io::ErrorKind::AddrInUse => Err(DeviceLockError::Interface {
            name: name.to_owned(),
            owners: interface_owner(&address),
        }),
        Err(_) => Ok(None),
    }
}

/// The process that has locked an interface.
fn interface_owner(address: &SocketAddr) -> Owners {
    UnixStream::connect_addr(address).map(|socket| peer(&socket)).unwrap_or_default()
}

/// The process at the other end.
pub(super) fn peer(socket: &impl AsFd) -> Owners {
    let credentials = getsockopt(socket, PeerCredentials).ok();
    let pid = credentials.and_then(|it| u32::try_from(it.pid()).ok());
    pid.map(Owners::process).unwrap_or_default()
}

/// Locks a file that will be written. Not a pipe or device, which several processes may write.
fn lock_output(path: &Path) -> Result<Option<File>, DeviceLockError> {
    let opened = OpenOptions::new().append(true).create(true).open(path);
    let Ok(file) = opened else { return Ok(None) };
    if !file.metadata().is_ok_and(|it| it.is_file()) {
        return Ok(None);
    }
    let taken = |owners| DeviceLockError::File { path: path.to_owned(), owners };
    lock(file).map_err(taken)
}

/// Locks a NIC's entry in sysfs, which every user of the NIC sees. `uio` lets several processes
/// drive one NIC.
pub(super) fn lock_nic(sys: &Path, address: PciAddress) -> Result<Option<File>, DeviceLockError> {
    let path = sys.join(format!("bus/pci/devices/{address}/vendor"));
    let Ok(file) = File::open(path) else { return Ok(None) };
    lock(file).map_err(|owners| DeviceLockError::Nic { owners })
}

fn lock(file: File) -> Result<Option<File>, Owners> {
    match file.try_lock() {
        Ok(()) => Ok(Some(file)),
        Err(TryLockError::WouldBlock) => {
            Err(file.metadata().map(|it| Owners::of_lock(&it)).unwrap_or_default())
        }
        // A filesystem without locks.
        Err(TryLockError::Error(_)) => Ok(None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OWN: &str = "is in use by another port of this switch";

    #[test]
    fn an_interface_is_held_once_and_free_again() {
        let first = lock_interface("lo").unwrap();
        assert!(first.is_some());
        let error = lock_interface("lo").unwrap_err();
        assert_eq!(error.to_string(), format!("the interface lo {OWN}"));
        drop(first);
        assert!(lock_interface("lo").unwrap().is_some());
        assert!(lock_interface("knotless-none").unwrap().is_none(), "for the driver to refuse");
    }

    #[test]
    fn an_output_is_locked_whatever_its_path_is_called_and_a_device_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let (path, link) = (folder.path().join("a.pcap"), folder.path().join("b.pcap"));
        std::fs::write(&path, "kept").unwrap();
        std::os::unix::fs::symlink(&path, &link).unwrap();
        let first = lock_output(&path).unwrap();
        let error = lock_output(&link).unwrap_err().to_string();
        assert!(error.ends_with("is being written by another port of this switch"), "{error}");
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "kept", "nothing was touched");
        drop(first);
        assert!(lock_output(&link).unwrap().is_some());
        assert!(lock_output(Path::new("/dev/null")).unwrap().is_none());
        assert!(lock_output(&folder.path().join("no/such/folder")).unwrap().is_none());
    }

    #[test]
    fn a_nic_is_locked_by_its_entry_in_sysfs() {
        let sys = tempfile::tempdir().unwrap();
        let address: PciAddress = "0000:01:00.0".parse().unwrap();
        assert!(lock_nic(sys.path(), address).unwrap().is_none(), "no such NIC");
        let entry = sys.path().join("bus/pci/devices/0000:01:00.0");
        std::fs::create_dir_all(&entry).unwrap();
        std::fs::write(entry.join("vendor"), "0x15ad\n").unwrap();
        let first = lock_nic(sys.path(), address).unwrap();
        let error = lock_nic(sys.path(), address).unwrap_err();
        assert_eq!(error.to_string(), format!("the NIC {OWN}"));
        drop(first);
        assert!(lock_nic(sys.path(), address).unwrap().is_some());
    }
}
