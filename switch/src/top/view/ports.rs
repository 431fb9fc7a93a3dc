//! The ports: one line each, then one line for each class in use, and its losses.

use super::head::exactly;
use super::text::{ALARM, BAR, FAINT, LOSS, NAME, NOTABLE, Piece, fit, full, lead, plain, wrap};
use super::waits;
use crate::control::stats::LldpPortStats;
use crate::top::format::{ms_per_second, number, percent, rate, time};
use crate::top::input::{Choices, Sort};
use crate::top::sample::{Cause, ClassView, Count, Pauses, PortView, Rate, View};
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use std::cmp::Reverse;

/// Four rates, six columns each.
const RATES: usize = 24;
/// VIQ and VEQ with their peaks, six columns each; headroom in use, and its peak in five.
const QUEUES: usize = 35;
/// State, share, times, time; both directions. Without the room for them pauses have a line of
/// their own.
const PAUSES: usize = 46;
/// Two columns in, a digit, and `lossless`: less makes no sense.
const NAMES_MIN: usize = 12;
/// The widest name column. A wider one would separate the columns too far; without the pause
/// columns, what follows a port's rates needs the space.
const NAMES_MAX: usize = 24;
const NAMES_MAX_NARROW: usize = 16;

/// How a line is divided.
#[derive(Clone, Copy, Debug)]
pub(super) struct Columns {
    width: usize,
    names: usize,
    pauses: bool,
}

impl Columns {
    pub(super) fn of(width: usize) -> Self {
        let rest = width.saturating_sub(RATES + QUEUES);
        let pauses = rest >= PAUSES + NAMES_MIN;
        let (names, most) =
            if pauses { (rest - PAUSES, NAMES_MAX) } else { (rest, NAMES_MAX_NARROW) };
        Self { width, names: names.clamp(NAMES_MIN, most), pauses }
    }
}

/// The column headings.
pub(super) fn headings(columns: Columns) -> Vec<Line<'static>> {
    let mut text = fit("port, class", columns.names);
    for (heading, width) in [
        ("rx b/s", 6),
        ("pps", 6),
        ("tx b/s", 7),
        ("pps", 5),
        ("VIQ B", 6),
        ("peak", 6),
        ("VEQ B", 6),
        ("peak", 6),
        ("hroom", 6),
        ("peak", 5),
    ] {
        text.push_str(&format!("{heading:>width$}"));
    }
    let mut lines = Vec::new();
    if columns.pauses {
        let before = text.chars().count();
        let above = format!("{:before$} ---- pauses sent ----- -- pauses received ---", "");
        lines.push(full(&above, BAR, columns.width));
        text.push_str(&"  now ms/s times    for".repeat(2));
    }
    lines.push(full(&text, BAR, columns.width));
    lines
}

/// All ports, as chosen.
pub(super) fn ports(view: &View, choices: &Choices, columns: Columns) -> Vec<Line<'static>> {
    let mut ports: Vec<&PortView> = view.ports.iter().collect();
    sort(&mut ports, choices.sort);
    ports.into_iter().flat_map(|view| port(view, choices, columns)).collect()
}

/// The most first; equals stay in the order of their numbers.
fn sort(ports: &mut [&PortView], by: Sort) {
    let descending =
        |of: fn(&PortView) -> f64| move |a: &&PortView, b: &&PortView| of(b).total_cmp(&of(a));
    match by {
        Sort::Number => {}
        Sort::Received => ports.sort_by(descending(|port| port.rx.bits)),
        Sort::Sent => ports.sort_by(descending(|port| port.tx.bits)),
        Sort::Paused => ports.sort_by(descending(PortView::paused)),
        Sort::Dropped => ports.sort_by_key(|port| {
            let (lossless_drops, dropped) = (port.lossless_drops, port.dropped);
            Reverse((lossless_drops.new, lossless_drops.total, dropped.new, dropped.total))
        }),
    }
}

fn port(port: &PortView, choices: &Choices, columns: Columns) -> Vec<Line<'static>> {
    let shown = |class: &ClassView| choices.quiet || !class.quiet;
    let folded = port.classes.iter().filter(|class| !shown(class)).count();
    let mut lines = vec![port_line(port, folded, columns)];
    for (priority, class) in port.classes.iter().enumerate().filter(|(_, class)| shown(class)) {
        lines.push(class_line(priority, class, columns));
        if !columns.pauses {
            lines.extend(pause_lines(class, columns));
        }
        let waits = port.waits.iter().filter(|wait| wait.priority == priority);
        lines.extend(waits.flat_map(|wait| waits::lines(wait, columns.width)));
        if class.lossless_drops.total > 0 {
            let text = format!(
                "    LOST {} lossless frames of class {priority}",
                exactly(class.lossless_drops)
            );
            lines.push(full(&text, ALARM, columns.width));
        }
    }
    if choices.drops {
        lines.extend(causes("dropped", &port.drops, NOTABLE, columns));
        lines.extend(causes("lost outside", &port.losses, LOSS, columns));
        lines.extend(causes("not obeyed", &port.pfc_ignored, NOTABLE, columns));
    }
    lines
}

