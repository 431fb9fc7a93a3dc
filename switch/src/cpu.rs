//! Checks that the CPU has the instructions that this program was built with.

use std::collections::HashSet;

/// The features of x86-64-v3 beyond x86-64, as named in `/proc/cpuinfo` (`abm` includes lzcnt).
const V3: [&str; 12] = [
    "abm", "avx", "avx2", "bmi1", "bmi2", "cx16", "f16c", "fma", "movbe", "popcnt", "sse4_2",
    "ssse3",
];

/// Checked before anything else runs: a missing instruction kills the process without a message.
/// `is_x86_feature_detected!` cannot be used: the compiler evaluates it to true for features that
/// it was told to assume.
///
/// # Errors
/// What is missing, and what to do, in one line. Without `/proc/cpuinfo` the check passes.
pub fn check() -> Result<(), String> {
    if !cfg!(target_feature = "avx2") {
        return Ok(());
    }
    std::fs::read_to_string("/proc/cpuinfo").map_or(Ok(()), |text| check_flags(&text))
}

fn check_flags(cpuinfo: &str) -> Result<(), String> {
    let line = cpuinfo.lines().find(|line| line.starts_with("flags"));
    let Some((_, flags)) = line.and_then(|line| line.split_once(':')) else { return Ok(()) };
    let flags: HashSet<&str> = flags.split_whitespace().collect();
    let missing: Vec<&str> = V3.into_iter().filter(|flag| !flags.contains(flag)).collect();
    if missing.is_empty() {
        return Ok(());
    }
    Err(format!(
        "this program is built for x86-64-v3 (from 2013 on), and the CPU lacks {}; build it with \
         RUSTFLAGS='-C target-cpu=x86-64-v2'",
        missing.join(", ")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_named() {
        let all = format!("processor: 0\nflags\t\t: fpu {} sse2\n", V3.join(" "));
        assert_eq!(check_flags(&all), Ok(()));
        let error = check_flags(&all.replace(" avx2", "").replace(" movbe", "")).unwrap_err();
        assert!(error.contains("lacks avx2, movbe;"), "{error}");
    }

    #[test]
    fn without_cpu_flags_the_check_passes() {
        assert_eq!(check_flags(""), Ok(()));
        assert_eq!(check_flags("Features : fp asimd\n"), Ok(()));
    }

    #[test]
    fn this_cpu_runs_what_was_built_for_it() {
        assert_eq!(check(), Ok(()));
    }
}
