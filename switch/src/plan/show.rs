//! A plan as text and as JSON.

use super::{Column, Planned};
use crate::ctl::tables::{numbers, table, text};
use crate::network::grouped;
use config::plan_file::PlanFile;
use fabric::Network;
use fabric::plan::lossless::Cause;
use fabric::plan::{Method, Model, PlanError, WaitCycle};
use serde_json::{Value, json};

/// Operations that are listed one by one.
const LISTED_MAX: usize = 40;
/// Names that are given of those that something waits for.
const NAMED_MAX: usize = 4;

pub(super) fn as_json(planned: &Planned) -> Value {
    let Planned { network, change, plan, .. } = planned;
    let file = PlanFile::new(change, &plan.order, planned.from.clone());
    let mut object = json!(file);
    let ours = planned.columns.last();
    object["makespan"] = ours.map_or(Value::Null, makespan);
    object["model"] = json!(planned.model.name());
    object["method"] = json!(plan.method.name());
    object["minimal"] = json!(plan.is_minimal);
    object["shortest_possible_us"] = json!(plan.bound_us);
    object["kept_paths"] = json!(change.kept_paths);
    object["seconds"] = json!(ours.map(|column| column.seconds));
    let others = planned.columns.iter().filter(|column| column.key != "ours");
    let others = others.map(|column| {
        let value = column.found.map(|(constraints, _)| {
            json!({ "constraints": constraints, "makespan": makespan(column),
                    "seconds": column.seconds })
        });
        (column.key.to_owned(), json!(value))
    });
    object["compared"] = Value::Object(others.collect());
    if let Some(lossy) = &planned.lossy {
        let rows = lossy.iter().map(|flow| {
            let (input, output) = flow.turn;
            json!({
                "path": change.operations[flow.operation as usize].path.name,
                "cause": cause(flow.cause),
                "switch": network.switch_name(network.owner(input)),
                "in": network.port(input).number(),
                "out": network.port(output).number(),
            })
        });
        object["lossy"] = json!(rows.collect::<Vec<_>>());
    }
    object
}

fn makespan(column: &Column) -> Value {
    let mut object = json!({ "unit": "us" });
    if let Some((_, times)) = column.found {
        for (model, time) in Model::ALL.iter().zip(times) {
            object[model.name()] = json!(time);
        }
    }
    object
}

const fn cause(cause: Cause) -> &'static str {
    match cause {
        Cause::OldPath => "old path",
        Cause::NewPath => "new path",
        Cause::Mixture => "mixture",
    }
}

pub(super) fn as_text(planned: &Planned) -> String {
    let Planned { change, plan, .. } = planned;
    let (removes, all) = (change.removes(), change.operations.len());
    let mut lines = vec![format!(
        "{} to remove, {} to add; {} paths are in both and left alone",
        grouped(removes as u64),
        grouped((all - removes) as u64),
        grouped(change.kept_paths)
    )];
    lines.push(proof(planned));
    if (1..=LISTED_MAX).contains(&all) {
        lines.push(String::new());
        lines.push(operations(planned));
    }
    lines.push(String::new());
    lines.push(comparison(&planned.columns));
    if plan.method == Method::Apart {
        lines.push(
            "nothing faster could be proven: all that can be on a cycle is removed first"
                .to_owned(),
        );
    }
    lines.extend(lossy_lines(planned));
    lines.join("\n")
}

/// What holds of the order, and why.
fn proof(planned: &Planned) -> String {
    let plan = &planned.plan;
    let mut constraints = match plan.order.pairs().len() {
        1 => "1 constraint".to_owned(),
        count => format!("{} constraints", grouped(count as u64)),
    };
    match plan.order.barriers() {
        0 => {}
        1 => constraints.push_str(" through 1 barrier"),
        count => constraints.push_str(&format!(" through {} barriers", grouped(count as u64))),
    }
    match plan.method {
        Method::Free => "safe in any order: all paths together close no cycle".to_owned(),
        Method::Lossless => format!(
            "the rules exclude a deadlock in any order; flows stay lossless by {constraints}"
        ),
        Method::Minimal | Method::Paper | Method::Apart => {
            let needed = if plan.is_minimal { ", each needed" } else { "" };
            let fastest = match plan.bound_us {
                Some(bound_us) if bound_us == plan.completion_us => "; no safe order is faster",
                _ => "",
            };
            format!(
                "proven safe at every moment: {constraints}{needed}, among {} operations that can be on a \
                 cycle{fastest}",
                grouped(planned.knotted as u64)
            )
        }
    }
}