fn port_line(port: &PortView, folded: usize, columns: Columns) -> Line<'static> {
    let name = fit(&format!("{} {}", port.number, port.name), columns.names - 1);
    let mut line = vec![Span::styled(name + " ", NAME)];
    line.push(Span::styled(rates(port.rx, port.tx), NAME));
    let state_style = if port.state == "up" { Style::new() } else { NOTABLE };
    line.push(Span::raw("  "));
    line.push(Span::styled(port.state, state_style));
    line.push(Span::raw(format!(" {}", rate(port.speed_bps as f64))));
    let outside = port.losses.iter().fold(Count::default(), |sum, cause| Count {
        total: sum.total.saturating_add(cause.count.total),
        new: sum.new.saturating_add(cause.count.new),
    });
    for (label, count, style) in [("drops", port.dropped, NOTABLE), ("lost outside", outside, LOSS)]
    {
        if count.total > 0 {
            line.push(Span::raw(format!("  {label} ")));
            line.extend(counted(count, style));
        }
    }
    line.extend(port.lldp.iter().flat_map(leads));
    if folded > 0 {
        line.push(Span::styled(format!("  {folded} idle"), FAINT));
    }
    Line::from(line)
}

/// The LLDP orientation, neighbor and conditions of the port.
fn leads(lldp: &LldpPortStats) -> Vec<Span<'static>> {
    let mut spans = Vec::new();
    if lldp.orientation != "unknown" {
        spans.push(Span::raw(format!("  {}", lldp.orientation)));
    }
    if let Some(neighbor) = &lldp.neighbor {
        spans.push(Span::raw(format!("  {neighbor}")));
    }
    if !lldp.conditions.is_empty() {
        spans.push(Span::styled(format!("  {}", lldp.conditions.join(" ")), NOTABLE));
    }
    spans
}

fn rates(rx: Rate, tx: Rate) -> String {
    [rx.bits, rx.frames, tx.bits, tx.frames].map(|value| format!("{:>6}", rate(value))).concat()
}

fn class_line(priority: usize, class: &ClassView, columns: Columns) -> Line<'static> {
    let kind = if class.lossless { "lossless" } else { "lossy" };
    let name = fit(&format!("  {priority} {kind}"), columns.names);
    let bytes = [class.viq_bytes, class.viq_peak_bytes, class.veq_bytes, class.veq_peak_bytes];
    let mut text = name + &rates(class.rx, class.tx);
    text.extend(bytes.map(|bytes| format!("{:>6}", number(bytes))));
    let mut line = plain(text);
    if class.lossless {
        let peak = percent(class.headroom_peak_bytes as f64, class.headroom_size_bytes as f64);
        let style = if class.headroom_bytes > 0 { NOTABLE } else { Style::new() };
        line.push(Span::styled(format!("{:>6}", number(class.headroom_bytes)), style));
        line.push(Span::raw(format!("{peak:>5}")));
        if columns.pauses {
            line.extend(pause_columns(&class.sent));
            line.extend(pause_columns(&class.received));
        }
    }
    Line::from(line)
}

/// The pause state of a class.
fn state(pauses: &Pauses) -> Span<'static> {
    match (pauses.xoff, pauses.times.total) {
        (true, _) => Span::styled("XOFF", NOTABLE),
        (false, 0) => Span::raw("-"),
        (false, _) => Span::raw("XON"),
    }
}

fn pause_columns(pauses: &Pauses) -> Piece {
    let state = state(pauses);
    let pad = " ".repeat(5_usize.saturating_sub(state.width()));
    let (share, times) = (ms_per_second(pauses.share), number(pauses.times.total));
    let share_style = if pauses.share > 0.0 { NOTABLE } else { Style::new() };
    let times_style = if pauses.times.new > 0 { NOTABLE } else { Style::new() };
    vec![
        Span::raw(pad),
        state,
        Span::styled(format!("{share:>5}"), share_style),
        Span::styled(format!("{times:>6}"), times_style),
        Span::raw(format!("{:>7}", time(pauses.paused_ns))),
    ]
}

/// The directions in which there has been a pause.
fn pause_lines(class: &ClassView, columns: Columns) -> Vec<Line<'static>> {
    let directions = [("sent", &class.sent), ("received", &class.received)];
    let paused = directions.into_iter().filter(|(_, pauses)| pauses.xoff || pauses.times.total > 0);
    let pieces: Vec<Piece> = paused.map(|(direction, pauses)| pause(direction, pauses)).collect();
    if pieces.is_empty() {
        return Vec::new();
    }
    wrap(lead("pauses"), pieces, 3, columns.width)
}

fn pause(direction: &str, pauses: &Pauses) -> Piece {
    let share_style = if pauses.share > 0.0 { NOTABLE } else { Style::new() };
    let mut piece = plain(format!("{direction} "));
    piece.push(state(pauses));
    piece.push(Span::raw(" "));
    piece.push(Span::styled(format!("{} ms/s", ms_per_second(pauses.share)), share_style));
    piece.push(Span::raw(", "));
    piece.extend(counted(pauses.times, NOTABLE));
    piece.push(Span::raw(format!(" times, {} in all", time(pauses.paused_ns))));
    piece
}

/// One kind of trouble, by cause.
fn causes(label: &str, causes: &[Cause], style: Style, columns: Columns) -> Vec<Line<'static>> {
    if causes.is_empty() {
        return Vec::new();
    }
    let pieces = causes.iter().map(|cause| {
        if cause.is_lossless {
            return vec![Span::styled(format!("{} {}", cause.name, exactly(cause.count)), ALARM)];
        }
        let mut piece = plain(format!("{} ", cause.name));
        piece.extend(counted(cause.count, style));
        piece
    });
    wrap(lead(label), pieces.collect(), 2, columns.width)
}

/// A counter, and in `style` what is new.
fn counted(count: Count, style: Style) -> Piece {
    let mut piece = plain(number(count.total));
    if count.new > 0 {
        piece.push(Span::styled(format!(" +{}", number(count.new)), style));
    }
    piece
}
