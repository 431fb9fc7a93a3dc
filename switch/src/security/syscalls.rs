//! The system calls that threads need, in groups.
//!
//! The lists of workers and of servers come from what those threads call under all tests
//! (`strace -f`), from what glibc and Rust's library call in the same functions on other versions
//! of Linux, and from DPDK's drivers. What is left out on purpose: execution of programs, changes
//! of user, tracing and memory of other processes, mounts, namespaces, modules, keys, clocks,
//! `io_uring`, signals to other processes.

use nix::libc::*;

/// Memory, as every thread with an allocator needs it.
const MEMORY: &[i64] = &[SYS_brk, SYS_madvise, SYS_membarrier, SYS_mremap, SYS_munmap];
/// Calls that make or change a mapping, with the rights to it in their third argument.
pub(super) const MAPPING: &[i64] = &[SYS_mmap, SYS_mprotect];
/// The life of a thread: locks, sleep, signals to itself, its end.
const THREAD: &[i64] = &[
    SYS_clock_getres,
    SYS_clock_gettime,
    SYS_clock_nanosleep,
    SYS_exit,
    SYS_exit_group,
    SYS_futex,
    SYS_getcpu,
    SYS_getpid,
    SYS_getrandom,
    SYS_gettid,
    SYS_gettimeofday,
    SYS_nanosleep,
    SYS_restart_syscall,
    SYS_rseq,
    SYS_rt_sigaction,
    SYS_rt_sigprocmask,
    SYS_rt_sigreturn,
    SYS_sched_getaffinity,
    SYS_sched_yield,
    SYS_set_robust_list,
    SYS_sigaltstack,
    SYS_tgkill,
];
/// Reading and writing what is open.
const OPEN_FILES: &[i64] = &[
    SYS_close,
    SYS_fcntl,
    SYS_fstat,
    SYS_lseek,
    SYS_newfstatat,
    SYS_pread64,
    SYS_preadv,
    SYS_pwrite64,
    SYS_pwritev,
    SYS_read,
    SYS_readv,
    SYS_write,
    SYS_writev,
];
/// Messages on sockets that are open.
const MESSAGES: &[i64] = &[
    SYS_getsockopt,
    SYS_recvfrom,
    SYS_recvmmsg,
    SYS_recvmsg,
    SYS_sendmmsg,
    SYS_sendmsg,
    SYS_sendto,
];
/// Waiting for what is open.
const WAITING: &[i64] = &[SYS_epoll_pwait, SYS_ppoll, SYS_pselect6];

/// What every thread with a filter of its own may call: it works with what is open.
pub(super) const COMMON: &[&[i64]] =
    &[MEMORY, MAPPING, THREAD, OPEN_FILES, MESSAGES, WAITING, OLD_WAITING];

/// What a worker may call besides: it moves frames through queues that are open.
pub(super) const WORKER: &[&[i64]] = &[&[SYS_ioctl]];

/// What opens a file. In workers and servers it fails instead of ending the process: glibc's
/// allocator reads `/proc/sys/vm/overcommit_memory` when it gives memory back, and goes on if it
/// cannot.
#[cfg(target_arch = "x86_64")]
pub(super) const OPENING: &[i64] = &[SYS_open, SYS_openat];
#[cfg(not(target_arch = "x86_64"))]
pub(super) const OPENING: &[i64] = &[SYS_openat];

/// What a thread may call besides that serves a socket: it accepts clients, starts a thread for
/// each, reads, and writes. It opens no file and makes no socket.
pub(super) const SERVER: &[&[i64]] =
    &[CONNECTIONS, &[SYS_clone, SYS_clone3, SYS_epoll_ctl, SYS_prctl, SYS_set_tid_address]];

/// What the thread may call besides that connects to a store: it makes sockets, resolves names,
/// reads certificates and replaces the files of its rules. It listens nowhere.
pub(super) const AGENT: &[&[i64]] = &[
    OLD_FILES,
    &[
        SYS_bind,
        SYS_clone,
        SYS_clone3,
        SYS_connect,
        SYS_epoll_ctl,
        SYS_fchmod,
        SYS_fchown,
        SYS_fdatasync,
        SYS_fsync,
        SYS_getdents64,
        SYS_getpeername,
        SYS_getsockname,
        SYS_ioctl,
        SYS_mkdirat,
        SYS_prctl,
        SYS_renameat,
        SYS_renameat2,
        SYS_set_tid_address,
        SYS_setsockopt,
        SYS_shutdown,
        SYS_socket,
        SYS_statx,
        SYS_uname,
        SYS_unlinkat,
    ],
];

/// What any thread may call: the control thread opens files and sockets, drivers close devices.
pub(super) const PROCESS: &[&[i64]] = &[
    MEMORY,
    MAPPING,
    THREAD,
    OPEN_FILES,
    MESSAGES,
    WAITING,
    OLD_WAITING,
    FILES,
    OLD_FILES,
    CONNECTIONS,
    SOCKETS,
    PROCESS_ITSELF,
    EVENTS,
    OLD_EVENTS,
    PAGES,
];

