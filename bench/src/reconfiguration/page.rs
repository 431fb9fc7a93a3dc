//! The plot: for each model, each network and event a line from what removing everything first
//! takes to what ours does, with the other two ways between. One file that asks nobody for
//! anything.

use crate::rows::{Row, Way};
use fabric::plan::Model;
use std::fmt::Write as _;

const STYLE: &str = "body{font:15px/1.5 system-ui,sans-serif;max-width:70rem;margin:2rem auto;\
    padding:0 1rem;color:#1a1a1a;background:#fff}h1,h2{font-weight:600}svg text{font:12px \
    system-ui,sans-serif;fill:currentColor}@media(prefers-color-scheme:dark){body{color:#e8e8e8;\
    background:#15171a}}";

/// Colors that stay apart for color-blind eyes (Okabe and Ito).
const WAYS: [(&str, &str); 4] = [
    ("remove all, then add", "#d55e00"),
    ("intersect first", "#e69f00"),
    ("paper's rule", "#0072b2"),
    ("ours", "#009e73"),
];

const WIDTH: f64 = 1_000.0;
const LEFT: f64 = 260.0;
const RIGHT: f64 = 40.0;
const ROW: f64 = 18.0;
const TOP: f64 = 40.0;

/// The page.
pub(crate) fn page(rows: &[Row]) -> String {
    let mut html = format!(
        "<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport \
         content='width=device-width'><title>Knotless: changing routes</title><style>{STYLE}</style>\
         <h1>Changing routes without passing through a deadlock</h1><p>When the last operation is \
         done, in milliseconds, on a logarithmic scale: the further left the better.</p>"
    );
    for model in Model::ALL {
        let name = model.name().replace('_', " ");
        let of: Vec<&Row> = rows.iter().filter(|row| row.model == model).collect();
        let _always_fits = write!(html, "<h2>Update model: {name}</h2>{}", chart(&of, &name));
    }
    html + "</html>\n"
}

fn chart(rows: &[&Row], name: &str) -> String {
    let ways = rows.iter().flat_map(|row| dots(row)).flatten();
    let (least, most) = ways
        .map(milliseconds)
        .fold((f64::MAX, 0.0_f64), |(least, most), ms| (least.min(ms), most.max(ms)));
    let (low, high) = (least.max(0.1).log10().floor(), most.max(1.0).log10().ceil());
    let x = |ms: f64| {
        LEFT + (ms.max(0.1).log10() - low) / (high - low).max(1.0) * (WIDTH - LEFT - RIGHT)
    };
    let height = TOP + rows.len() as f64 * ROW + 30.0;
    let mut svg = format!(
        "<svg viewBox='0 0 {WIDTH} {height}' width='100%' role=img aria-label='completion, {name}'>"
    );
    for (at, (way, colour)) in WAYS.iter().enumerate() {
        let x = LEFT + at as f64 * 180.0;
        let _always_fits = write!(
            svg,
            "<circle cx={x} cy=14 r=5 fill='{colour}' /><text x={} y=18>{way}</text>",
            x + 10.0
        );
    }
    let base = height - 24.0;
    let mut decade = low;
    while decade <= high {
        let (at, ms) = (x(10_f64.powf(decade)), 10_f64.powf(decade));
        let _always_fits = write!(
            svg,
            "<path d='M{at:.1} {TOP}V{base}' stroke=currentColor opacity=.2 />\
             <text x={at:.1} y={} text-anchor=middle>{ms}</text>",
            base + 16.0
        );
        decade += 1.0;
    }
    for (at, row) in rows.iter().enumerate() {
        let y = TOP + (at as f64 + 0.6) * ROW;
        let found = dots(row);
        let all = found.iter().flatten().map(|way| x(milliseconds(way)));
        let (from, to) = all.fold((f64::MAX, 0.0_f64), |(a, b), x| (a.min(x), b.max(x)));
        let _always_fits = write!(
            svg,
            "<text x={} y={:.1} text-anchor=end>{} {}, {}</text>\
             <path d='M{from:.1} {y:.1}H{to:.1}' stroke=currentColor opacity=.4 />",
            LEFT - 12.0,
            y + 4.0,
            row.kind,
            row.switches,
            row.event.name(),
        );
        for (way, (label, colour)) in found.iter().zip(WAYS) {
            let Some(way) = way else { continue };
            let ms = milliseconds(way);
            let _always_fits = write!(
                svg,
                "<circle cx={:.1} cy={y:.1} r=5 fill='{colour}'><title>{label}: {ms:.1} ms, {} \
                 constraints</title></circle>",
                x(ms),
                way.constraints
            );
        }
    }
    svg + "</svg>"
}

const fn dots(row: &Row) -> [Option<&Way>; 4] {
    [Some(&row.remove_all), Some(&row.intersect), row.paper.as_ref(), Some(&row.ours)]
}

fn milliseconds(way: &Way) -> f64 {
    way.completion_us as f64 / 1_000.0
}
