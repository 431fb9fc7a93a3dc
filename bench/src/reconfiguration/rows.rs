//! One row: a change of one network by one model, done in four ways.

use crate::events::{self, Event};
use comfy_table::{CellAlignment, Table, presets};
use fabric::Network;
use fabric::plan::{Change, Method, Model, Planner, Timing};
use serde_json::{Value, json};
use std::error::Error;
use std::time::{Duration, Instant};

/// How long the reconfiguration paper's rule may look for one cycle after the other.
const PATIENCE: Duration = Duration::from_millis(400);

/// A way to do it.
pub(crate) struct Way {
    /// The last operation is done so many microseconds after the start.
    pub(crate) completion_us: u64,
    pub(crate) constraints: u64,
    pub(crate) seconds: f64,
}

pub(crate) struct Row {
    pub(crate) kind: &'static str,
    pub(crate) switches: usize,
    pub(crate) event: Event,
    pub(crate) model: Model,
    removes: usize,
    adds: usize,
    kept: u64,
    knotted: usize,
    pub(crate) remove_all: Way,
    pub(crate) intersect: Way,
    /// `None` where it was not found in time.
    pub(crate) paper: Option<Way>,
    pub(crate) ours: Way,
    /// No safe order is complete before this.
    bound_us: u64,
    /// Barriers of ours.
    barriers: usize,
    /// Where no safe order is faster, and that is known.
    is_optimal: bool,
    is_fallback: bool,
}

impl Row {
    /// How many times as long removing everything first takes.
    pub(crate) fn speedup(&self) -> f64 {
        self.remove_all.completion_us as f64 / self.ours.completion_us.max(1) as f64
    }

    /// Whether ours is slower than no way with barriers, and than no order by the rule where that
    /// is known to be impossible: with one rule at a time the rule may come out ahead.
    pub(crate) fn holds(&self) -> bool {
        let barriers = [&self.remove_all, &self.intersect];
        let is_first = |way: &Way| self.ours.completion_us <= way.completion_us;
        barriers.into_iter().all(is_first)
            && (self.model == Model::Sequential || self.paper.as_ref().is_none_or(is_first))
    }

    /// Whether the rule comes out ahead.
    pub(crate) fn rule_is_ahead(&self) -> bool {
        self.paper.as_ref().is_some_and(|way| way.completion_us < self.ours.completion_us)
    }

    /// How many times as long as the lower bound ours takes.
    pub(crate) fn over_bound(&self) -> f64 {
        self.ours.completion_us as f64 / self.bound_us.max(1) as f64
    }

    pub(crate) fn json(&self) -> Value {
        let way = |way: &Way| {
            json!({ "completion_us": way.completion_us, "constraints": way.constraints,
                    "seconds": way.seconds })
        };
        json!({
            "network": self.kind,
            "switches": self.switches,
            "event": self.event.name(),
            "model": self.model.name(),
            "removes": self.removes,
            "adds": self.adds,
            "kept": self.kept,
            "on_cycles": self.knotted,
            "remove_all": way(&self.remove_all),
            "intersect_first": way(&self.intersect),
            "paper": self.paper.as_ref().map(way),
            "ours": way(&self.ours),
            "speedup": self.speedup(),
            "bound_us": self.bound_us,
            "over_bound": self.over_bound(),
            "barriers": self.barriers,
            "no_safe_order_is_faster": self.is_optimal,
            "fallback": self.is_fallback,
        })
    }
}

/// All rows of one network.
pub(crate) fn of(kind: &'static str, network: &Network) -> Result<Vec<Row>, Box<dyn Error>> {
    let switches = network.switches();
    // About eight paths for each switch of the network, and 8,000 at the most.
    let edges = events::pairs(network, 1).len();
    let pairs = events::pairs(network, 8.min(8_000 / switches) * switches / edges);
    let mut rows = Vec::new();
    for event in Event::of(kind) {
        let change = events::happen(network, event, &pairs);
        for model in Model::ALL {
            rows.push(row(kind, network, event, &change, model)?);
        }
    }
    Ok(rows)
}

