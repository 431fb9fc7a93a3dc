//! The transport headers: BTH, RETH, AETH, AtomicETH, AtomicAckETH, immediate data (InfiniBand 9.2
//! and 9.3), and the bitmap of selective repeat, which is ours.

use super::opcode::{Kind, Opcode};
use crate::psn::Psn;
use crate::time::{PS_PER_US, Picoseconds};

/// The default partition, full membership.
const PARTITION: u16 = 0xFFFF;
/// Reserved bytes of a congestion notification packet after its BTH (Annex A17.9.3).
const CNP_RESERVED_BYTES: usize = 16;

/// RDMA extended transport header: memory of the other side.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Reth {
    pub(crate) address: u64,
    pub(crate) key: u32,
    pub(crate) bytes: u32,
}

/// What an atomic operation does to eight bytes, which are big-endian numbers on the wire only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AtomicOperation {
    /// Adds, modulo 2^64.
    FetchAdd {
        /// The summand.
        add: u64,
    },
    /// Replaces the number if it is what is expected.
    CompareSwap {
        /// What is expected.
        compare: u64,
        /// What then takes its place.
        swap: u64,
    },
}

impl AtomicOperation {
    /// The number after the operation.
    pub const fn apply(self, before: u64) -> u64 {
        match self {
            Self::FetchAdd { add } => before.wrapping_add(add),
            Self::CompareSwap { compare, swap } if before == compare => swap,
            Self::CompareSwap { .. } => before,
        }
    }
}

/// An AtomicETH.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct AtomicRequest {
    pub(crate) address: u64,
    pub(crate) key: u32,
    pub(crate) operation: AtomicOperation,
}

/// Why a request was refused for good (InfiniBand table 45).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NakCode {
    /// A packet is missing before this one. The only code after which the requester goes on.
    SequenceError,
    /// The request breaks a rule of the protocol.
    InvalidRequest,
    /// The memory is not there, or not for this.
    RemoteAccess,
    /// The responder cannot go on.
    RemoteOperation,
}

/// The syndrome of an AETH.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Syndrome {
    /// Everything until this number has arrived. Credits are not said, as RoCE NICs do: receivers
    /// without a buffer answer [`Syndrome::Rnr`].
    Acknowledge,
    /// No receive buffer is posted; try again after the time of this code.
    Rnr {
        /// Index into the table of times (InfiniBand table 46).
        timer: u8,
    },
    /// Refused.
    Nak(NakCode),
}

/// Credits 31: "no credits are said" (InfiniBand 9.7.7.2.4).
const CREDITS_NOT_SAID: u8 = 0x1F;

impl Syndrome {
    pub(crate) const fn encode(self) -> u8 {
        match self {
            Self::Acknowledge => CREDITS_NOT_SAID,
            Self::Rnr { timer } => 0x20 | timer & 0x1F,
            Self::Nak(NakCode::SequenceError) => 0x60,
            Self::Nak(NakCode::InvalidRequest) => 0x61,
            Self::Nak(NakCode::RemoteAccess) => 0x62,
            Self::Nak(NakCode::RemoteOperation) => 0x63,
        }
    }

    pub(crate) const fn decode(byte: u8) -> Option<Self> {
        match byte {
            0x00..=0x1F => Some(Self::Acknowledge),
            0x20..=0x3F => Some(Self::Rnr { timer: byte & 0x1F }),
            0x60 => Some(Self::Nak(NakCode::SequenceError)),
            0x61 => Some(Self::Nak(NakCode::InvalidRequest)),
            0x62 => Some(Self::Nak(NakCode::RemoteAccess)),
            0x63 => Some(Self::Nak(NakCode::RemoteOperation)),
            _ => None,
        }
    }
}

/// Times of the RNR timer's codes, in units of 10 us.
const RNR_TIMER_10US: [u64; 32] = [
    65_536, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1_024,
    1_536, 2_048, 3_072, 4_096, 6_144, 8_192, 12_288, 16_384, 24_576, 32_768, 49_152,
];

