//! The process that has a resource open, as far as `/proc` shows.
//!
//! For error messages only: the kernel decides whether the resource is in use.

use std::fmt;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Processes that own a resource.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Owners(Vec<(u32, String)>);

impl fmt::Display for Owners {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return write!(f, "another process");
        }
        for (place, (pid, name)) in self.0.iter().enumerate() {
            let between = if place == 0 { "" } else { " and " };
            if *pid == std::process::id() {
                write!(f, "{between}another port of this switch")?;
            } else {
                write!(f, "{between}process {pid} ({name})")?;
            }
        }
        Ok(())
    }
}

impl Owners {
    /// The process with this id.
    pub(super) fn process(pid: u32) -> Self {
        Self::named(Path::new("/proc"), vec![pid])
    }

    /// Processes that have the tun or tap device `name` open, in whatever network namespace.
    pub(super) fn of_tun(name: &str) -> Self {
        let proc = Path::new("/proc");
        let line = format!("iff:\t{name}");
        let holds = |pid: u32| {
            let files = fs::read_dir(proc.join(pid.to_string()).join("fdinfo"));
            let mut files = files.into_iter().flatten().flatten();
            files.any(|file| {
                let info = fs::read_to_string(file.path()).unwrap_or_default();
                info.lines().any(|it| it == line)
            })
        };
        Self::named(proc, processes(proc).into_iter().filter(|&pid| holds(pid)).collect())
    }

    /// Processes with a whole-file lock (`flock`) on this file.
    pub(super) fn of_lock(file: &fs::Metadata) -> Self {
        let locks = fs::read_to_string("/proc/locks").unwrap_or_default();
        Self::named(Path::new("/proc"), lock_owners(&locks, file.dev(), file.ino()))
    }

    /// Processes with a local socket of this path, or of this abstract name, open.
    pub(super) fn of_socket(path: &str, is_abstract: bool) -> Self {
        let proc = Path::new("/proc");
        let table = fs::read_to_string("/proc/thread-self/net/unix").unwrap_or_default();
        let inodes = socket_inodes(&table, path, is_abstract);
        let links: Vec<String> = inodes.iter().map(|inode| format!("socket:[{inode}]")).collect();
        let holds = |pid: u32| {
            let files = fs::read_dir(proc.join(pid.to_string()).join("fd"));
            let mut files = files.into_iter().flatten().flatten();
            files.any(|file| {
                let target = fs::read_link(file.path()).unwrap_or_default();
                links.iter().any(|link| target.as_os_str() == link.as_str())
            })
        };
        Self::named(proc, processes(proc).into_iter().filter(|&pid| holds(pid)).collect())
    }

    /// Whether this process is the only owner.
    pub(super) fn is_this_process(&self) -> bool {
        matches!(&*self.0, [(pid, _)] if *pid == std::process::id())
    }

    fn named(proc: &Path, mut pids: Vec<u32>) -> Self {
        pids.sort_unstable();
        pids.dedup();
        let name = |pid: u32| {
            let name = fs::read_to_string(proc.join(pid.to_string()).join("comm"));
            name.unwrap_or_default().trim_end().escape_debug().to_string()
        };
        Self(pids.into_iter().map(|pid| (pid, name(pid))).collect())
    }
}

fn processes(proc: &Path) -> Vec<u32> {
    let entries = fs::read_dir(proc).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

/// From `/proc/locks`: `1: FLOCK  ADVISORY  WRITE 1234 fd:01:5678 0 EOF`.
fn lock_owners(locks: &str, device: u64, inode: u64) -> Vec<u32> {
    let (major, minor) = (nix::sys::stat::major(device), nix::sys::stat::minor(device));
    let place = format!("{major:02x}:{minor:02x}:{inode}");
    let owners = |line: &str| {
        let mut words = line.split_whitespace().skip(1);
        let kind = words.next()?;
        let mut rest = words.skip(2);
        let (pid, at) = (rest.next()?, rest.next()?);
        (kind == "FLOCK" && at == place).then(|| pid.parse().ok()).flatten()
    };
    locks.lines().filter_map(owners).collect()
}

/// From `/proc/net/unix`: `0: 00000002 00000000 00010000 0005 01 12345 @/run/memif.sock`.
fn socket_inodes(table: &str, path: &str, is_abstract: bool) -> Vec<u64> {
    let wanted = if is_abstract { format!("@{path}") } else { path.to_owned() };
    let inode = |line: &str| {
        let (fields, name) = line.split_once(['/', '@']).map(|(it, _)| (it, &line[it.len()..]))?;
        (name == wanted).then(|| fields.split_whitespace().nth(6)?.parse().ok()).flatten()
    };
    table.lines().filter_map(inode).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_holder_of_a_lock_is_found_by_device_and_inode() {
        let locks = "\
1: FLOCK  ADVISORY  WRITE 321 fd:01:5678 0 EOF
2: POSIX  ADVISORY  WRITE 322 fd:01:5678 0 EOF
3: FLOCK  ADVISORY  WRITE 323 fd:02:5678 0 EOF
3: -> FLOCK  ADVISORY  WRITE 324 fd:01:5678 0 EOF
4: FLOCK  ADVISORY  READ  325 00:1a:9 0 EOF
5: nonsense
";
        let device = |major, minor| nix::sys::stat::makedev(major, minor);
        assert_eq!(lock_owners(locks, device(0xfd, 1), 5678), [321]);
        assert_eq!(lock_owners(locks, device(0, 0x1a), 9), [325]);
        assert_eq!(lock_owners(locks, device(0, 1), 9), [0_u32; 0]);
    }

    #[test]
    fn a_socket_is_found_by_its_whole_path() {
        let table = "\
Num       RefCount Protocol Flags    Type St Inode Path
0000000000000000: 00000002 00000000 00010000 0005 01  4711 /run/a b.sock
0000000000000000: 00000002 00000000 00010000 0005 01  4712 @/run/a b.sock
0000000000000000: 00000003 00000000 00000000 0001 03  4713
";
        assert_eq!(socket_inodes(table, "/run/a b.sock", false), [4_711]);
        assert_eq!(socket_inodes(table, "/run/a b.sock", true), [4_712]);
        assert_eq!(socket_inodes(table, "/run/a", false), [0_u64; 0]);
    }

    #[test]
    fn processes_are_named_and_unknown_ones_are_others() {
        let proc = tempfile::tempdir().unwrap();
        for (pid, name) in [("7", "knotless\n"), ("9", "a\u{1b}b\n")] {
            fs::create_dir(proc.path().join(pid)).unwrap();
            fs::write(proc.path().join(pid).join("comm"), name).unwrap();
        }
        fs::create_dir(proc.path().join("not-a-process")).unwrap();
        let mut pids = processes(proc.path());
        pids.sort_unstable();
        assert_eq!(pids, [7, 9]);
        let owners = Owners::named(proc.path(), vec![9, 7, 7]);
        assert_eq!(owners.to_string(), "process 7 (knotless) and process 9 (a\\u{1b}b)");
        assert_eq!(Owners::default().to_string(), "another process");
        let own = Owners::process(std::process::id());
        assert_eq!(own.to_string(), "another port of this switch");
    }
}
