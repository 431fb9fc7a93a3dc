//! CAMPAIGN.toml, table by table, as it is written.

use crate::network::schema::Field;
use serde::Deserialize;
use std::path::PathBuf;
use toml::{Spanned, Value};

/// The whole file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CampaignFile {
    /// What people call it. Default: the file's name.
    pub(super) name: Option<String>,
    /// What it asks, in a sentence or two.
    #[serde(default)]
    pub(super) about: String,
    /// SCENARIO.toml, one or several.
    pub(super) scenarios: Spanned<Vec<Spanned<PathBuf>>>,
    /// Of `pfc`, `watchdog`, `tagger`, `updown`, `ttl`, `gfc` and `lossy`. Default: each scenario's
    /// own.
    pub(super) schemes: Field<Vec<Spanned<String>>>,
    /// How many seeds: 1, 2, 3 and so on. Default 20.
    pub(super) seeds: Field<i64>,
    /// The first of them. Default 1.
    pub(super) first_seed: Field<i64>,
    /// What is varied. Each value is combined with each value of the others.
    #[serde(default)]
    pub(super) parameter: Vec<Spanned<ParameterTable>>,
}

/// `[[parameter]]`
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ParameterTable {
    /// A key of SCENARIO.toml with the names of its tables, such as `switches.static_th`. Where a
    /// name is that of several tables, as in `traffic.load`, it is set in each; `traffic[0].load`
    /// is that of the first.
    pub(super) key: Spanned<String>,
    /// What it is set to.
    pub(super) values: Spanned<Vec<Spanned<Value>>>,
}
