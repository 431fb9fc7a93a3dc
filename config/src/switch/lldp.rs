//! `[lldp]` and `[fabric]`: whether the switch says who it is, and whether it learns its level and
//! writes its own rules.

use super::PortConfig;
use super::schema::{FabricTable, PortTable, SwitchFile};
use crate::error::ConfigError;
use crate::source::Source;
use agents::lldp::{AllowedPeer, Device, LEVEL_LIMIT_DEFAULT, LEVEL_MAX, LldpSettings, PortRole};
use dataplane::ids::Priority;
use dataplane::snapshot::PortMode;
use fabric::RuleSet;
use fabric::compile::{LOSSLESS_MAX, port_roles};
use toml::Spanned;

const SECOND_NS: u64 = 1_000_000_000;

/// What the LLDP agent is to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lldp {
    /// Its times, and what it says of levels.
    pub settings: LldpSettings,
    /// By port: who may be at the other end.
    pub faces: Vec<AllowedPeer>,
    /// How often a frame may turn up again and stay lossless, if the switch writes its own rules.
    pub bounces: Option<u8>,
}

/// The agent, if the file asks for one.
///
/// # Errors
/// The tables contradict each other, or a port.
pub(super) fn build(
    source: &Source,
    file: &SwitchFile,
    ports: &[PortConfig],
) -> Result<Option<Lldp>, ConfigError> {
    let fabric = file.fabric.as_ref();
    let is_enabled = file.lldp.as_ref().map(|table| table.get_ref().enable);
    match (is_enabled, fabric) {
        (Some(false), Some(fabric)) => {
            let message =
                "levels are learned by LLDP, which [lldp] turns off; remove one of the two";
            return Err(source.at(fabric.span(), message));
        }
        (None | Some(false), None) => {
            let named = file.port.iter().find_map(|port| port.get_ref().peer.as_ref());
            return match named {
                Some(field) if is_enabled.is_none() => {
                    let message = "`peer` says what LLDP may believe; add [lldp] or [fabric]";
                    Err(source.at(field.span(), message))
                }
                _ => Ok(None),
            };
        }
        _ => {}
    }
    let faces = file.port.iter().map(|port| faces(source, port.get_ref(), fabric.is_some()));
    let is_router = ports.iter().any(|port| matches!(port.mode, PortMode::Routed { .. }));
    let level = fabric.and_then(|table| table.get_ref().level.as_ref());
    let level_limit = fabric.map_or(Ok(LEVEL_LIMIT_DEFAULT), |table| {
        table
            .get_ref()
            .levels
            .as_ref()
            .map_or(Ok(LEVEL_LIMIT_DEFAULT), |field| levels(source, field))
    })?;
    let settings = LldpSettings {
        device: if is_router { Device::Router } else { Device::Bridge },
        learns: fabric.is_some(),
        level: level.map(|field| self::level(source, field, level_limit)).transpose()?,
        level_limit,
        ..times(source, file)?
    };
    let bounces = fabric.map(|table| bounces(source, table.get_ref())).transpose()?;
    Ok(Some(Lldp { settings, faces: faces.collect::<Result<_, _>>()?, bounces }))
}

fn times(source: &Source, file: &SwitchFile) -> Result<LldpSettings, ConfigError> {
    let mut settings = LldpSettings::default();
    let Some(table) = file.lldp.as_ref().map(Spanned::get_ref) else { return Ok(settings) };
    if let Some(field) = &table.interval {
        let interval_ns = field.get_ref().0;
        let interval_s = u16::try_from(interval_ns / SECOND_NS).unwrap_or(u16::MAX);
        if !interval_ns.is_multiple_of(SECOND_NS) || !(1..=3_600).contains(&interval_s) {
            let message = "an LLDP `interval` is 1 to 3600 whole seconds, such as \"30s\"";
            return Err(source.at(field.span(), message));
        }
        settings.interval_s = interval_s;
    }
    if let Some(field) = &table.hold {
        let hold = u16::try_from(*field.get_ref()).ok().filter(|hold| (2..=10).contains(hold));
        settings.hold = hold.ok_or_else(|| {
            let message = format!("a `hold` of {} intervals; it is 2 to 10", field.get_ref());
            source.at(field.span(), message)
        })?;
    }
    settings.profile = table.profile;
    Ok(settings)
}

