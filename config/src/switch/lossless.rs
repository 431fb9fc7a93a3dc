//! `[[lossless]]`: which priorities are lossless, and which table a port goes by.

use super::port_draft::{PortDraft, named_port};
use super::schema::{LosslessTable, SwitchFile};
use crate::error::ConfigError;
use crate::source::Source;
use dataplane::limits::PRIORITIES;
use toml::Spanned;

/// The table of each priority at one port; `None` where the priority is lossy.
pub(super) type PortTables<'a> = [Option<&'a Spanned<LosslessTable>>; PRIORITIES];

/// The lossless priorities, as bits: those that are lossless at some port.
///
/// # Errors
/// One has two tables without `ports`, or no priority is left for lossy frames.
pub(super) fn priorities(source: &Source, file: &SwitchFile) -> Result<u8, ConfigError> {
    let (mut bits, mut general_bits) = (0, 0);
    for table in &file.lossless {
        let field = &table.get_ref().priority;
        let priority = field.get_ref().0;
        if table.get_ref().ports.is_none() {
            if general_bits & priority.bit() != 0 {
                let message = format!(
                    "priority {priority} has a [[lossless]] already; one is enough, unless they \
                     name their `ports`"
                );
                return Err(source.at(field.span(), message));
            }
            general_bits |= priority.bit();
        }
        bits |= priority.bit();
        if bits == u8::MAX {
            let message = "all eight priorities are lossless; leave one for lossy frames";
            return Err(source.at(field.span(), message));
        }
    }
    Ok(bits)
}

/// The tables of each port, in port order. What names a port comes before what names none.
///
/// # Errors
/// A port that does not exist, has no PFC, or is named twice for a priority.
pub(super) fn by_port<'a>(
    source: &Source,
    file: &'a SwitchFile,
    ports: &[PortDraft<'_>],
) -> Result<Vec<PortTables<'a>>, ConfigError> {
    let mut all = vec![[None; PRIORITIES]; ports.len()];
    for table in &file.lossless {
        let priority = table.get_ref().priority.get_ref().0;
        for name in table.get_ref().ports.iter().flat_map(|list| list.get_ref()) {
            let index = named_port(source, name, ports)?;
            let port = &ports[index];
            if !port.pfc {
                let message = format!(
                    "port `{}` has pfc = false, so nothing is lossless there; remove it here",
                    port.name()
                );
                return Err(source.at(name.span(), message));
            }
            if all[index][priority.index()].replace(table).is_some() {
                let message = format!(
                    "port `{}` has a [[lossless]] with priority {priority} already; name it once",
                    port.name()
                );
                return Err(source.at(name.span(), message));
            }
        }
    }
    for table in file.lossless.iter().filter(|table| table.get_ref().ports.is_none()) {
        let priority = table.get_ref().priority.get_ref().0;
        for (tables, _) in all.iter_mut().zip(ports).filter(|(_, port)| port.pfc) {
            tables[priority.index()].get_or_insert(table);
        }
    }
    Ok(all)
}
