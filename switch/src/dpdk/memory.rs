//! Hugepages or plain memory: the request, what is available, and the choice.

use super::error::DpdkError;
use std::fmt;
use std::fs;
use std::path::Path;

/// The memory that DPDK is to take, in MB, all at start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Memory {
    /// Hugepages if enough are free, else plain memory.
    Auto {
        /// MB in all.
        mb: u32,
    },
    /// Hugepages or an error.
    Hugepages {
        /// MB in all.
        mb: u32,
    },
    /// Plain memory: no setup needed, more TLB misses, no real NIC.
    Plain {
        /// MB in all.
        mb: u32,
    },
}

/// The memory that was chosen; its `Display` is one line for the operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemoryInUse {
    /// Hugepages, held by this process alone and gone with it.
    Hugepages {
        /// MB taken.
        mb: u32,
    },
    /// Plain memory, as requested.
    Plain {
        /// MB taken.
        mb: u32,
    },
    /// Plain memory, because too few hugepages were free.
    FellBack {
        /// MB taken.
        mb: u32,
        /// MB of hugepages that were free.
        free_mb: u32,
    },
}

impl fmt::Display for MemoryInUse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Hugepages { mb } => write!(f, "{mb} MB of hugepages"),
            Self::Plain { mb } => write!(f, "{mb} MB of plain memory"),
            Self::FellBack { mb, free_mb } => write!(
                f,
                "{mb} MB of plain memory, because only {free_mb} MB of hugepages are free; for \
                 full speed raise vm.nr_hugepages by {}",
                missing_pages(*mb, *free_mb)
            ),
        }
    }
}

/// 2 MB pages between what is free and what is needed.
const fn missing_pages(needed_mb: u32, free_mb: u32) -> u32 {
    needed_mb.saturating_sub(free_mb).div_ceil(2)
}

impl Memory {
    /// What to take when `free_mb` of hugepages are free.
    pub fn choose(self, free_mb: u32) -> Result<MemoryInUse, DpdkError> {
        match self {
            Self::Plain { mb } => Ok(MemoryInUse::Plain { mb }),
            Self::Auto { mb } | Self::Hugepages { mb } if mb <= free_mb => {
                Ok(MemoryInUse::Hugepages { mb })
            }
            Self::Auto { mb } => Ok(MemoryInUse::FellBack { mb, free_mb }),
            Self::Hugepages { mb } => Err(DpdkError::Hugepages {
                needed_mb: mb,
                free_mb,
                missing_pages: missing_pages(mb, free_mb),
            }),
        }
    }
}

impl MemoryInUse {
    /// The EAL's arguments for this choice. `--in-memory` leaves no files behind and shares with
    /// no other process; it and `--no-huge` exclude each other.
    pub(super) fn eal_arguments(self) -> Vec<String> {
        match self {
            Self::Hugepages { mb } => vec!["--in-memory".into(), "-m".into(), mb.to_string()],
            Self::Plain { mb } | Self::FellBack { mb, .. } => {
                vec!["--no-huge".into(), "--no-shconf".into(), "-m".into(), mb.to_string()]
            }
        }
    }
}

/// MB of hugepages of all sizes that are free and not reserved, from
/// `/sys/kernel/mm/hugepages`; 0 where the kernel has none.
pub(crate) fn free_hugepages_mb() -> u32 {
    free_hugepages_mb_under(Path::new("/sys/kernel/mm/hugepages"))
}

fn free_hugepages_mb_under(root: &Path) -> u32 {
    let Ok(sizes) = fs::read_dir(root) else { return 0 };
    let kb: u64 = sizes.flatten().filter_map(|size| free_kb(&size.path())).sum();
    u32::try_from(kb / 1024).unwrap_or(u32::MAX)
}

/// Free kB in one `hugepages-2048kB` directory.
fn free_kb(directory: &Path) -> Option<u64> {
    let name = directory.file_name()?.to_str()?;
    let page_kb: u64 = name.strip_prefix("hugepages-")?.strip_suffix("kB")?.parse().ok()?;
    let number = |file: &str| -> Option<u64> {
        fs::read_to_string(directory.join(file)).ok()?.trim().parse().ok()
    };
    let reserved = number("resv_hugepages").unwrap_or(0);
    Some(page_kb * number("free_hugepages")?.saturating_sub(reserved))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hugepages_are_taken_exactly_when_enough_are_free() {
        let auto = Memory::Auto { mb: 256 };
        assert_eq!(auto.choose(256).unwrap(), MemoryInUse::Hugepages { mb: 256 });
        assert_eq!(auto.choose(255).unwrap(), MemoryInUse::FellBack { mb: 256, free_mb: 255 });
        assert_eq!(
            Memory::Plain { mb: 256 }.choose(9_999).unwrap(),
            MemoryInUse::Plain { mb: 256 }
        );
        let error = Memory::Hugepages { mb: 256 }.choose(100).unwrap_err();
        assert_eq!(
            error.to_string(),
            "256 MB of hugepages are needed and 100 MB are free; raise vm.nr_hugepages by 78 \
             (pages of 2 MB), or allow plain memory"
        );
    }

    #[test]
    fn a_fallback_names_what_is_missing() {
        assert_eq!(
            MemoryInUse::FellBack { mb: 64, free_mb: 3 }.to_string(),
            "64 MB of plain memory, because only 3 MB of hugepages are free; for full speed raise \
             vm.nr_hugepages by 31"
        );
    }

    #[test]
    fn free_pages_of_all_sizes_add_up_without_reserved_ones() {
        let root = std::env::temp_dir().join(format!("knotless-hugepages-{}", std::process::id()));
        for (size, free, reserved) in [("2048kB", 10, 4), ("1048576kB", 1, 0)] {
            let directory = root.join(format!("hugepages-{size}"));
            fs::create_dir_all(&directory).unwrap();
            fs::write(directory.join("free_hugepages"), format!("{free}\n")).unwrap();
            fs::write(directory.join("resv_hugepages"), format!("{reserved}\n")).unwrap();
        }
        fs::create_dir_all(root.join("not-a-size")).unwrap();
        assert_eq!(free_hugepages_mb_under(&root), 1024 + 12);
        fs::remove_dir_all(&root).unwrap();
        assert_eq!(free_hugepages_mb_under(&root), 0, "no such directory");
    }
}
