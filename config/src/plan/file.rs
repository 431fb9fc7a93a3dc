//! A plan as a JSON file: what `knotless plan --json` prints and `knotless apply` reads.

use super::change::{Change, Kind};
use super::order::Order;
use crate::error::{ConfigError, Source};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// What is needed of a plan to carry it out. Other keys are for readers, and ignored.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanFile {
    /// The operations.
    pub operations: Vec<OperationRow>,
    /// Ids: the first of a pair must be done before the second begins.
    pub order: Vec<(u64, u64)>,
    /// What was planned.
    #[serde(default)]
    pub from: Origin,
}

/// One operation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OperationRow {
    /// A number of its own.
    pub id: u64,
    /// What it does.
    pub kind: KindName,
    /// The path's name.
    pub path: String,
}

/// [`Kind`] as the file has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum KindName {
    /// [`Kind::Remove`].
    Remove,
    /// [`Kind::Add`].
    Add,
}

impl From<Kind> for KindName {
    fn from(kind: Kind) -> Self {
        match kind {
            Kind::Remove => Self::Remove,
            Kind::Add => Self::Add,
        }
    }
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

/// A plan does not fit what is to change: the whole message.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Misfit(pub String);

impl PlanFile {
    /// The operations of `change` in the order `order`.
    pub fn new(change: &Change, order: &Order, from: Origin) -> Self {
        let row = |(id, operation): (u64, &super::Operation)| OperationRow {
            id,
            kind: operation.kind.into(),
            path: operation.path.name.clone(),
        };
        let operations = (1..).zip(&change.operations).map(row).collect();
        let id = |operation: u32| u64::from(operation) + 1;
        let order = order.pairs().iter().map(|&(before, after)| (id(before), id(after)));
        Self { operations, order: order.collect(), from }
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

    /// The plan's order, of the operations of `change` by their places there.
    ///
    /// # Errors
    /// The plan's operations are not those of `change`, each once.
    pub fn order(&self, change: &Change) -> Result<Order, Misfit> {
        let rows = (0..).zip(&change.operations);
        let places: HashMap<(KindName, &str), u32> =
            rows.map(|(place, one)| ((one.kind.into(), one.path.name.as_str()), place)).collect();
        let mut by_id = HashMap::new();
        let mut is_planned = vec![false; change.operations.len()];
        for row in &self.operations {
            let what = if row.kind == KindName::Add { "add" } else { "remove" };
            let Some(&place) = places.get(&(row.kind, row.path.as_str())) else {
                return Err(Misfit(format!(
                    "operation {} is to {what} `{}`, which the change does not; plan anew",
                    row.id, row.path
                )));
            };
            if std::mem::replace(&mut is_planned[place as usize], true) {
                return Err(Misfit(format!("to {what} `{}` is planned twice", row.path)));
            }
            by_id.insert(row.id, place);
        }
        if let Some(left) = is_planned.iter().position(|&is_planned| !is_planned) {
            let operation = &change.operations[left];
            let (what, name) = (operation.kind.name(), &operation.path.name);
            return Err(Misfit(format!("nothing is planned to {what} `{name}`; plan anew")));
        }
        let place = |id: u64| by_id.get(&id).copied();
        let pairs = self.order.iter().map(|&(before, after)| {
            let pair = place(before).zip(place(after));
            pair.ok_or_else(|| {
                Misfit(format!(
                    "`order` has {before} before {after}, which are not both operations"
                ))
            })
        });
        Ok(Order::new(change.operations.len(), pairs.collect::<Result<_, _>>()?))
    }
}

fn read(source: &Source) -> Result<PlanFile, ConfigError> {
    let text = source.text();
    let plan: PlanFile = serde_json::from_str(text).map_err(|error| {
        let lines = text.split_inclusive('\n').take(error.line().saturating_sub(1));
        let start: usize = lines.map(str::len).sum();
        let at = (start + error.column().saturating_sub(1)).min(text.len());
        let message = error.to_string();
        let message = message.split(" at line ").next().unwrap_or_default().to_owned();
        source.at(at..at, message)
    })?;
    let mut ids: Vec<u64> = plan.operations.iter().map(|row| row.id).collect();
    ids.sort_unstable();
    if let Some(pair) = ids.windows(2).find(|pair| pair[0] == pair[1]) {
        let message = format!("two operations have the id {}; each needs its own", pair[0]);
        return Err(source.at(0..0, message));
    }
    Ok(plan)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(text: &str) -> String {
        PlanFile::parse(Path::new("PLAN.json"), text).unwrap_err().to_string()
    }

    #[test]
    fn a_plan_survives_its_own_writing_and_readers_keys_are_ignored() {
        let text = r#"{"operations": [{"id": 7, "kind": "add", "path": "p"}], "order": [],
            "makespan": {"parallel": 1}}"#;
        let plan = PlanFile::parse(Path::new("PLAN.json"), text).unwrap();
        assert_eq!((plan.operations[0].id, plan.operations[0].kind), (7, KindName::Add));
        let again = serde_json::to_string(&plan).unwrap();
        assert_eq!(PlanFile::parse(Path::new("PLAN.json"), &again), Ok(plan));
    }

    #[test]
    fn what_is_no_plan_is_refused_at_its_place() {
        for (text, message) in [
            ("", "PLAN.json:1:1: EOF while parsing a value"),
            ("{\n \"order\": []}", "PLAN.json:2:13: missing field `operations`"),
            (
                "{\"operations\": [{\"id\": 1, \"kind\": \"swap\", \"path\": \"p\"}], \"order\": []}",
                "PLAN.json:1:40: unknown variant `swap`, expected `remove` or `add`",
            ),
            (
                "{\"operations\": [{\"id\": 1, \"kind\": \"add\", \"path\": \"p\"},
                {\"id\": 1, \"kind\": \"add\", \"path\": \"q\"}], \"order\": []}",
                "PLAN.json:1:1: two operations have the id 1; each needs its own",
            ),
        ] {
            assert_eq!(error(text), message);
        }
    }
}
