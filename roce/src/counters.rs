//! What an endpoint has counted.

use crate::wire::BadPacket;

/// Declares the counters and their names, which are the fields' own.
macro_rules! counters {
    ($($(#[doc = $doc:literal])* $name:ident,)*) => {
        /// Counters of an endpoint since its start.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct Counters {
            $($(#[doc = $doc])* pub $name: u64,)*
        }

        impl Counters {
            /// Every counter with its name.
            pub fn named(&self) -> impl Iterator<Item = (&'static str, u64)> {
                [$((stringify!($name), self.$name),)*].into_iter()
            }
        }
    };
}

counters! {
    /// Packets sent, all kinds.
    sent_packets,
    /// Payload bytes sent, again for each repetition.
    sent_bytes,
    /// Packets received that are for a queue pair here.
    received_packets,
    /// Payload bytes received in order.
    received_bytes,
    /// Packets sent again.
    retransmitted,
    /// Requests that came before one that is missing.
    out_of_sequence,
    /// Packets kept until the missing one comes (selective repeat).
    reordered,
    /// Requests that had come before.
    duplicates,
    /// Answers to nothing: too old, or of requests never made.
    stale_answers,
    /// Answers to a READ that came before one that is missing.
    read_gaps,
    /// Acknowledgments sent.
    acks_sent,
    /// Acknowledgments received.
    acks_received,
    /// Sequence NAKs sent.
    nak_sequence_sent,
    /// Sequence NAKs received.
    nak_sequence_received,
    /// NAKs sent that end a connection.
    nak_fatal_sent,
    /// NAKs received that end a connection.
    nak_fatal_received,
    /// RNR NAKs sent.
    rnr_sent,
    /// RNR NAKs received.
    rnr_received,
    /// Retransmission timeouts.
    timeouts,
    /// Congestion notification packets sent.
    cnps_sent,
    /// Congestion notification packets received.
    cnps_received,
    /// Data packets received with Congestion Experienced.
    ecn_marked,
    /// Frames that are not RoCEv2.
    foreign,
    /// Packets with a bad IP header.
    bad_ip_header,
    /// Fragments.
    bad_fragment,
    /// Packets of a wrong length.
    bad_length,
    /// Packets of another transport version.
    bad_version,
    /// Packets of another partition.
    bad_partition,
    /// Packets with an operation code of another service.
    bad_opcode,
    /// SEND with invalidate.
    bad_invalidate,
    /// Packets with a wrong invariant CRC.
    bad_icrc,
    /// Packets for an address that is not ours.
    bad_destination,
    /// Packets for a queue pair that is not there or not connected.
    bad_queue_pair,
    /// Packets from an address that is not the peer's.
    bad_source,
}

impl Counters {
    pub(crate) const fn count_bad(&mut self, bad: BadPacket) {
        let counter = match bad {
            BadPacket::Foreign => &mut self.foreign,
            BadPacket::IpHeader => &mut self.bad_ip_header,
            BadPacket::Fragment => &mut self.bad_fragment,
            BadPacket::Length => &mut self.bad_length,
            BadPacket::TransportVersion => &mut self.bad_version,
            BadPacket::Partition => &mut self.bad_partition,
            BadPacket::Opcode => &mut self.bad_opcode,
            BadPacket::Invalidate => &mut self.bad_invalidate,
            BadPacket::Icrc => &mut self.bad_icrc,
        };
        *counter += 1;
    }
}
