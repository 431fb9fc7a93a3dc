//! SCENARIO.toml: a network, a scheme, buffers, traffic, faults, and how long.
//!
//! [`ScenarioConfig`] is the file, read and checked: every name in it is a number of the
//! [`Network`], every time is in nanoseconds. What a scenario does when it runs is `netsim`'s.

mod collective;
mod expect;
mod faults;
pub mod feasibility;
mod gfc;
mod old_words;
mod reader;
mod roce_schema;
mod schema;
mod schemes;
mod settings;
mod traffic;
mod transport;

pub use collective::{Collective, CollectiveKind};
pub use expect::Expectation;
pub use faults::{Fault, FaultKind};
pub use gfc::{Bound, Gfc, GfcForm, GfcQueue};
pub use schemes::{Scheme, SchemeKind};
pub use settings::{Buffers, Ecn, LinkDefaults, RouteKind, Routing};
pub use traffic::{
    FRAME_BYTES_MOST, Flow, Pace, Route, SizeDistribution, Sizes, Traffic, TrafficKind,
};
pub use transport::Roce;

use crate::error::ConfigError;
use crate::file_kind::FileKind;
use crate::key_path::Change;
use crate::network::NetworkConfig;
use crate::network::switch_files::SwitchFiles;
use crate::source::Source;
use fabric::Network;
use fabric::paths::PathSpec;
use reader::Reader;
use schema::ScenarioFile;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use toml::Spanned;

/// SCENARIO.toml, read and checked.
///
/// ```
/// let text = r#"
/// duration = "1ms"
/// generate = { kind = "clos", leaves = 2, spines = 1 }
/// [[flow]]
/// from = "H1"
/// to = "H2"
/// rate = "10G"
/// "#;
/// let scenario = config::ScenarioConfig::parse("two-leaves.toml".as_ref(), text)?;
/// assert_eq!(scenario.name, "two-leaves");
/// assert_eq!((scenario.flows.len(), scenario.duration_ns), (1, 1_000_000));
/// # Ok::<(), config::ConfigError>(())
/// ```
#[derive(Clone, Debug)]
pub struct ScenarioConfig {
    /// What people call it.
    pub name: String,
    /// What it shows.
    pub about: String,
    /// How long sources send.
    pub duration_ns: u64,
    /// Decides all chance.
    pub seed: u64,
    /// The topology.
    pub network: Network,
    /// Which paths `tagger` keeps lossless.
    pub paths: PathSpec,
    /// The files of all switches, if they have files: buffers, routes and classes are theirs.
    pub files: Option<Arc<SwitchFiles>>,
    /// How deadlock is, or is not, prevented.
    pub scheme: Scheme,
    /// For links that do not say.
    pub links: LinkDefaults,
    /// Buffers and queues of every switch.
    pub buffers: Buffers,
    /// How ways are found.
    pub routing: Routing,
    /// Flows one by one.
    pub flows: Vec<Flow>,
    /// Many flows at once.
    pub traffic: Vec<Traffic>,
    /// The transport of RoCE flows and of collectives.
    pub roce: Roce,
    /// Messages among many hosts.
    pub collectives: Vec<Collective>,
    /// What goes wrong, in the order of the file.
    pub faults: Vec<Fault>,
    /// By scheme: what must come out.
    pub expectations: BTreeMap<SchemeKind, Expectation>,
    /// What works but is probably not meant, in the form of errors.
    pub warnings: Vec<ConfigError>,
}

impl ScenarioConfig {
    /// Reads and checks SCENARIO.toml and the files it names.
    ///
    /// # Errors
    /// The first thing that is wrong in any of them.
    pub fn load(file: &Path) -> Result<Self, ConfigError> {
        Self::of(&Source::read(file)?, &[])
    }

    /// Reads and checks `text`, which errors will say is in `file`, and the files it names.
    ///
    /// # Errors
    /// The first thing that is wrong in any of them.
    pub fn parse(file: &Path, text: &str) -> Result<Self, ConfigError> {
        Self::of(&Source::new(file, text), &[])
    }

    /// The scenario of `source`, after `changes` to its text.
    pub(crate) fn of(source: &Source, changes: &[Change]) -> Result<Self, ConfigError> {
        FileKind::Scenario.read(source, |source| assemble(source, changes))
    }
}

fn assemble(source: &Source, changes: &[Change]) -> Result<ScenarioConfig, ConfigError> {
    let (file, warnings) = old_words::read(source, changes)?;
    let NetworkConfig { network, paths, files } = network(source, &file)?;
    let reader = Reader::new(source, &network, paths.classes, files.is_some());
    let stem = || source.file().file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let duration_ns = reader.at_least(&file.duration, 1, "the sources must have time to send")?;
    let flows = traffic::flows(&reader, &file.flow)?;
    let scenario = ScenarioConfig {
        name: file.name.clone().unwrap_or_else(stem),
        about: file.about.trim().to_owned(),
        duration_ns,
        seed: file.seed.unwrap_or(1),
        scheme: schemes::scheme(&reader, &file.scheme)?,
        links: settings::links(&file.links),
        buffers: settings::buffers(&reader, &file.switches)?,
        routing: settings::routing(&reader, &file.routing)?,
        traffic: traffic::traffic(&reader, &file.traffic)?,
        roce: transport::roce(&reader, &file.roce)?,
        collectives: collective::collectives(&reader, &file.collective)?,
        faults: faults::faults(&reader, &file.fault)?,
        expectations: expect::expectations(&reader, &file.expect, &flows)?,
        flows,
        paths,
        files,
        warnings,
        network: network.clone(),
    };
    let sends =
        [scenario.flows.is_empty(), scenario.traffic.is_empty(), scenario.collectives.is_empty()];
    if sends == [true; 3] {
        let message = "nobody sends anything; add [[flow]], [[traffic]] or [[collective]]";
        return Err(source.at(0..0, message));
    }
    let kind = scenario.scheme.kind;
    if let Err(message) = feasibility::check(&scenario, kind) {
        let span = file.scheme.kind.as_ref().map_or(0..0, Spanned::span);
        return Err(source.at(span, message));
    }
    Ok(scenario)
}

/// The network, here or in a file of its own.
fn network(source: &Source, file: &ScenarioFile) -> Result<NetworkConfig, ConfigError> {
    let here = crate::network::Tables {
        switch: &file.switch,
        host: &file.host,
        link: &file.link,
        generate: &file.generate,
        paths: &file.paths,
    };
    let Some(field) = &file.network else { return here.assemble(source) };
    if !here.is_empty() {
        let message = "a network is either in a file of its own or here; remove `network`, or the \
                       tables";
        return Err(source.at(field.span(), message));
    }
    FileKind::Network.read(&source.read_named(field)?, crate::network::assemble)
}

#[cfg(test)]
mod roce_tests;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod wrong_tests;
