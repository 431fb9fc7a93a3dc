//! The CPUs of the workers and of the control thread.

use super::RunError;
use config::SwitchConfig;
use core_affinity::CoreId;

/// CPUs of a thread's affinity mask.
const CPUS_MAX: usize = nix::libc::CPU_SETSIZE as usize;

/// The CPU affinity of this thread. `rte_eal_init` changes it for the main thread, so this is
/// called before it.
fn allowed_cpus() -> Vec<usize> {
    core_affinity::get_core_ids().unwrap_or_default().into_iter().map(|core| core.id).collect()
}

/// Whether a thread of this process can be pinned to a CPU. One outside the process's affinity mask
/// can: `isolcpus=` takes CPUs out of every process's mask, and they are the ones for workers.
fn can_run_on(core: usize) -> bool {
    let pin = move || core_affinity::set_for_current(CoreId { id: core });
    // core_affinity panics at a CPU beyond the kernel's mask of a thread.
    core < CPUS_MAX && std::thread::spawn(pin).join().unwrap_or(false)
}

/// Checks that a worker can run on every CPU that the configuration gives one.
///
/// # Errors
/// The kernel refuses to pin a thread to the CPU: it is not there, or a cpuset excludes it.
pub(super) fn check_cpus(config: &SwitchConfig) -> Result<(), RunError> {
    for (number, core) in config.workers.cores.iter().enumerate() {
        if !can_run_on(*core) {
            let allowed: Vec<String> = allowed_cpus().iter().map(usize::to_string).collect();
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    #[test]
    fn a_cpu_outside_the_affinity_mask_can_be_a_workers() {
        let cpus = allowed_cpus();
        let [first, .., last] = cpus[..] else { return };
        let pinned = thread::spawn(move || {
            assert!(core_affinity::set_for_current(CoreId { id: first }));
            (allowed_cpus(), can_run_on(last), allowed_cpus())
        });
        assert_eq!(pinned.join().unwrap(), (vec![first], true, vec![first]));
        assert!(!can_run_on(4_000), "no machine has it");
    }
}
