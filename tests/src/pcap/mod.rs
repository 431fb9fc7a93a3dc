//! Frames from files through the real program, byte for byte.
//!
//! A case is a folder in `tests/pcap/`; a new folder is a new test:
//!
//! | file | what it holds |
//! |---|---|
//! | `about` | what the case is for, in one line |
//! | `switch.toml` | the switch; port n reads `in-n.pcap` and writes `out-n.pcap` |
//! | `frames.py` | what arrives and what must leave, computed with scapy |
//! | `in-n.pcap` | what arrives at port n, made by `make_inputs.py` |
//! | `out-n.pcap` | what must leave; a port without one must send nothing |
//! | `counters.txt` | every counter that moves, and its value; all others must be 0 |
//! | `rules.json` | rules, if `switch.toml` names them |
//!
//! `net_pcap` does not know time: a port gets its file in bursts, all ports in the same
//! turns, in the order of their numbers. What a case expects may depend on that, and on nothing
//! that a slow machine would change. Hence the pauses that outlast the test: 65,535 quanta at 1
//! Mb/s are 33 s.

mod case;
mod compare;
mod counters;
mod file;
pub mod fuzzed;
mod kinds;
mod run;

pub use case::{Case, CaseError, Named, cases};
pub use compare::Mismatch;
pub use file::{FileError, write as write_frames};
pub use kinds::Kind;
pub use run::RunError;

use std::path::Path;

/// Runs a case with `program` and compares what it does with what it must do.
///
/// # Errors
/// The case is not sound, or cannot be run.
pub fn check(case: &Case, program: &Path) -> Result<Vec<Mismatch>, RunError> {
    let seen = run::run(case, program)?;
    Ok(compare::compare(case, &seen))
}

/// Runs a case and writes what it does over what it must do, where these differ.
///
/// # Errors
/// The case cannot be run, or its files cannot be written.
pub fn record(case: &Case, program: &Path) -> Result<Vec<Mismatch>, RunError> {
    let seen = run::run(case, program)?;
    let mismatches = compare::compare(case, &seen);
    case.write(&seen, &mismatches)?;
    Ok(mismatches)
}
