//! What no crate can test alone. Tests here start the program as an operator does, read the tree as
//! a newcomer does, and throw bytes at every parser.
//!
//! | where | what |
//! |---|---|
//! | [`mod@pcap`], `pcap.rs`, `pcap/` | frames from files through the real program, byte for byte |
//! | `e2e/` | the program between hosts in network namespaces |
//! | `report/` | the page of a simulation, as a browser shows it |
//! | `style/` | the rules of the house: who imports whom, what a file may look like |
//! | [`mod@fuzz`], `fuzz_bodies.rs`, `fuzz/` | bytes at every parser, and sequences of operations |

pub mod fuzz;
pub mod mutate;
pub mod pcap;
pub mod program;
pub mod tree;
