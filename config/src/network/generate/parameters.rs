//! The numbers of `[generate]`: each there if needed, in its range, and none that means nothing.

use crate::error::ConfigError;
use crate::network::schema::{Field, GenerateTable};
use crate::source::Source;
use std::ops::Range;
use toml::Spanned;

/// The most ports of all switches together: enough for 16,384 switches of 256.
const SLOTS_MAX: usize = 1 << 22;

/// The table's fields by name.
pub(super) struct Parameters<'a> {
    source: &'a Source,
    table: &'a GenerateTable,
    span: Range<usize>,
}

impl<'a> Parameters<'a> {
    pub(super) fn new(source: &'a Source, table: &'a Spanned<GenerateTable>) -> Self {
        // The table may be anywhere; its kind is the place that is sure to be in it.
        Self { source, table: table.get_ref(), span: table.get_ref().kind.span() }
    }

    fn numbers(&self) -> [(&'static str, &'a Field<i64>); 11] {
        let table = self.table;
        [
            ("switches", &table.switches),
            ("ports", &table.ports),
            ("network_ports", &table.network_ports),
            ("seed", &table.seed),
            ("leaves", &table.leaves),
            ("spines", &table.spines),
            ("pods", &table.pods),
            ("tors", &table.tors),
            ("hosts", &table.hosts),
            ("k", &table.k),
            ("n", &table.n),
        ]
    }

    fn kind(&self) -> &str {
        self.source.text().get(self.span.clone()).unwrap_or_default()
    }

    /// Refuses numbers that this kind does not take.
    pub(super) fn allow(&self, names: &[&str]) -> Result<(), ConfigError> {
        let shape = self.table.shape.as_ref().map(|shape| ("shape", shape.span()));
        let given = self
            .numbers()
            .into_iter()
            .filter_map(|(name, field)| field.as_ref().map(|field| (name, field.span())));
        match given.chain(shape).find(|(name, _)| !names.contains(name)) {
            None => Ok(()),
            Some((name, span)) => {
                let known = names.join(", ");
                let message = format!("{} takes no `{name}`; it takes {known}", self.kind());
                Err(self.source.at(span, message))
            }
        }
    }

    /// A number of the table.
    pub(super) fn optional(
        &self,
        name: &str,
        least: usize,
        most: usize,
    ) -> Result<Option<usize>, ConfigError> {
        let field = self.numbers().into_iter().find(|(known, _)| *known == name);
        let Some(field) = field.and_then(|(_, field)| field.as_ref()) else { return Ok(None) };
        let value = usize::try_from(*field.get_ref()).ok();
        value.filter(|value| (least..=most).contains(value)).map(Some).ok_or_else(|| {
            let value = field.get_ref();
            self.source.at(field.span(), format!("`{name}` is {value}; use {least} to {most}"))
        })
    }

    /// A number that must be there.
    pub(super) fn need(&self, name: &str, least: usize, most: usize) -> Result<usize, ConfigError> {
        self.optional(name, least, most)?.ok_or_else(|| {
            let message = format!("{} needs `{name}`, {least} to {most}", self.kind());
            self.source.at(self.span.clone(), message)
        })
    }

    /// An even number that must be there.
    pub(super) fn even(&self, name: &str, least: usize, most: usize) -> Result<usize, ConfigError> {
        let value = self.need(name, least, most)?;
        if value.is_multiple_of(2) {
            return Ok(value);
        }
        Err(self.wrong(name, format!("`{name}` is {value}; it must be even")))
    }

    /// The seed.
    pub(super) fn seed(&self) -> Result<u64, ConfigError> {
        let seed = self.optional("seed", 0, usize::MAX >> 1)?;
        Ok(seed.unwrap_or(1) as u64)
    }

    /// HyperX's switches along each dimension.
    pub(super) fn shape(&self) -> Result<Vec<usize>, ConfigError> {
        let Some(field) = &self.table.shape else {
            let message = format!("{} needs `shape`, such as [4, 4]", self.kind());
            return Err(self.source.at(self.span.clone(), message));
        };
        let sizes: Option<Vec<usize>> = field
            .get_ref()
            .iter()
            .map(|&size| usize::try_from(size).ok().filter(|size| (2..=256).contains(size)))
            .collect();
        sizes.filter(|sizes| (1..=8).contains(&sizes.len())).ok_or_else(|| {
            let message = "`shape` has 1 to 8 dimensions of 2 to 256 switches, such as [4, 4]";
            self.source.at(field.span(), message)
        })
    }

    /// An error at the field `name`, or at the kind if the field is not there.
    pub(super) fn wrong(&self, name: &str, message: String) -> ConfigError {
        let field = self.numbers().into_iter().find(|(known, _)| *known == name);
        let span = field.and_then(|(_, field)| field.as_ref()).map(Spanned::span);
        self.source.at(span.unwrap_or_else(|| self.span.clone()), message)
    }

    /// Refuses networks that would not fit in memory, before they are built. `factors` are
    /// multiplied.
    pub(super) fn check_size(&self, factors: &[usize]) -> Result<(), ConfigError> {
        let slots =
            factors.iter().try_fold(1_usize, |product, &factor| product.checked_mul(factor));
        if slots.is_some_and(|slots| slots <= SLOTS_MAX) {
            return Ok(());
        }
        let message = format!(
            "this network has more than {SLOTS_MAX} ports of switches; generate a smaller one"
        );
        Err(self.source.at(self.span.clone(), message))
    }
}
