//! Lines from pieces of styled text, and the styles.

use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};

/// An alarm: lossless frames lost, or a frame imbalance.
pub(super) const ALARM: Style =
    Style::new().fg(Color::White).bg(Color::Red).add_modifier(Modifier::BOLD);
/// A loss of other frames.
pub(super) const LOSS: Style = Style::new().fg(Color::Red).add_modifier(Modifier::BOLD);
/// A pause, or a counter that increased.
pub(super) const NOTABLE: Style = Style::new().fg(Color::Yellow).add_modifier(Modifier::BOLD);
/// A good state.
pub(super) const OK: Style = Style::new().fg(Color::Green);
/// Labels.
pub(super) const FAINT: Style = Style::new().add_modifier(Modifier::DIM);
/// Names.
pub(super) const NAME: Style = Style::new().add_modifier(Modifier::BOLD);
/// Headings, the last line, and the notice that the view is not live.
pub(super) const BAR: Style = Style::new().add_modifier(Modifier::REVERSED);

/// Indentation of lines that belong to a port or a class.
const INDENT: usize = 4;

/// Several spans that belong on one line together.
pub(super) type Piece = Vec<Span<'static>>;

/// A piece in the default style.
pub(super) fn plain(text: impl Into<String>) -> Piece {
    vec![Span::raw(text.into())]
}

/// The start of a line that belongs to a port or a class.
pub(super) fn lead(label: &str) -> Piece {
    vec![Span::raw(" ".repeat(INDENT)), Span::styled(format!("{label}: "), FAINT)]
}

/// Puts pieces on as few lines of `width` as they need, with `gap` blanks between two. The first
/// line begins with `lead`, the others as far in. A piece is broken only by the edge of the screen.
pub(super) fn wrap(
    lead: Piece,
    pieces: Vec<Piece>,
    gap: usize,
    width: usize,
) -> Vec<Line<'static>> {
    let indent = width_of(&lead);
    let mut lines = Vec::new();
    let mut line = lead;
    let mut used = indent;
    let mut empty = true;
    for piece in pieces {
        let wanted = width_of(&piece);
        if !empty && used + gap + wanted > width {
            lines.push(Line::from(std::mem::take(&mut line)));
            line.push(Span::raw(" ".repeat(indent)));
            (used, empty) = (indent, true);
        }
        if !empty {
            line.push(Span::raw(" ".repeat(gap)));
            used += gap;
        }
        line.extend(piece);
        used += wanted;
        empty = false;
    }
    lines.push(Line::from(line));
    lines
}

/// A line with something at both ends.
pub(super) fn ends(left: Piece, right: Piece, width: usize) -> Line<'static> {
    let free = width.saturating_sub(width_of(&left) + width_of(&right));
    let mut line = left;
    line.push(Span::raw(" ".repeat(free)));
    line.extend(right);
    Line::from(line)
}

/// `text` in one style from edge to edge.
pub(super) fn full(text: &str, style: Style, width: usize) -> Line<'static> {
    Line::from(Span::styled(format!("{text:<width$}"), style))
}

/// `text` on `width` columns; what is too long ends in `~`.
pub(super) fn fit(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return format!("{text:<width$}");
    }
    let kept: String = text.chars().take(width.saturating_sub(1)).collect();
    if width == 0 { kept } else { kept + "~" }
}

/// A bar of `width` columns, brackets included, that is full at `whole`. Anything at all is a mark,
/// and it is full only if all is.
pub(super) fn bar(part: u64, whole: u64, width: usize) -> String {
    let room = width.saturating_sub(2) as u64;
    let marks = match (u128::from(room) * u128::from(part)).checked_div(u128::from(whole)) {
        Some(marks) => u64::try_from(marks).unwrap_or(room).min(room),
        None => 0,
    };
    let marks = if part > 0 { marks.max(1).min(room) } else { 0 };
    let (marks, rest) = (repeated("#", marks), repeated("-", room - marks));
    format!("[{marks}{rest}]")
}

fn repeated(mark: &str, times: u64) -> String {
    mark.repeat(usize::try_from(times).unwrap_or_default())
}

fn width_of(piece: &[Span<'_>]) -> usize {
    piece.iter().map(Span::width).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn wrapped(lead: &str, pieces: &[&str], width: usize) -> Vec<String> {
        let pieces = pieces.iter().map(|&piece| plain(piece)).collect();
        wrap(plain(lead), pieces, 2, width).iter().map(Line::to_string).collect()
    }

    #[test]
    fn pieces_stay_whole_and_lines_short() {
        assert_eq!(wrapped("a: ", &["one", "two", "three"], 11), ["a: one  two", "   three"]);
        assert_eq!(wrapped("a: ", &["one", "two", "three"], 10), ["a: one", "   two", "   three"]);
        assert_eq!(wrapped("a: ", &["longer than all"], 5), ["a: longer than all"]);
        assert_eq!(wrapped("a", &[], 5), ["a"]);
    }

    #[test]
    fn a_bar_is_full_only_if_all_is() {
        assert_eq!(bar(0, 100, 12), "[----------]");
        assert_eq!(bar(1, 1_000, 12), "[#---------]");
        assert_eq!(bar(99, 100, 12), "[#########-]");
        assert_eq!(bar(100, 100, 12), "[##########]");
        assert_eq!(bar(300, 100, 12), "[##########]");
        assert_eq!(bar(5, 0, 12), "[#---------]");
        assert_eq!(bar(u64::MAX, u64::MAX, 4), "[##]");
        assert_eq!(bar(1, 1, 2), "[]");
    }

    #[test]
    fn what_is_too_long_ends_in_a_tilde() {
        assert_eq!(fit("uplink", 8), "uplink  ");
        assert_eq!(fit("uplink", 6), "uplink");
        assert_eq!(fit("uplink", 5), "upli~");
        assert_eq!(fit("uplink", 0), "");
    }

    proptest! {
        #[test]
        fn nothing_is_lost_between_lines(
            pieces in prop::collection::vec("[a-z]{1,9}", 0..20), width in 0_usize..40
        ) {
            let borrowed: Vec<&str> = pieces.iter().map(String::as_str).collect();
            let lines = wrapped("> ", &borrowed, width);
            let words: Vec<&str> = lines.iter().flat_map(|line| line.split_whitespace()).collect();
            prop_assert_eq!(&words[1..], &borrowed[..]);
            for line in &lines {
                prop_assert!(line.len() <= width || line.split_whitespace().count() <= 2);
            }
        }
    }
}
