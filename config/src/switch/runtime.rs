//! `[workers]`, `[memory]`, `[control]`, `[security]`, `[mac_table]`: what the process needs of the
//! machine.

use super::schema::SwitchFile;
use super::{ControlGroups, Memory, PortConfig, Security, Workers};
use crate::error::ConfigError;
use crate::source::Source;
use crate::units::show_size;
use dataplane::limits::{BURST_MAX, WORKERS_MAX};
use dataplane::settings::{BufferSettings, MacTableSettings};
use std::path::{Path, PathBuf};
use toml::Spanned;

/// Data room of an mbuf, without DPDK's 128 bytes of room in front.
const MBUF_DATA_BYTES: usize = 2_048;
/// An mbuf in memory: room in front, data, the mbuf itself (128), its private area (64) and the
/// mempool's header (64).
const MBUF_BYTES: u64 = 128 + MBUF_DATA_BYTES as u64 + 128 + 64 + 64;
/// Frames that the mempool keeps at hand for each worker.
const MBUF_CACHE: usize = 512;
/// What DPDK, its rings and device tables take besides mbufs.
const DPDK_BYTES: u64 = 48 << 20;
/// Memory is counted in hugepages of this size.
const PAGE_BYTES: u64 = 2 << 20;
/// A socket's path fits `sun_path`, with its terminating zero.
pub(super) const SOCKET_PATH_MAX: usize = 107;

/// The workers.
///
/// # Errors
/// None, too many, or a CPU twice.
pub(super) fn workers(source: &Source, file: &SwitchFile) -> Result<Workers, ConfigError> {
    let table = &file.workers;
    let in_range = |count: usize| (1..=WORKERS_MAX).contains(&count);
    let range = format!("there are 1 to {WORKERS_MAX} workers");
    match (&table.cores, &table.count) {
        (Some(_), Some(field)) => {
            let message =
                "name the `cores`, or give the `count` of workers without a core, not both";
            Err(source.at(field.span(), message))
        }
        (None, None) => Ok(Workers { count: 1, cores: Vec::new(), idle: table.idle }),
        (None, Some(field)) => match usize::try_from(*field.get_ref()) {
            Ok(count) if in_range(count) => {
                Ok(Workers { count, cores: Vec::new(), idle: table.idle })
            }
            _ => Err(source.at(field.span(), format!("`count` is {}; {range}", field.get_ref()))),
        },
        (Some(field), None) => {
            let mut cores = Vec::new();
            for core in field.get_ref() {
                let number = usize::try_from(*core.get_ref()).ok().filter(|&number| number < 4_096);
                let Some(number) = number else {
                    return Err(source.at(core.span(), format!("{} is no CPU", core.get_ref())));
                };
                if cores.contains(&number) {
                    let message =
                        format!("core {number} stands here twice; a worker needs its own");
                    return Err(source.at(core.span(), message));
                }
                cores.push(number);
            }
            if !in_range(cores.len()) {
                return Err(source.at(field.span(), format!("{} cores; {range}", cores.len())));
            }
            Ok(Workers { count: cores.len(), cores, idle: table.idle })
        }
    }
}

/// The memory: enough mbufs that the buffer's bytes are what runs out first.
///
/// # Errors
/// `size` is given and does not hold them.
pub(super) fn memory(
    source: &Source,
    file: &SwitchFile,
    buffer: &BufferSettings,
    ports: &[PortConfig],
    workers: &Workers,
) -> Result<Memory, ConfigError> {
    // Frames in a device's rings, and those a worker holds in its hands, are not in the buffer.
    let outside: usize =
        ports.iter().map(|port| port.rx_ring_frames() + port.tx_ring as usize + BURST_MAX).sum();
    let mbufs = buffer.frames_max.saturating_add(outside + workers.count * MBUF_CACHE);
    let mbuf_bytes = (mbufs as u64).saturating_mul(MBUF_BYTES);
    let needed = mbuf_bytes.saturating_add(DPDK_BYTES).next_multiple_of(PAGE_BYTES);
    let size_bytes = match &file.memory.size {
        None => needed,
        Some(field) if field.get_ref().0 >= needed => field.get_ref().0,
        Some(field) => {
            let message = format!(
                "`size` {} is {} short: a buffer of {} in cells of {} B and the rings need {mbufs} mbufs; \
                 give {} MiB, or a larger `cell` or smaller `size` in [buffer]",
                show_size(field.get_ref().0),
                show_size(needed - field.get_ref().0),
                show_size(buffer.size_bytes),
                buffer.cell_bytes,
                needed >> 20
            );
            return Err(source.at(field.span(), message));
        }
    };
    let hugepages = file.memory.hugepages;
    Ok(Memory { hugepages, size_bytes, mbufs, mbuf_data_bytes: MBUF_DATA_BYTES })
}

