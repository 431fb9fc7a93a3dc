//! One page that leads to all others, with the tables and Fig. 14 drawn.

use crate::bounced::Bounced;
use crate::compared::{self, Compared};
use crate::loss::Loss;
use crate::runs::Run;
use std::fmt::Write as _;

const STYLE: &str = "body{font:15px/1.5 system-ui,sans-serif;max-width:70rem;margin:2rem auto;\
    padding:0 1rem;color:#1a1a1a;background:#fff}h1,h2{font-weight:600}table{border-collapse:collapse;\
    width:100%;font-size:14px}td,th{text-align:left;padding:.35rem .8rem .35rem 0;border-bottom:\
    1px solid #ddd;vertical-align:top}.bad{color:#c1121f}a{color:#0a58ca}svg text{font:12px \
    system-ui,sans-serif;fill:currentColor}@media(prefers-color-scheme:dark){body{color:#e8e8e8;\
    background:#15171a}td,th{border-color:#333}a{color:#6ea8fe}.bad{color:#ff6b6b}}";

/// Colors that stay apart for color-blind eyes (Okabe and Ito), one for each size.
const COLOURS: [&str; 4] = ["#0072b2", "#e69f00", "#009e73", "#cc79a7"];

/// The page.
pub(crate) fn page(
    runs: &[Run],
    losses: &[Loss],
    bounced: &[Bounced],
    compared: &[Compared],
) -> String {
    let mut html = format!(
        "<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport \
         content='width=device-width'><title>Knotless: the papers' experiments</title>\
         <style>{STYLE}</style><h1>The papers' experiments</h1>"
    );
    html.push_str(
        "<h2>With and without the scheme</h2><table><tr><th>scenario<th>scheme<th>the paper",
    );
    html.push_str("<th>here<th>flows at the end, Gb/s<th>as expected");
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
    html.push_str("</table><h2>Tagger, Table VI: share of frames lost</h2><table><tr><th>");
    html.push_str("<th>without PFC<th>one lossless priority<th>two");
    for row in losses.chunks(3) {
        let _always_fits = write!(html, "<tr><td>{}-to-1", row[0].senders);
        for loss in row {
            let (share, paper) = (loss.share(), loss.paper);
            let _always_fits = write!(html, "<td>{share:.2e} (paper {paper:.2e})");
        }
    }
    html.push_str("</table><h2>Tagger, Fig. 14: flows that bounce</h2>");
    for (which, title) in ["once", "twice", "more than twice"].iter().enumerate() {
        html.push_str(&chart(bounced, which, title));
    }
    html.push_str("<h2>The same failures under every scheme</h2>");
    for scenario in compared {
        html.push_str(&comparison(scenario));
    }
    html.push_str("</html>");
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

/// Lines over the share of failed links, one for each size.
fn chart(bounced: &[Bounced], which: usize, title: &str) -> String {
    const WIDTH: f64 = 300.0;
    const HEIGHT: f64 = 200.0;
    let value = |point: &Bounced| point.percent()[which];
    let most = bounced.iter().map(value).fold(0.001, f64::max);
    let x = |point: &Bounced| 50.0 + f64::from(point.failed) / 20.0 * (WIDTH - 70.0);
    let y = |point: &Bounced| HEIGHT - 30.0 - value(point) / most * (HEIGHT - 60.0);
    let mut svg = format!(
        "<svg width={WIDTH} height={HEIGHT} role=img aria-label='flows bounced {title}'>\
         <text x=50 y=18>{title}, % of flows</text>\
         <path d='M50 30V{base}H{right}' fill=none stroke=currentColor opacity=.4 />\
         <text x=46 y=36 text-anchor=end>{most:.1}</text><text x=46 y={base} text-anchor=end>0</text>\
         <text x=50 y={under}>0</text><text x={right} y={under} text-anchor=end>20 % of links</text>",
        base = HEIGHT - 30.0,
        right = WIDTH - 20.0,
        under = HEIGHT - 12.0,
    );
    let sizes: Vec<usize> = bounced.iter().map(|point| point.k).collect();
    let mut drawn = Vec::new();
    for k in sizes {
        if drawn.contains(&k) {
            continue;
        }
        let colour = COLOURS[drawn.len() % COLOURS.len()];
        let points = bounced.iter().filter(|point| point.k == k);
        let line: Vec<String> =
            points.map(|point| format!("{:.1},{:.1}", x(point), y(point))).collect();
        let at = 48.0 + 14.0 * drawn.len() as f64;
        let _always_fits = write!(
            svg,
            "<polyline points='{}' fill=none stroke='{colour}' stroke-width=2 /><text x=60 y={at} \
             style='fill:{colour}'>k = {k}</text>",
            line.join(" ")
        );
        drawn.push(k);
    }
    svg.push_str("</svg>");
    svg
}
