//! The structures of sFlow version 5 that a switch sends, each as the octets of a sample.
//!
//! | structure | format | from |
//! |---|---|---|
//! | `flow_sample` | 0:1 | sFlow version 5, section 5 |
//! | `counters_sample` | 0:2 | the same |
//! | `discarded_packet` | 0:5 | sFlow Dropped Packet Notification Structures, 2020 |
//! | in them: `sampled_header` | 0:1 | sFlow version 5 |
//! | `if_counters` | 0:1 | sFlow version 5 |
//! | `port_name` | 0:1005 | sFlow OpenFlow Structures, 2014 |
//! | `extended_egress_queue` | 0:1036 | sFlow Dropped Packet Notification Structures |
//! | `extended_function` | 0:1038 | the same |

use super::xdr::Xdr;

const FLOW_SAMPLE: u32 = 1;
const COUNTERS_SAMPLE: u32 = 2;
const DISCARDED_PACKET: u32 = 5;
const SAMPLED_HEADER: u32 = 1;
const IF_COUNTERS: u32 = 1;
const PORT_NAME: u32 = 1_005;
const EGRESS_QUEUE: u32 = 1_036;
const FUNCTION: u32 = 1_038;
/// `header_protocol`
const ETHERNET: u32 = 1;
/// Octets of the FCS, which the switch does not see.
const FCS_BYTES: u32 = 4;
/// What a counter is if nobody counts it.
const UNKNOWN: u32 = u32::MAX;
/// `ethernetCsmacd` of IF-MIB.
const IF_TYPE_ETHERNET: u32 = 6;
const FULL_DUPLEX: u32 = 1;
/// `entPhysicalEntry`: the switch as a whole.
const SOURCE_PHYSICAL: u32 = 2;
/// Longest `symbol` of `extended_function`.
const SYMBOL_BYTES_MAX: usize = 64;
/// Longest `name` of `port_name`.
const NAME_BYTES_MAX: usize = 255;

/// Where a sampled frame came in, or leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Interface {
    /// It is not known.
    Unknown,
    /// The port with this number.
    Port(u32),
    /// It was dropped, for this reason.
    Discarded(u32),
    /// It left by several ports.
    Several,
    /// The switch itself is the receiver.
    Switch,
}

impl Interface {
    /// `interface`: the format in the two highest bits.
    pub(super) const fn word(self) -> u32 {
        match self {
            Self::Unknown => 0,
            Self::Port(number) => number,
            Self::Discarded(reason) => 1 << 30 | reason,
            Self::Several => 2 << 30,
            Self::Switch => 0x3FFF_FFFF,
        }
    }
}

/// The start of a frame.
#[derive(Clone, Copy, Debug)]
pub(super) struct Header<'a> {
    /// From the destination MAC address on.
    pub(super) octets: &'a [u8],
    /// Length of the frame without its FCS.
    pub(super) frame_bytes: u32,
}

/// A received frame.
#[derive(Clone, Copy, Debug)]
pub(super) struct FlowSample<'a> {
    /// Counts the samples of the port.
    pub(super) sequence: u32,
    /// The port that received it.
    pub(super) port: u32,
    /// One frame in so many is sampled.
    pub(super) rate: u32,
    /// Frames that could have been sampled.
    pub(super) pool: u32,
    /// Samples of the port that were lost.
    pub(super) drops: u32,
    /// Where it leaves.
    pub(super) output: Interface,
    /// Its egress priority.
    pub(super) queue: Option<u32>,
    /// Its start.
    pub(super) header: Header<'a>,
}

impl FlowSample<'_> {
    /// Appends it as a `sample_record`.
    pub(super) fn write(&self, to: &mut Vec<u8>) {
        sample(to, FLOW_SAMPLE, |xdr| {
            let input = Interface::Port(self.port).word();
            // The source is the port's `ifIndex`: class 0 in the highest octet.
            let port = self.port & 0x00FF_FFFF;
            xdr.words(&[self.sequence, port, self.rate, self.pool, self.drops, input]);
            xdr.words(&[self.output.word(), 1 + u32::from(self.queue.is_some())]);
            self.header.write(xdr);
            write_queue(self.queue, xdr);
        });
    }
}

/// A dropped frame.
#[derive(Clone, Copy, Debug)]
pub(super) struct DiscardedPacket<'a> {
    /// Counts the dropped frames that were reported.
    pub(super) sequence: u32,
    /// Dropped frames that were not.
    pub(super) drops: u32,
    /// The port where it came in; 0 if it is the switch's own.
    pub(super) input: u32,
    /// The port where it was to leave, if it was dropped there; or 0.
    pub(super) output: u32,
    /// Why, as a code of sFlow's.
    pub(super) reason: u32,
    /// Its egress priority.
    pub(super) queue: Option<u32>,
    /// Why, as the switch counts it.
    pub(super) cause: &'a str,
    /// Its start.
    pub(super) header: Header<'a>,
}

