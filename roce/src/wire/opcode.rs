//! Operation codes of the reliable connection (InfiniBand 9.2.1, table 35), and the congestion
//! notification packet's.

/// What a packet belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A message into a posted receive buffer.
    Send,
    /// A message into memory that the sender names.
    Write,
    /// The request for memory that the sender names.
    ReadRequest,
    /// The memory asked for.
    ReadResponse,
    /// The request for one atomic operation on eight bytes.
    Atomic,
    /// The bytes before the atomic operation.
    AtomicAcknowledge,
    /// An acknowledgment, positive or negative.
    Acknowledge,
    /// A congestion notification packet.
    CongestionNotification,
}

/// Where in its message a packet stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Position {
    /// The first of several.
    First,
    /// Neither the first nor the last.
    Middle,
    /// The last of several.
    Last,
    /// The only one.
    Only,
}

impl Position {
    /// Whether a message begins with it.
    #[inline]
    pub const fn begins(self) -> bool {
        matches!(self, Self::First | Self::Only)
    }

    /// Whether a message ends with it.
    #[inline]
    pub const fn ends(self) -> bool {
        matches!(self, Self::Last | Self::Only)
    }

    /// Of packet `index` of a message of `packets`.
    pub(crate) const fn of(index: u32, packets: u32) -> Self {
        match (index == 0, index + 1 >= packets) {
            (true, true) => Self::Only,
            (true, false) => Self::First,
            (false, true) => Self::Last,
            (false, false) => Self::Middle,
        }
    }
}

/// An operation code, taken apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Opcode {
    /// What the packet belongs to.
    pub kind: Kind,
    /// Where in its message it stands.
    pub position: Position,
    /// Whether four bytes of immediate data follow.
    pub has_immediate: bool,
    /// Of [`Kind::Atomic`]: compare and swap, not fetch and add.
    pub is_compare_swap: bool,
}

/// SEND with invalidate, last and only: known, and refused, for there are no memory windows.
const SEND_INVALIDATE: [u8; 2] = [0x16, 0x17];

impl Opcode {
    /// An operation code without immediate data.
    pub(crate) const fn new(kind: Kind, position: Position) -> Self {
        Self { kind, position, has_immediate: false, is_compare_swap: false }
    }

    /// Of the byte on the wire; `None` if it is of another service or invalidates memory.
    pub const fn decode(byte: u8) -> Option<Self> {
        use Kind::{Acknowledge, Atomic, AtomicAcknowledge, CongestionNotification};
        use Kind::{ReadRequest, ReadResponse, Send, Write};
        use Position::{First, Last, Middle, Only};
        let (kind, position) = match byte {
            0x00 => (Send, First),
            0x01 => (Send, Middle),
            0x02 | 0x03 => (Send, Last),
            0x04 | 0x05 => (Send, Only),
            0x06 => (Write, First),
            0x07 => (Write, Middle),
            0x08 | 0x09 => (Write, Last),
            0x0A | 0x0B => (Write, Only),
            0x0C => (ReadRequest, Only),
            0x0D => (ReadResponse, First),
            0x0E => (ReadResponse, Middle),
            0x0F => (ReadResponse, Last),
            0x10 => (ReadResponse, Only),
            0x11 => (Acknowledge, Only),
            0x12 => (AtomicAcknowledge, Only),
            0x13 | 0x14 => (Atomic, Only),
            0x81 => (CongestionNotification, Only),
            _ => return None,
        };
        let has_immediate = matches!(byte, 0x03 | 0x05 | 0x09 | 0x0B);
        Some(Self { kind, position, has_immediate, is_compare_swap: byte == 0x13 })
    }

    /// The byte on the wire.
    pub(crate) const fn encode(self) -> u8 {
        let position = match self.position {
            Position::First => 0,
            Position::Middle => 1,
            Position::Last => 2 + self.has_immediate as u8,
            Position::Only => 4 + self.has_immediate as u8,
        };
        match self.kind {
            Kind::Send => position,
            Kind::Write => 0x06 + position,
            Kind::ReadRequest => 0x0C,
            Kind::ReadResponse => match self.position {
                Position::First => 0x0D,
                Position::Middle => 0x0E,
                Position::Last => 0x0F,
                Position::Only => 0x10,
            },
            Kind::Acknowledge => 0x11,
            Kind::AtomicAcknowledge => 0x12,
            Kind::Atomic => 0x14 - self.is_compare_swap as u8,
            Kind::CongestionNotification => 0x81,
        }
    }

    /// Whether the byte is SEND with invalidate.
    pub(crate) const fn is_invalidate(byte: u8) -> bool {
        byte == SEND_INVALIDATE[0] || byte == SEND_INVALIDATE[1]
    }

    /// Whether a RETH follows the BTH.
    pub(crate) const fn has_reth(self) -> bool {
        matches!(self.kind, Kind::ReadRequest)
            || matches!(self.kind, Kind::Write) && self.position.begins()
    }

    /// Whether an AETH follows the BTH.
    pub(crate) const fn has_aeth(self) -> bool {
        match self.kind {
            Kind::Acknowledge | Kind::AtomicAcknowledge => true,
            Kind::ReadResponse => !matches!(self.position, Position::Middle),
            _ => false,
        }
    }

    /// Whether payload may follow the headers.
    pub(crate) const fn has_payload(self) -> bool {
        matches!(self.kind, Kind::Send | Kind::Write | Kind::ReadResponse)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_that_is_known_goes_there_and_back() {
        let known: Vec<u8> = (0..=u8::MAX).filter(|&byte| Opcode::decode(byte).is_some()).collect();
        assert_eq!(known, (0..=0x14).chain([0x81]).collect::<Vec<u8>>());
        for byte in known {
            assert_eq!(Opcode::decode(byte).unwrap().encode(), byte);
        }
    }
}