const FILES: &[i64] = &[
    SYS_close_range,
    SYS_copy_file_range,
    SYS_dup,
    SYS_dup3,
    SYS_faccessat,
    SYS_faccessat2,
    SYS_fadvise64,
    SYS_fallocate,
    SYS_fchmod,
    SYS_fchmodat,
    SYS_fchown,
    SYS_fchownat,
    SYS_fdatasync,
    SYS_flock,
    SYS_fstatfs,
    SYS_fsync,
    SYS_ftruncate,
    SYS_getcwd,
    SYS_getdents64,
    SYS_linkat,
    SYS_mkdirat,
    SYS_openat,
    SYS_openat2,
    SYS_pipe2,
    SYS_preadv2,
    SYS_pwritev2,
    SYS_readlinkat,
    SYS_renameat,
    SYS_renameat2,
    SYS_sendfile,
    SYS_statfs,
    SYS_statx,
    SYS_symlinkat,
    SYS_sync_file_range,
    SYS_umask,
    SYS_unlinkat,
    SYS_utimensat,
];
/// Connections to a socket that listens.
const CONNECTIONS: &[i64] = &[
    SYS_accept,
    SYS_accept4,
    SYS_getpeername,
    SYS_getsockname,
    SYS_ioctl,
    SYS_setsockopt,
    SYS_shutdown,
];
/// New sockets.
const SOCKETS: &[i64] = &[SYS_bind, SYS_connect, SYS_listen, SYS_socket, SYS_socketpair];
/// Its threads, limits and identity, which it may read and not change.
const PROCESS_ITSELF: &[i64] = &[
    SYS_capget,
    SYS_capset,
    SYS_clone,
    SYS_clone3,
    SYS_get_robust_list,
    SYS_getegid,
    SYS_geteuid,
    SYS_getgid,
    SYS_getgroups,
    SYS_getpgid,
    SYS_getppid,
    SYS_getpriority,
    SYS_getresgid,
    SYS_getresuid,
    SYS_getrusage,
    SYS_getuid,
    SYS_prctl,
    SYS_prlimit64,
    SYS_rt_sigpending,
    SYS_rt_sigsuspend,
    SYS_rt_sigtimedwait,
    SYS_sched_get_priority_max,
    SYS_sched_get_priority_min,
    SYS_sched_getattr,
    SYS_sched_getparam,
    SYS_sched_getscheduler,
    SYS_sched_setaffinity,
    SYS_sched_setattr,
    SYS_sched_setscheduler,
    SYS_seccomp,
    SYS_set_tid_address,
    SYS_setpriority,
    SYS_sysinfo,
    SYS_times,
    SYS_uname,
    SYS_wait4,
    SYS_waitid,
];
const EVENTS: &[i64] = &[
    SYS_epoll_create1,
    SYS_epoll_ctl,
    SYS_epoll_pwait2,
    SYS_eventfd2,
    SYS_inotify_add_watch,
    SYS_inotify_init1,
    SYS_inotify_rm_watch,
    SYS_setitimer,
    SYS_signalfd4,
    SYS_timer_create,
    SYS_timer_delete,
    SYS_timer_getoverrun,
    SYS_timer_gettime,
    SYS_timer_settime,
    SYS_timerfd_create,
    SYS_timerfd_gettime,
    SYS_timerfd_settime,
];
/// Pages that drivers lock, and place near their NIC.
const PAGES: &[i64] = &[
    SYS_get_mempolicy,
    SYS_mbind,
    SYS_memfd_create,
    SYS_mincore,
    SYS_mlock,
    SYS_mlock2,
    SYS_mlockall,
    SYS_move_pages,
    SYS_msync,
    SYS_munlock,
    SYS_munlockall,
    SYS_set_mempolicy,
];
/// What removes an `AF_XDP` socket from its interface.
pub(super) const BPF: i64 = SYS_bpf;

// Calls that newer machines have under one name only.
#[cfg(target_arch = "x86_64")]
const OLD_WAITING: &[i64] = &[SYS_epoll_wait, SYS_poll, SYS_select];
#[cfg(target_arch = "x86_64")]
const OLD_FILES: &[i64] = &[
    SYS_access,
    SYS_arch_prctl,
    SYS_chmod,
    SYS_chown,
    SYS_dup2,
    SYS_getrlimit,
    SYS_link,
    SYS_lstat,
    SYS_mkdir,
    SYS_open,
    SYS_pipe,
    SYS_readlink,
    SYS_rename,
    SYS_rmdir,
    SYS_stat,
    SYS_symlink,
    SYS_time,
    SYS_unlink,
    SYS_utimes,
];
#[cfg(target_arch = "x86_64")]
const OLD_EVENTS: &[i64] = &[SYS_epoll_create, SYS_eventfd, SYS_inotify_init, SYS_signalfd];
#[cfg(not(target_arch = "x86_64"))]
const OLD_WAITING: &[i64] = &[];
#[cfg(not(target_arch = "x86_64"))]
const OLD_FILES: &[i64] = &[];
#[cfg(not(target_arch = "x86_64"))]
const OLD_EVENTS: &[i64] = &[];
