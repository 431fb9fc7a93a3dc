//! Fig. 15: throughput and latency by the number of rules, as `make bench-rule-count` measured them
//! of the program and its devices.

use super::PAPER;
use crate::experiments::row_of_figures;
use crate::plot::{Line, Plot};
use crate::row::Row;
use serde_json::Value;

/// The row.
pub(super) fn row() -> Row {
    let mut plots = Vec::new();
    let row = row_of_figures(
        PAPER,
        "Fig. 15: rules and performance",
        "throughput and latency do not depend on the rules",
        "rule-count",
        "make bench-rule-count",
        |figures| {
            let rows = figures["rows"].as_array().map_or(&[][..], Vec::as_slice);
            plots = vec![
                plot(rows, "mpps", "throughput, Mpps"),
                plot(rows, "p50_ns", "latency, median, ns"),
            ];
            let last = rows.last().unwrap_or(&Value::Null);
            format!(
                "{} rules to one rule: throughput {} x, median latency {} x",
                last["rules"], last["mpps_ratio"], last["p50_ns_ratio"]
            )
        },
    );
    Row { plots, ..row }
}

fn plot(rows: &[Value], key: &str, title: &str) -> Plot {
    let point = |row: &Value| Some((row["rules"].as_f64()?, row[key].as_f64()?));
    let points = rows.iter().filter_map(point).collect();
    Plot {
        title: title.to_owned(),
        x_label: "rules".to_owned(),
        is_logarithmic: false,
        lines: vec![Line { name: "knotless, one core".to_owned(), points }],
    }
}
