//! An EAL that cannot start says why, in one line.
#![cfg(feature = "dpdk")]

use switch::dpdk::eal::{Eal, EalOptions};
use switch::dpdk::error::DpdkError;
use switch::dpdk::memory::Memory;

#[test]
fn too_much_memory_is_refused_with_the_reason() {
    // 4 PB: more than a process can address.
    let error = Eal::init(&EalOptions::new(Memory::Plain { mb: u32::MAX })).unwrap_err();
    assert!(matches!(error, DpdkError::Init { .. }), "{error:?}");
    let text = error.to_string();
    println!("{text}");
    assert!(text.starts_with("DPDK cannot start: "), "{text}");
    assert!(text.to_lowercase().contains("memory"), "{text}");
    assert_eq!(text.lines().count(), 1, "{text}");
    let directory = format!("/var/run/dpdk/knotless-{}", std::process::id());
    assert!(!std::path::Path::new(&directory).exists(), "no trace on the disk");
    let again = Eal::init(&EalOptions::new(Memory::Plain { mb: 64 })).unwrap_err();
    assert!(matches!(again, DpdkError::AlreadyInitialized), "{again:?}");
}
