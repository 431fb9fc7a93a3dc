//! Keys, and what they change in the view. Nothing here changes the switch.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

/// The action of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Action {
    Quit,
    LineUp,
    LineDown,
    PageUp,
    PageDown,
    Top,
    Bottom,
    Pause,
    Sort,
    Drops,
    Classes,
    ResetPeaks,
    Help,
    /// Closes the help.
    Back,
}

/// The order of ports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Sort {
    #[default]
    Number,
    Received,
    Sent,
    Paused,
    Dropped,
}

/// The number of lines of the ports, and of lines on the screen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Extent {
    pub(super) lines: usize,
    pub(super) page: usize,
}

/// The settings of the view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Choices {
    /// Lines of ports above the screen.
    pub(super) scroll: usize,
    pub(super) paused: bool,
    pub(super) sort: Sort,
    /// Whether drops are shown by cause.
    pub(super) drops: bool,
    /// Whether quiet classes are shown too.
    pub(super) quiet: bool,
    pub(super) help: bool,
}

impl Default for Choices {
    fn default() -> Self {
        Self {
            scroll: 0,
            paused: false,
            sort: Sort::default(),
            drops: true,
            quiet: false,
            help: false,
        }
    }
}

/// The meaning of a key; `None` if it has none.
pub(super) fn action(key: KeyEvent) -> Option<Action> {
    // Some terminals report the release of a key, too.
    if key.kind == KeyEventKind::Release {
        return None;
    }
    if key.modifiers.contains(KeyModifiers::CONTROL) {
        // In raw mode Ctrl-C is a key like others, and no signal.
        return matches!(key.code, KeyCode::Char('c' | 'd')).then_some(Action::Quit);
    }
    Some(match key.code {
        KeyCode::Char('q' | 'Q') => Action::Quit,
        KeyCode::Up | KeyCode::Char('k') => Action::LineUp,
        KeyCode::Down | KeyCode::Char('j') => Action::LineDown,
        KeyCode::PageUp => Action::PageUp,
        KeyCode::PageDown => Action::PageDown,
        KeyCode::Home | KeyCode::Char('g') => Action::Top,
        KeyCode::End | KeyCode::Char('G') => Action::Bottom,
        KeyCode::Char('p' | ' ') => Action::Pause,
        KeyCode::Char('s') => Action::Sort,
        KeyCode::Char('d') => Action::Drops,
        KeyCode::Char('a') => Action::Classes,
        KeyCode::Char('r') => Action::ResetPeaks,
        KeyCode::Char('?' | 'h') | KeyCode::F(1) => Action::Help,
        KeyCode::Esc => Action::Back,
        _ => return None,
    })
}

impl Sort {
    const fn next(self) -> Self {
        match self {
            Self::Number => Self::Received,
            Self::Received => Self::Sent,
            Self::Sent => Self::Paused,
            Self::Paused => Self::Dropped,
            Self::Dropped => Self::Number,
        }
    }

    /// What ports are sorted by, in a word.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Number => "port",
            Self::Received => "rx",
            Self::Sent => "tx",
            Self::Paused => "paused",
            Self::Dropped => "drops",
        }
    }
}

impl Choices {
    /// Applies what changes the view only. `extent` is what was drawn last.
    pub(super) fn apply(&mut self, action: Action, extent: Extent) {
        let page = extent.page.max(1);
        match action {
            Action::Quit | Action::ResetPeaks => {}
            Action::LineUp => self.scroll = self.scroll.saturating_sub(1),
            Action::LineDown => self.scroll = self.scroll.saturating_add(1),
            Action::PageUp => self.scroll = self.scroll.saturating_sub(page),
            Action::PageDown => self.scroll = self.scroll.saturating_add(page),
            Action::Top => self.scroll = 0,
            Action::Bottom => self.scroll = extent.lines,
            Action::Pause => self.paused = !self.paused,
            Action::Sort => {
                self.sort = self.sort.next();
                self.scroll = 0;
            }
            Action::Drops => self.drops = !self.drops,
            Action::Classes => self.quiet = !self.quiet,
            Action::Help => self.help = !self.help,
            Action::Back => self.help = false,
        }
        self.stay_within(extent);
    }

