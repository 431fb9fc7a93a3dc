//! The help screen: columns and keys.

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
    "p  pause the view       s  sort ports by number, rx, tx, pauses, drops",
    "d  drops by cause       a  show classes that are idle for 30 s, too",
    "r  reset peaks, in this view only       ?  this help",
    "",
    "rx, tx  bits (of frames without FCS) and frames a second",
    "VIQ     bytes in the buffer, by ingress port and class",
    "VEQ     bytes queued for transmission, by egress port and class",
    "hroom   bytes of headroom in use; its peak as a share of it",
    "pauses  sent upstream, received from the peer: XOFF (paused now) or XON,",
    "        ms of each second paused, how often, and for how long in all",
    "waits   frames behind a pause of the peer, and their ingress ports",
    "drops   by cause since start; +n since the last sample",
    "lost outside  frames that the device lost: not in the frame balance,",
    "        and of unknown class",
    "not obeyed    received flow control that this port ignores",
    "LOST    lossless frames not delivered, any cause, since start",
    "shared, lossy  buffer of lossless classes, buffer limit of lossy ones",
    "busy    share of a worker's time in which it moved frames; worker@CPU",
    "poll gap       the polling gap that `poll` in [headroom] must cover",
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
