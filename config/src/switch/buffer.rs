//! `[buffer]`, `[headroom]` and `[[lossless]]`: who may hold how many bytes, and whether the buffer
//! can keep what that promises.

use super::lossless::{self, PortTables};
use super::port_draft::PortDraft;
use super::schema::{Field, SwitchFile};
use super::viq::Planner;
use super::{gfc, headroom_pool, viq};
use crate::error::ConfigError;
use crate::fields::Size;
use crate::source::Source;
use crate::units::show_size;
use dataplane::ids::Priority;
use dataplane::limits::PRIORITIES;
use dataplane::settings::{BufferSettings, Threshold, ViqSettings, set_aside_bytes};
use toml::Spanned;

/// The default, least and largest `size`.
pub(crate) const SIZE_DEFAULT: u64 = 12_000_000;
pub(crate) const SIZE_MIN: u64 = 64_000;
pub(crate) const SIZE_MAX: u64 = 64_000_000_000;
const CELL_DEFAULT: u64 = 256;
const LOSSY_QUEUE_DEFAULT: u64 = 512_000;

/// The buffer; fills in the VIQs and the transmit limit of each port.
///
/// # Errors
/// A threshold that cannot work, or more promised than there is.
pub(super) fn build(
    source: &Source,
    file: &SwitchFile,
    ports: &mut [PortDraft<'_>],
    warnings: &mut Vec<ConfigError>,
) -> Result<BufferSettings, ConfigError> {
    let cell_bytes = bounded(source, &file.buffer.cell, CELL_DEFAULT, 64, 2_048, "cell")?;
    let lossless_ports = ports.iter().filter(|port| port.pfc).count() as u64;
    let senders = file.gfc.as_ref().map(|gfc| gfc::senders(source, gfc, lossless_ports));
    let senders = senders.transpose()?.unwrap_or_default();
    let mut planner = Planner {
        source,
        headroom: &file.headroom,
        gfc: file.gfc.as_ref(),
        senders,
        slowest_bps: ports.iter().map(|port| port.settings.speed.bps()).min().unwrap_or(1),
        cell_bytes: u16::try_from(cell_bytes).unwrap_or(u16::MAX),
        idle_gap_ns: file.workers.idle_gap_ns(),
        warnings,
    };
    let tables = lossless::by_port(source, file, ports)?;
    for (port, tables) in ports.iter_mut().zip(&tables) {
        port.settings.gfc = planner.gfc().filter(|_| port.pfc);
        port.config.tx_limit_bytes = planner.tx_limit(port)?;
        for (priority, table) in tables.iter().enumerate() {
            let viq = table.map(|table| planner.viq(table, port)).transpose()?;
            port.settings.lossless[priority] = viq;
        }
        port.config.promise = planner.promise(port);
    }
    let headroom_pool_bytes = headroom_pool::build(source, &file.buffer, ports)?;
    let default = size_default(ports, headroom_pool_bytes);
    let size_bytes = bounded(source, &file.buffer.size, default, SIZE_MIN, SIZE_MAX, "size")?;
    let longest = ports.iter().map(PortDraft::frame_bytes).max().unwrap_or_default();
    let lossy = Lossy::new(source, file, size_bytes, longest)?;
    let buffer = BufferSettings {
        size_bytes,
        cell_bytes: planner.cell_bytes,
        lossy_bytes: lossy.bytes,
        lossy_queue_bytes: lossy.queue_bytes,
        lossy_queue_alpha_log2: lossy.queue_alpha_log2,
        // A frame takes a cell at the least, so the bytes are used up with or before the frames.
        frames_max: usize::try_from(size_bytes.div_ceil(cell_bytes)).unwrap_or(usize::MAX),
        partition_bytes: None,
        headroom_pool_bytes,
    };
    let pool = check_sum(source, file, ports, &buffer)?;
    if let Some(gfc) = &file.gfc {
        gfc::check_pool(source, gfc, senders, ports, pool)?;
    }
    let partition_bytes = partitions(file, pool);
    // No priority reaches more than its partition.
    let reach = partition_bytes.map_or(pool, |sizes| sizes.into_iter().max().unwrap_or_default());
    check_reach(source, &tables, ports, reach, warnings)?;
    Ok(BufferSettings { partition_bytes, ..buffer })
}

/// A part of the pool for each lossless priority, if `[ttl]` wants that. Each priority of a port
/// has its reserve beside it, a frame at the least, so no partition is below ports x MTU (TTL-based
/// buffer management, section 1.3).
fn partitions(file: &SwitchFile, pool: u64) -> Option<[u64; PRIORITIES]> {
    file.ttl.as_ref().filter(|table| table.get_ref().partitions)?;
    let classes = u64::try_from(file.lossless.len()).unwrap_or(u64::MAX).max(1);
    let mut sizes = [0; PRIORITIES];
    for table in &file.lossless {
        sizes[table.get_ref().priority.get_ref().0.index()] = pool / classes;
    }
    Some(sizes)
}

/// Twice what reserves and headrooms take, so that a quarter is left to share and a quarter for
/// lossy traffic; whole megabytes, and not below [`SIZE_DEFAULT`].
fn size_default(ports: &[PortDraft<'_>], headroom_pool_bytes: Option<u64>) -> u64 {
    let needed = set_aside(ports, headroom_pool_bytes).saturating_mul(2);
    needed.min(SIZE_MAX).next_multiple_of(1_000_000).clamp(SIZE_DEFAULT, SIZE_MAX)
}

/// Bytes of the shared pool: what reserves, headrooms and the lossy limit leave of the buffer.
pub(super) fn pool_bytes(buffer: &BufferSettings, ports: &[PortDraft<'_>]) -> u64 {
    let set_aside = set_aside(ports, buffer.headroom_pool_bytes);
    buffer.size_bytes.saturating_sub(buffer.lossy_bytes).saturating_sub(set_aside)
}

fn set_aside(ports: &[PortDraft<'_>], headroom_pool_bytes: Option<u64>) -> u64 {
    set_aside_bytes(ports.iter().map(|port| &port.settings), headroom_pool_bytes)
}

fn viqs<'a>(ports: &'a [PortDraft<'_>]) -> impl Iterator<Item = &'a ViqSettings> {
    ports.iter().flat_map(|port| port.settings.lossless.iter().flatten())
}

/// The limits of lossy traffic: all of it, and one queue.
struct Lossy {
    bytes: u64,
    queue_bytes: u32,
    queue_alpha_log2: Option<i8>,
}

impl Lossy {
    fn new(
        source: &Source,
        file: &SwitchFile,
        size: u64,
        longest: u64,
    ) -> Result<Self, ConfigError> {
        let table = &file.buffer;
        let share = if file.lossless.is_empty() { size } else { size / 4 };
        let bytes = bounded(source, &table.lossy, share, longest, size, "lossy")?;
        let power =
            viq::alpha_log2(source, &table.lossy_queue_dynamic_th, "lossy_queue_dynamic_th")?;
        let most = bytes.min(u64::from(u32::MAX));
        let default = if power.is_some() { most } else { LOSSY_QUEUE_DEFAULT.min(most) };
        let queue = bounded(source, &table.lossy_queue, default, longest, most, "lossy_queue")?;
        let queue_bytes = u32::try_from(queue).unwrap_or(u32::MAX);
        Ok(Self { bytes, queue_bytes, queue_alpha_log2: power })
    }
}

/// Reserves, headrooms and the lossy limit fit into the buffer; returns what is left to share.
fn check_sum(
    source: &Source,
    file: &SwitchFile,
    ports: &[PortDraft<'_>],
    buffer: &BufferSettings,
) -> Result<u64, ConfigError> {
    let reserves: u64 = viqs(ports).map(|viq| u64::from(viq.reserved_bytes)).sum();
    let headrooms: u64 = ports.iter().map(|port| port.settings.headroom_bytes()).sum();
    let headrooms = buffer.headroom_pool_bytes.unwrap_or(headrooms);
    let promised = reserves + headrooms + buffer.lossy_bytes;
    if promised <= buffer.size_bytes {
        return Ok(pool_bytes(buffer, ports));
    }
    let first = file.lossless.first().map_or(0..0, Spanned::span);
    let span = file.buffer.size.as_ref().map_or(first, Spanned::span);
    let message = format!(
        "the buffer of {} promises {} too much: {} lossless queues reserve {}, their headroom takes {}, \
         lossy traffic {}; give `size` {} at least, or less headroom or `lossy`",
        show_size(buffer.size_bytes),
        show_size(promised - buffer.size_bytes),
        viqs(ports).count(),
        show_size(reserves),
        show_size(headrooms),
        show_size(buffer.lossy_bytes),
        show_size(promised)
    );
    Err(source.at(span, message))
}

/// A static threshold lies within what its VIQ can ever hold, and a sum of them beyond the pool is
/// worth a warning: then a full pool, not `static_th`, decides when to pause.
fn check_reach(
    source: &Source,
    tables: &[PortTables<'_>],
    ports: &[PortDraft<'_>],
    pool: u64,
    warnings: &mut Vec<ConfigError>,
) -> Result<(), ConfigError> {
    let mut shares = 0;
    let mut last = None;
    for (priority, (port, tables)) in
        Priority::EACH.into_iter().flat_map(|p| ports.iter().zip(tables).map(move |of| (p, of)))
    {
        let viq = port.settings.lossless[priority.index()];
        if let (Some(viq), Some(table)) = (viq, tables[priority.index()]) {
            let Threshold::Static { xoff_bytes } = viq.threshold else { continue };
            let field = &table.get_ref().static_th;
            let share = u64::from(xoff_bytes.saturating_sub(viq.reserved_bytes));
            let span = field.as_ref().map_or(0..0, Spanned::span);
            if share > pool {
                let message = unreachable(priority, share - pool, pool);
                return Err(source.at(span, message));
            }
            shares += share;
            last = Some(span);
        }
    }
    if let Some(span) = last.filter(|_| shares > pool) {
        let message = format!(
            "static thresholds together take {} more than the shared pool of {}; when it is full, \
             priorities pause below their `static_th`",
            show_size(shares - pool),
            show_size(pool)
        );
        warnings.push(source.at(span, message));
    }
    Ok(())
}

fn unreachable(priority: Priority, beyond: u64, pool: u64) -> String {
    format!(
        "`static_th` of priority {priority} is never reached: it lies {} beyond `size` and the shared pool of \
         {}; lower it or raise the buffer's `size`",
        show_size(beyond),
        show_size(pool)
    )
}

/// A size with a default and bounds.
fn bounded(
    source: &Source,
    field: &Field<Size>,
    default: u64,
    least: u64,
    most: u64,
    name: &str,
) -> Result<u64, ConfigError> {
    let (value, span) = match field {
        Some(field) => (field.get_ref().0, field.span()),
        None => (default, 0..0),
    };
    if (least..=most).contains(&value) {
        return Ok(value);
    }
    let message = format!(
        "`{name}` is {}; it is {} to {}",
        show_size(value),
        show_size(least),
        show_size(most)
    );
    Err(source.at(span, message))
}
