//! SONiC's `config_db.json`, read as a SWITCH.toml and written from one.
//!
//! [`import`] reads tables by serde, resolves references in both of SONiC's forms, and writes a
//! SWITCH.toml each line of which names the key that it came from. What has no exact counterpart is
//! refused at its place, or approximated if the caller says so; all findings are said at once.
//! [`export`] goes the other way. What is read is what `config` itself then accepts: an import ends
//! with a check of its own output.

mod addresses;
mod buffers;
mod classes;
mod db;
mod egress;
mod export;
mod export_qos;
mod export_tables;
mod export_tunnels;
mod findings;
mod finish;
mod ini;
mod lossy;
mod maps;
mod model;
mod mux;
mod ports;
mod profiles;
mod reader;
mod tables;
mod toml_text;
mod tunnels;

pub use export::{Exported, export};

use crate::error::ConfigError;
use crate::source::Source;
use buffers::Groups;
use classes::Classes;
use db::Db;
use findings::{Findings, Place};
use model::Model;
use profiles::Profiles;
use reader::Reader;
use std::path::{Path, PathBuf};
use tables::Treatment;

/// What opens a port: `{index}` counts from 0, `{number}` from 1, `{name}` is the port's name. The
/// ports of SONiC's virtual switch are the interfaces eth1, eth2 and so on of their machine.
pub const DEVICE_TEMPLATE: &str = "net_af_packet{index},iface=eth{number}";

/// The files of an import, and how it is done.
#[derive(Clone, Debug)]
pub struct ImportFiles {
    /// `config_db.json`; more files add to it.
    pub databases: Vec<PathBuf>,
    /// `pg_profile_lookup.ini`.
    pub pg_lookup: Option<PathBuf>,
    /// `port_config.ini`.
    pub ports: Option<PathBuf>,
}

/// Which of the two switches of a server behind a mux cable sends to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MuxState {
    /// This one.
    Active,
    /// The other one, which frames for the server are sent to by a tunnel.
    Standby,
}

/// How an import is done.
#[derive(Clone, Debug)]
pub struct ImportOptions {
    /// Whether what has no exact counterpart is approximated.
    pub approximate: bool,
    /// What opens a port, see [`DEVICE_TEMPLATE`].
    pub device: String,
    /// The state of mux cables of which the database does not say it.
    pub mux: Option<MuxState>,
}

impl Default for ImportOptions {
    fn default() -> Self {
        Self { approximate: false, device: DEVICE_TEMPLATE.to_owned(), mux: None }
    }
}

/// A switch, imported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Imported {
    /// SWITCH.toml.
    pub text: String,
    /// What was approximated, one line each.
    pub approximations: Vec<String>,
    /// Tables that have nothing to do with the data path.
    pub skipped: Vec<String>,
}

/// Why nothing was imported or exported.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SonicError {
    /// A file cannot be read, or is not of its form.
    #[error(transparent)]
    File(#[from] ConfigError),
    /// What is wrong or refused, a line each: `FILE: TABLE|KEY|FIELD: what; what would be right`.
    #[error("{}", .0.join("\n"))]
    Refused(Vec<String>),
}

/// Reads the files, and writes what they say as SWITCH.toml.
///
/// # Errors
/// A file cannot be read, or something in it is wrong or has no counterpart.
pub fn import(files: &ImportFiles, options: &ImportOptions) -> Result<Imported, SonicError> {
    let databases =
        files.databases.iter().map(|file| Source::read(file)).collect::<Result<Vec<_>, _>>()?;
    let read = |file: &Option<PathBuf>| file.as_deref().map(Source::read).transpose();
    of_sources(&databases, read(&files.pg_lookup)?.as_ref(), read(&files.ports)?.as_ref(), options)
}

/// As [`import`], of texts.
///
/// # Errors
/// As [`import`].
pub fn import_text(
    file: &Path,
    database: &str,
    pg_lookup: Option<&str>,
    ports: Option<&str>,
    options: &ImportOptions,
) -> Result<Imported, SonicError> {
    let ini = |name: &str, text: Option<&str>| text.map(|text| Source::new(Path::new(name), text));
    let (pg_lookup, ports) =
        (ini("pg_profile_lookup.ini", pg_lookup), ini("port_config.ini", ports));
    of_sources(&[Source::new(file, database)], pg_lookup.as_ref(), ports.as_ref(), options)
}

fn of_sources(
    databases: &[Source],
    pg_lookup: Option<&Source>,
    ports: Option<&Source>,
    options: &ImportOptions,
) -> Result<Imported, SonicError> {
    let mut findings = Findings::default();
    let mut db = Db::default();
    for database in databases {
        db.add(database, &mut findings)?;
    }
    if let Some(ports) = ports {
        ini::add_ports(ports, &mut db)?;
    }
    let lookup = pg_lookup.map(ini::pg_lookup).transpose()?;
    let mut reader = Reader { db: &db, findings: &mut findings };
    let skipped = tables_of(&mut reader);
    let model = model(&mut reader, lookup.as_deref(), options.mux);
    let errors = findings.errors(options.approximate);
    if !errors.is_empty() {
        return Err(SonicError::Refused(errors));
    }
    let approximations = findings.approximations();
    let file = databases.first().map_or_else(|| Path::new(""), Source::file);
    let text = finish::text(file, &model, &approximations, options)?;
    Ok(Imported { text, approximations, skipped })
}

/// Says which tables have no counterpart; returns those that need none.
fn tables_of(reader: &mut Reader<'_>) -> Vec<String> {
    let db = reader.db;
    let mut skipped = Vec::new();
    for name in db.names().filter(|name| !db.is_empty(name)) {
        let place = Place::new(name, db.keys(name).next().unwrap_or_default(), "");
        match tables::treatment(name) {
            Some(Treatment::Read) => {}
            Some(Treatment::Skip) => skipped.push(name.to_owned()),
            Some(Treatment::Refuse(why)) => reader.refuse(&place, why),
            Some(Treatment::LeaveOut(why, instead)) => {
                // An interface without an address behind it says nothing.
                let bare = |key: &&str| !name.ends_with("_INTERFACE") || key.contains('|');
                for key in db.keys(name).filter(bare) {
                    reader.approximate(&Place::new(name, key, ""), why, instead);
                }
            }
            None => {
                let place = Place::new(name, "", "");
                reader.approximate(
                    &place,
                    "is not known, and may change forwarding",
                    "it is left out",
                );
            }
        }
    }
    skipped
}

fn model<'a>(
    reader: &mut Reader<'a>,
    lookup: Option<&'a [ini::LookupLine]>,
    mux: Option<MuxState>,
) -> Model {
    let mut model =
        Model { name: ports::name(reader), ports: ports::ports(reader), ..Model::default() };
    addresses::read(reader, &mut model);
    tunnels::loopback(reader, &mut model);
    mux::ports(reader, &mut model);
    let profiles = Profiles::new(reader, lookup);
    let groups = Groups::read(reader, &profiles, &model.ports);
    let maps: Vec<_> = model.ports.iter().map(|port| maps::of_port(reader, &port.name)).collect();
    let classes = Classes { maps: &maps, lossless: &groups.bits() };
    let used = classes.build(reader, &mut model);
    groups.lossless(reader, &mut model, used);
    model.buffer = groups.buffer(reader, &model.ports, used);
    egress::queues(reader, &mut model);
    egress::watchdog(reader, &mut model);
    tunnels::read(reader, &mut model, &classes);
    mux::read(reader, &mut model, mux);
    model
}
