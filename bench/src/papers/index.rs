//! One page that leads to all others: the table of the papers' items with its figures, the runs,
//! and the comparison of schemes.

use crate::compared::{self, Compared};
use crate::plot::Plot;
use crate::row::{HEADINGS, Row};
use crate::runs::Run;
use std::fmt::Write as _;

const STYLE: &str = "body{font:15px/1.5 system-ui,sans-serif;max-width:70rem;margin:2rem auto;\
    padding:0 1rem;color:#1a1a1a;background:#fff}h1,h2{font-weight:600}table{border-collapse:collapse;\
    width:100%;font-size:14px}td,th{text-align:left;padding:.35rem .8rem .35rem 0;border-bottom:\
    1px solid #ddd;vertical-align:top}.bad{color:#c1121f}a{color:#0a58ca}svg text{font:12px \
    system-ui,sans-serif;fill:currentColor}@media(prefers-color-scheme:dark){body{color:#e8e8e8;\
    background:#15171a}td,th{border-color:#333}a{color:#6ea8fe}.bad{color:#ff6b6b}}";

/// The page.
pub(crate) fn page(rows: &[Row], runs: &[Run], compared: &[Compared]) -> String {
    let mut html = format!(
        "<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport \
         content='width=device-width'><title>Knotless: the papers' experiments</title>\
         <style>{STYLE}</style><h1>The papers' experiments</h1>"
    );
    html.push_str(&items(rows));
    html.push_str(&scenarios(runs));
    html.push_str("<h2>The same failures under every scheme</h2>");
    for scenario in compared {
        html.push_str(&comparison(scenario));
    }
    html.push_str("</html>");
    html
}

/// Every theorem, table and figure, and the figures drawn.
fn items(rows: &[Row]) -> String {
    let headings = HEADINGS.map(|heading| format!("<th>{heading}"));
    let mut html =
        format!("<h2>Every theorem, table and figure</h2><table><tr>{}", headings.concat());
    for row in rows {
        let class = if row.verdict.is_failure() { " class=bad" } else { "" };
        let cells = row.cells().map(|cell| format!("<td>{}", escaped(&cell)));
        let _always_fits = write!(html, "<tr{class}>{}", cells.concat());
    }
    html.push_str("</table>");
    for row in rows.iter().filter(|row| !row.plots.is_empty()) {
        let plots: Vec<String> = row.plots.iter().map(Plot::svg).collect();
        let (paper, item) = (row.paper.name(), escaped(row.item));
        let _always_fits = write!(html, "<h3>{paper}, {item}</h3>{}", plots.concat());
    }
    html
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// A row for each scenario and scheme.
fn scenarios(runs: &[Run]) -> String {
    let mut html = "<h2>With and without the scheme</h2><table><tr><th>scenario<th>scheme\
                    <th>the paper<th>here<th>flows at the end, Gb/s<th>as expected"
        .to_owned();
    for run in runs {
        let (least, most) = run.late_gbps();
        let expected =
            if run.surprises.is_empty() { "yes".into() } else { run.surprises.join("; ") };
        let class = if run.outcome.deadlock.is_some() { "bad" } else { "" };
        let _always_fits = write!(
            html,
            "<tr><td><a href='{0}-{1}.html'>{0}</a><td>{1}<td>{2}<td class='{class}'>{3}<td>{least:.1} \
             to {most:.1}<td>{expected}",
            run.name,
            run.scheme,
            run.paper,
            run.verdict()
        );
    }
    html.push_str("</table>");
    html
}

/// A table and, for the eye, how much each scheme carried.
fn comparison(scenario: &Compared) -> String {
    let mut html = format!("<h3>{}</h3><p>{}</p><table><tr>", scenario.name, scenario.about);
    let headings = compared::HEADINGS.map(|heading| format!("<th>{heading}"));
    html.push_str(&headings.concat());
    html.push_str("<th>");
    let most = scenario.schemes.iter().map(|scheme| scheme.goodput_bps).max().unwrap_or(1).max(1);
    for scheme in &scenario.schemes {
        let is_bad = scheme.deadlock_ps.is_some() || scheme.lossless_lost_frames > 0;
        let class = if is_bad { " class=bad" } else { "" };
        let cells = compared::row(scheme).map(|cell| format!("<td>{cell}"));
        let width = scheme.goodput_bps as f64 / most as f64 * 120.0;
        let _always_fits = write!(
            html,
            "<tr{class}>{}<td><svg width=120 height=12 role=img aria-label='share of the best \
             goodput'><rect width={width:.1} height=12 fill=currentColor /></svg>",
            cells.concat()
        );
    }
    html.push_str("</table>");
    html
}
