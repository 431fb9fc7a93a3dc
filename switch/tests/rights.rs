//! What rights a running switch has: by `/proc`, by calls that its threads are made to do, and by
//! what other users are told.
#![cfg(all(feature = "dpdk", target_arch = "x86_64"))]

#[allow(dead_code, reason = "each test file uses a part of it")]
mod binary;
#[allow(dead_code, reason = "each test file uses a part of it")]
mod privilege;

use binary::{Place, Switch};
use nix::libc;
use nix::sys::ptrace;
use nix::sys::signal::Signal;
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::os::unix::process::CommandExt;
use std::process::Output;

/// `CAP_NET_ADMIN`, as a mask.
const NET_ADMIN: u64 = 1 << 12;

/// A switch of two ports on `device`, with more in `[control]` and `[security]`.
fn switch_toml(devices: [&str; 2], more: &str) -> String {
    let [first, second] = devices;
    format!(
        r#"
name = "s1"
[buffer]
size = "4MB"
[memory]
hugepages = "never"
[workers]
count = 2
idle = "sleep"
[[port]]
name = "p1"
device = "{first}"
addresses = ["10.0.1.254/24"]
[[port]]
name = "p2"
device = "{second}"
addresses = ["10.0.2.254/24"]
{more}
[metrics]
listen = "127.0.0.1:0"
[control]
socket = "s.sock"
"#
    )
}

const NULL_PORTS: [&str; 2] = ["net_null0", "net_null1"];

/// A thread of a switch.
#[derive(Debug)]
struct Thread {
    number: Pid,
    name: String,
    status: BTreeMap<String, String>,
}

impl Thread {
    fn number_of(&self, key: &str, radix: u32) -> u64 {
        u64::from_str_radix(&self.status[key], radix).unwrap()
    }
}

fn threads(switch: &Switch<'_>) -> Vec<Thread> {
    let tasks = fs::read_dir(format!("/proc/{}/task", switch.pid())).unwrap();
    let read = |folder: std::path::PathBuf| Thread {
        number: Pid::from_raw(folder.file_name().unwrap().to_str().unwrap().parse().unwrap()),
        name: fs::read_to_string(folder.join("comm")).unwrap().trim().to_owned(),
        status: fs::read_to_string(folder.join("status"))
            .unwrap()
            .lines()
            .filter_map(|line| line.split_once(':'))
            .map(|(key, value)| (key.to_owned(), value.trim().to_owned()))
            .collect(),
    };
    tasks.map(|task| read(task.unwrap().path())).collect()
}

/// The thread with a name. The control thread has the program's.
fn thread(switch: &Switch<'_>, name: &str) -> Option<Thread> {
    threads(switch).into_iter().find(|thread| thread.name == name)
}

/// Every thread has the expected capabilities, nothing to gain by a program, and as many filters
/// as it should.
fn assert_rights(switch: &Switch<'_>, kept: u64) {
    switch.wait_for("the workers' filters", |switch| {
        ["worker-0", "worker-1", "ctl", "metrics"].iter().all(|name| {
            thread(switch, name).is_some_and(|one| one.number_of("Seccomp_filters", 10) == 3)
        })
    });
    for thread in threads(switch) {
        let keeps = ["knotless", "tap-watch"].contains(&thread.name.as_str());
        let expected = if keeps { kept } else { 0 };
        for set in ["CapPrm", "CapEff"] {
            assert_eq!(thread.number_of(set, 16), expected, "{set}: {thread:?}");
        }
        for set in ["CapInh", "CapBnd", "CapAmb"] {
            assert_eq!(thread.number_of(set, 16), 0, "{set}: {thread:?}");
        }
        assert_eq!(thread.number_of("NoNewPrivs", 10), 1, "{thread:?}");
        assert_eq!(thread.number_of("Seccomp", 10), 2, "{thread:?}");
        let has_own = ["worker-0", "worker-1", "ctl", "ctl-client", "metrics"]
            .contains(&thread.name.as_str());
        let filters = if has_own { 3 } else { 1 };
        assert_eq!(thread.number_of("Seccomp_filters", 10), filters, "{thread:?}");
    }
}

#[test]
fn a_switch_keeps_no_capability_that_its_ports_do_not_need() {
    let place = Place::new(&switch_toml(NULL_PORTS, ""));
    let switch = place.start(&[]);
    let said = "rights left: no capabilities; system calls filtered\n";
    assert!(switch.startup_output.contains(said), "{}", switch.startup_output);
    assert_rights(&switch, 0);
    assert!(switch.ctl(&["reload"]).status.success());
    assert!(switch.ctl(&["stats"]).status.success());
    switch.interrupt();
}

