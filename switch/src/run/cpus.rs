//! The CPUs of the workers and of the control thread.

use super::RunError;
use config::SwitchConfig;

/// The CPU affinity of this thread. `rte_eal_init` changes it for the main thread, so this is
/// called before it.
fn allowed_cpus() -> Vec<usize> {
    core_affinity::get_core_ids().unwrap_or_default().into_iter().map(|core| core.id).collect()
}

/// Checks that this process may run on every CPU that the configuration gives a worker.
///
/// # Errors
/// A worker's CPU is outside this process's CPU affinity mask.
pub(super) fn check_cpus(config: &SwitchConfig) -> Result<(), RunError> {
    let allowed = allowed_cpus();
    for (number, core) in config.workers.cores.iter().enumerate() {
        if !allowed.contains(core) {
            let allowed: Vec<String> = allowed.iter().map(usize::to_string).collect();
            let allowed = allowed.join(", ");
            let why =
                format!("it cannot run on CPU {core}; set [workers] cores to some of {allowed}");
            return Err(RunError::Worker { number, why });
        }
    }
    Ok(())
}

/// The CPUs of the control thread: all allowed ones except the workers'; empty if none is left.
pub(super) fn main_cpus(config: &SwitchConfig) -> Vec<usize> {
    let allowed = allowed_cpus().into_iter();
    allowed.filter(|core| !config.workers.cores.contains(core)).collect()
}
