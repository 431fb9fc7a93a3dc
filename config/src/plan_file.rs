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
        let place = |id: u64| by_id.get(&id).copied();
        let pairs = self.order.iter().enumerate().map(|(at, &(before, after))| {
            let pair = place(before).zip(place(after));
            pair.ok_or_else(|| {
                let message = format!(
                    "`order` has {before} before {after}, which are not both operations; plan anew"
                );
                misfit(Place::Pair(at), message)
            })
        });
        Ok(Order::new(change.operations.len(), pairs.collect::<Result<_, _>>()?))
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
        assert_eq!((plan.operations[0].id, plan.operations[0].kind), (7, Kind::Add));
        let again = serde_json::to_string(&plan).unwrap();
        assert_eq!(PlanFile::parse(Path::new("PLAN.json"), &again), Ok(plan));
    }

    #[test]
    fn what_is_no_plan_is_refused_at_its_place() {
        for (text, message) in [
            ("", "PLAN.json:1:1: the text ends where a value belongs; it is empty or cut short"),
            (
                "{\n \"order\": []}",
                "PLAN.json:1:1: `operations` is missing here; it has no default",
            ),
            (
                "{\"operations\": [{\"id\": 1, \"kind\": \"swap\", \"path\": \"p\"}], \"order\": []}",
                "PLAN.json:1:35: unknown word `swap`; known here: remove, add",
            ),
            (
                "{\"operations\": [{\"id\": 1, \"kind\": \"add\", \"path\": \"p\"},
                {\"id\": 1, \"kind\": \"add\", \"path\": \"q\"}], \"order\": []}",
                "PLAN.json:2:24: two operations have the id 1; each needs its own",
            ),
            ("[]", "PLAN.json:1:1: found a list of 0, expected an object in braces"),
            (
                "{\"operations\": [], \"order\": [], \"from\":\n{\"routing\": \"x\"}}",
                "PLAN.json:2:13: `x` is no routing; use up-down or shortest",
            ),
            (
                "{\"operations\": 7}",
                "PLAN.json:1:16: found the number 7, expected a list in brackets",
            ),
            (
                "{\"operations\": [],\n \"order\": [[1, 2], [3, -4]]}",
                "PLAN.json:2:24: found the number -4, expected a whole number that is not negative",
            ),
        ] {
            assert_eq!(error(text), message);
        }
    }

    #[test]
    fn a_file_that_is_not_there_is_refused_where_the_plan_names_it() {
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("PLAN.json");
        let text = "{\"operations\": [], \"order\": [], \"from\": {\n\"network\": \"/dev/null\",\n\"old\": \"/no\"}}";
        std::fs::write(&file, text).unwrap();
        let plan = PlanFile::load(&file).unwrap();
        let error = |keys: &[&str]| plan.check_named(&file, keys).unwrap_err();
        let network = error(&["network", "old", "new"]);
        assert_eq!((network.line, network.column), (2, 12));
        assert!(
            network.message.starts_with("/dev/null cannot be read: it is a device"),
            "{network}"
        );
        let old = error(&["old", "new"]);
        assert_eq!((old.line, old.column), (3, 8));
        assert_eq!(plan.check_named(&file, &["new"]), Ok(()));
    }

    #[test]
    fn what_does_not_fit_the_change_is_refused_at_its_place() {
        let network = "switch = [{name = 'A', ports = 2}, {name = 'B', ports = 2}]
            host = [{name = 'H'}]
            link = [{ends = ['A:1', 'B:1']}, {ends = ['A:2', 'H']}]";
        let network = crate::NetworkConfig::parse(Path::new("N.toml"), network).unwrap().network;
        let paths = |text| crate::path_file::parse(Path::new("P.txt"), text, &network).unwrap();
        let change = Change::between(&network, paths("p: A B"), paths("q: B A"));
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("PLAN.json");
        let refused = |operations: &str, order: &str| {
            let text = format!("{{\"operations\": [\n{operations}],\n\"order\": [{order}]}}");
            std::fs::write(&file, &text).unwrap();
            let error = PlanFile::load(&file).unwrap().order(&change).unwrap_err().in_file(&file);
            assert_eq!(error.file, file);
            let line = text.lines().nth(error.line - 1).unwrap();
            (line[error.column - 1..].to_owned(), error.message)
        };
        let p = "{\"id\": 1, \"kind\": \"remove\", \"path\": \"p\"}";
        let q = "{\"id\": 2, \"kind\": \"add\", \"path\": \"q\"}";
        let (at, message) = refused(&p.replace("\"p\"", "\"r\""), "");
        assert_eq!((at.as_str(), message.contains("remove `r`")), ("\"r\"}],", true), "{message}");
        let (at, message) = refused(&format!("{p},\n{}", p.replace('1', "3")), "");
        assert_eq!((at.as_str(), message.contains("twice")), ("\"p\"}],", true), "{message}");
        let (at, message) = refused(p, "");
        assert_eq!((at.as_str(), message.contains("to add `q`")), ("[", true), "{message}");
        let (at, message) = refused(&format!("{p},{q}"), "[1, 2], [1, 7]");
        assert_eq!((at.as_str(), message.contains("1 before 7")), ("[1, 7]]}", true), "{message}");
    }
}