#[test]
fn taps_leave_the_control_thread_what_it_needs_to_close_them() {
    if !privilege::can_run() {
        return;
    }
    let place =
        Place::new(&switch_toml(["net_tap0,iface=krights1", "net_tap1,iface=krights2"], ""));
    let switch = place.start(&[]);
    let said = "rights left: cap_net_admin of the control thread; system calls filtered\n";
    assert!(switch.startup_output.contains(said), "{}", switch.startup_output);
    assert_rights(&switch, NET_ADMIN);
    let (_, error) = switch.interrupt();
    assert!(!error.contains("ermitted"), "{error}");
}

/// The number of a call that no thread may make, of one that a worker may not, and so on.
#[test]
fn the_filter_of_each_thread_kills_the_process_at_a_call_that_it_may_not_make() {
    let kills = [
        ("knotless", libc::SYS_execve),
        ("knotless", libc::SYS_ptrace),
        ("knotless", libc::SYS_mount),
        ("eal-intr-thread", libc::SYS_execve),
        ("worker-0", libc::SYS_execve),
        ("worker-0", libc::SYS_socket),
        ("worker-1", libc::SYS_clone3),
        ("worker-1", libc::SYS_unlink),
        ("ctl", libc::SYS_mkdir),
        ("ctl", libc::SYS_socket),
        ("metrics", libc::SYS_socket),
    ];
    for (name, call) in kills {
        let place = Place::new(&switch_toml(NULL_PORTS, ""));
        let switch = place.start(&[]);
        assert_rights(&switch, 0);
        let thread = interrupt_thread(&switch, name);
        make_call(&switch, thread, call);
        assert_eq!(end_of(thread, &switch), Some(Signal::SIGSYS), "{name} calls {call}");
    }
}

/// The test above can fail: the same calls, allowed, end nothing.
#[test]
fn a_call_that_a_thread_may_make_and_any_call_without_filters_kills_nothing() {
    let open = "[security]\nseccomp = \"off\"";
    let cases = [("", "worker-0", libc::SYS_gettid), (open, "worker-0", libc::SYS_ptrace)];
    for (more, name, call) in cases {
        let place = Place::new(&switch_toml(NULL_PORTS, more));
        let switch = place.start(&[]);
        let thread = interrupt_thread(&switch, name);
        let regs = ptrace::getregs(thread).unwrap();
        make_call(&switch, thread, call);
        // The instruction after the call is none of the thread's own: it must not go on from there.
        assert_eq!(end_of(thread, &switch), None);
        ptrace::setregs(thread, regs).unwrap();
        ptrace::detach(thread, None).unwrap();
        switch.interrupt();
    }
}

/// The C library's allocator tries to, and goes on if it fails: that must not end a switch.
#[test]
fn workers_and_servers_cannot_open_a_file_and_live_on() {
    for name in ["worker-0", "ctl", "metrics"] {
        let place = Place::new(&switch_toml(NULL_PORTS, ""));
        let switch = place.start(&[]);
        assert_rights(&switch, 0);
        let thread = interrupt_thread(&switch, name);
        let regs = ptrace::getregs(thread).unwrap();
        make_call(&switch, thread, libc::SYS_openat);
        assert_eq!(end_of(thread, &switch), None);
        let result = ptrace::getregs(thread).unwrap().rax;
        assert_eq!(result.cast_signed(), -i64::from(libc::EACCES), "{name}");
        ptrace::setregs(thread, regs).unwrap();
        ptrace::detach(thread, None).unwrap();
        switch.interrupt();
    }
}

#[test]
fn capabilities_can_be_kept() {
    if !privilege::can_run() {
        return;
    }
    let more = "[security]\nseccomp = \"off\"\ncapabilities = \"keep\"";
    let place = Place::new(&switch_toml(NULL_PORTS, more));
    let switch = place.start(&[]);
    let said = "rights left: capabilities kept; system calls not filtered\n";
    assert!(switch.startup_output.contains(said), "{}", switch.startup_output);
    for thread in threads(&switch) {
        assert!(thread.number_of("CapPrm", 16) & NET_ADMIN != 0, "{thread:?}");
        assert_eq!(thread.number_of("Seccomp", 10), 0, "{thread:?}");
        assert_eq!(thread.number_of("NoNewPrivs", 10), 1, "{thread:?}");
    }
    switch.interrupt();
}

fn interrupt_thread(switch: &Switch<'_>, name: &str) -> Pid {
    let thread = thread(switch, name).unwrap_or_else(|| panic!("no thread {name}")).number;
    ptrace::seize(thread, ptrace::Options::PTRACE_O_EXITKILL).unwrap();
    ptrace::interrupt(thread).unwrap();
    waitpid(thread, Some(WaitPidFlag::__WALL)).unwrap();
    thread
}