/// The control socket's path.
///
/// # Errors
/// It is longer than a socket's path may be.
pub(super) fn socket(source: &Source, file: &SwitchFile) -> Result<PathBuf, ConfigError> {
    let Some(field) = &file.control.socket else {
        return Ok(Path::new("/run/knotless").join(format!("{}.sock", file.name.get_ref())));
    };
    let path = source.resolve(field.get_ref());
    let bytes = path.as_os_str().len();
    if field.get_ref().as_os_str().is_empty() || bytes > SOCKET_PATH_MAX {
        let message = format!("a socket's path has 1 to {SOCKET_PATH_MAX} bytes; this has {bytes}");
        return Err(source.at(field.span(), message));
    }
    Ok(path)
}

/// The file of changes.
///
/// # Errors
/// It has no name.
pub(super) fn changes_file(
    source: &Source,
    file: &SwitchFile,
    socket: &Path,
) -> Result<PathBuf, ConfigError> {
    match &file.control.changes {
        Some(field) if field.get_ref().as_os_str().is_empty() => {
            Err(source.at(field.span(), "`changes` is the path of a file"))
        }
        Some(field) => Ok(source.resolve(field.get_ref())),
        None if file.control.socket.is_some() => {
            let mut path = socket.as_os_str().to_owned();
            path.push(".changes.json");
            Ok(path.into())
        }
        None => {
            let name = file.name.get_ref();
            Ok(Path::new("/var/lib/knotless").join(format!("{name}.changes.json")))
        }
    }
}

/// The groups that may connect to the control socket. Whether the machine has them is checked at
/// the start: a file may be checked on another machine.
///
/// # Errors
/// A name that no group can have.
pub(super) fn control_groups(
    source: &Source,
    file: &SwitchFile,
) -> Result<ControlGroups, ConfigError> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    let group = |field: &Option<Spanned<String>>| {
        let Some(field) = field else { return Ok(None) };
        let name = field.get_ref();
        if (1..=32).contains(&name.len()) && !name.starts_with('-') && name.chars().all(plain) {
            return Ok(Some(name.clone()));
        }
        let message = format!("`{name}` is no name of a group; name one of /etc/group");
        Err(source.at(field.span(), message))
    };
    let table = &file.control;
    Ok(ControlGroups { read: group(&table.read_group)?, change: group(&table.change_group)? })
}

/// What the process may still do once its ports are open.
pub(super) const fn security(file: &SwitchFile) -> Security {
    let table = &file.security;
    Security { seccomp: table.seccomp, capabilities: table.capabilities }
}

/// The table of learned addresses.
///
/// # Errors
/// A size or an age of nothing, or too much.
pub(super) fn mac_table(
    source: &Source,
    file: &SwitchFile,
) -> Result<MacTableSettings, ConfigError> {
    let table = &file.mac_table;
    let size = table.size.as_ref().map_or(16_384, |field| *field.get_ref());
    let entries_max = usize::try_from(size).ok().filter(|size| (1..=1 << 20).contains(size));
    let Some(entries_max) = entries_max else {
        let span = table.size.as_ref().map_or(0..0, Spanned::span);
        return Err(source.at(span, format!("`size` is {size} addresses; it is 1 to {}", 1 << 20)));
    };
    let age_ns = table.age.as_ref().map_or(300_000_000_000, |field| field.get_ref().0);
    if age_ns < 1_000_000_000 {
        let span = table.age.as_ref().map_or(0..0, Spanned::span);
        return Err(source.at(span, "`age` is below a second; every frame would flood"));
    }
    let hold_ns = table.hold.as_ref().map_or(0, |field| field.get_ref().0);
    if hold_ns > age_ns {
        let span = table.hold.as_ref().map_or(0..0, Spanned::span);
        return Err(source.at(span, "`hold` is longer than `age`; an address is gone by then"));
    }
    Ok(MacTableSettings { entries_max, age_ns, hold_ns })
}