fn row(
    kind: &'static str,
    network: &Network,
    event: Event,
    change: &Change,
    model: Model,
) -> Result<Row, Box<dyn Error>> {
    let begun = Instant::now();
    let planner = Planner::new(network, change, Timing::default())?;
    let plan = planner.plan(model);
    let seconds = begun.elapsed().as_secs_f64();
    let constraints = |count: usize| count as u64;
    let ours = Way {
        completion_us: plan.completion_us,
        constraints: constraints(plan.order.pairs().len()),
        seconds,
    };
    let begun = Instant::now();
    let paper = planner.paper(model, PATIENCE).map(|plan| Way {
        completion_us: plan.completion_us,
        constraints: constraints(plan.order.pairs().len()),
        seconds: begun.elapsed().as_secs_f64(),
    });
    let (removes, adds) = (change.removes(), change.operations.len() - change.removes());
    let [all_us, apart_us] = planner.barriers_us(model);
    let kept = change.kept_paths;
    let all = (constraints(removes) + kept) * (constraints(adds) + kept);
    let at_once = |completion_us, constraints| Way { completion_us, constraints, seconds: 0.0 };
    Ok(Row {
        kind,
        switches: network.switches(),
        event,
        model,
        removes,
        adds,
        kept,
        knotted: planner.operations_on_cycles(),
        remove_all: at_once(all_us, all),
        intersect: at_once(apart_us, constraints(removes * adds)),
        paper,
        bound_us: plan.bound_us.unwrap_or(0),
        barriers: plan.order.barriers(),
        is_optimal: plan.bound_us == Some(plan.completion_us),
        is_fallback: plan.method == Method::Apart,
        ours,
    })
}

/// A column of the table: its heading, and what a row has there.
type Column = (&'static str, fn(&Row) -> String);

/// The columns. The first three are text.
const COLUMNS: [Column; 18] = [
    ("network", |row| format!("{} {}", row.kind, row.switches)),
    ("event", |row| row.event.name().to_owned()),
    ("model", |row| row.model.name().replace('_', " ")),
    ("-/+ paths", |row| format!("{}/{}", row.removes, row.adds)),
    ("on cycles", |row| row.knotted.to_string()),
    ("remove all", |row| ms(&row.remove_all)),
    ("intersect", |row| ms(&row.intersect)),
    ("paper", |row| of_paper(row, ms)),
    ("ours, ms", |row| ms(&row.ours) + if row.is_optimal { "*" } else { "" }),
    ("over bound", |row| format!("{:.2}", row.over_bound())),
    ("faster", |row| format!("{:.2}", row.speedup())),
    ("constraints: all", |row| row.remove_all.constraints.to_string()),
    ("intersect", |row| row.intersect.constraints.to_string()),
    ("paper", |row| of_paper(row, |way| way.constraints.to_string())),
    ("ours", |row| row.ours.constraints.to_string()),
    ("barriers", |row| row.barriers.to_string()),
    ("planned: paper", |row| of_paper(row, |way| format!("{:.3}", way.seconds))),
    ("ours, s", |row| format!("{:.3}", row.ours.seconds)),
];

fn ms(way: &Way) -> String {
    format!("{:.1}", way.completion_us as f64 / 1_000.0)
}

fn of_paper(row: &Row, show: impl Fn(&Way) -> String) -> String {
    row.paper.as_ref().map_or_else(|| "-".to_owned(), show)
}

/// The rows as a table.
pub(crate) fn table(rows: &[Row]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_header(COLUMNS.map(|(heading, _)| heading));
    for column in table.column_iter_mut().skip(3) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    for row in rows {
        table.add_row(COLUMNS.map(|(_, cell)| cell(row)));
    }
    table
}
