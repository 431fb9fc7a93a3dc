//! The compiler and the verifier: the Tagger paper's tables, the proven optimum of Clos networks,
//! and on random networks every algorithm against slow, obvious oracles.

mod classes;
mod clos;
mod examples;
#[path = "../support/exhaustive.rs"]
mod exhaustive;
mod fewest;
mod grown;
mod mixtures;
mod oracle;
mod random;
#[path = "../support/slow_proof.rs"]
mod slow_proof;
#[path = "../support/mod.rs"]
mod support;
mod tables;
mod tcam;
mod verdicts;
