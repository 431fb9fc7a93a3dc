//! Where the threads of a run wait for each other, many thousand times a second.
//!
//! Waiting is short where each thread has a core, so a thread first spins. If another thread's core
//! is busy, spinning would only take time from it: then the thread yields, and at last sleeps.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::{hint, thread};

/// Looks before a thread yields, some 20 us, and before it sleeps.
const SPINS: u32 = 20_000;
const YIELDS: u32 = 0;

/// See the module's head.
#[derive(Debug)]
pub(crate) struct Meeting {
    /// By thread, at how many meetings it has arrived.
    arrived: Box<[Arrived]>,
    /// Looks before a thread yields: none if there are more threads than cores.
    spins: u32,
    is_aborted: AtomicBool,
    sleepers: AtomicUsize,
    sleep: Mutex<()>,
    wake: Condvar,
}

/// In cache lines of its own, as one thread writes it and the others read.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Arrived(AtomicU64);

/// Another thread has aborted the meetings.
#[derive(Debug)]
pub(crate) struct Aborted;

impl Meeting {
    /// Of so many threads.
    pub(crate) fn new(threads: usize) -> Self {
        let cores = thread::available_parallelism().map_or(1, usize::from);
        Self {
            arrived: (0..threads).map(|_| Arrived::default()).collect(),
            spins: if threads <= cores { SPINS } else { 0 },
            is_aborted: AtomicBool::new(false),
            sleepers: AtomicUsize::new(0),
            sleep: Mutex::default(),
            wake: Condvar::new(),
        }
    }

    /// Thread number `own` arrives at its meeting number `meeting`, and waits for the others. What
    /// each thread wrote before is then visible to all.
    ///
    /// # Errors
    /// A thread has aborted.
    pub(crate) fn meet(&self, own: usize, meeting: u64) -> Result<(), Aborted> {
        // In one order with the look at the sleepers: a thread that goes to sleep counts itself,
        // then looks who has arrived.
        self.arrived[own].0.store(meeting, Ordering::SeqCst);
        if self.sleepers.load(Ordering::SeqCst) != 0 {
            self.wake_all();
        }
        for other in &self.arrived {
            self.wait(&other.0, meeting);
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

    #[inline]
    fn wait(&self, other: &AtomicU64, meeting: u64) {
        let is_over = || {
            other.load(Ordering::SeqCst) >= meeting || self.is_aborted.load(Ordering::SeqCst)
        };
        for _ in 0..self.spins {
            if is_over() {
                return;
            }
            hint::spin_loop();
        }
        for _ in 0..YIELDS {
            if is_over() {
                return;
            }
            thread::yield_now();
        }
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

    /// Runs `threads` threads through `meetings` meetings; at each, all see what all wrote before.
    fn run(threads: usize, meetings: u64, spins: u32) {
        let meeting = Meeting { spins, ..Meeting::new(threads) };
        let written: Vec<[AtomicU64; 2]> = (0..threads).map(|_| Default::default()).collect();
        thread::scope(|scope| {
            for own in 0..threads {
                let (meeting, written) = (&meeting, &written);
                scope.spawn(move || {
                    for number in 1..=meetings {
                        let side = usize::from(number.is_multiple_of(2));
                        written[own][side].store(number, Ordering::Relaxed);
                        meeting.meet(own, number).unwrap();
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
        run(1, 10, 0);
        run(2, 20_000, SPINS);
        run(2, 5_000, 0);
        run(7, 500, 0);
    }

    #[test]
    fn threads_that_sleep_are_woken_by_the_last_one_and_by_an_abort() {
        for aborts in [false, true] {
            let meeting = Meeting { spins: 0, ..Meeting::new(3) };
            thread::scope(|scope| {
                let waiting = [0, 1].map(|own| scope.spawn({
                    let meeting = &meeting;
                    move || meeting.meet(own, 1)
                }));
                while meeting.sleepers.load(Ordering::SeqCst) < 2 {
                    thread::yield_now();
                }
                if aborts {
                    meeting.abort();
                } else {
                    meeting.meet(2, 1).unwrap();
                }
                for thread in waiting {
                    assert_eq!(thread.join().unwrap().is_err(), aborts);
                }
            });
        }
    }
}