    /// Scrolls no further than to the last page.
    pub(super) fn stay_within(&mut self, extent: Extent) {
        self.scroll = self.scroll.min(extent.lines.saturating_sub(extent.page));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EXTENT: Extent = Extent { lines: 100, page: 14 };

    fn press(code: KeyCode) -> Option<Action> {
        action(KeyEvent::new(code, KeyModifiers::NONE))
    }

    fn after(actions: &[Action]) -> Choices {
        let mut choices = Choices::default();
        actions.iter().for_each(|&action| choices.apply(action, EXTENT));
        choices
    }

    #[test]
    fn keys_have_the_actions_of_the_help() {
        for (code, meaning) in [
            (KeyCode::Char('q'), Action::Quit),
            (KeyCode::Up, Action::LineUp),
            (KeyCode::Down, Action::LineDown),
            (KeyCode::PageUp, Action::PageUp),
            (KeyCode::PageDown, Action::PageDown),
            (KeyCode::Home, Action::Top),
            (KeyCode::End, Action::Bottom),
            (KeyCode::Char('p'), Action::Pause),
            (KeyCode::Char('s'), Action::Sort),
            (KeyCode::Char('d'), Action::Drops),
            (KeyCode::Char('a'), Action::Classes),
            (KeyCode::Char('r'), Action::ResetPeaks),
            (KeyCode::Char('?'), Action::Help),
            (KeyCode::Esc, Action::Back),
        ] {
            assert_eq!(press(code), Some(meaning), "{code:?}");
        }
        assert_eq!(press(KeyCode::Char('x')), None);
    }

    #[test]
    fn control_c_quits_and_other_control_keys_do_nothing() {
        let control = |key| action(KeyEvent::new(KeyCode::Char(key), KeyModifiers::CONTROL));
        assert_eq!(control('c'), Some(Action::Quit));
        assert_eq!(control('p'), None);
    }

    #[test]
    fn a_key_that_is_let_go_of_means_nothing() {
        let mut key = KeyEvent::new(KeyCode::Char('q'), KeyModifiers::NONE);
        key.kind = KeyEventKind::Release;
        assert_eq!(action(key), None);
        key.kind = KeyEventKind::Repeat;
        assert_eq!(action(key), Some(Action::Quit));
    }

    #[test]
    fn scrolling_ends_at_both_ends() {
        use Action::{Bottom, LineDown, LineUp, PageDown, PageUp, Top};
        assert_eq!(after(&[LineUp]).scroll, 0);
        assert_eq!(after(&[LineDown, PageDown]).scroll, 15);
        assert_eq!(after(&[LineDown, PageDown, PageUp]).scroll, 1);
        assert_eq!(after(&[Bottom]).scroll, 86);
        assert_eq!(after(&[Bottom, PageDown, LineDown]).scroll, 86);
        assert_eq!(after(&[Bottom, Top]).scroll, 0);
    }

    #[test]
    fn what_fits_does_not_scroll() {
        let mut choices = Choices::default();
        choices.apply(Action::PageDown, Extent { lines: 5, page: 14 });
        assert_eq!(choices.scroll, 0);
        // A screen without room for a single line.
        choices.apply(Action::PageDown, Extent { lines: 5, page: 0 });
        assert_eq!(choices.scroll, 1);
    }

    #[test]
    fn every_choice_can_be_taken_back() {
        use Action::{Back, Classes, Drops, Help, Pause, Sort};
        for key in [Pause, Drops, Classes, Help] {
            assert_ne!(after(&[key]), Choices::default(), "{key:?}");
            assert_eq!(after(&[key, key]), Choices::default(), "{key:?}");
        }
        assert_eq!(after(&[Help, Back]), Choices::default());
        let orders = [1, 2, 3, 4, 5].map(|times| after(&vec![Sort; times]).sort.name());
        assert_eq!(orders, ["rx", "tx", "paused", "drops", "port"]);
    }
}
