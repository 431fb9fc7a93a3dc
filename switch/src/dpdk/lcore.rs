//! Worker threads as lcores: a registered thread has a cache of its own in each pool.

use super::eal::Eal;
use super::error::{DpdkError, last_errno_text};
use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Threads registered now, besides the main lcore. See [`all_others_are_gone`].
static REGISTERED: AtomicUsize = AtomicUsize::new(0);

/// While it lives, its thread is an lcore. It belongs to that thread and cannot leave it.
#[derive(Debug)]
#[must_use = "the thread is an lcore only as long as this lives"]
pub struct LcoreGuard {
    registered_here: bool,
    _eal: Arc<Eal>,
    _of_this_thread: PhantomData<*const ()>,
}

/// Makes the calling thread an lcore; on a thread that already is one (the main lcore) the guard
/// does nothing. Pin the thread first: DPDK notes its CPUs and NUMA node here.
///
/// # Errors
/// If DPDK has no lcore id left (it has 128).
pub fn register_thread(eal: &Arc<Eal>) -> Result<LcoreGuard, DpdkError> {
    // SAFETY: reads a thread-local integer.
    let lcore_id = unsafe { dpdk_sys::shim_rte_lcore_id() };
    let registered_here = lcore_id == dpdk_sys::SHIM_LCORE_ID_ANY;
    if registered_here {
        REGISTERED.fetch_add(1, Ordering::SeqCst);
        // SAFETY: the EAL is initialized (we hold it), and this thread is not yet registered.
        if unsafe { dpdk_sys::rte_thread_register() } != 0 {
            REGISTERED.fetch_sub(1, Ordering::SeqCst);
            return Err(DpdkError::Thread { cause: last_errno_text() });
        }
    }
    Ok(LcoreGuard { registered_here, _eal: Arc::clone(eal), _of_this_thread: PhantomData })
}

impl Drop for LcoreGuard {
    fn drop(&mut self) {
        if self.registered_here {
            // SAFETY: this very thread was registered by `register_thread`; the guard is not Send.
            unsafe { dpdk_sys::rte_thread_unregister() };
            // The last touch of any pool's cache by this thread comes before this count falls.
            REGISTERED.fetch_sub(1, Ordering::SeqCst);
        }
    }
}

/// Whether no thread but the main lcore can be inside a pool's per-lcore cache. Frames that others
/// free from now on go straight to the pool's ring.
pub(super) fn all_others_are_gone() -> bool {
    REGISTERED.load(Ordering::SeqCst) == 0
}