/// How long a requester waits after an RNR NAK with this code.
pub(crate) fn rnr_timer_ps(code: u8) -> Picoseconds {
    RNR_TIMER_10US[usize::from(code & 0x1F)] * 10 * PS_PER_US
}

/// What a receiver of selective repeat adds to a sequence NAK: which later packets it already has.
/// Bit i stands for packet `first` + i. There is no standard for this; both ends must be ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Selective {
    pub(crate) first: Psn,
    pub(crate) arrived: u64,
}

/// The transport headers of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TransportHeaders {
    pub(crate) opcode: Opcode,
    /// Bytes after the payload, so that it is a multiple of four.
    pub(crate) pad: u8,
    pub(crate) destination: u32,
    pub(crate) asks_acknowledge: bool,
    pub(crate) psn: Psn,
    pub(crate) reth: Reth,
    pub(crate) syndrome: Syndrome,
    pub(crate) msn: u32,
    pub(crate) atomic: Option<AtomicRequest>,
    pub(crate) original: u64,
    pub(crate) immediate: u32,
    pub(crate) selective: Option<Selective>,
}

impl TransportHeaders {
    pub(crate) const fn new(opcode: Opcode, destination: u32, psn: Psn) -> Self {
        Self {
            opcode,
            pad: 0,
            destination,
            asks_acknowledge: false,
            psn,
            reth: Reth { address: 0, key: 0, bytes: 0 },
            syndrome: Syndrome::Acknowledge,
            msn: 0,
            atomic: None,
            original: 0,
            immediate: 0,
            selective: None,
        }
    }

    /// Writes the headers to the front of `out`; their length.
    pub(crate) fn write(&self, out: &mut [u8]) -> usize {
        let mut writer = Writer { out, at: 0 };
        let is_cnp = self.opcode.kind == Kind::CongestionNotification;
        // Migration state 1: migrated, which is what a connection without another path says.
        writer.put([self.opcode.encode(), 0x40 | self.pad << 4]);
        writer.put(PARTITION.to_be_bytes());
        // BECN.
        writer.put([u8::from(is_cnp) << 6]);
        writer.put24(self.destination);
        writer.put([u8::from(self.asks_acknowledge) << 7]);
        writer.put24(self.psn.value());
        if self.opcode.has_reth() {
            writer.put(self.reth.address.to_be_bytes());
            writer.put(self.reth.key.to_be_bytes());
            writer.put(self.reth.bytes.to_be_bytes());
        }
        if let Some(atomic) = self.atomic {
            let (first, second) = match atomic.operation {
                AtomicOperation::FetchAdd { add } => (add, 0),
                AtomicOperation::CompareSwap { compare, swap } => (swap, compare),
            };
            writer.put(atomic.address.to_be_bytes());
            writer.put(atomic.key.to_be_bytes());
            writer.put(first.to_be_bytes());
            writer.put(second.to_be_bytes());
        }
        if self.opcode.has_aeth() {
            writer.put([self.syndrome.encode()]);
            writer.put24(self.msn);
        }
        if self.opcode.kind == Kind::AtomicAcknowledge {
            writer.put(self.original.to_be_bytes());
        }
        if self.opcode.has_immediate {
            writer.put(self.immediate.to_be_bytes());
        }
        if let Some(selective) = self.selective {
            writer.put([0]);
            writer.put24(selective.first.value());
            writer.put(selective.arrived.to_be_bytes());
        }
        if is_cnp {
            writer.put([0; CNP_RESERVED_BYTES]);
        }
        writer.at
    }

