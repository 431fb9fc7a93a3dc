//! Where the threads of a run wait for each other, many thousand times a second.
//!
//! Waits are short where each thread has a core, so a thread first spins, and then sleeps. Where
//! threads share a core, or other programs take it, spinning only takes time from the thread that
//! is waited for. So a thread that spun for nothing spins half as long the next time, and one that
//! did not have to sleep four times as long. It does not yield: a thread that yields to another
//! program waits for milliseconds, one that sleeps is run soon after it is woken.

use std::hint;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};

/// Looks before a thread sleeps, at the least and at the most: some 25 ns each.
const SPINS_MIN: u32 = 128;
const SPINS_MAX: u32 = 4_096;

/// See the module's head.
#[derive(Debug)]
pub(crate) struct Meeting {
    /// By thread, at how many meetings it has arrived.
    arrived: Box<[Arrived]>,
    is_aborted: AtomicBool,
    sleepers: AtomicUsize,
    sleep: Mutex<()>,
    wake: Condvar,
}

/// In cache lines of its own, as one thread writes it and the others read.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Arrived(AtomicU64);

/// A thread that takes part.
#[derive(Debug)]
pub(crate) struct Member {
    pub(crate) own: usize,
    /// At how many meetings it was.
    meetings: u64,
    /// Looks before it sleeps.
    spins: u32,
}

/// Another thread has aborted the meetings.
#[derive(Debug)]
pub(crate) struct Aborted;

impl Member {
    /// Thread number `own`.
    pub(crate) const fn new(own: usize) -> Self {
        Self { own, meetings: 0, spins: SPINS_MAX }
    }

    /// Goes to no meeting, as no thread does.
    pub(crate) const fn skip(&mut self) {
        self.meetings += 1;
    }

    /// Whether the next meeting has an even number.
    pub(crate) const fn is_next_even(&self) -> bool {
        !self.meetings.is_multiple_of(2)
    }
}

impl Meeting {
    /// Of so many threads.
    pub(crate) fn new(threads: usize) -> Self {
        Self {
            arrived: (0..threads).map(|_| Arrived::default()).collect(),
            is_aborted: AtomicBool::new(false),
            sleepers: AtomicUsize::new(0),
            sleep: Mutex::default(),
            wake: Condvar::new(),
        }
    }

    /// A thread arrives at its next meeting, and waits for the others. What each thread wrote
    /// before is then visible to all.
    ///
    /// # Errors
    /// A thread has aborted.
    pub(crate) fn meet(&self, member: &mut Member) -> Result<(), Aborted> {
        member.meetings += 1;
        // In one order with the look at the sleepers: a thread that goes to sleep counts itself,
        // then looks who has arrived.
        self.arrived[member.own].0.store(member.meetings, Ordering::SeqCst);
        if self.sleepers.load(Ordering::SeqCst) != 0 {
            self.wake_all();
        }
        for other in &self.arrived {
            self.wait(&other.0, member);
        }
        if self.is_aborted.load(Ordering::SeqCst) { Err(Aborted) } else { Ok(()) }
    }

    /// Ends this meeting, and all later ones.
    pub(crate) fn abort(&self) {
        self.is_aborted.store(true, Ordering::SeqCst);
        self.wake_all();
    }

    fn wake_all(&self) {
        // A thread that has looked and not yet slept holds the lock.
        drop(self.sleep.lock().unwrap_or_else(PoisonError::into_inner));
        self.wake.notify_all();
    }

    fn wait(&self, other: &AtomicU64, member: &mut Member) {
        let is_over = || {
            other.load(Ordering::SeqCst) >= member.meetings
                || self.is_aborted.load(Ordering::SeqCst)
        };
        if is_over() {
            return;
        }
        for _ in 0..member.spins {
            hint::spin_loop();
            if is_over() {
                member.spins = (member.spins * 4).min(SPINS_MAX);
                return;
            }
        }
        member.spins = (member.spins / 2).max(SPINS_MIN);
        let mut guard = self.sleep.lock().unwrap_or_else(PoisonError::into_inner);
        self.sleepers.fetch_add(1, Ordering::SeqCst);
        while !is_over() {
            guard = self.wake.wait(guard).unwrap_or_else(PoisonError::into_inner);
        }
        self.sleepers.fetch_sub(1, Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    /// Runs `threads` threads through `meetings` meetings; at each, all see what all wrote before.
    fn run(threads: usize, meetings: u64) {
        let meeting = Meeting::new(threads);
        let written: Vec<[AtomicU64; 2]> = (0..threads).map(|_| Default::default()).collect();
        thread::scope(|scope| {
            for own in 0..threads {
                let (meeting, written) = (&meeting, &written);
                scope.spawn(move || {
                    let mut member = Member::new(own);
                    for number in 1..=meetings {
                        let side = usize::from(member.is_next_even());
                        written[own][side].store(number, Ordering::Relaxed);
                        meeting.meet(&mut member).unwrap();
                        for one in written {
                            assert_eq!(one[side].load(Ordering::Relaxed), number);
                        }
                    }
                });
            }
        });
    }

    #[test]
    fn nobody_passes_before_all_have_arrived() {
        run(1, 10);
        run(2, 20_000);
        run(7, 1_000);
    }

    #[test]
    fn threads_that_sleep_are_woken_by_the_last_one_and_by_an_abort() {
        for aborts in [false, true] {
            let meeting = &Meeting::new(3);
            thread::scope(|scope| {
                let wait = |own| scope.spawn(move || meeting.meet(&mut Member::new(own)));
                let waiting = [0, 1].map(wait);
                while meeting.sleepers.load(Ordering::SeqCst) < 2 {
                    thread::yield_now();
                }
                if aborts {
                    meeting.abort();
                } else {
                    meeting.meet(&mut Member::new(2)).unwrap();
                }
                for thread in waiting {
                    assert_eq!(thread.join().unwrap().is_err(), aborts);
                }
            });
        }
    }

    #[test]
    fn a_thread_that_spins_for_nothing_spins_less_and_less() {
        let meeting = Meeting::new(2);
        let mut member = Member::new(0);
        thread::scope(|scope| {
            scope.spawn(|| {
                let mut late = Member::new(1);
                for _ in 0..20 {
                    // The other sleeps by then.
                    while meeting.sleepers.load(Ordering::SeqCst) == 0 {
                        thread::yield_now();
                    }
                    meeting.meet(&mut late).unwrap();
                }
            });
            (0..20).for_each(|_| meeting.meet(&mut member).unwrap());
        });
        assert_eq!(member.spins, SPINS_MIN);
    }
}
