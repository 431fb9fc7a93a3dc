//! Pools of frame buffers (mbufs), all allocated at start.

use super::eal::Eal;
use super::error::{DpdkError, c_string, last_errno_text};
use super::lcore;
use super::log;
use super::mbuf::Mbuf;
use super::memory::MemoryInUse;
use dataplane::frame::HEAD_BYTES;
use dpdk_sys::{RTE_MEMPOOL_CACHE_MAX_SIZE, RTE_PKTMBUF_HEADROOM, rte_mbuf, rte_mempool};
use std::mem::ManuallyDrop;
use std::ptr::NonNull;
use std::sync::Arc;

/// Room in front of each received frame, for headers that are added.
#[expect(clippy::cast_possible_truncation, reason = "128")]
pub(crate) const MBUF_HEADROOM_BYTES: u16 = RTE_PKTMBUF_HEADROOM as u16;

/// Frame bytes of a buffer that holds an ordinary frame in one piece, and the least that most NICs
/// take (they count in whole KB).
pub const DATA_ROOM_BYTES_DEFAULT: u16 = 2_048;

/// A pool of buffers.
///
/// Frames carry no reference to their pool, which would cost a shared counter for each. Instead a
/// pool is given back to DPDK only if, when its last handle goes, all frames are home and nobody
/// else can be in the middle of returning one: on the main thread, with all worker threads
/// unregistered. Otherwise it, and the EAL under it, live as long as the process: never a dangling
/// frame, at worst memory that the exit frees.
#[derive(Debug)]
pub struct Pool {
    raw: NonNull<rte_mempool>,
    name: String,
    frames: u32,
    data_room_bytes: u16,
    eal: ManuallyDrop<Arc<Eal>>,
}

// SAFETY: a mempool's operations (allocate, free, count) are safe from any thread: that is its job.
unsafe impl Send for Pool {}
// SAFETY: as above.
unsafe impl Sync for Pool {}

impl Pool {
    /// A pool of `frames` buffers that each hold `data_room_bytes` of a frame (longer frames take
    /// several), with a cache of `cache_frames` on each lcore. Frames in a cache of another lcore
    /// cannot be allocated: make `frames` larger than the need by the cache times the lcores and a
    /// half. `frames` of 2^n - 1 use the memory best.
    ///
    /// # Errors
    /// [`DpdkError::Pool`] if memory runs out or a number is out of range.
    pub fn new(
        eal: &Arc<Eal>,
        name: &str,
        frames: u32,
        data_room_bytes: u16,
        cache_frames: u32,
    ) -> Result<Arc<Self>, DpdkError> {
        let failed = |cause: String| DpdkError::Pool { name: name.to_owned(), frames, cause };
        check(frames, data_room_bytes, cache_frames).map_err(failed)?;
        let c_name = c_string(name)?;
        log::forget();
        // SAFETY: the EAL is initialized, the name is NUL-terminated and copied by DPDK.
        let raw = unsafe {
            dpdk_sys::shim_pktmbuf_pool_create(
                c_name.as_ptr(),
                frames,
                cache_frames,
                data_room_bytes + MBUF_HEADROOM_BYTES,
                flags(eal.memory()),
            )
        };
        let Some(raw) = NonNull::new(raw) else {
            let needed_mb = Self::memory_bytes(frames, data_room_bytes).div_ceil(1 << 20);
            return Err(failed(format!(
                "{} ({}); it needs {needed_mb} MB",
                last_errno_text(),
                log::take()
            )));
        };
        let eal = ManuallyDrop::new(Arc::clone(eal));
        Ok(Arc::new(Self { raw, name: name.to_owned(), frames, data_room_bytes, eal }))
    }

    /// Memory that a pool takes, with what page ends and bookkeeping waste; for
    /// [`Memory`](super::memory::Memory), together with [`EAL_BYTES`].
    pub fn memory_bytes(frames: u32, data_room_bytes: u16) -> u64 {
        let room = u64::from(data_room_bytes + MBUF_HEADROOM_BYTES);
        let element = size_of::<rte_mbuf>() as u64 + room;
        let element = u32::try_from(element).unwrap_or(u32::MAX);
        // SAFETY: pure arithmetic; a null pointer says that the details are not wanted.
        let object =
            unsafe { dpdk_sys::rte_mempool_calc_obj_size(element, 0, std::ptr::null_mut()) };
        // A buffer does not cross a 2 MB page.
        let per_page = (u64::from(PAGE_BYTES) / u64::from(object)).max(1);
        let pages = u64::from(frames).div_ceil(per_page);
        let ring = (u64::from(frames) + 1).next_power_of_two() * 8;
        pages * u64::from(PAGE_BYTES) + ring + POOL_BYTES
    }