/// Has the interrupted thread execute a `syscall` instruction of its C library, and stop after it.
fn make_call(switch: &Switch<'_>, thread: Pid, call: i64) {
    let mut regs = ptrace::getregs(thread).unwrap();
    regs.rip = syscall_instruction(switch.pid());
    regs.rax = u64::try_from(call).unwrap();
    // Without arguments no call does anything, should it be allowed.
    (regs.rdi, regs.rsi, regs.rdx, regs.r10, regs.r8, regs.r9) = (0, 0, 0, 0, 0, 0);
    // The kernel is not to repeat the call that the thread was in.
    regs.orig_rax = u64::MAX;
    ptrace::setregs(thread, regs).unwrap();
    ptrace::step(thread, None).unwrap();
}

/// The signal that ended the process, or `None` if the thread stopped after its call.
fn end_of(thread: Pid, switch: &Switch<'_>) -> Option<Signal> {
    let leader = Pid::from_raw(i32::try_from(switch.pid()).unwrap());
    match waitpid(thread, Some(WaitPidFlag::__WALL)).unwrap() {
        WaitStatus::Stopped(..) | WaitStatus::PtraceEvent(..) => None,
        WaitStatus::Signaled(_, signal, _) if thread == leader => Some(signal),
        // The thread's end; the process' is the leader's.
        _ => match waitpid(leader, Some(WaitPidFlag::__WALL)).unwrap() {
            WaitStatus::Signaled(_, signal, _) => Some(signal),
            other => panic!("{other:?}"),
        },
    }
}

/// Where the C library of the process has a `syscall` instruction.
fn syscall_instruction(process: u32) -> u64 {
    let maps = fs::read_to_string(format!("/proc/{process}/maps")).unwrap();
    let line = maps.lines().find(|line| line.contains(" r-xp ") && line.contains("/libc.so"));
    let range = line.expect("the C library").split_whitespace().next().unwrap();
    let (from, to) = range.split_once('-').unwrap();
    let address = |text| u64::from_str_radix(text, 16).unwrap();
    let (from, to) = (address(from), address(to));
    let mut text = vec![0; usize::try_from(to - from).unwrap()];
    File::open(format!("/proc/{process}/mem")).unwrap().read_exact_at(&mut text, from).unwrap();
    let at = text.windows(2).position(|pair| pair == [0x0F, 0x05]).expect("`syscall`");
    from + u64::try_from(at).unwrap()
}

/// `ctl` as a user of `group` and of no other.
fn ctl_as(place: &Place, user: u32, group: u32, words: &[&str]) -> Output {
    let words = [&["ctl", "--socket", "s.sock"], words].concat();
    place.command(&words).uid(user).gid(group).output().unwrap()
}

fn group(name: &str) -> u32 {
    nix::unistd::Group::from_name(name).unwrap().expect("a group of Debian").gid.as_raw()
}

#[test]
fn groups_of_the_control_socket_may_ask_or_change_and_strangers_neither() {
    if !privilege::can_run() {
        return;
    }
    let place = Place::for_everybody(&format!(
        "{}read_group = \"adm\"\nchange_group = \"operator\"\n",
        switch_toml(NULL_PORTS, "")
    ));
    let switch = place.start(&[]);
    let (reader, operator) = (group("adm"), group("operator"));
    let (user, nogroup) = (65_534, 65_534);

    let stranger = ctl_as(&place, user, nogroup, &["stats"]);
    let said = String::from_utf8_lossy(&stranger.stderr).into_owned();
    assert_eq!(stranger.status.code(), Some(2), "{said}");
    assert!(said.contains("user 65534 is in no group that may ask this switch"), "{said}");

    assert!(ctl_as(&place, user, reader, &["stats"]).status.success());
    for change in [&["reload"][..], &["link", "p1", "down"], &["stop"]] {
        let refused = ctl_as(&place, user, reader, change);
        let said = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert_eq!(refused.status.code(), Some(2), "{said}");
        assert!(said.contains("needs the right to change the switch"), "{said}");
    }
    assert!(switch.ask(&["ports"]).contains("p1"), "root as before");
    let changed = ctl_as(&place, user, operator, &["link", "p1", "down"]);
    assert!(changed.status.success(), "{changed:?}");
    assert!(ctl_as(&place, user, operator, &["stop"]).status.success());
    switch.ended_well();
}

#[test]
fn a_group_that_the_machine_does_not_have_stops_the_start() {
    let toml = format!("{}read_group = \"no-such\"\n", switch_toml(NULL_PORTS, ""));
    let said = Place::new(&toml).refused(&["run", "SWITCH.toml"]);
    assert!(said.contains("the group `no-such`") && said.contains("groupadd"), "{said}");
}
