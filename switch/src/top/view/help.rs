//! What the columns and keys mean, in front of the rest.

use ratatui::Frame;
use ratatui::layout::{Constraint, Flex, Layout};
use ratatui::symbols::border::Set;
use ratatui::text::{Line, Text};
use ratatui::widgets::{Block, Clear, Paragraph};

const ASCII: Set<'static> = Set {
    top_left: "+",
    top_right: "+",
    bottom_left: "+",
    bottom_right: "+",
    vertical_left: "|",
    vertical_right: "|",
    horizontal_top: "-",
    horizontal_bottom: "-",
};

const TEXT: [&str; 21] = [
    "q, Ctrl-C quit          Up Down PgUp PgDn Home End scroll",
    "p  stop the picture     s  sort ports by number, rx, tx, pauses, drops",
    "d  drops by cause       a  classes too that have been quiet for 30 s",
    "r  let peaks begin anew, here only     ?  this",
    "",
    "rx, tx  bits (of frames without FCS) and frames a second",
    "VIQ     bytes in the buffer that came in by the port in that class",
    "VEQ     bytes waiting to leave by the port in that class",
    "hroom   bytes of headroom in use; its peak as a share of it",
    "pauses  sent upstream, received from the peer: XOFF (paused now) or XON,",
    "        ms of each second paused, how often, and for how long in all",
    "waits   what the peer keeps from leaving, and by which ports it came in",
    "drops   by cause since start; +n is new since the last picture",
    "lost outside  what the device lost or could not be copied: not in the",
    "        switch's books, and of no class",
    "not obeyed    flow control that this port does not act on",
    "LOST    lossless frames not delivered, any cause: never 0 again",
    "shared, lossy  what lossless classes share, and what lossy ones may hold",
    "busy    share of a worker's time in which it moved frames; worker@CPU",
    "poll gap       what `poll` in [headroom] must allow for",
    "latency        of frames through the switch since its start",
];

/// Draws it in the middle.
pub(super) fn draw(frame: &mut Frame<'_>) {
    let width = TEXT.iter().map(|line| line.len()).max().unwrap_or_default() + 4;
    let (width, height) = (u16::try_from(width), u16::try_from(TEXT.len() + 2));
    let [area] = Layout::horizontal([Constraint::Length(width.unwrap_or(u16::MAX))])
        .flex(Flex::Center)
        .areas(frame.area());
    let [area] = Layout::vertical([Constraint::Length(height.unwrap_or(u16::MAX))])
        .flex(Flex::Center)
        .areas(area);
    let block = Block::bordered().border_set(ASCII).title(" knotless top: ? or Esc goes back ");
    let lines: Vec<Line<'_>> = TEXT.iter().map(|line| Line::from(format!(" {line}"))).collect();
    frame.render_widget(Clear, area);
    frame.render_widget(Paragraph::new(Text::from(lines)).block(block), area);
}
