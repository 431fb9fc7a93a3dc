//! Writes the sample pages, to be looked at:
//! `cargo run -p knotless-tests --example report_pages DIRECTORY`.

mod samples;

use std::path::PathBuf;
use std::process::ExitCode;

fn main() -> ExitCode {
    let Some(directory) = std::env::args().nth(1).map(PathBuf::from) else {
        eprintln!("report_pages: into which directory?");
        return ExitCode::from(2);
    };
    for (name, outcome) in samples::all() {
        let path = directory.join(name).with_extension("html");
        if let Err(error) = std::fs::write(&path, netsim::report::page(&outcome)) {
            eprintln!("report_pages: {}: {error}", path.display());
            return ExitCode::FAILURE;
        }
        println!("{}", path.display());
    }
    ExitCode::SUCCESS
}
