//! CAMPAIGN.toml: scenarios under schemes, with several seeds and values of parameters.
//!
//! [`CampaignConfig`] is the file, read and checked. [`CampaignConfig::points`] reads the scenarios
//! with each combination of values: no run begins before all of them are right.

mod schema;

use crate::did_you_mean::nearest;
use crate::error::ConfigError;
use crate::file_kind::FileKind;
use crate::key_path::{Change, KeyPath};
use crate::network::schema::Field;
use crate::scenario::{ScenarioConfig, SchemeKind};
use crate::source::Source;
use crate::{file, message};
use schema::{CampaignFile, ParameterTable};
use sha2::{Digest, Sha256};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use toml::{Spanned, Value};

/// Seeds if nothing is said.
const SEEDS: i64 = 20;
const SEEDS_MAX: i64 = 100_000;
/// The most scenarios, each with each combination of values.
const POINTS_MAX: usize = 10_000;
/// The most simulations.
const RUNS_MAX: u128 = 10_000_000;

/// CAMPAIGN.toml, read and checked.
///
/// ```
/// let text = r#"
/// scenarios = ["leaves.toml"]
/// schemes = ["pfc", "tagger"]
/// seeds = 10
/// [[parameter]]
/// key = "traffic.load"
/// values = [0.3, 0.6]
/// "#;
/// let campaign = config::CampaignConfig::parse("load.toml".as_ref(), text)?;
/// assert_eq!((campaign.name.as_str(), campaign.seeds.count()), ("load", 10));
/// assert_eq!(campaign.parameters[0].values, ["0.3", "0.6"]);
/// # Ok::<(), config::ConfigError>(())
/// ```
#[derive(Clone, Debug)]
pub struct CampaignConfig {
    /// What people call it.
    pub name: String,
    /// What it asks.
    pub about: String,
    /// The schemes; none if the file leaves them out.
    pub schemes: Vec<SchemeKind>,
    /// The seeds.
    pub seeds: std::ops::Range<u64>,
    /// What is varied, in the order of the file.
    pub parameters: Vec<Parameter>,
    source: Source,
    scenarios: Vec<Spanned<PathBuf>>,
}

/// What is varied.
#[derive(Clone, Debug)]
pub struct Parameter {
    /// The key, as `switches.static_th`.
    pub key: String,
    /// What it is set to: texts without their quotes, all else as TOML writes it.
    pub values: Vec<String>,
    path: KeyPath,
    /// As TOML writes them, with their places.
    written: Vec<Spanned<String>>,
}

/// A scenario with a value of each parameter.
#[derive(Clone, Debug)]
pub struct Point {
    /// The scenario.
    pub scenario: ScenarioConfig,
    /// By parameter: which of its values.
    pub values: Vec<usize>,
    /// What leads from the scenario's mistakes, found when it is built, to a line of the campaign.
    place: Place,
}

/// A place in the campaign's file, and what holds there.
#[derive(Clone, Debug)]
struct Place {
    source: Source,
    span: std::ops::Range<usize>,
    with: String,
}

impl Place {
    fn wrong(&self, message: &str) -> ConfigError {
        self.source.at(self.span.clone(), format!("{}{message}", self.with))
    }
}

impl Point {
    /// An error that is found only when the scenario is built.
    pub fn wrong(&self, message: impl ToString) -> ConfigError {
        self.place.wrong(&message.to_string())
    }
}

/// The scenarios of a campaign, each with each combination of values.
#[derive(Clone, Debug)]
pub struct Points {
    /// All of them: the first scenario's first, and the last parameter's values in turn.
    pub all: Vec<Point>,
    /// SHA-256, in hexadecimal digits, of the campaign's file and of all files that it, its
    /// scenarios and their networks name.
    pub digest: String,
}

impl Points {
    /// What works in the scenarios but is probably not meant, each once.
    pub fn warnings(&self) -> Vec<ConfigError> {
        let mut distinct: Vec<ConfigError> = Vec::new();
        for warning in self.all.iter().flat_map(|point| &point.scenario.warnings) {
            if !distinct.contains(warning) {
                distinct.push(warning.clone());
            }
        }
        distinct
    }
}

impl CampaignConfig {
    /// Reads and checks CAMPAIGN.toml, and none of the scenarios that it names.
    ///
    /// # Errors
    /// The first thing that is wrong in it.
    pub fn load(file: &Path) -> Result<Self, ConfigError> {
        FileKind::Campaign.read(&Source::read(file)?, assemble)
    }

    /// Reads and checks `text`, which errors will say is in `file`.
    ///
    /// # Errors
    /// The first thing that is wrong in it.
    pub fn parse(file: &Path, text: &str) -> Result<Self, ConfigError> {
        FileKind::Campaign.read(&Source::new(file, text), assemble)
    }

    /// How many points there are.
    pub fn points_count(&self) -> usize {
        let values = self.parameters.iter().map(|parameter| parameter.written.len());
        values.fold(self.scenarios.len(), usize::saturating_mul)
    }

