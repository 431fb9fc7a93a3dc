//! Tells zebra which routes the workers use: its own message comes back with `RTM_F_OFFLOAD`, or
//! with `RTM_F_OFFLOAD_FAILED` for a route that is not taken (FRR reads them from 8.5 on, for
//! `bgp suppress-fib-pending`; older ones skip them).

use std::collections::VecDeque;

const FPM_HEADER_BYTES: usize = 4;
/// Places in a route message: the flags of netlink, and those of the route.
const NETLINK_FLAGS: usize = 6;
const ROUTE_FLAGS: usize = 24;
const NLM_F_REQUEST: u16 = 1;
const RTM_F_OFFLOAD: u32 = 0x4000;
const RTM_F_OFFLOAD_FAILED: u32 = 0x2000_0000;

/// Bytes that may wait for a peer that does not read.
const WAITING_BYTES_MAX: usize = 64 << 20;

/// What is to be told.
#[derive(Debug, Default)]
pub(super) struct Acknowledgements {
    /// By the number of the tables that the routes are in, the lowest first.
    waiting: VecDeque<(u64, Vec<u8>)>,
    waiting_bytes: usize,
    /// To be written now.
    ready: Vec<u8>,
    /// Bytes of it that are written.
    written: usize,
}

impl Acknowledgements {
    /// The route of `message` is in the tables with number `epoch`, or not taken. Returns whether
    /// there is room: the peer reads.
    pub(super) fn push(&mut self, message: &[u8], is_taken: bool, epoch: u64) -> bool {
        let Some(frame) = frame(message, is_taken) else { return true };
        self.waiting_bytes += frame.len();
        self.waiting.push_back((epoch, frame));
        self.waiting_bytes <= WAITING_BYTES_MAX
    }

    /// The workers use the tables with number `epoch`.
    pub(super) fn in_use(&mut self, epoch: u64) {
        while self.waiting.front().is_some_and(|(due, _)| *due <= epoch) {
            let Some((_, frame)) = self.waiting.pop_front() else { return };
            self.ready.extend_from_slice(&frame);
        }
    }

    /// Bytes to be written now.
    pub(super) fn ready(&self) -> &[u8] {
        self.ready.get(self.written..).unwrap_or_default()
    }

    /// `bytes` more of them are written.
    pub(super) fn wrote(&mut self, bytes: usize) {
        self.written += bytes;
        self.waiting_bytes = self.waiting_bytes.saturating_sub(bytes);
        if self.written >= self.ready.len() {
            self.ready.clear();
            self.written = 0;
        }
    }
}

/// The FPM frame with the answer to a route's message.
fn frame(message: &[u8], is_taken: bool) -> Option<Vec<u8>> {
    let length = u16::try_from(message.len() + FPM_HEADER_BYTES).ok()?;
    let [high, low] = length.to_be_bytes();
    let mut frame = vec![1, 1, high, low];
    frame.extend_from_slice(message);
    let answer = &mut frame[FPM_HEADER_BYTES..];
    let flags = answer.get_mut(NETLINK_FLAGS..)?.first_chunk_mut()?;
    *flags = (u16::from_ne_bytes(*flags) | NLM_F_REQUEST).to_ne_bytes();
    let offload = if is_taken { RTM_F_OFFLOAD } else { RTM_F_OFFLOAD_FAILED };
    let flags = answer.get_mut(ROUTE_FLAGS..)?.first_chunk_mut()?;
    *flags = (u32::from_ne_bytes(*flags) | offload).to_ne_bytes();
    Some(frame)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_route_comes_back_marked_once_its_tables_are_in_use() {
        let mut answers = Acknowledgements::default();
        let message = [0_u8; 28];
        assert!(answers.push(&message, true, 5) && answers.push(&message, false, 6));
        answers.in_use(4);
        assert!(answers.ready().is_empty());
        answers.in_use(5);
        let first = answers.ready().to_vec();
        assert_eq!(first[..4], [1, 1, 0, 32]);
        assert_eq!(first[4 + NETLINK_FLAGS..][..2], NLM_F_REQUEST.to_ne_bytes());
        assert_eq!(first[4 + ROUTE_FLAGS..][..4], RTM_F_OFFLOAD.to_ne_bytes());
        answers.wrote(10);
        assert_eq!(answers.ready(), &first[10..]);
        answers.wrote(22);
        assert!(answers.ready().is_empty());
        answers.in_use(6);
        assert_eq!(answers.ready()[4 + ROUTE_FLAGS..][..4], RTM_F_OFFLOAD_FAILED.to_ne_bytes());
    }

    #[test]
    fn a_peer_that_does_not_read_is_found_out() {
        let mut answers = Acknowledgements::default();
        let message = vec![0_u8; 60_000];
        let count = (0..).take_while(|_| answers.push(&message, true, 1)).count();
        assert!(count * message.len() <= WAITING_BYTES_MAX);
    }
}