impl DiscardedPacket<'_> {
    /// Appends it as a `sample_record`.
    pub(super) fn write(&self, to: &mut Vec<u8>) {
        sample(to, DISCARDED_PACKET, |xdr| {
            xdr.words(&[self.sequence, SOURCE_PHYSICAL, 1, self.drops]);
            xdr.words(&[self.input, self.output, self.reason]);
            xdr.word(2 + u32::from(self.queue.is_some()));
            self.header.write(xdr);
            write_queue(self.queue, xdr);
            xdr.word(FUNCTION);
            let symbol = self.cause.as_bytes();
            xdr.sized(|xdr| xdr.opaque(&symbol[..symbol.len().min(SYMBOL_BYTES_MAX)]));
        });
    }
}

/// The counters of a port.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct IfCounters {
    /// The port's number.
    pub(crate) port: u32,
    /// Its name.
    pub(crate) name: String,
    /// Bits per second.
    pub(crate) speed_bps: u64,
    /// Whether the operator has it in service.
    pub(crate) is_in_service: bool,
    /// Whether frames pass.
    pub(crate) is_up: bool,
    /// Bytes received, without FCS.
    pub(crate) in_bytes: u64,
    /// Frames received. The switch does not count group addresses apart.
    pub(crate) in_frames: u64,
    /// Sound frames that were dropped.
    pub(crate) in_discards: u64,
    /// Frames that were not sound.
    pub(crate) in_errors: u64,
    /// Frames of protocols that the port does not handle.
    pub(crate) in_unknown: u64,
    /// Bytes sent, without FCS.
    pub(crate) out_bytes: u64,
    /// Frames sent.
    pub(crate) out_frames: u64,
    /// Frames that were to be sent and were dropped.
    pub(crate) out_discards: u64,
    /// Frames that the device could not send.
    pub(crate) out_errors: u64,
}

impl IfCounters {
    /// Appends them as a `sample_record`.
    pub(super) fn write(&self, sequence: u32, to: &mut Vec<u8>) {
        sample(to, COUNTERS_SAMPLE, |xdr| {
            xdr.words(&[sequence, self.port & 0x00FF_FFFF, 2]);
            xdr.word(IF_COUNTERS);
            xdr.sized(|xdr| {
                let status = u32::from(self.is_in_service) | u32::from(self.is_up) << 1;
                xdr.words(&[self.port, IF_TYPE_ETHERNET]);
                xdr.hyper(self.speed_bps);
                xdr.words(&[FULL_DUPLEX, status]);
                xdr.hyper(self.in_bytes);
                xdr.words(&[low(self.in_frames), UNKNOWN, UNKNOWN]);
                xdr.words(&[low(self.in_discards), low(self.in_errors), low(self.in_unknown)]);
                xdr.hyper(self.out_bytes);
                xdr.words(&[low(self.out_frames), UNKNOWN, UNKNOWN]);
                // A switch always receives all frames: `ifPromiscuousMode` is true.
                xdr.words(&[low(self.out_discards), low(self.out_errors), 1]);
            });
            xdr.word(PORT_NAME);
            let name = self.name.as_bytes();
            xdr.sized(|xdr| xdr.opaque(&name[..name.len().min(NAME_BYTES_MAX)]));
        });
    }
}

/// The 32 bits of a counter that wraps.
pub(super) fn low(counter: u64) -> u32 {
    u32::try_from(counter & u64::from(u32::MAX)).unwrap_or_default()
}

/// A `sample_record` of a standard format.
fn sample(to: &mut Vec<u8>, format: u32, write: impl FnOnce(&mut Xdr<'_>)) {
    let mut xdr = Xdr(to);
    xdr.word(format);
    xdr.sized(write);
}

impl Header<'_> {
    /// A `flow_record` of a `sampled_header`.
    fn write(&self, xdr: &mut Xdr<'_>) {
        xdr.word(SAMPLED_HEADER);
        xdr.sized(|xdr| {
            xdr.words(&[ETHERNET, self.frame_bytes.saturating_add(FCS_BYTES), FCS_BYTES]);
            xdr.opaque(self.octets);
        });
    }
}

fn write_queue(queue: Option<u32>, xdr: &mut Xdr<'_>) {
    if let Some(queue) = queue {
        xdr.word(EGRESS_QUEUE);
        xdr.sized(|xdr| xdr.word(queue));
    }
}