    /// Reads and checks every scenario with every combination of values.
    ///
    /// # Errors
    /// The first that is wrong: at the place in this file that names the scenario, or the last of
    /// the values.
    pub fn points(&self) -> Result<Points, ConfigError> {
        let mut digest = Sha256::new();
        let mut digested = BTreeSet::new();
        // The length keeps the end of one file apart from the beginning of the next.
        let mut add = |path: &Path, bytes: &[u8]| {
            if digested.insert(path.to_owned()) {
                digest.update((bytes.len() as u64).to_be_bytes());
                digest.update(bytes);
            }
        };
        add(self.source.file(), self.source.text().as_bytes());
        let mut all = Vec::new();
        let mut names: Vec<String> = Vec::new();
        for field in &self.scenarios {
            let source = self.source.read_named(field)?;
            add(source.file(), source.text().as_bytes());
            for values in self.combinations() {
                let changes = self.changes(&values);
                let place = self.place(field, &values);
                let scenario = ScenarioConfig::of(&source, &changes)
                    .map_err(|error| place.wrong(&error.to_string()))?;
                for path in source.named().iter().chain(&rule_files(&scenario)) {
                    let bytes = file::read(path).map_err(|error| {
                        place.wrong(&format!("{} {error}", message::path(path)))
                    })?;
                    add(path, &bytes);
                }
                all.push(Point { scenario, values, place });
            }
            let name = all.last().map(|point| point.scenario.name.clone()).unwrap_or_default();
            if names.contains(&name) {
                let message = format!(
                    "another scenario is named `{}` too; give one of them another `name`",
                    message::shorten(&name, 60)
                );
                return Err(self.source.at(field.span(), message));
            }
            names.push(name);
        }
        let digest = digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
        Ok(Points { all, digest })
    }

    /// Every combination of values, the last parameter's changing first.
    fn combinations(&self) -> Vec<Vec<usize>> {
        let mut all = vec![Vec::new()];
        for parameter in &self.parameters {
            let with = |one: &Vec<usize>| {
                let one = one.clone();
                (0..parameter.written.len()).map(move |value| [&one[..], &[value]].concat())
            };
            all = all.iter().flat_map(with).collect();
        }
        all
    }

    fn changes(&self, values: &[usize]) -> Vec<Change> {
        let change = |(parameter, &value): (&Parameter, &usize)| Change {
            key: parameter.path.clone(),
            value: parameter.written[value].get_ref().clone(),
        };
        self.parameters.iter().zip(values).map(change).collect()
    }

    /// Where a mistake in a point is said to be: at its scenario, or at the last of its values.
    fn place(&self, scenario: &Spanned<PathBuf>, values: &[usize]) -> Place {
        let of = |(parameter, &value): (&Parameter, &usize)| {
            format!("{} = {}", parameter.key, parameter.written[value].get_ref())
        };
        let all: Vec<String> = self.parameters.iter().zip(values).map(of).collect();
        let last = self.parameters.last().zip(values.last());
        Place {
            source: self.source.clone(),
            span: last.map_or_else(|| scenario.span(), |(last, &value)| last.written[value].span()),
            with: if all.is_empty() { String::new() } else { format!("with {}: ", all.join(", ")) },
        }
    }
}

/// The rule files that a scenario names by their directory.
fn rule_files(scenario: &ScenarioConfig) -> Vec<PathBuf> {
    let entries = scenario.scheme.rules.iter().flat_map(|directory| fs::read_dir(directory).ok());
    let paths = entries.flatten().filter_map(|entry| Some(entry.ok()?.path()));
    let mut paths: Vec<PathBuf> =
        paths.filter(|path| path.extension().is_some_and(|end| end == "json")).collect();
    paths.sort();
    paths
}

fn assemble(source: &Source) -> Result<CampaignConfig, ConfigError> {
    let file: CampaignFile = source.toml()?;
    let stem = || source.file().file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let scenarios = some(source, &file.scenarios, "a scenario")?;
    distinct(source, scenarios, |path| path.display().to_string())?;
    let campaign = CampaignConfig {
        name: file.name.clone().unwrap_or_else(stem),
        about: file.about.trim().to_owned(),
        schemes: schemes(source, &file.schemes)?,
        seeds: seeds(source, &file)?,
        parameters: parameters(source, &file.parameter)?,
        scenarios: scenarios.clone(),
        source: source.clone(),
    };
    let points = campaign.points_count();
    if points > POINTS_MAX {
        let message = format!(
            "that is {points} scenarios with different values; use fewer values, {POINTS_MAX} in all"
        );
        return Err(source.at(file.scenarios.span(), message));
    }
    let schemes = campaign.schemes.len().max(1) as u128;
    let runs = points as u128 * schemes * u128::from(campaign.seeds.end - campaign.seeds.start);
    if runs > RUNS_MAX {
        let message =
            format!("that is {runs} runs; use fewer seeds or values, {RUNS_MAX} runs in all");
        return Err(source.at(file.seeds.map_or(0..0, |field| field.span()), message));
    }
    Ok(campaign)
}

