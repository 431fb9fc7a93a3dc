//! Samples put together to datagrams.

use super::xdr::Xdr;
use std::net::IpAddr;

/// Bytes of a datagram, at most: it is not fragmented where the MTU is 1500, in a tunnel neither.
pub(super) const DATAGRAM_BYTES_MAX: usize = 1_400;
/// Bytes ahead of the samples, at most.
const HEAD_BYTES_MAX: usize = 40;
const VERSION: u32 = 5;

/// Datagrams in the making.
#[derive(Debug)]
pub(super) struct Datagrams {
    /// What collectors know the switch by.
    agent: IpAddr,
    /// Number of the last datagram.
    sequence: u32,
    samples: Vec<u8>,
    count: u32,
    /// Those that are ready.
    ready: Vec<Vec<u8>>,
}

impl Datagrams {
    /// Datagrams of this agent, from number 1.
    pub(super) const fn new(agent: IpAddr) -> Self {
        Self { agent, sequence: 0, samples: Vec::new(), count: 0, ready: Vec::new() }
    }

    /// Adds a whole `sample_record`, `uptime_ms` after the start.
    pub(super) fn add(&mut self, sample: &[u8], uptime_ms: u32) {
        if HEAD_BYTES_MAX + self.samples.len() + sample.len() > DATAGRAM_BYTES_MAX {
            self.close(uptime_ms);
        }
        self.samples.extend_from_slice(sample);
        self.count += 1;
    }

    /// Closes the datagram, if it has samples.
    fn close(&mut self, uptime_ms: u32) {
        if self.count == 0 {
            return;
        }
        self.sequence = self.sequence.wrapping_add(1);
        let mut datagram = Vec::with_capacity(HEAD_BYTES_MAX + self.samples.len());
        let mut xdr = Xdr(&mut datagram);
        xdr.word(VERSION);
        match self.agent {
            IpAddr::V4(address) => xdr.words(&[1, address.to_bits()]),
            IpAddr::V6(address) => {
                xdr.word(2);
                xdr.hyper(u64::try_from(address.to_bits() >> 64).unwrap_or_default());
                xdr.hyper(
                    u64::try_from(address.to_bits() & u128::from(u64::MAX)).unwrap_or_default(),
                );
            }
        }
        // There is one agent in a switch: sub-agent 0.
        xdr.words(&[0, self.sequence, uptime_ms, self.count]);
        datagram.append(&mut self.samples);
        self.count = 0;
        self.ready.push(datagram);
    }

    /// All that is there, as datagrams.
    pub(super) fn take(&mut self, uptime_ms: u32) -> Vec<Vec<u8>> {
        self.close(uptime_ms);
        std::mem::take(&mut self.ready)
    }
}
