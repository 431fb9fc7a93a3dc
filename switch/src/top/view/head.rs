//! The switch as a whole: losses, rates, buffer occupancy, load of the workers.

use super::text::{ALARM, FAINT, LOSS, NAME, NOTABLE, OK, Piece, bar, ends, full, plain, wrap};
use crate::control::stats::FrameTotals;
use crate::top::format::{number, percent, rate, time};
use crate::top::sample::{Count, Rate, View, WorkerView};
use ratatui::style::Style;
use ratatui::text::{Line, Span};

/// What the two parts of the buffer take beside their bars, with the gap between them.
const BUFFER_TEXT: usize = 65;

/// The lines about the whole switch. `paused`: the view does not update.
pub(super) fn head(view: &View, paused: bool, width: usize) -> Vec<Line<'static>> {
    let mut lines = vec![identity(view, paused, width)];
    lines.extend(lossless_drops(view, width));
    lines.extend(rates(view, width));
    lines.extend(balance(&view.totals, width));
    lines.push(buffer(view, width));
    lines.extend(memory_and_latency(view, width));
    lines.extend(workers(&view.workers, width));
    lines
}

fn identity(view: &View, paused: bool, width: usize) -> Line<'static> {
    let over = match view.since_start {
        true => "averages since start".to_owned(),
        false => format!("over the last {}", time(view.interval_ns)),
    };
    let left = vec![
        Span::raw(format!("knotless {} ", view.version)),
        Span::styled(view.name.clone(), NAME),
        Span::raw(format!("  up {}", time(view.uptime_ns))),
        Span::raw(format!("  process {}  tables v{}", view.pid, view.epoch)),
        Span::raw(view.level.map_or_else(String::new, |level| format!("  level {level}"))),
    ];
    let right = if paused {
        vec![Span::styled(" PAUSED, p resumes ", NOTABLE.patch(super::text::BAR))]
    } else {
        vec![Span::styled(over, FAINT)]
    };
    ends(left, right, width)
}

/// Lossless frames lost, by port and class.
fn lossless_drops(view: &View, width: usize) -> Vec<Line<'static>> {
    if view.lossless_drops.total == 0 {
        return vec![Line::styled("lossless drops 0", OK)];
    }
    let mut pieces = Vec::new();
    for port in &view.ports {
        for (priority, class) in port.classes.iter().enumerate() {
            if class.lossless_drops.total > 0 {
                let text = format!(
                    "port {} class {priority}: {}",
                    port.name,
                    exactly(class.lossless_drops)
                );
                pieces.push(plain(text));
            }
        }
        let classes = port.classes.iter().map(|class| class.lossless_drops.total);
        let classified = classes.fold(0, u64::saturating_add);
        if let Some(unknown @ 1..) = port.lossless_drops.total.checked_sub(classified) {
            pieces.push(plain(format!("port {} class unknown: {unknown}", port.name)));
        }
    }
    let lead = plain(format!("LOSSLESS DROPS {}  ", exactly(view.lossless_drops)));
    // At most two lines: the rest is shown at each port.
    let lines = wrap(lead, pieces, 2, width).into_iter().take(2);
    lines.map(|line| full(&line.to_string(), ALARM, width)).collect()
}

/// The exact count.
pub(super) fn exactly(count: Count) -> String {
    match count.new {
        0 => count.total.to_string(),
        new => format!("{} +{new}", count.total),
    }
}

fn rates(view: &View, width: usize) -> Vec<Line<'static>> {
    let flow = |label: &str, flow: Rate| {
        plain(format!("{label} {}b/s {}pps", unit(&rate(flow.bits)), unit(&rate(flow.frames))))
    };
    let dropped_style = if view.dropped.new > 0 { NOTABLE } else { Style::new() };
    let dropped = format!("dropped {}/s", rate(view.dropped_rate));
    let imbalance = view.totals.imbalance;
    let (text, style) = match imbalance {
        0 => ("imbalance 0".to_owned(), OK),
        frames => (format!(" IMBALANCE {frames} "), ALARM),
    };
    let pieces = vec![
        flow("rx", view.rx),
        flow("tx", view.tx),
        vec![Span::styled(dropped, dropped_style)],
        vec![Span::styled(text, style)],
    ];
    wrap(Vec::new(), pieces, 3, width)
}

