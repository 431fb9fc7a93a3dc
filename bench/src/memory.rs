//! How much memory a bench has needed.

/// The most memory this process has had, in kB; 0 where the system does not say.
pub fn peak_kb() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kb = line.and_then(|line| line.trim().trim_end_matches(" kB").trim().parse::<u64>().ok());
    kb.unwrap_or(0)
}
