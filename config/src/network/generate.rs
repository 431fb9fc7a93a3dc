//! `[generate]`: a topology of a known kind, from a few numbers.

use super::schema::{Field, GenerateTable};
use crate::error::ConfigError;
use crate::source::Source;
use fabric::Network;
use fabric::network::generate::{GenerateError, Parameters};
use std::ops::Range;
use toml::Spanned;

/// Builds the network that `table` asks for.
pub(super) fn build(
    source: &Source,
    table: &Spanned<GenerateTable>,
) -> Result<Network, ConfigError> {
    let table = table.get_ref();
    let mut parameters = Parameters::new(*table.kind.get_ref());
    for (name, field) in numbers(table) {
        if let Some(field) = field {
            parameters.set(name, *field.get_ref());
        }
    }
    if let Some(shape) = &table.shape {
        parameters.set_shape(shape.get_ref().clone());
    }
    parameters.speed = table.speed.as_ref().map(|speed| speed.get_ref().0);
    parameters.length = table.length.as_ref().map(|length| length.get_ref().0);
    fabric::network::generate::build(&parameters).map_err(|error| refusal(source, table, &error))
}

/// The table's numbers by name.
const fn numbers(table: &GenerateTable) -> [(&'static str, &Field<i64>); 12] {
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
        ("q", &table.q),
    ]
}

/// The error at the number it is about. The table may be anywhere; its kind is the place that is
/// sure to be in it.
fn refusal(source: &Source, table: &GenerateTable, error: &GenerateError) -> ConfigError {
    let kind = table.kind.span();
    let kind_text = source.text().get(kind.clone()).unwrap_or_default();
    let place = |name: &str| -> Range<usize> {
        let number = numbers(table).into_iter().find(|(known, _)| *known == name);
        let number = number.and_then(|(_, field)| field.as_ref()).map(Spanned::span);
        let shape = table.shape.as_ref().filter(|_| name == "shape").map(Spanned::span);
        number.or(shape).unwrap_or_else(|| kind.clone())
    };
    match error {
        GenerateError::Unknown { name, .. } => {
            source.at(place(name), format!("{kind_text} {error}"))
        }
        GenerateError::Missing(_) => source.at(kind.clone(), format!("{kind_text} {error}")),
        GenerateError::Wrong(name, message) => source.at(place(name), message),
        GenerateError::TooLarge(message) => source.at(kind.clone(), message),
    }
}
