//! Each folder of `tests/pcap/` is a test of its own:
//! `cargo test -p knotless-tests --test pcap -- NAME`.
//!
//! Some of them are followed by their frames with octets changed, 100,000 in all (`fuzzed-NAME`).
//!
//! With `KNOTLESS_RECORD=NAME` (or `1` for all) what the switch does is written over what it should
//! do, to be reviewed as a diff.

use libtest_mimic::{Arguments, Failed, Trial};
use std::env;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::sync::Arc;
use tests::pcap::{Case, CaseError, Mismatch, cases, check, fuzzed, record};
use tests::{program, tree};

/// What the changed frames are made from.
const FUZZED_SEED: u64 = 1;
/// Differences shown of one case; the first ones say most.
const SHOWN_MAX: usize = 12;

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let cases = match cases() {
        Ok(cases) => cases,
        Err(error) => {
            eprintln!("{error}");
            return ExitCode::FAILURE;
        }
    };
    // To list tests nothing need be built.
    let program = if arguments.list { Ok(PathBuf::new()) } else { program::build() };
    let program: Arc<Path> = match program {
        Ok(program) => program.into(),
        Err(error) => {
            eprintln!("{error}");
            return ExitCode::FAILURE;
        }
    };
    let to_record = env::var("KNOTLESS_RECORD").ok().filter(|names| !names.is_empty());
    let mut trials = vec![scapy_trial()];
    for (name, case) in cases {
        let program = Arc::clone(&program);
        let records = to_record.as_ref().is_some_and(|names| names == "1" || *names == name);
        if to_record.is_some() && !records {
            continue;
        }
        if let Ok(case) = &case
            && to_record.is_none()
            && fuzzed::SWITCHES.contains(&case.name.as_str())
        {
            let (case, program) = (case.clone(), Arc::clone(&program));
            let replay = move || Ok(fuzzed::replay(&case, &program, FUZZED_SEED)?);
            trials.push(Trial::test(format!("fuzzed-{name}"), replay));
        }
        trials.push(Trial::test(name, move || one(case, &program, records)));
    }
    libtest_mimic::run(&arguments, trials).exit_code()
}

fn one(case: Result<Case, CaseError>, program: &Path, records: bool) -> Result<(), Failed> {
    let case = case?;
    if records {
        for mismatch in record(&case, program)? {
            println!("{}: {mismatch}", case.name);
        }
        return Ok(());
    }
    let mismatches = check(&case, program)?;
    if mismatches.is_empty() { Ok(()) } else { Err(report(&case, &mismatches).into()) }
}

fn report(case: &Case, mismatches: &[Mismatch]) -> String {
    let mut text = format!("{}: {}\n", case.name, case.about);
    for mismatch in mismatches.iter().take(SHOWN_MAX) {
        let _always_room = writeln!(text, "  {mismatch}");
    }
    if mismatches.len() > SHOWN_MAX {
        let _always_room = writeln!(text, "  and {} more", mismatches.len() - SHOWN_MAX);
    }
    text
}

/// The inputs are what scapy makes, and so are the expected outputs: not only what the switch did
/// when they were recorded.
fn scapy_trial() -> Trial {
    let python = ["python3", "/usr/bin/python3"].into_iter().find(|python| has_scapy(python));
    let Some(python) = python else {
        return Trial::test("scapy-agrees (scapy is not installed)", || Ok(()))
            .with_ignored_flag(true);
    };
    Trial::test("scapy-agrees", move || {
        let script = tree::root().join("tests/pcap/make_inputs.py");
        let output = Command::new(python).arg(script).arg("--check").output()?;
        if output.status.success() {
            return Ok(());
        }
        let (said, wrong) = (output.stdout, output.stderr);
        Err(String::from_utf8_lossy(&[said, wrong].concat()).into_owned().into())
    })
}

fn has_scapy(python: &str) -> bool {
    let tried = Command::new(python).args(["-c", "import scapy, tomllib"]).output();
    tried.is_ok_and(|output| output.status.success())
}
