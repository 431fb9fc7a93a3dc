//! The view on a terminal: redrawn when the switch, a key or the terminal's size changes it.

use super::TopError;
use super::feed::{self, FeedEvent};
use super::history::History;
use super::input::{Action, Choices, Extent, action};
use super::view::{Screen, draw};
use ratatui::DefaultTerminal;
use ratatui::crossterm::event::{self, Event};
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, TryRecvError};
use std::time::{Duration, Instant};
use std::{process, thread};

/// Poll interval for both keys and samples.
const POLL: Duration = Duration::from_millis(50);
/// How long the view may take to end after a signal.
const END_MAX: Duration = Duration::from_secs(1);
/// A switch answers at once, or after three seconds if one of its workers does not. If it takes
/// longer, the screen is out of date.
const ANSWER_MAX: Duration = Duration::from_secs(5);

/// Draws until a key, a signal or the sample number `count` ends it.
///
/// # Errors
/// The terminal cannot be used.
pub(super) fn watch(
    socket: PathBuf,
    interval: Duration,
    count: Option<u64>,
) -> Result<(), TopError> {
    let ended = ending_signals().map_err(TopError::Signals)?;
    exit_when_ended(Arc::clone(&ended)).map_err(TopError::Thread)?;
    let events = feed::start(socket, interval).map_err(TopError::Thread)?;
    // From here on a panic restores the terminal, too.
    let terminal = ratatui::try_init().map_err(TopError::Terminal);
    let outcome = terminal.and_then(|mut terminal| {
        let mut live = Live::new(interval, count, Instant::now());
        live.run(&mut terminal, &events, &ended).map_err(TopError::Terminal)
    });
    // A terminal that has closed cannot be restored.
    let _gone = ratatui::try_restore();
    outcome
}

/// A flag that SIGHUP, SIGINT and SIGTERM set. They may come before raw mode makes Ctrl-C a key, or
/// from another process.
fn ending_signals() -> io::Result<Arc<AtomicBool>> {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    let ended = Arc::new(AtomicBool::new(false));
    for signal in [SIGHUP, SIGINT, SIGTERM] {
        signal_hook::flag::register(signal, Arc::clone(&ended))?;
    }
    Ok(ended)
}

/// Ends the process some time after a signal that has not ended the view: of a terminal that has
/// hung up, `event::poll` reads nothing for ever and does not return.
fn exit_when_ended(ended: Arc<AtomicBool>) -> io::Result<()> {
    let wait = move || {
        while !ended.load(Ordering::Relaxed) {
            thread::sleep(POLL);
        }
        thread::sleep(END_MAX);
        process::exit(1);
    };
    thread::Builder::new().name("top end".to_owned()).spawn(wait).map(drop)
}

/// The view and its state.
#[derive(Debug)]
struct Live {
    history: History,
    choices: Choices,
    /// What was drawn last.
    extent: Extent,
    /// Why there are no new samples, if so.
    waiting: Option<String>,
    last_event_at: Instant,
    /// The longest time without an answer before the view reports it.
    silence_max: Duration,
    /// Samples still to be shown, if limited.
    left: Option<u64>,
}

impl Live {
    fn new(interval: Duration, count: Option<u64>, now: Instant) -> Self {
        Self {
            history: History::default(),
            choices: Choices::default(),
            extent: Extent::default(),
            waiting: None,
            last_event_at: now,
            silence_max: interval + ANSWER_MAX,
            left: count,
        }
    }

