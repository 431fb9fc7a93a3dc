//! RoCEv2 on the wire (InfiniBand 1.2.1 chapter 9 and Annex A17): which header is where, and how to
//! read and write it.

mod crc;
mod encapsulation;
mod opcode;
mod packet;
mod transport;

pub(crate) use crc::{ICRC_BYTES, icrc};
pub(crate) use encapsulation::Encapsulation;
pub use encapsulation::UDP_PORT;
pub use opcode::{Kind, Opcode, Position};
pub use packet::{BadPacket, Packet};
pub use transport::{AtomicOperation, NakCode, Syndrome};
pub(crate) use transport::{AtomicRequest, Reth, Selective, TransportHeaders, rnr_timer_ps};

/// Bytes of the longest head: Ethernet with a tag, IPv6, UDP, telemetry, the transport headers.
pub const HEAD_BYTES_MAX: usize = 144;
