//! What "Fast Deadlock-free Routing Reconfiguration for Arbitrary Datacenter Networks" (the
//! manuscript) shows and leaves open, as experiments of typed figures.
//!
//! | file | what |
//! |---|---|
//! | `cases` | changes of paths: Figs 2, 3 and 6, random ones, and failures |
//! | `figures` | Figs 3, 5 and 6 counted, equation 2 by trying every state |
//! | `outsider` | the manuscript's rule from its text alone, with nothing of the planner |
//! | `compare` | that rule against the planner, over many seeds |
//! | `emulated` | a change in the emulator: two hosts for each path |
//! | `executed` | ways to make a change, executed in the emulator |

pub mod cases;
pub mod compare;
mod emulated;
pub mod executed;
pub mod figures;
pub mod outsider;
