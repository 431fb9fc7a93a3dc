//! Fig. 13: run time of the algorithms, as `make bench-tagger-runtime` measured it.

use super::PAPER;
use crate::experiments::row_of_figures;
use crate::plot::{Line, Plot};
use crate::row::Row;
use serde_json::Value;

const COMMAND: &str = "make bench-tagger-runtime";

/// The row.
pub(super) fn row() -> Row {
    let mut plots = Vec::new();
    let row = row_of_figures(
        PAPER,
        "Fig. 13, V-C: run time by switches",
        "Algorithm 2: 19.6 h for 10,000; O(L T (L + L P)), n^2 T at fixed degree",
        "tagger-runtime",
        COMMAND,
        |figures| {
            let curves = figures["curves"].as_array().map_or(&[][..], Vec::as_slice);
            plots.push(plot(curves));
            curves.iter().map(text).collect::<Vec<_>>().join("; ")
        },
    );
    Row { plots, ..row }
        .differs("another computer, and cycles are looked for between new edges only")
}

/// The largest network, its time, and the growth.
fn text(curve: &Value) -> String {
    let name = curve["algorithm"].as_str().unwrap_or("?");
    let last = &curve["runs"].as_array().and_then(|runs| runs.last()).unwrap_or(&Value::Null);
    let (switches, seconds) = (&last["switches"], last["seconds"].as_f64().unwrap_or(0.0));
    let growth = curve["exponent"].as_f64().map(|exponent| {
        let at_most = curve["seconds_at_10000"].as_f64().unwrap_or(0.0);
        format!(", n^{exponent:.2}, so {at_most:.0} s for 10,000")
    });
    format!("{name}: {seconds:.1} s for {switches}{}", growth.unwrap_or_default())
}

fn plot(curves: &[Value]) -> Plot {
    let point = |run: &Value| Some((run["switches"].as_f64()?, run["seconds"].as_f64()?));
    let line = |curve: &Value| Line {
        name: curve["algorithm"].as_str().unwrap_or("?").to_owned(),
        points: curve["runs"].as_array().into_iter().flatten().filter_map(point).collect(),
    };
    Plot {
        title: "run time, s".to_owned(),
        x_label: "switches".to_owned(),
        is_logarithmic: true,
        lines: curves.iter().map(line).collect(),
    }
}
