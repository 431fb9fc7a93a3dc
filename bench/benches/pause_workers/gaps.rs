//! How long turns take, and gaps in which a worker did not have its core.

use hdrhistogram::Histogram;
use nix::sys::resource::{UsageWho, getrusage};
use std::thread;
use std::time::{Duration, Instant as Clock};

/// A turn that took long, and whether the kernel had taken the core from the thread.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Gap {
    pub(crate) begin_ns: u64,
    pub(crate) end_ns: u64,
    pub(crate) is_switched: bool,
}

/// The turns of one thread.
pub(crate) struct Turns {
    pub(crate) took_ns: Histogram<u64>,
    pub(crate) gaps: Vec<Gap>,
    switches: i64,
}

/// Gaps from here on are noted; which of them are long is decided by the turns of the row.
pub(crate) const GAP_NOTED_NS: u64 = 5_000;

fn switches() -> i64 {
    let usage = getrusage(UsageWho::RUSAGE_THREAD).expect("Linux counts it");
    usage.involuntary_context_switches()
}

impl Turns {
    pub(crate) fn new() -> Self {
        let took_ns = Histogram::new_with_bounds(1, 60_000_000_000, 3).expect("valid bounds");
        Self { took_ns, gaps: Vec::new(), switches: switches() }
    }

    pub(crate) fn took(&mut self, begin_ns: u64, end_ns: u64) {
        self.took_ns.saturating_record(end_ns - begin_ns);
        if end_ns - begin_ns >= GAP_NOTED_NS {
            let switches = switches();
            let is_switched = std::mem::replace(&mut self.switches, switches) != switches;
            self.gaps.push(Gap { begin_ns, end_ns, is_switched });
        }
    }
}

/// Long gaps a second of a loop that only reads the clock, on each of `cores`.
pub(crate) fn empty_loop_gaps(cores: &[core_affinity::CoreId], long_ns: u64) -> f64 {
    const SECONDS: f64 = 0.5;
    let watch = |core: core_affinity::CoreId| {
        core_affinity::set_for_current(core);
        let start = Clock::now();
        let (mut last, mut gaps) = (start, 0_u32);
        while last - start < Duration::from_secs_f64(SECONDS) {
            let now = Clock::now();
            gaps += u32::from((now - last).as_nanos() >= u128::from(long_ns));
            last = now;
        }
        f64::from(gaps) / SECONDS
    };
    thread::scope(|scope| {
        let threads: Vec<_> = cores.iter().map(|&core| scope.spawn(move || watch(core))).collect();
        threads.into_iter().map(|thread| thread.join().expect("a count")).sum()
    })
}