fn operations(planned: &Planned) -> String {
    let Planned { change, plan, .. } = planned;
    let mut rows = table(["id", "operation", "path", "waits for"]);
    let mut waits = vec![Vec::new(); change.operations.len()];
    // Few operations are listed, so their pairs are few, too.
    let pairs = plan.order.pairwise(usize::MAX).unwrap_or_default();
    pairs.iter().for_each(|&(before, after)| waits[after as usize].push(before));
    for (number, operation) in change.operations.iter().enumerate() {
        let name = |&before: &u32| {
            let before = &change.operations[before as usize];
            format!("{} {}", before.kind.name(), before.path.name)
        };
        let mut names: Vec<String> = waits[number].iter().take(NAMED_MAX).map(name).collect();
        if waits[number].len() > NAMED_MAX {
            names.push(format!("{} more", waits[number].len() - NAMED_MAX));
        }
        let names = if names.is_empty() { "-".to_owned() } else { names.join(", ") };
        let kind = operation.kind.name().to_owned();
        rows.add_row([(number + 1).to_string(), kind, operation.path.name.clone(), names]);
    }
    text(&rows)
}

fn comparison(columns: &[Column]) -> String {
    let headings =
        ["", "constraints", "parallel", "sequential", "control delay", "stragglers", "planned in"];
    let mut rows = numbers(headings, 1);
    for column in columns {
        let mut row = vec![column.name.to_owned()];
        match column.found {
            Some((constraints, times)) => {
                row.push(grouped(constraints));
                row.extend(times.map(milliseconds));
            }
            None => row.push("not found in time".to_owned()),
        }
        row.resize(6, String::new());
        row.push(format!("{:.2} s", column.seconds));
        rows.add_row(row);
    }
    text(&rows)
}

fn milliseconds(us: u64) -> String {
    format!("{}.{} ms", grouped(us / 1_000), us % 1_000 / 100)
}

fn lossy_lines(planned: &Planned) -> Vec<String> {
    let Planned { network, change, lossy, .. } = planned;
    let Some(lossy) = lossy else { return Vec::new() };
    if lossy.is_empty() {
        return vec!["no flow turns lossy at any moment".to_owned()];
    }
    let line = |flow: &fabric::plan::lossless::LossyFlow| {
        let (input, output) = flow.turn;
        let name = &change.operations[flow.operation as usize].path.name;
        let place = format!(
            "in {} from port {} to port {}",
            network.switch_name(network.owner(input)),
            network.port(input),
            network.port(output)
        );
        match flow.cause {
            Cause::OldPath => format!("`{name}` is lossy until it goes: {place}"),
            Cause::NewPath => {
                format!("`{name}` is lossy when it comes: {place}; compile rules first")
            }
            Cause::Mixture => format!(
                "`{name}` would be lossy while old and new path are mixed, {place}: its old path \
                 goes first"
            ),
        }
    };
    let mut lines: Vec<String> = lossy.iter().take(LISTED_MAX).map(line).collect();
    if lossy.len() > LISTED_MAX {
        lines.push(format!("... and {} more", grouped((lossy.len() - LISTED_MAX) as u64)));
    }
    lines
}

/// A cycle in one line.
pub(crate) fn knot_text(network: &Network, knot: &WaitCycle) -> String {
    let hops = knot.slots.iter().zip(&knot.paths).map(|(&slot, paths)| {
        let mut because = match paths.split_at_checked(NAMED_MAX) {
            Some((first, rest)) if !rest.is_empty() => {
                format!("{} and {} more", first.join(", "), rest.len())
            }
            _ => paths.join(", "),
        };
        if because.is_empty() {
            because.push_str("paths in both sets");
        }
        format!("{} waits ({because})", network.show(slot))
    });
    let first = knot.slots.first().map(|&slot| network.show(slot)).unwrap_or_default();
    format!("{} for {first}", hops.collect::<Vec<_>>().join(" for "))
}

pub(super) fn knot_json(network: &Network, error: &PlanError, knot: &WaitCycle) -> Value {
    let hop = |(&slot, paths): (&u32, &Vec<String>)| {
        json!({
            "switch": network.switch_name(network.owner(slot)),
            "in": network.port(slot).number(),
            "paths": paths,
        })
    };
    let cycle: Vec<Value> = knot.slots.iter().zip(&knot.paths).map(hop).collect();
    let side = match error {
        PlanError::Cyclic(side, _) => Some(side.to_string()),
        _ => None,
    };
    json!({ "deadlock_free": false, "side": side, "cycle": cycle })
}
