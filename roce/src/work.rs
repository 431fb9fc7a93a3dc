//! What an application asks for, and what it gets back.

use crate::memory::RegionId;
use crate::wire::{AtomicOperation, NakCode};

/// A queue pair of an endpoint, by its place there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct QueuePairId(pub u32);

/// Some of a region's bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The region.
    pub region: RegionId,
    /// Bytes from its start.
    pub offset: u64,
}

impl Place {
    pub(crate) const fn plus(self, bytes: u64) -> Self {
        Self { region: self.region, offset: self.offset + bytes }
    }
}

/// Memory of the other side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Remote {
    /// Where.
    pub address: u64,
    /// The key that the other side gave out for it.
    pub key: u32,
}

/// What a work request does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Sends a message into the receive buffer that the other side posted next.
    Send {
        /// Four bytes that its completion hands over.
        immediate: Option<u32>,
    },
    /// Writes to the other side's memory.
    Write {
        /// Where.
        remote: Remote,
        /// Four bytes that take a receive buffer there, and are handed over.
        immediate: Option<u32>,
    },
    /// Reads the other side's memory.
    Read {
        /// Where.
        remote: Remote,
    },
    /// Changes eight bytes of the other side's memory at once.
    Atomic {
        /// Where: a multiple of eight.
        remote: Remote,
        /// How.
        operation: AtomicOperation,
    },
}

/// A work request.
#[derive(Clone, Copy, Debug)]
pub struct WorkRequest {
    /// Handed back with the completion.
    pub id: u64,
    /// What to do.
    pub operation: Operation,
    /// The own memory: what is sent or written, or where what is read goes. Unused by atomics,
    /// whose result stands in the completion.
    pub local: Place,
    /// How many bytes of it, at most 2^31.
    pub bytes: u32,
}

/// A receive buffer.
#[derive(Clone, Copy, Debug)]
pub struct ReceiveRequest {
    /// Handed back with the completion.
    pub id: u64,
    /// Where the message goes.
    pub local: Place,
    /// The longest message that fits.
    pub bytes: u32,
}

/// Why a request cannot be posted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PostError {
    /// There is no such queue pair, or it is not connected.
    #[error("the queue pair is not connected")]
    NotConnected,
    /// The queue pair failed before.
    #[error("the queue pair has failed")]
    Failed,
    /// As many requests as are allowed wait already.
    #[error("the queue is full")]
    Full,
    /// The region is not there, or is shorter.
    #[error("the memory is outside its region")]
    LocalMemory,
    /// More than 2^31 bytes.
    #[error("a message is at most 2^31 bytes long")]
    TooLong,
}

/// How a request ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// Well.
    Success,
    /// The other side refused it.
    Refused(NakCode),
    /// The other side does not answer.
    RetriesExceeded,
    /// The other side posts no receive buffer.
    RnrRetriesExceeded,
    /// A message was longer than the receive buffer, or an answer than what was asked for.
    LocalLength,
    /// A request before it failed.
    Flushed,
}

/// What was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Done {
    /// A SEND.
    Send,
    /// A WRITE.
    Write,
    /// A READ; the bytes are in the own memory.
    Read,
    /// An atomic operation, with the number that it found.
    Atomic {
        /// That number.
        original: u64,
    },
    /// A receive buffer was filled by a SEND.
    Receive {
        /// Its immediate data.
        immediate: Option<u32>,
    },
    /// A receive buffer was taken by a WRITE with immediate data.
    ReceiveWrite {
        /// The immediate data.
        immediate: u32,
    },
}

/// The end of a work request or receive buffer. Those of one queue come in the order they were
/// posted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completion {
    /// Whose.
    pub queue_pair: QueuePairId,
    /// As posted.
    pub id: u64,
    /// What was done.
    pub done: Done,
    /// How it ended.
    pub status: Status,
    /// The length of the message.
    pub bytes: u32,
}
