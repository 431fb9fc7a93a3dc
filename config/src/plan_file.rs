//! A plan as a JSON file: what `knotless plan --json` prints and `knotless apply` reads.

use crate::error::ConfigError;
use crate::file::check_regular;
use crate::json::Step;
use crate::message;
use crate::source::Source;
use fabric::plan::{Change, Kind, Operation, Order};
use serde::{Deserialize, Serialize};
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

/// What is needed of a plan to carry it out. Other keys are for readers, and ignored.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanFile {
    /// The operations.
    pub operations: Vec<OperationRow>,
    /// Ids: the first of a pair must be done before the second begins.
    pub order: Vec<(u64, u64)>,
    /// Ids in `order` that are no operations: a barrier changes nothing, and is done as soon as all
    /// that it waits for is. A plan has some only if `order` would have more than
    /// [`ORDER_PAIRS_MAX`] pairs without.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub barriers: Vec<u64>,
    /// What was planned.
    #[serde(default)]
    pub from: Origin,
}

/// The most pairs of a plan without barriers.
pub(crate) const ORDER_PAIRS_MAX: usize = 100_000;

/// One operation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OperationRow {
    /// A number of its own.
    pub id: u64,
    /// What it does.
    pub kind: Kind,
    /// The path's name.
    pub path: String,
}

/// What a plan was made from: files, or what is down before and after. Names of files are absolute.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    /// NETWORK.toml.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network: Option<PathBuf>,
    /// The old paths.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub old: Option<PathBuf>,
    /// The new paths.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub new: Option<PathBuf>,
    /// What was down before.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub old_down: Vec<String>,
    /// What is down after.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub new_down: Vec<String>,
    /// How paths are found: `up-down` or `shortest`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub routing: Option<String>,
}

/// A plan does not fit what is to change.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Misfit {
    place: Place,
    message: String,
}

/// Where a plan does not fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// Something is missing among the operations.
    Operations,
    /// One of them, by its row.
    Operation(usize),
    /// One of the pairs of the order.
    Pair(usize),
}

impl Misfit {
    /// The same with its place in `file`, the plan that was read from there.
    pub fn in_file(&self, file: &Path) -> ConfigError {
        let source = Source::read(file).unwrap_or_else(|_| Source::new(file, ""));
        match self.place {
            Place::Operations => source.at_json(&[Step::Key("operations")], &self.message),
            Place::Operation(row) => source.at_json(&row_steps(row, "path"), &self.message),
            Place::Pair(pair) => {
                source.at_json(&[Step::Key("order"), Step::Index(pair)], &self.message)
            }
        }
    }
}

impl PlanFile {
    /// The operations of `change` in the order `order`.
    pub fn new(change: &Change, order: &Order, from: Origin) -> Self {
        let row = |(id, operation): (u64, &Operation)| OperationRow {
            id,
            kind: operation.kind,
            path: operation.path.name.clone(),
        };
        let operations = (1..).zip(&change.operations).map(row).collect();
        let id = |node: u32| u64::from(node) + 1;
        let ids = |pairs: &[(u32, u32)]| {
            pairs.iter().map(|&(before, after)| (id(before), id(after))).collect()
        };
        // A reader that knows no barriers understands all but the largest plans.
        if let Some(pairs) = order.pairwise(ORDER_PAIRS_MAX) {
            return Self { operations, order: ids(&pairs), barriers: Vec::new(), from };
        }
        let first = order.operations() as u64 + 1;
        let barriers = (first..).take(order.barriers()).collect();
        Self { operations, order: ids(order.pairs()), barriers, from }
    }

    /// Reads a plan.
    ///
    /// # Errors
    /// It cannot be read, or is no plan.
    pub fn load(file: &Path) -> Result<Self, ConfigError> {
        read(&Source::read(file)?)
    }

    /// As [`Self::load`], of `text`, which errors will say is in `file`.
    ///
    /// # Errors
    /// As [`Self::load`].
    pub fn parse(file: &Path, text: &str) -> Result<Self, ConfigError> {
        read(&Source::new(file, text))
    }