    /// Reads the headers from the front of `bytes`, whose transport part, headers to pad, is
    /// `part_bytes` long; the headers, and how long they are. `Err` gives the operation code that
    /// is not known here; `Ok(None)` says that the headers are cut short.
    pub(crate) fn read(bytes: &[u8], part_bytes: usize) -> Result<Option<(Self, usize)>, u8> {
        let mut reader =
            Reader { bytes: bytes.get(..part_bytes.min(bytes.len())).unwrap_or(bytes) };
        let Some([code, flags, _, _, _, q0, q1, q2, ask, p0, p1, p2]) = reader.take() else {
            return Ok(None);
        };
        let opcode = Opcode::decode(code).ok_or(code)?;
        let destination = u32::from_be_bytes([0, q0, q1, q2]);
        let psn = Psn::new(u32::from_be_bytes([0, p0, p1, p2]));
        let mut headers = Self::new(opcode, destination, psn);
        headers.pad = flags >> 4 & 3;
        headers.asks_acknowledge = ask & 0x80 != 0;
        let rest = headers.read_extended(&mut reader, part_bytes);
        let read_bytes = part_bytes.min(bytes.len()) - reader.bytes.len();
        Ok(rest.map(|()| (headers, read_bytes)))
    }

    fn read_extended(&mut self, reader: &mut Reader<'_>, part_bytes: usize) -> Option<()> {
        let opcode = self.opcode;
        if opcode.has_reth() {
            self.reth = Reth { address: reader.u64()?, key: reader.u32()?, bytes: reader.u32()? };
        }
        if opcode.kind == Kind::Atomic {
            let (address, key) = (reader.u64()?, reader.u32()?);
            let (first, second) = (reader.u64()?, reader.u64()?);
            let operation = match opcode.is_compare_swap {
                true => AtomicOperation::CompareSwap { compare: second, swap: first },
                false => AtomicOperation::FetchAdd { add: first },
            };
            self.atomic = Some(AtomicRequest { address, key, operation });
        }
        if opcode.has_aeth() {
            let [syndrome, m0, m1, m2] = reader.take()?;
            self.syndrome = Syndrome::decode(syndrome)?;
            self.msn = u32::from_be_bytes([0, m0, m1, m2]);
        }
        if opcode.kind == Kind::AtomicAcknowledge {
            self.original = reader.u64()?;
        }
        if opcode.has_immediate {
            self.immediate = reader.u32()?;
        }
        let is_nak = self.syndrome == Syndrome::Nak(NakCode::SequenceError);
        // BTH and AETH are 16 bytes.
        if opcode.kind == Kind::Acknowledge && is_nak && part_bytes > 16 {
            let [_, f0, f1, f2] = reader.take()?;
            let first = Psn::new(u32::from_be_bytes([0, f0, f1, f2]));
            self.selective = Some(Selective { first, arrived: reader.u64()? });
        }
        if opcode.kind == Kind::CongestionNotification {
            reader.take::<CNP_RESERVED_BYTES>()?;
        }
        Some(())
    }
}

/// The transport version of a BTH, which must be 0.
pub(super) fn version_of(transport: &[u8]) -> u8 {
    transport.get(1).map_or(0, |flags| flags & 0x0F)
}

/// The partition of a BTH, without the bit of membership.
pub(super) fn is_default_partition(transport: &[u8]) -> bool {
    matches!(transport.get(2..4), Some([high, low]) if high & 0x7F == 0x7F && *low == 0xFF)
}

struct Writer<'a> {
    out: &'a mut [u8],
    at: usize,
}

impl Writer<'_> {
    #[inline]
    fn put<const N: usize>(&mut self, bytes: [u8; N]) {
        if let Some(room) = self.out.get_mut(self.at..self.at + N) {
            room.copy_from_slice(&bytes);
        }
        self.at += N;
    }

    #[inline]
    fn put24(&mut self, value: u32) {
        let [_, a, b, c] = value.to_be_bytes();
        self.put([a, b, c]);
    }
}

struct Reader<'a> {
    bytes: &'a [u8],
}

impl Reader<'_> {
    #[inline]
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (taken, rest) = self.bytes.split_first_chunk()?;
        self.bytes = rest;
        Some(*taken)
    }

    fn u32(&mut self) -> Option<u32> {
        self.take().map(u32::from_be_bytes)
    }

    fn u64(&mut self) -> Option<u64> {
        self.take().map(u64::from_be_bytes)
    }
}