/// `1.23G` to `1.23 G`, for a unit to follow.
fn unit(text: &str) -> String {
    let digits = text.trim_end_matches(|end: char| end.is_ascii_alphabetic());
    format!("{digits} {}", &text[digits.len()..])
}

/// The frame balance. Handoffs between workers are on both sides, and left out.
fn balance(totals: &FrameTotals, width: usize) -> Vec<Line<'static>> {
    let came = totals.received.saturating_add(totals.injected).saturating_add(totals.copied);
    let ends = [
        ("sent", totals.sent),
        ("dropped", totals.dropped),
        ("punted", totals.punted),
        ("consumed", totals.consumed),
        ("held", totals.held),
    ];
    let ends = ends.iter().filter(|&&(end, frames)| frames > 0 || end == "sent");
    let pieces = ends.map(|(end, frames)| plain(format!("{end} {}", number(*frames)))).collect();
    wrap(plain(format!("frames {} = ", number(came))), pieces, 2, width)
}

fn buffer(view: &View, width: usize) -> Line<'static> {
    let buffer = &view.buffer;
    let bar_width = (width.saturating_sub(BUFFER_TEXT) / 2).clamp(4, 32);
    let part = |label: &str, bytes: u64, peak: u64, size: u64| {
        vec![
            Span::styled(label.to_owned(), FAINT),
            Span::raw(format!(
                " {} {:>4} of {}, peak {:>4}",
                bar(bytes, size, bar_width),
                percent(bytes as f64, size as f64),
                number(size),
                percent(peak as f64, size as f64),
            )),
        ]
    };
    let mut line =
        part("shared", buffer.shared_bytes, buffer.shared_peak_bytes, buffer.shared_size_bytes);
    line.push(Span::raw("  "));
    line.extend(part(
        "lossy",
        buffer.lossy_bytes,
        buffer.lossy_peak_bytes,
        buffer.lossy_size_bytes,
    ));
    Line::from(line)
}

fn memory_and_latency(view: &View, width: usize) -> Vec<Line<'static>> {
    let (mbufs, latency) = (&view.mbufs, &view.latency_ns);
    let mut pieces = vec![labeled(
        "mbufs",
        format!("{} of {}", number(mbufs.data_in_use), number(mbufs.data_total)),
    )];
    if width >= 100 {
        let text = format!("{} of {}", number(mbufs.control_in_use), number(mbufs.control_total));
        pieces.push(labeled("PFC mbufs", text));
    }
    pieces.push(labeled(
        "latency",
        match latency.count {
            0 => "not measured yet".to_owned(),
            _ => format!(
                "p50 {} p99 {} p99.9 {}",
                time(latency.p50),
                time(latency.p99),
                time(latency.p999)
            ),
        },
    ));
    wrap(Vec::new(), pieces, 3, width)
}

fn labeled(label: &str, text: String) -> Piece {
    vec![Span::styled(label.to_owned(), FAINT), Span::raw(" "), Span::raw(text)]
}

fn workers(workers: &[WorkerView], width: usize) -> Vec<Line<'static>> {
    let mut pieces: Vec<Piece> = workers.iter().map(worker).collect();
    if let Some(longest) = workers.iter().max_by_key(|worker| worker.poll_gap_ns) {
        pieces.push(labeled(
            "longest poll gap",
            format!("{} (worker {})", time(longest.poll_gap_ns), longest.number),
        ));
    }
    wrap(vec![Span::styled("busy ", FAINT)], pieces, 2, width)
}

fn worker(worker: &WorkerView) -> Piece {
    let core = worker.core.map_or_else(String::new, |core| format!("@{core}"));
    let share = percent(worker.busy, 1.0);
    let mut piece = plain(format!("{}{core}: {share}", worker.number));
    if worker.commands_lost > 0 {
        let text = format!(" ({} commands lost)", worker.commands_lost);
        piece.push(Span::styled(text, LOSS));
    }
    piece
}
