//! NETWORK.toml: a topology, explicit or generated, and the paths that must be lossless.
//!
//! [`NetworkConfig`] is the file, read and checked: its topology, a [`Network`], and which paths
//! are expected to be lossless, a [`PathSpec`].

mod explicit;
pub mod forwarding;
mod generate;
mod path_spec;
pub(crate) mod schema;
pub mod switch_files;
#[cfg(test)]
mod switch_files_tests;

use crate::error::ConfigError;
use crate::file_kind::FileKind;
use crate::names::{Names, linked_end};
use crate::source::Source;
use fabric::Network;
use fabric::network::End;
use fabric::paths::PathSpec;
use schema::{Field, GenerateTable, HostTable, LinkTable, NetworkFile, PathsTable, SwitchTable};
use std::path::Path;
use std::sync::Arc;
use switch_files::SwitchFiles;
use toml::Spanned;

/// NETWORK.toml, read and checked.
///
/// ```
/// let text = r#"
/// [generate]
/// kind = "fat-tree"
/// k = 4
/// [paths]
/// kind = "up-down"
/// bounces = 1
/// "#;
/// let config = config::NetworkConfig::parse("fat-tree.toml".as_ref(), text)?;
/// assert_eq!((config.network.switches(), config.network.hosts()), (20, 16));
/// # Ok::<(), config::ConfigError>(())
/// ```
#[derive(Clone, Debug)]
pub struct NetworkConfig {
    /// The topology.
    pub network: Network,
    /// The paths that must be lossless.
    pub paths: PathSpec,
    /// The files of all switches, if they have files.
    pub files: Option<Arc<SwitchFiles>>,
}

impl NetworkConfig {
    /// Reads and checks NETWORK.toml and the path file it names.
    ///
    /// # Errors
    /// The first thing that is wrong in either.
    pub fn load(file: &Path) -> Result<Self, ConfigError> {
        FileKind::Network.read(&Source::read(file)?, assemble)
    }

    /// Reads and checks `text`, which errors will say is in `file`, and the path file it names.
    ///
    /// # Errors
    /// The first thing that is wrong in either.
    pub fn parse(file: &Path, text: &str) -> Result<Self, ConfigError> {
        FileKind::Network.read(&Source::new(file, text), assemble)
    }
}

/// The end of a link that files name so: `A:3`, or a host. `Err` is the whole message.
///
/// # Errors
/// There is no such port or host, or it has no link.
pub fn find_linked_end(network: &Network, text: &str) -> Result<End, String> {
    linked_end(network, &Names::of(network), text)
}

pub(crate) fn assemble(source: &Source) -> Result<NetworkConfig, ConfigError> {
    let file: NetworkFile = source.toml()?;
    let NetworkFile { switch, host, link, generate, paths } = &file;
    Tables { switch, host, link, generate, paths }.assemble(source)
}

/// The tables of a network, which a scenario has too.
pub(crate) struct Tables<'a> {
    pub(crate) switch: &'a [Spanned<SwitchTable>],
    pub(crate) host: &'a [Spanned<HostTable>],
    pub(crate) link: &'a [Spanned<LinkTable>],
    pub(crate) generate: &'a Field<GenerateTable>,
    pub(crate) paths: &'a Field<PathsTable>,
}

impl Tables<'_> {
    /// Whether none is there.
    pub(crate) const fn is_empty(&self) -> bool {
        self.switch.is_empty()
            && self.host.is_empty()
            && self.link.is_empty()
            && self.generate.is_none()
            && self.paths.is_none()
    }

    /// The network they describe.
    pub(crate) fn assemble(&self, source: &Source) -> Result<NetworkConfig, ConfigError> {
        let (network, files) = self.topology(source)?;
        if network.hosts() == 0 {
            let generated = self.generate.as_ref().map(|table| table.get_ref().kind.span());
            let place = generated.or_else(|| self.switch.first().map(Spanned::span));
            let message = "this network has no host, so no path begins or ends in it; add [[host]] \
                           tables and their links, or leave ports over for hosts";
            return Err(source.at(place.unwrap_or_default(), message));
        }
        let paths = path_spec::read(source, self.paths.as_ref(), &network)?;
        Ok(NetworkConfig { network, paths, files: files.map(Arc::new) })
    }

    fn topology(&self, source: &Source) -> Result<(Network, Option<SwitchFiles>), ConfigError> {
        let explicit = self.switch.first().map(Spanned::span);
        let explicit = explicit.or_else(|| self.host.first().map(Spanned::span));
        let explicit = explicit.or_else(|| self.link.first().map(Spanned::span));
        match (self.generate, explicit) {
            (Some(_), Some(span)) => {
                let message = "a network is either generated or listed; remove [generate], or the \
                           switches, hosts and links";
                Err(source.at(span, message))
            }
            (Some(table), None) => Ok((generate::build(source, table)?, None)),
            (None, Some(_)) => explicit::build(source, self),
            (None, None) => {
                let message =
                    "there is no network; add [[switch]], [[host]] and [[link]], or [generate]";
                Err(source.at(0..0, message))
            }
        }
    }
}