    fn run(
        &mut self,
        terminal: &mut DefaultTerminal,
        events: &Receiver<FeedEvent>,
        ended: &AtomicBool,
    ) -> io::Result<()> {
        let mut stale = true;
        while !ended.load(Ordering::Relaxed) {
            if stale {
                self.draw(terminal)?;
            }
            if self.left == Some(0) {
                return Ok(());
            }
            stale = self.poll_feed(events, Instant::now())?;
            if event::poll(POLL)? {
                // Also if the terminal was resized, or something else happened to it.
                stale = true;
                if let Event::Key(key) = event::read()?
                    && let Some(action) = action(key)
                    && self.act(action)
                {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    fn draw(&mut self, terminal: &mut DefaultTerminal) -> io::Result<()> {
        let view = self.history.view();
        terminal.draw(|frame| {
            let screen = Screen {
                view: view.as_ref(),
                waiting: self.waiting.as_deref(),
                choices: &self.choices,
            };
            self.extent = draw(frame, &screen);
        })?;
        self.choices.stay_within(self.extent);
        Ok(())
    }

    /// Takes an event of the feed. Returns whether the view changes.
    fn poll_feed(&mut self, events: &Receiver<FeedEvent>, now: Instant) -> io::Result<bool> {
        match events.try_recv() {
            Ok(FeedEvent::Stats(stats)) => {
                self.last_event_at = now;
                self.waiting = None;
                if !self.choices.paused {
                    self.history.take(*stats);
                    self.left = self.left.map(|left| left.saturating_sub(1));
                }
                Ok(true)
            }
            Ok(FeedEvent::Waiting(why)) => {
                self.last_event_at = now;
                Ok(self.wait(why))
            }
            Err(TryRecvError::Empty) => {
                let silent = now.saturating_duration_since(self.last_event_at);
                let is_long = silent > self.silence_max;
                Ok(is_long && self.wait(format!("it has not answered for {} s", silent.as_secs())))
            }
            Err(TryRecvError::Disconnected) => {
                Err(io::Error::other("the thread that asks the switch has failed"))
            }
        }
    }

    /// Notes why there are no samples. Returns whether the view changes.
    fn wait(&mut self, why: String) -> bool {
        let changes = self.waiting.as_ref() != Some(&why);
        self.waiting = Some(why);
        changes
    }

    /// Applies an action. Returns whether it ends the program.
    fn act(&mut self, action: Action) -> bool {
        if action == Action::ResetPeaks {
            self.history.reset_peaks();
        }
        self.choices.apply(action, self.extent);
        action == Action::Quit
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::stats::Stats;
    use std::sync::mpsc::{SyncSender, sync_channel};

    struct Case {
        live: Live,
        sender: SyncSender<FeedEvent>,
        events: Receiver<FeedEvent>,
        start: Instant,
    }

    impl Case {
        fn new(count: Option<u64>) -> Self {
            let (sender, events) = sync_channel(1);
            let start = Instant::now();
            let live = Live::new(Duration::from_secs(1), count, start);
            Self { live, sender, events, start }
        }

        /// Returns whether the view changes.
        fn poll_feed(&mut self, event: Option<FeedEvent>, after_s: u64) -> bool {
            event.into_iter().for_each(|event| self.sender.send(event).unwrap());
            self.live.poll_feed(&self.events, self.start + Duration::from_secs(after_s)).unwrap()
        }

        fn uptime_ns(&self) -> Option<u64> {
            self.live.history.view().map(|view| view.uptime_ns)
        }
    }

    fn stats(uptime_ns: u64) -> Option<FeedEvent> {
        Some(FeedEvent::Stats(Box::new(Stats { pid: 1, uptime_ns, ..Stats::default() })))
    }

    #[test]
    fn the_view_waits_for_a_switch_that_restarts() {
        let mut case = Case::new(None);
        assert!(case.poll_feed(stats(10), 0));
        let gone = || Some(FeedEvent::Waiting("gone".to_owned()));
        assert!(case.poll_feed(gone(), 1));
        assert!(!case.poll_feed(gone(), 2), "shown already");
        assert_eq!(case.live.waiting.as_deref(), Some("gone"));
        assert_eq!(case.uptime_ns(), Some(10), "the last that was seen stays");
        assert!(case.poll_feed(stats(5), 3));
        assert_eq!((case.live.waiting.as_deref(), case.uptime_ns()), (None, Some(5)));
    }

    #[test]
    fn a_missing_answer_is_shown_once_a_second() {
        let mut case = Case::new(None);
        case.poll_feed(stats(10), 0);
        assert!(!case.poll_feed(None, 6));
        assert!(case.poll_feed(None, 7));
        assert_eq!(case.live.waiting.as_deref(), Some("it has not answered for 7 s"));
        assert!(!case.poll_feed(None, 7));
        assert!(case.poll_feed(None, 8));
        assert!(case.poll_feed(stats(20), 9));
        assert_eq!(case.live.waiting, None);
    }

    #[test]
    fn a_paused_view_takes_no_samples_and_resumes() {
        let mut case = Case::new(Some(2));
        case.poll_feed(stats(10), 0);
        assert!(!case.live.act(Action::Pause));
        case.poll_feed(stats(20), 1);
        assert_eq!((case.uptime_ns(), case.live.left), (Some(10), Some(1)));
        case.live.act(Action::Pause);
        case.poll_feed(stats(40), 2);
        assert_eq!((case.uptime_ns(), case.live.left), (Some(40), Some(0)));
        assert_eq!(case.live.history.view().unwrap().interval_ns, 30);
    }

    #[test]
    fn a_failed_feed_thread_is_an_error() {
        let Case { mut live, sender, events, start } = Case::new(None);
        drop(sender);
        assert!(live.poll_feed(&events, start).is_err());
    }

    #[test]
    fn only_quitting_quits() {
        let mut case = Case::new(None);
        assert!(case.live.act(Action::Quit));
        assert!(
            ![Action::Back, Action::Help, Action::ResetPeaks]
                .map(|key| case.live.act(key))
                .contains(&true)
        );
    }
}