/// Who may be at the other end: as the file says, or a switch where tags are believed.
fn faces(source: &Source, port: &PortTable, learns: bool) -> Result<AllowedPeer, ConfigError> {
    let Some(field) = &port.peer else {
        return Ok(if port.trusted { AllowedPeer::Any } else { AllowedPeer::Host });
    };
    let faces = *field.get_ref();
    if learns && faces != AllowedPeer::Host && !port.trusted {
        let message = "a port that may face a switch must be `trusted`, or what that switch has tagged \
                       is marked anew; add trusted = true, or say peer = \"host\"";
        return Err(source.at(field.span(), message));
    }
    Ok(faces)
}

fn levels(source: &Source, field: &Spanned<u64>) -> Result<u8, ConfigError> {
    let levels = u8::try_from(*field.get_ref()).ok();
    levels.filter(|levels| (2..=LEVEL_MAX).contains(levels)).ok_or_else(|| {
        let message = format!("{} `levels`; LLDP can state 2 to {LEVEL_MAX}", field.get_ref());
        source.at(field.span(), message)
    })
}

fn level(source: &Source, field: &Spanned<u64>, limit: u8) -> Result<u8, ConfigError> {
    let level = u8::try_from(*field.get_ref()).ok().filter(|level| (1..=limit).contains(level));
    level.ok_or_else(|| {
        let message = format!(
            "a `level` of {}; switches with hosts are 1, those above them 2, and {limit} is the most \
             (`levels`); without it the level is learned",
            field.get_ref()
        );
        source.at(field.span(), message)
    })
}

fn bounces(source: &Source, table: &FabricTable) -> Result<u8, ConfigError> {
    let Some(field) = &table.bounces else { return Ok(1) };
    let most = LOSSLESS_MAX - 1;
    u8::try_from(*field.get_ref()).ok().filter(|&bounces| bounces <= most).ok_or_else(|| {
        let message = format!(
            "{} `bounces` need as many lossless priorities and one more; {most} are the most",
            field.get_ref()
        );
        source.at(field.span(), message)
    })
}

/// The rules of a switch that has learned nothing yet, if it is to write its own: every port that
/// may lead up counts as an uplink. `given` says that there are others.
///
/// # Errors
/// The file names rules as well.
pub(super) fn first_rules(
    source: &Source,
    file: &SwitchFile,
    given: bool,
) -> Result<Option<RuleSet>, ConfigError> {
    let Some(table) = &file.fabric else { return Ok(None) };
    if given || file.rules.is_some() {
        let span = file.rules.as_ref().map_or_else(|| table.span(), Spanned::span);
        let message = "with [fabric] the switch writes its own rules; remove `rules`, or [fabric]";
        return Err(source.at(span, message));
    }
    let facing = |port: &Spanned<PortTable>| {
        let port = port.get_ref();
        let is_host = match &port.peer {
            Some(field) => *field.get_ref() == AllowedPeer::Host,
            None => !port.trusted,
        };
        if is_host { PortRole::Downlink } else { PortRole::Uplink }
    };
    let facings: Vec<PortRole> = file.port.iter().map(facing).collect();
    let bounces = bounces(source, table.get_ref())?;
    let mut rules = port_roles::rules(file.name.get_ref(), &facings, bounces);
    // Tag t has priority t, as compiled rules have it, if no [[tag]] says otherwise.
    for table in file.tag.iter().map(Spanned::get_ref) {
        let said: Option<Priority> = table.priority.as_ref().map(|field| field.get_ref().0);
        if let (Some(priority), Some(of_tag)) =
            (said, rules.priorities.get_mut(&table.tag.get_ref().0))
        {
            *of_tag = priority;
        }
    }
    Ok(Some(rules))
}
