//! How a NIC spreads frames over several receive queues (receive side scaling).
//!
//! The key repeats two bytes, so that both directions of a flow have the same hash (S. Woo and K.
//! Park: "Scalable TCP Session Monitoring with Symmetric Receive-side Scaling", 2012). What is not
//! IP goes to queue 0, PFC frames among it; so the owner of the port sees them without a detour.

use dpdk_sys::{SHIM_RTE_ETH_MQ_RX_RSS, SHIM_RTE_ETH_RSS_FLOWS, rte_eth_conf, rte_eth_dev_info};

/// Bytes of a key at the most.
const KEY_BYTES_MAX: u8 = 128;
/// Bytes of a key, if the driver does not say.
const KEY_BYTES: u8 = 40;

/// The key. It outlives the call that configures a port, for which DPDK only borrows it.
#[derive(Debug)]
pub(super) struct SymmetricKey([u8; KEY_BYTES_MAX as usize]);

impl SymmetricKey {
    pub(super) fn new() -> Self {
        Self(std::array::from_fn(|at| if at % 2 == 0 { 0x6D } else { 0x5A }))
    }

    /// Makes `conf` spread flows, if the device hashes any. Whether it does.
    pub(super) fn spread(&mut self, facts: &rte_eth_dev_info, conf: &mut rte_eth_conf) -> bool {
        let flows = facts.flow_type_rss_offloads & SHIM_RTE_ETH_RSS_FLOWS;
        if flows == 0 {
            return false;
        }
        conf.rxmode.mq_mode = SHIM_RTE_ETH_MQ_RX_RSS;
        let rss = &mut conf.rx_adv_conf.rss_conf;
        rss.rss_hf = flows;
        rss.rss_key_len = match facts.hash_key_size {
            0 => KEY_BYTES,
            bytes => bytes.min(KEY_BYTES_MAX),
        };
        rss.rss_key = self.0.as_mut_ptr();
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The Toeplitz hash of RSS, bit by bit.
    fn toeplitz(key: &[u8], input: &[u8]) -> u32 {
        let bit = |bytes: &[u8], at: usize| bytes[at / 8] >> (7 - at % 8) & 1;
        let window = |at: usize| (0..32).fold(0, |sum, i| sum << 1 | u32::from(bit(key, at + i)));
        let set = (0..input.len() * 8).filter(|&at| bit(input, at) == 1);
        set.fold(0, |hash, at| hash ^ window(at))
    }

    #[test]
    fn both_directions_of_a_flow_have_the_same_hash() {
        let key = SymmetricKey::new();
        let (mut one, mut other) = (Vec::new(), Vec::new());
        for flow in 0..200_u32 {
            let (client, server) = (flow.wrapping_mul(2_654_435_761), !flow.rotate_left(7));
            let ports = [4_791_u16, (flow * 37 % 60_000) as u16];
            let input = |ends: [u32; 2], ports: [u16; 2]| -> Vec<u8> {
                let addresses = ends.iter().flat_map(|end| end.to_be_bytes());
                addresses.chain(ports.iter().flat_map(|port| port.to_be_bytes())).collect()
            };
            one.push(toeplitz(&key.0, &input([client, server], ports)));
            other.push(toeplitz(&key.0, &input([server, client], [ports[1], ports[0]])));
        }
        assert_eq!(one, other);
        one.sort_unstable();
        one.dedup();
        assert!(one.len() > 150, "flows are told apart: {}", one.len());
    }

    #[test]
    fn a_device_that_hashes_nothing_is_left_alone() {
        // SAFETY: plain integers and pointers, for which all zeros is a value.
        let mut facts: rte_eth_dev_info = unsafe { std::mem::zeroed() };
        // SAFETY: as above.
        let mut conf: rte_eth_conf = unsafe { std::mem::zeroed() };
        let mut key = SymmetricKey::new();
        assert!(!key.spread(&facts, &mut conf));
        assert_eq!(conf.rxmode.mq_mode, 0);
        facts.flow_type_rss_offloads = SHIM_RTE_ETH_RSS_FLOWS;
        facts.hash_key_size = 52;
        assert!(key.spread(&facts, &mut conf));
        assert_eq!(conf.rx_adv_conf.rss_conf.rss_key_len, 52);
        assert_ne!(conf.rxmode.mq_mode, 0);
    }
}