/// A list that is not empty.
fn some<'a, T>(
    source: &Source,
    list: &'a Spanned<Vec<T>>,
    what: &str,
) -> Result<&'a Vec<T>, ConfigError> {
    if list.get_ref().is_empty() {
        return Err(source.at(list.span(), format!("this is empty; add {what}")));
    }
    Ok(list.get_ref())
}

/// That no two of a list are the same.
fn distinct<T>(
    source: &Source,
    list: &[Spanned<T>],
    text: impl Fn(&T) -> String,
) -> Result<(), ConfigError> {
    let mut seen = BTreeSet::new();
    for one in list {
        let text = text(one.get_ref());
        if !seen.insert(text.clone()) {
            let message = format!("`{text}` stands here twice, and would run twice; keep one");
            return Err(source.at(one.span(), message));
        }
    }
    Ok(())
}

fn schemes(
    source: &Source,
    field: &Field<Vec<Spanned<String>>>,
) -> Result<Vec<SchemeKind>, ConfigError> {
    let Some(field) = field else { return Ok(Vec::new()) };
    let names = some(source, field, "a scheme, or leave `schemes` out")?;
    distinct(source, names, String::clone)?;
    let kind = |name: &Spanned<String>| {
        SchemeKind::from_name(name.get_ref()).map_err(|message| source.at(name.span(), message))
    };
    names.iter().map(kind).collect()
}

fn seeds(source: &Source, file: &CampaignFile) -> Result<std::ops::Range<u64>, ConfigError> {
    let number = |name: &str, field: &Field<i64>, default: i64, range: (i64, i64)| {
        let Some(field) = field else { return Ok(default) };
        let value = *field.get_ref();
        if (range.0..=range.1).contains(&value) {
            return Ok(value);
        }
        let message = format!("`{name}` is {value}; use {} to {}", range.0, range.1);
        Err(source.at(field.span(), message))
    };
    let count = number("seeds", &file.seeds, SEEDS, (1, SEEDS_MAX))?;
    let first = number("first_seed", &file.first_seed, 1, (0, i64::MAX - SEEDS_MAX))?;
    let [first, count] = [first, count].map(|number| u64::try_from(number).unwrap_or_default());
    Ok(first..first + count)
}

fn parameters(
    source: &Source,
    tables: &[Spanned<ParameterTable>],
) -> Result<Vec<Parameter>, ConfigError> {
    let mut all: Vec<Parameter> = Vec::with_capacity(tables.len());
    for table in tables {
        let ParameterTable { key, values } = table.get_ref();
        let path = KeyPath::parse(key.get_ref()).map_err(|why| source.at(key.span(), why))?;
        if all.iter().any(|other| other.path == path) {
            let message = format!("`{path}` is varied twice; put all values in one [[parameter]]");
            return Err(source.at(key.span(), message));
        }
        if let Some(meant) = unknown_table(key.get_ref()) {
            return Err(source.at(key.span(), meant));
        }
        let values = some(source, values, "a value")?;
        if let Some(nested) = values.iter().find(|value| has_table(value.get_ref())) {
            let message = "a value is a text, a number, true or false, or a list; name the key in \
                           the table";
            return Err(source.at(nested.span(), message));
        }
        let written = |value: &Spanned<Value>| {
            let text = source.text().get(value.span()).unwrap_or_default();
            Spanned::new(value.span(), text.to_owned())
        };
        let shown = |value: &Spanned<Value>| match value.get_ref() {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        distinct(source, values, |value| value.to_string())?;
        all.push(Parameter {
            key: path.to_string(),
            values: values.iter().map(shown).collect(),
            written: values.iter().map(written).collect(),
            path,
        });
    }
    Ok(all)
}

/// What was probably meant, if the first word of `key` is none that a scenario has.
fn unknown_table(key: &str) -> Option<String> {
    const KNOWN: [&str; 18] = [
        "duration",
        "network",
        "switch",
        "host",
        "link",
        "generate",
        "paths",
        "scheme",
        "links",
        "switches",
        "routing",
        "roce",
        "flow",
        "traffic",
        "collective",
        "fault",
        "expect",
        "seed",
    ];
    let word = key.split(['.', '[']).next().unwrap_or_default();
    if KNOWN.contains(&word) {
        return None;
    }
    Some(match nearest(word, KNOWN) {
        Some(near) => format!("a scenario has no `{word}`; did you mean `{near}`?"),
        None => format!("a scenario has no `{word}`; it has {}", KNOWN[..17].join(", ")),
    })
}

fn has_table(value: &Value) -> bool {
    match value {
        Value::Table(_) => true,
        Value::Array(values) => values.iter().any(has_table),
        _ => false,
    }
}

#[cfg(test)]
mod tests;
