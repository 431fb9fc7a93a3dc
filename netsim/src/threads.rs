//! Runs the parts of a network in a thread each, with the results of one thread.
//!
//! All threads run the same lookahead window, and meet before the next. What a node sends in a
//! window arrives in a later one, so a part needs the frames from the others only then. When
//! threads meet, each has told the first window in which it may have events, and has left what it
//! sent to other parts. The least of these windows is the next, and every thread computes it alike.
//!
//! What is left for the others lies in two places in turn: a thread that is ahead by one meeting
//! does not write where a slower one still reads.

use crate::event::Picoseconds;
use crate::frame::{Buffers, Pool};
use crate::links::Crossing;
use crate::meeting::{Aborted, Meeting};
use crate::part::Part;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::{panic, thread};

/// What threads exchange.
#[derive(Debug)]
pub(crate) struct Exchange {
    meeting: Meeting,
    tables: [Table; 2],
    /// Free buffers of threads that receive more than they send.
    lent: Mutex<Buffers>,
}

/// What is left at one meeting.
#[derive(Debug)]
struct Table {
    /// By part, the first window in which it may have events; [`u64::MAX`] for none.
    next: Box<[Line<AtomicU64>]>,
    /// By the sending part and the receiving part, the frames.
    mail: Box<[Line<Mutex<Vec<Crossing>>>]>,
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
        let lent = Mutex::default();
        Self { meeting: Meeting::new(parts), tables: [table(), table()], lent }
    }

    /// Runs the part that is number `own` until `until_ps`.
    fn run(&self, own: usize, part: &mut Part, until_ps: Picoseconds) -> Result<(), Aborted> {
        loop {
            part.meetings += 1;
            let table = &self.tables[usize::from(part.meetings.is_multiple_of(2))];
            table.leave(own, part);
            Pool::level(&self.lent);
            self.meeting.meet(own, part.meetings)?;
            let next = table.take(own, part);
            if !part.events.begin_lookahead(next, until_ps) {
                return Ok(());
            }
            part.run_window();
        }
    }
}

impl Table {
    /// A part leaves what it has sent.
    fn leave(&self, own: usize, part: &mut Part) {
        let mut next = part.events.end_lookahead();
        if part.links.has_sent() {
            next = next.min(part.events.lookahead());
            for (to, outbox) in part.links.outboxes.iter_mut().enumerate() {
                if !outbox.is_empty() {
                    let mail = &self.mail[own * self.next.len() + to].0;
                    // It was emptied two meetings ago.
                    std::mem::swap(&mut *mail.lock().unwrap_or_else(PoisonError::into_inner), outbox);
                }
            }
        }
        // The meeting orders this with the loads of other threads.
        self.next[own].0.store(next, Ordering::Relaxed);
    }

    /// A part takes what was sent to it; returns the next window.
    fn take(&self, own: usize, part: &mut Part) -> u64 {
        let parts = self.next.len();
        for from in (0..parts).filter(|&from| from != own) {
            let mail = &self.mail[from * parts + own].0;
            let mut mail = mail.lock().unwrap_or_else(PoisonError::into_inner);
            mail.drain(..).for_each(|crossing| part.links.take_over(crossing, &mut part.events));
        }
        let next = self.next.iter().map(|next| next.0.load(Ordering::Relaxed));
        next.min().unwrap_or(u64::MAX)
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

/// Runs all parts until `until_ps`, that instant included, the first in this thread.
///
/// # Panics
/// A part panics: with its message.
pub(crate) fn run(parts: &mut [Part], exchange: &Exchange, until_ps: Picoseconds) {
    let run = |own: usize, part: &mut Part| {
        let _abort = AbortOnPanic(&exchange.meeting);
        // Another thread that aborts has a panic, which is resumed below.
        let _ended = exchange.run(own, part, until_ps);
    };
    let Some((first, others)) = parts.split_first_mut() else { return };
    thread::scope(|scope| {
        let other = |(own, part): (usize, &'_ mut Part)| {
            Pool::swap(&mut part.buffers);
            run(own, part);
            Pool::swap(&mut part.buffers);
        };
        let running: Vec<_> =
            (1..).zip(others).map(|other_part| scope.spawn(move || other(other_part))).collect();
        run(0, first);
        for thread in running {
            if let Err(panic) = thread.join() {
                panic::resume_unwind(panic);
            }
        }
    });
}
