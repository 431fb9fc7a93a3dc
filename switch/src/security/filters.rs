//! Filters of system calls (`seccomp`(2)): what a thread may call, by its work.
//!
//! All threads have one filter. Those that read what others send have further ones of their own:
//! the kernel then does the strictest of what all of them say.

use super::capabilities::is_xdp;
use super::syscalls;
use config::SwitchConfig;
use config::switch::Seccomp;
use seccompiler::{
    BpfProgram, Error, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition,
    SeccompFilter, SeccompRule, TargetArch,
};
use std::collections::BTreeMap;
use std::sync::Arc;

/// What a thread with a filter of its own does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ThreadKind {
    /// It forwards frames.
    Worker,
    /// It serves a socket: it waits for clients, or reads from one.
    Server,
    /// It connects to a store, and keeps files.
    Agent,
}

/// The compiled filters, shared by the threads that install them.
#[derive(Clone, Debug)]
pub(super) struct Filters(Arc<Programs>);

#[derive(Debug)]
struct Programs {
    process: BpfProgram,
    worker: BpfProgram,
    server: BpfProgram,
    agent: BpfProgram,
    /// Fails what the allocator of the C library tries in any thread and can do without.
    no_files: BpfProgram,
}

impl Filters {
    /// The filters for a switch of `config`; `None` if it wants none.
    ///
    /// # Errors
    /// None on a machine that this program is built for.
    pub(super) fn compile(config: &SwitchConfig) -> Result<Option<Self>, Error> {
        let forbidden = match config.security.seccomp {
            Seccomp::Kill => SeccompAction::KillProcess,
            Seccomp::Log => SeccompAction::Log,
            Seccomp::Off => return Ok(None),
        };
        let mut process = syscalls::PROCESS.concat();
        if config.ports.iter().any(|port| is_xdp(&port.device)) {
            process.push(syscalls::BPF);
        }
        Self::of(&process, &forbidden).map(Some)
    }

    fn of(process: &[i64], forbidden: &SeccompAction) -> Result<Self, Error> {
        use SeccompAction::{Allow, Errno};
        use syscalls::OPENING;
        const EACCES: u32 = nix::libc::EACCES.unsigned_abs();
        let [mut worker, server, agent] = [syscalls::WORKER, syscalls::SERVER, syscalls::AGENT]
            .map(|own| [syscalls::COMMON, own, &[OPENING]].concat().concat());
        worker.retain(|call| !syscalls::MAPPING.contains(call));
        let mut worker = rules(&worker);
        // A worker never maps memory that it could execute.
        for call in syscalls::MAPPING {
            worker.insert(*call, vec![without_execution()?]);
        }
        Ok(Self(Arc::new(Programs {
            process: program(rules(process), Allow, forbidden.clone())?,
            worker: program(worker, Allow, forbidden.clone())?,
            server: program(rules(&server), Allow, forbidden.clone())?,
            agent: program(rules(&agent), Allow, forbidden.clone())?,
            no_files: program(rules(OPENING), Errno(EACCES), Allow)?,
        })))
    }

    /// Installs the filter of the whole process in all threads.
    ///
    /// # Errors
    /// The kernel refuses.
    pub(super) fn install_in_all_threads(&self) -> Result<(), Error> {
        seccompiler::apply_filter_all_threads(&self.0.process)
    }

    /// Installs the filter of `kind` in the calling thread, for good. Threads that it starts have
    /// it, too.
    ///
    /// # Errors
    /// The kernel refuses.
    pub(super) fn install(&self, kind: ThreadKind) -> Result<(), Error> {
        let program = match kind {
            ThreadKind::Worker => &self.0.worker,
            ThreadKind::Server => &self.0.server,
            ThreadKind::Agent => return seccompiler::apply_filter(&self.0.agent),
        };
        seccompiler::apply_filter(&self.0.no_files)?;
        seccompiler::apply_filter(program)
    }
}

type Rules = BTreeMap<i64, Vec<SeccompRule>>;

/// These calls, with any arguments.
fn rules(calls: &[i64]) -> Rules {
    calls.iter().map(|&call| (call, Vec::new())).collect()
}

/// `mmap` and `mprotect` whose third argument asks for no right to execute.
fn without_execution() -> Result<SeccompRule, Error> {
    let execute = u64::from(nix::libc::PROT_EXEC.unsigned_abs());
    let is_absent =
        SeccompCondition::new(2, SeccompCmpArgLen::Dword, SeccompCmpOp::MaskedEq(execute), 0)?;
    Ok(SeccompRule::new(vec![is_absent])?)
}

fn program(
    rules: Rules,
    listed: SeccompAction,
    others: SeccompAction,
) -> Result<BpfProgram, Error> {
    #[cfg(target_arch = "x86_64")]
    let machine = TargetArch::x86_64;
    #[cfg(target_arch = "aarch64")]
    let machine = TargetArch::aarch64;
    let filter = SeccompFilter::new(rules, others, listed, machine)?;
    Ok(filter.try_into()?)
}