    /// An empty frame; `None` if the pool is empty.
    #[inline]
    pub fn alloc(&self) -> Option<Mbuf> {
        // SAFETY: the pool is valid while `self` lives.
        let raw = unsafe { dpdk_sys::shim_rte_pktmbuf_alloc(self.raw.as_ptr()) };
        // SAFETY: a freshly allocated buffer belongs to nobody else, and has one empty segment.
        NonNull::new(raw).map(|raw| unsafe { Mbuf::from_raw(raw) })
    }

    /// A frame that holds `bytes`, in as many pieces as it takes; `None` if the pool is empty or
    /// there are more than 65,535 bytes.
    pub fn alloc_with(&self, bytes: &[u8]) -> Option<Mbuf> {
        if bytes.len() > usize::from(u16::MAX) {
            return None;
        }
        let (first, rest) = bytes.split_at(bytes.len().min(usize::from(self.data_room_bytes)));
        let mut frame = self.alloc()?;
        if !frame.append(first) {
            return None;
        }
        for more in rest.chunks(usize::from(self.data_room_bytes)) {
            let mut piece = self.alloc()?;
            if !piece.append(more) {
                return None;
            }
            frame.chain(piece);
        }
        Some(frame)
    }

    /// A copy of `frame` in buffers of this pool, in as many pieces as it takes.
    #[inline]
    pub(crate) fn copy_of(&self, frame: &Mbuf) -> Option<Mbuf> {
        let pool = self.raw.as_ptr();
        // SAFETY: both pointers are valid while borrowed; the copy is a new buffer chain, and its
        // first segment is filled up before a second is begun.
        let raw = unsafe { dpdk_sys::rte_pktmbuf_copy(frame.as_raw(), pool, 0, u32::MAX) };
        // SAFETY: as above; the chain belongs to nobody else.
        NonNull::new(raw).map(|raw| unsafe { Mbuf::from_raw(raw) })
    }

    /// Buffers that are in the pool. Walks all caches: not for the packet path, and exact only
    /// while no frame moves.
    pub fn available(&self) -> u32 {
        // SAFETY: the pool is valid while `self` lives.
        unsafe { dpdk_sys::rte_mempool_avail_count(self.raw.as_ptr()) }
    }

    /// Buffers that are out. As [`Self::available`].
    pub fn in_use(&self) -> u32 {
        // SAFETY: the pool is valid while `self` lives.
        unsafe { dpdk_sys::rte_mempool_in_use_count(self.raw.as_ptr()) }
    }

    /// Buffers in all.
    pub const fn frames(&self) -> u32 {
        self.frames
    }

    /// Bytes of a frame that one buffer holds.
    pub(crate) const fn data_room_bytes(&self) -> u16 {
        self.data_room_bytes
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    pub(super) const fn as_raw(&self) -> *mut rte_mempool {
        self.raw.as_ptr()
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        let quiet = self.eal.on_main_thread() && lcore::all_others_are_gone();
        if quiet && self.in_use() == 0 {
            // SAFETY: this is the last handle and every buffer is home. No other lcore can be
            // inside a cache of the pool, this thread is the main lcore, and a thread that is no
            // lcore touches the pool last when its buffer appears in the ring, which is counted
            // above.
            unsafe { dpdk_sys::rte_mempool_free(self.raw.as_ptr()) };
            // SAFETY: dropped here once, and not used again.
            unsafe { ManuallyDrop::drop(&mut self.eal) };
        }
    }
}

/// Hardware must find a buffer in one physical piece, so none crosses a page. In plain memory, with
/// its pages of 4 KB, that would leave a hole behind every buffer, and there is no hardware.
const fn flags(memory: MemoryInUse) -> u32 {
    match memory {
        MemoryInUse::Hugepages { .. } => 0,
        MemoryInUse::Plain { .. } | MemoryInUse::FellBack { .. } => {
            dpdk_sys::SHIM_RTE_MEMPOOL_F_NO_IOVA_CONTIG
        }
    }
}

/// What the EAL, its device tables and a few devices' queues need besides the pools.
pub const EAL_BYTES: u64 = 24 << 20;

/// A pool's own tables: the caches of 128 lcores come to about 1.6 MB.
const POOL_BYTES: u64 = 2 << 20;

const PAGE_BYTES: u32 = 2 << 20;

fn check(frames: u32, data_room_bytes: u16, cache_frames: u32) -> Result<(), String> {
    let room_max = u16::MAX - MBUF_HEADROOM_BYTES;
    if frames == 0 {
        return Err("it needs at least one frame".into());
    }
    if usize::from(data_room_bytes) < HEAD_BYTES || data_room_bytes > room_max {
        return Err(format!(
            "a buffer of {data_room_bytes} bytes; it must have {HEAD_BYTES} to {room_max}"
        ));
    }
    // A cache may exceed its size by half before DPDK flushes it.
    if cache_frames > RTE_MEMPOOL_CACHE_MAX_SIZE || cache_frames + cache_frames / 2 > frames {
        return Err(format!(
            "a cache of {cache_frames} frames; it must have at most {RTE_MEMPOOL_CACHE_MAX_SIZE} \
             and two thirds of the pool"
        ));
    }
    Ok(())
}
