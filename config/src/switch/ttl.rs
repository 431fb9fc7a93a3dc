//! `[ttl]`: classes by hops, instead of by rules.

use super::port_draft::PortDraft;
use super::schema::{SwitchFile, TreeField, TtlTable};
use crate::error::ConfigError;
use crate::source::Source;
use dataplane::ids::Priority;
use dataplane::limits::PRIORITIES;
use dataplane::snapshot::PortMode;
use dataplane::ttl_class::{Parity, TtlClasses};
use toml::Spanned;

/// The TTL that hosts send with, by Linux's custom.
const START_DEFAULT: u64 = 64;

/// The classes, if the switch has them.
///
/// # Errors
/// They contradict each other, the rules or the lossless priorities.
pub(super) fn classes(
    source: &Source,
    file: &SwitchFile,
) -> Result<Option<TtlClasses>, ConfigError> {
    let Some(table) = &file.ttl else { return Ok(None) };
    if let Some(rules) = &file.rules {
        let message = "classes go by hops ([ttl]) or by rules, not both; remove one of them";
        return Err(source.at(rules.span(), message));
    }
    if let Some(fabric) = &file.fabric {
        let message =
            "classes go by hops ([ttl]) or by levels ([fabric]), not both; remove one of them";
        return Err(source.at(fabric.span(), message));
    }
    let ttl_classes = TtlClasses {
        ttl0: start(source, table.get_ref())?,
        priorities: priorities(source, table)?.into_iter().collect(),
        parity: match table.get_ref().tree {
            None => Parity::All,
            Some(TreeField::Odd) => Parity::Odd,
            Some(TreeField::Even) => Parity::Even,
        },
    };
    check_path(source, table.get_ref(), &ttl_classes)?;
    check_lossless(source, file, table, &ttl_classes)?;
    Ok(Some(ttl_classes))
}

fn start(source: &Source, table: &TtlTable) -> Result<u8, ConfigError> {
    let Some(field) = &table.start else { return Ok(64) };
    match u8::try_from(*field.get_ref()) {
        Ok(ttl) if ttl >= 8 => Ok(ttl),
        _ => {
            let message = format!(
                "a TTL of {}; frames start with 8 to 255, and hosts mostly with {START_DEFAULT}",
                field.get_ref()
            );
            Err(source.at(field.span(), message))
        }
    }
}

fn priorities(source: &Source, table: &Spanned<TtlTable>) -> Result<Vec<Priority>, ConfigError> {
    let field = &table.get_ref().classes;
    let mut priorities: Vec<Priority> = Vec::new();
    for one in field.get_ref() {
        let priority = one.get_ref().0;
        if priorities.contains(&priority) {
            let message = format!("priority {priority} is a class already; each has its own");
            return Err(source.at(one.span(), message));
        }
        priorities.push(priority);
    }
    if priorities.len() < 2 {
        let message = "a class for the hosts and one for the first switch are the least; name the \
                       priorities of class 0, 1, ...";
        return Err(source.at(field.span(), message));
    }
    Ok(priorities)
}

/// `k >= d`: a class for each link of the longest path (section 1.3).
fn check_path(
    source: &Source,
    table: &TtlTable,
    ttl_classes: &TtlClasses,
) -> Result<(), ConfigError> {
    let Some(field) = &table.hops else { return Ok(()) };
    let (links, classes) = (*field.get_ref(), ttl_classes.priorities.len());
    if u64::try_from(classes).is_ok_and(|classes| links <= classes) {
        return Ok(());
    }
    let message = if links > PRIORITIES as u64 {
        format!(
            "paths of {links} links need as many classes, and PFC has {PRIORITIES}; use a scheme that \
             does not count hops, such as `rules`"
        )
    } else {
        format!("paths of {links} links need {links} classes; `classes` has {classes}")
    };
    Err(source.at(field.span(), message))
}

/// What is lossless here is just what the classes that come here need.
fn check_lossless(
    source: &Source,
    file: &SwitchFile,
    ttl: &Spanned<TtlTable>,
    ttl_classes: &TtlClasses,
) -> Result<(), ConfigError> {
    for table in &file.lossless {
        if let Some(ports) = &table.get_ref().ports {
            let message = "the classes of [ttl] are lossless on every port; remove `ports`";
            return Err(source.at(ports.span(), message));
        }
        let field = &table.get_ref().priority;
        let priority = field.get_ref().0;
        if ttl_classes.lossless_bits() & priority.bit() == 0 {
            let message = format!(
                "priority {priority} is no class that comes to this switch, so nothing would use it; \
                 take this table out or name it in `classes`"
            );
            return Err(source.at(field.span(), message));
        }
    }
    for class in ttl_classes.classes_here() {
        let priority = ttl_classes.priorities[class];
        if !file.lossless.iter().any(|table| table.get_ref().priority.get_ref().0 == priority) {
            let message = format!(
                "class {class} is priority {priority}; add [[lossless]] with priority = {priority}"
            );
            return Err(source.at(ttl.get_ref().classes.span(), message));
        }
    }
    Ok(())
}

/// A port that counts hops routes, and knows which class its pauses name: at a port of hosts the
/// one in which they have all lossless frames, if the file gives one.
///
/// # Errors
/// A port bridges.
pub(super) fn apply(
    source: &Source,
    file: &SwitchFile,
    ttl_classes: &TtlClasses,
    ports: &mut [PortDraft<'_>],
) -> Result<(), ConfigError> {
    for port in ports {
        if port.pfc && matches!(port.config.mode, PortMode::Bridged(_)) {
            let message = format!(
                "port `{}` switches, and only routing lowers the TTL by which [ttl] counts; give it \
                 `addresses` or pfc = false",
                port.name()
            );
            return Err(source.at(port.table.span(), message));
        }
        port.settings.upstream = ttl_classes.upstream();
        let table = file.ttl.as_ref().filter(|_| !port.table.get_ref().trusted);
        let host_priority = table.and_then(|table| table.get_ref().host_priority.as_ref());
        port.settings.host_priority = host_priority.map(|field| field.get_ref().0);
    }
    Ok(())
}