    /// That the files are there that the plan, which was read from `file`, names by these keys:
    /// `network`, `old` and `new`.
    ///
    /// # Errors
    /// One is not, at its name in the plan.
    pub fn check_named(&self, file: &Path, keys: &[&str]) -> Result<(), ConfigError> {
        let Origin { network, old, new, .. } = &self.from;
        for (key, named) in [("network", network), ("old", old), ("new", new)] {
            let Some(named) = named.as_deref().filter(|_| keys.contains(&key)) else { continue };
            if let Err(error) = check_regular(named) {
                let source = Source::read(file)?;
                let message = format!("{} {error}", message::path(named));
                return Err(source.at_json(&[Step::Key("from"), Step::Key(key)], message));
            }
        }
        Ok(())
    }

    /// The plan's order, of the operations of `change` by their places there.
    ///
    /// # Errors
    /// The plan's operations are not those of `change`, each once.
    pub fn order(&self, change: &Change) -> Result<Order, Misfit> {
        let rows = (0..).zip(&change.operations);
        let places: HashMap<(Kind, &str), u32> =
            rows.map(|(place, one)| ((one.kind, one.path.name.as_str()), place)).collect();
        let mut by_id = HashMap::new();
        let mut is_planned = vec![false; change.operations.len()];
        let misfit = |place, message| Misfit { place, message };
        for (at, row) in self.operations.iter().enumerate() {
            let misfit = |message| Err(misfit(Place::Operation(at), message));
            let what = if row.kind == Kind::Add { "add" } else { "remove" };
            let Some(&place) = places.get(&(row.kind, row.path.as_str())) else {
                return misfit(format!(
                    "operation {} is to {what} `{}`, which the change does not; plan anew",
                    row.id, row.path
                ));
            };
            if std::mem::replace(&mut is_planned[place as usize], true) {
                return misfit(format!("to {what} `{}` is planned twice; plan anew", row.path));
            }
            by_id.insert(row.id, place);
        }
        if let Some(left) = is_planned.iter().position(|&is_planned| !is_planned) {
            let operation = &change.operations[left];
            let (what, name) = (operation.kind.name(), &operation.path.name);
            let message = format!("nothing is planned to {what} `{name}`; plan anew");
            return Err(misfit(Place::Operations, message));
        }
        let first = u32::try_from(change.operations.len()).unwrap_or(u32::MAX);
        by_id.extend(self.barriers.iter().copied().zip(first..));
        let place = |id: u64| by_id.get(&id).copied();
        let pairs = self.order.iter().enumerate().map(|(at, &(before, after))| {
            let pair = place(before).zip(place(after));
            pair.ok_or_else(|| {
                let message = format!(
                    "`order` has {before} before {after}, which are not both operations or barriers; plan anew"
                );
                misfit(Place::Pair(at), message)
            })
        });
        let pairs = pairs.collect::<Result<_, _>>()?;
        Ok(Order::with_barriers(change.operations.len(), self.barriers.len(), pairs))
    }
}

fn read(source: &Source) -> Result<PlanFile, ConfigError> {
    let plan: PlanFile = source.json(source.text())?;
    let mut seen = HashSet::new();
    for (row, operation) in plan.operations.iter().enumerate() {
        if !seen.insert(operation.id) {
            let message =
                format!("two operations have the id {}; each needs its own", operation.id);
            return Err(source.at_json(&row_steps(row, "id"), message));
        }
    }
    for (at, &barrier) in plan.barriers.iter().enumerate() {
        if !seen.insert(barrier) {
            let message = format!("the id {barrier} is taken; each barrier needs its own");
            return Err(source.at_json(&[Step::Key("barriers"), Step::Index(at)], message));
        }
    }
    if let Some(routing) = plan.from.routing.as_deref()
        && !ROUTINGS.contains(&routing)
    {
        let steps = [Step::Key("from"), Step::Key("routing")];
        let known = ROUTINGS.join(" or ");
        return Err(source.at_json(&steps, format!("`{routing}` is no routing; use {known}")));
    }
    Ok(plan)
}

/// The names that `routing` may have.
const ROUTINGS: [&str; 2] = ["up-down", "shortest"];

const fn row_steps(row: usize, key: &str) -> [Step<'_>; 3] {
    [Step::Key("operations"), Step::Index(row), Step::Key(key)]
}

#[cfg(test)]
#[path = "plan_file_tests.rs"]
mod tests;
