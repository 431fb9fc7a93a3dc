//! One sample as plain text, for a file, a pipe or a bug report.

use super::input::Choices;
use super::sample::View;
use super::view::all_lines;

/// All there is to see, on lines of `width` columns, with a newline after each.
pub(super) fn text(view: &View, width: usize) -> String {
    let lines = all_lines(view, &Choices::default(), width);
    lines.iter().map(|line| line.to_string().trim_end().to_owned() + "\n").collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::top::fixture::many;
    use crate::top::history::History;

    #[test]
    fn all_of_a_large_switch_is_printed_without_trailing_blanks() {
        let (before, now) = many(64);
        let mut history = History::default();
        history.take(before);
        history.take(now);
        let text = text(&history.view().unwrap(), 120);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 9 + 2 * 64);
        assert_eq!(lines[1], "lossless drops 0");
        assert!(lines.iter().all(|line| line.trim_end() == *line && line.len() <= 120));
        assert!(text.is_ascii() && text.ends_with("0ns\n"), "{text}");
    }
}
