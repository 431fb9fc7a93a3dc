//! Writes the seeds of a fuzz target:
//! `cargo run -p knotless-tests --example fuzz_seeds TARGET DIRECTORY`.

use std::path::PathBuf;
use std::process::ExitCode;
use tests::fuzz::{TARGETS, seeds};

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let (Some(name), Some(directory)) = (arguments.next(), arguments.next().map(PathBuf::from))
    else {
        eprintln!("fuzz_seeds: which target, and which directory?");
        return ExitCode::from(2);
    };
    let Some(target) = TARGETS.iter().find(|target| target.name == name) else {
        let names: Vec<&str> = TARGETS.iter().map(|target| target.name).collect();
        eprintln!("fuzz_seeds: there is no target `{name}`; there are {}", names.join(", "));
        return ExitCode::from(2);
    };
    let write = || -> std::io::Result<usize> {
        std::fs::create_dir_all(&directory)?;
        let seeds = seeds(target);
        for (number, seed) in seeds.iter().enumerate() {
            std::fs::write(directory.join(format!("seed-{number:04}")), seed)?;
        }
        Ok(seeds.len())
    };
    match write() {
        Ok(count) => {
            println!("{count} seeds in {}", directory.display());
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("fuzz_seeds: {}: {error}", directory.display());
            ExitCode::FAILURE
        }
    }
}
