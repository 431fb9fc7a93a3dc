//! What all tables of a scenario need: names, ends, shares, and the place of a mistake.

use crate::error::ConfigError;
use crate::fields::Duration;
use crate::names::{Names, Node, linked_end};
use crate::source::Source;
use fabric::network::{End, Network};
use std::ops::Range;
use toml::Spanned;

/// Parts of a million, which is what shares are held in.
pub(super) const MILLION: u32 = 1_000_000;

/// The file and the network it is about.
pub(super) struct Reader<'a> {
    pub(super) source: &'a Source,
    pub(super) network: &'a Network,
    /// Application classes that the paths are for.
    pub(super) classes: u8,
    /// Whether switches have files, which say what classes there are.
    pub(super) has_files: bool,
    names: Names<'a>,
}

impl<'a> Reader<'a> {
    pub(super) fn new(
        source: &'a Source,
        network: &'a Network,
        classes: u8,
        has_files: bool,
    ) -> Self {
        Self { source, network, classes, has_files, names: Names::of(network) }
    }

    pub(super) fn wrong(&self, span: Range<usize>, message: impl Into<String>) -> ConfigError {
        self.source.at(span, message)
    }

    /// The host of this name.
    pub(super) fn host(&self, name: &Spanned<String>) -> Result<u32, ConfigError> {
        match self.names.find(name.get_ref()).map_err(|m| self.wrong(name.span(), m))? {
            Node::Host(host) => Ok(host),
            Node::Switch(_) => {
                let message = format!("`{}` is a switch; name a host", name.get_ref());
                Err(self.wrong(name.span(), message))
            }
        }
    }

    /// The switch of this name.
    pub(super) fn switch(&self, name: &Spanned<String>) -> Result<u32, ConfigError> {
        match self.names.find(name.get_ref()).map_err(|m| self.wrong(name.span(), m))? {
            Node::Switch(switch) => Ok(switch),
            Node::Host(_) => {
                let message = format!("`{}` is a host; name a switch", name.get_ref());
                Err(self.wrong(name.span(), message))
            }
        }
    }

    /// One end of a link: `A:3`, or a host. It must have a link.
    pub(super) fn end(&self, text: &Spanned<String>) -> Result<End, ConfigError> {
        linked_end(self.network, &self.names, text.get_ref())
            .map_err(|message| self.wrong(text.span(), message))
    }

    /// The turns of `hosts[0] path hosts[1]`.
    pub(super) fn path(
        &self,
        path: &Spanned<String>,
        hosts: [&str; 2],
    ) -> Result<Vec<(u32, u32)>, ConfigError> {
        crate::path_file::between(self.network, &self.names, hosts, path.get_ref())
            .map_err(|message| self.wrong(path.span(), message))
    }

    /// A share of one, in parts of a million.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "checked to be 0 to 1"
    )]
    pub(super) fn share(&self, field: &Spanned<f64>, most: f64) -> Result<u32, ConfigError> {
        let value = *field.get_ref();
        if !(0.0..=most).contains(&value) {
            let message = format!("{value} is no share; use 0.0 to {most:?}");
            return Err(self.wrong(field.span(), message));
        }
        Ok((value * f64::from(MILLION)).round() as u32)
    }

    /// A time that is at least `least_ns`.
    pub(super) fn at_least(
        &self,
        field: &Spanned<Duration>,
        least_ns: u64,
        why: &str,
    ) -> Result<u64, ConfigError> {
        let ns = field.get_ref().0;
        if ns >= least_ns {
            return Ok(ns);
        }
        Err(self.wrong(field.span(), format!("{ns} ns is too short; {why}")))
    }

    /// A whole number in a range.
    pub(super) fn number(
        &self,
        name: &str,
        field: &Spanned<i64>,
        range: std::ops::RangeInclusive<i64>,
    ) -> Result<i64, ConfigError> {
        let value = *field.get_ref();
        if range.contains(&value) {
            return Ok(value);
        }
        let message = format!("`{name}` is {value}; use {} to {}", range.start(), range.end());
        Err(self.wrong(field.span(), message))
    }
}
