//! Runs the parts of a network in a thread each, with the results of one thread.
//!
//! All threads run the same lookahead window, and meet before the next. What a node sends in a
//! window arrives in a later one, so a part needs the frames from the others only then. When
//! threads meet, each has told the first window in which it may have events, and has left what it
//! sent to other parts. The least of these windows is the next, and every thread computes it alike.
//!
//! What is left for the others lies in two places in turn: a thread that is ahead by one meeting
//! does not write where a slower one still reads.
//!
//! A meeting takes about as long as ten events. As long as windows have few events, one thread runs
//! all parts, and the others do not exist.

use crate::event::Picoseconds;
use crate::frame::{Buffers, Pool};
use crate::links::SentFrame;
use crate::meeting::{Aborted, Meeting};
use crate::part::Part;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::{panic, thread};

/// Events of a window, for each part, from which on threads are worth their meetings.
const EVENTS_LEAST: u64 = 32;

/// What threads exchange.
#[derive(Debug)]
pub(crate) struct Exchange {
    meeting: Meeting,
    /// See [`EVENTS_LEAST`], for all parts.
    events_least: u64,
    tables: [Table; 2],
    /// Free buffers of threads that receive more than they send.
    lent: Mutex<Buffers>,
}

/// What is left at one meeting.
#[derive(Debug)]
struct Table {
    /// By part, the first window in which it may have events, [`u64::MAX`] for none; and how many
    /// it had in the last one.
    next: Box<[Line<[AtomicU64; 2]>]>,
    /// By the sending part and the receiving part, the frames.
    mail: Box<[Line<Mutex<Vec<SentFrame>>>]>,
}

/// Something that one thread writes and another reads, in cache lines of its own.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Line<T>(T);

impl Exchange {
    /// For so many parts.
    pub(crate) fn new(parts: usize) -> Self {
        let table = || Table {
            next: (0..parts).map(|_| Line::default()).collect(),
            mail: (0..parts * parts).map(|_| Line::default()).collect(),
        };
        Self {
            meeting: Meeting::new(parts),
            events_least: EVENTS_LEAST * parts as u64,
            tables: [table(), table()],
            lent: Mutex::default(),
        }
    }

    /// Has threads run all windows, however few events they have.
    #[cfg(test)]
    pub(crate) const fn always_use_threads(&mut self) {
        self.events_least = 0;
    }

    /// The table of the next meeting.
    fn table(&self, part: &Part) -> &Table {
        &self.tables[usize::from(part.member.is_next_even())]
    }

    /// Runs a part in a thread of its own until `until_ps`; returns whether it ended before, as
    /// threads are not worth it.
    fn run(&self, part: &mut Part, until_ps: Picoseconds) -> Result<bool, Aborted> {
        loop {
            let table = self.table(part);
            table.leave(part);
            Pool::level(&self.lent);
            self.meeting.meet(&mut part.member)?;
            let next = table.take(part);
            if part.load.events() < self.events_least / 2 {
                // All threads have seen the same windows.
                return Ok(true);
            }
            if !part.events.begin_lookahead(next, until_ps) {
                return Ok(false);
            }
            part.run_window();
        }
    }

    /// Runs all parts in this thread until `until_ps`; returns whether it ended before, as threads
    /// are worth it.
    fn run_alone(&self, parts: &mut [Part], until_ps: Picoseconds) -> bool {
        loop {
            let Some(first) = parts.first() else { return false };
            if first.load.events() >= self.events_least {
                return true;
            }
            let table = self.table(first);
            for part in &mut *parts {
                table.leave(part);
                part.member.skip();
            }
            let mut is_over = false;
            for part in &mut *parts {
                let next = table.take(part);
                is_over |= !part.events.begin_lookahead(next, until_ps);
            }
            if is_over {
                return false;
            }
            parts.iter_mut().for_each(Part::run_window);
        }
    }
}

impl Table {
    /// A part leaves what it has sent.
    fn leave(&self, part: &mut Part) {
        let own = part.member.own;
        let mut next = part.events.end_lookahead();
        if part.links.has_sent() {
            next = next.min(part.events.lookahead());
            for (to, outbox) in part.links.outboxes.iter_mut().enumerate() {
                if !outbox.is_empty() {
                    let mail = &self.mail[own * self.next.len() + to].0;
                    // It was emptied two meetings ago.
                    std::mem::swap(
                        &mut *mail.lock().unwrap_or_else(PoisonError::into_inner),
                        outbox,
                    );
                }
            }
        }
        // The meeting orders this with the loads of other threads.
        self.next[own].0[0].store(next, Ordering::Relaxed);
        self.next[own].0[1].store(part.load.own_events, Ordering::Relaxed);
    }

    /// A part takes what was sent to it; returns the next window.
    fn take(&self, part: &mut Part) -> u64 {
        let (own, parts) = (part.member.own, self.next.len());
        for from in (0..parts).filter(|&from| from != own) {
            let mail = &self.mail[from * parts + own].0;
            let mut mail = mail.lock().unwrap_or_else(PoisonError::into_inner);
            mail.drain(..).for_each(|sent| part.links.take_over(sent, &mut part.events));
        }
        let (mut next, mut events) = (u64::MAX, 0);
        for Line([of_part, events_of_part]) in &self.next {
            next = next.min(of_part.load(Ordering::Relaxed));
            events += events_of_part.load(Ordering::Relaxed);
        }
        part.load.add(events);
        next
    }
}

/// Ends the meetings of all threads if this one panics.
struct AbortOnPanic<'a>(&'a Meeting);

impl Drop for AbortOnPanic<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.abort();
        }
    }
}

/// Runs all parts until `until_ps`, that instant included.
///
/// # Panics
/// A part panics: with its message.
pub(crate) fn run(parts: &mut [Part], exchange: &Exchange, until_ps: Picoseconds) {
    while exchange.run_alone(parts, until_ps) && run_in_threads(parts, exchange, until_ps) {}
}

/// The same, in a thread for each part, the first in this one; returns whether it ended before, as
/// threads are not worth it.
fn run_in_threads(parts: &mut [Part], exchange: &Exchange, until_ps: Picoseconds) -> bool {
    let run = |part: &mut Part| {
        let _abort = AbortOnPanic(&exchange.meeting);
        // Another thread that aborts has a panic, which is resumed below.
        exchange.run(part, until_ps).unwrap_or(false)
    };
    let Some((first, others)) = parts.split_first_mut() else { return false };
    thread::scope(|scope| {
        let in_thread = |part: &mut Part| {
            // The free buffers outlive the thread.
            Pool::swap(&mut part.buffers);
            run(part);
            Pool::swap(&mut part.buffers);
        };
        let running: Vec<_> =
            others.iter_mut().map(|part| scope.spawn(move || in_thread(part))).collect();
        let is_early = run(first);
        for thread in running {
            if let Err(panic) = thread.join() {
                panic::resume_unwind(panic);
            }
        }
        is_early
    })
}
