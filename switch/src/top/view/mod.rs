//! Renders a [`View`](super::sample::View).
//!
//! The lines are the same on a terminal and in plain text. They are ASCII, and every color has a
//! text that says the same.

mod head;
mod help;
mod ports;
#[cfg(test)]
mod tests;
mod text;
mod waits;

use super::input::{Choices, Extent};
use super::sample::View;
use head::head;
use ports::{Columns, headings, ports};
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::{Line, Span, Text};
use ratatui::widgets::Paragraph;
use text::{BAR, NAME, NOTABLE, ends, full, plain};

/// What is on the screen.
#[derive(Clone, Copy, Debug)]
pub(super) struct Screen<'a> {
    /// The switch, once a sample has arrived.
    pub(super) view: Option<&'a View>,
    /// Why there is no new sample, if there is none.
    pub(super) waiting: Option<&'a str>,
    pub(super) choices: &'a Choices,
}

/// Draws the screen, and returns the extent of the ports.
pub(super) fn draw(frame: &mut Frame<'_>, screen: &Screen<'_>) -> Extent {
    let area = frame.area();
    let Some(view) = screen.view else {
        frame.render_widget(Text::from(nothing_yet(screen.waiting)), area);
        return Extent::default();
    };
    let width = usize::from(area.width);
    let mut above = Vec::new();
    above.extend(screen.waiting.map(|why| waiting(why, width)));
    above.extend(head(view, screen.choices.paused, width));
    above.extend(headings(Columns::of(width)));
    let above_height = u16::try_from(above.len()).unwrap_or(u16::MAX);
    let [above_area, ports_area, foot_area] = Layout::vertical([
        Constraint::Length(above_height),
        Constraint::Fill(1),
        Constraint::Length(1),
    ])
    .areas(area);
    frame.render_widget(Text::from(above), above_area);
    let extent = draw_ports(frame, view, screen.choices, ports_area);
    frame.render_widget(foot(screen.choices, extent, width), foot_area);
    if screen.choices.help {
        help::draw(frame);
    }
    extent
}

/// All lines, for output of any height.
pub(super) fn all_lines(view: &View, choices: &Choices, width: usize) -> Vec<Line<'static>> {
    let columns = Columns::of(width);
    let mut lines = head(view, false, width);
    lines.extend(headings(columns));
    lines.extend(ports(view, choices, columns));
    lines
}

fn draw_ports(frame: &mut Frame<'_>, view: &View, choices: &Choices, area: Rect) -> Extent {
    let lines = ports(view, choices, Columns::of(usize::from(area.width)));
    let extent = Extent { lines: lines.len(), page: usize::from(area.height) };
    let mut choices = *choices;
    choices.stay_within(extent);
    let seen: Vec<Line<'_>> = lines.into_iter().skip(choices.scroll).take(extent.page).collect();
    frame.render_widget(Paragraph::new(seen), area);
    extent
}

fn waiting(why: &str, width: usize) -> Line<'static> {
    full(&format!(" waiting for the switch: {why} "), NOTABLE.patch(BAR), width)
}

fn nothing_yet(waiting: Option<&str>) -> Vec<Line<'static>> {
    let why = waiting.unwrap_or("asking").to_owned();
    vec![
        Line::styled("knotless top", NAME),
        Line::default(),
        Line::from(Span::styled("waiting for the switch", NOTABLE)),
        Line::from(plain(why)),
        Line::default(),
        Line::from(plain("q quits")),
    ]
}

/// The keys, and the scroll position.
fn foot(choices: &Choices, extent: Extent, width: usize) -> Line<'static> {
    let keys = format!(
        " q quit  p pause  s sort:{}  d drops  a idle  r peaks  ? help",
        choices.sort.name()
    );
    let mut shown = *choices;
    shown.stay_within(extent);
    let last = (shown.scroll + extent.page).min(extent.lines);
    let place = if extent.lines > extent.page {
        format!("{}-{last} of {} ", shown.scroll + 1, extent.lines)
    } else {
        String::new()
    };
    ends(plain(keys), plain(place), width).style(BAR)
}
