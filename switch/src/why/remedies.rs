//! What a drop cause means and what helps, in a few words: the tables of docs/troubleshooting.md.

/// What helps against drops of this cause; `None` for a cause that is not known here.
pub(crate) fn remedy(cause: &str) -> Option<&'static str> {
    Some(match cause {
        "headroom_overrun" => "beyond its headroom: raise `headroom`",
        "rx_missed" => {
            "the receive queue was full: pin cores, a longer queue, or a sender that obeys PFC"
        }
        "rx_no_buffer" | "no_buffer" => "no mbuf left: more `[memory] size`, fewer descriptors",
        "rx_error" => "corrupt frames: the cable or the transceiver",
        "rx_unreadable" | "tx_segmented" => "no mbuf left to join a frame in several buffers",
        "tx_error" => "the device did not send it: `ip link`, whether it is up with the port's MTU",
        "watchdog" => "dropped during a storm: repair the peer that pauses",
        "unresolved" => {
            "the next hop's MAC address is unknown: address, VLAN and link of the gateway, or a \
             static `[[neighbor]]`"
        }
        "port_down" => "the port has no link, or is out of service: `knotless ctl ports`",
        "no_route" | "unroutable" => "it cannot be routed: `knotless ctl routes`",
        "blackhole" => "a blackhole route leads there: `knotless ctl routes`",
        "ttl_expired" => "its TTL has run out: a loop, or a small initial TTL",
        "too_big" | "oversize" | "too_long" => "longer than the MTU: equal `mtu` on all ports",
        "bad_header" | "bad_checksum" | "truncated" => {
            "the frame is damaged: its sender, the cable"
        }
        "not_our_mac" => "not addressed to this switch: no loss, the sender floods",
        "not_ip" | "reserved_address" | "no_flood_members" => "no port forwards it: its sender",
        "vlan_not_allowed" => "the port is not in its VLAN: `vlan`, `vlans`",
        "source_check" => "its source address belongs to another port: its sender",
        "source_port_filtered" => "its destination is on the port that it came by: no loss",
        "ingress_limit" => "lossy traffic has all that it may hold: `[buffer] lossy`",
        "tail_drop" => "the lossy queue is full: more came than the link carries",
        "wred_drop" => "the lossy queue was long: more came than the link carries; `[[wred]]`",
        "punt_full" | "punt_policed" => {
            "too many frames for the switch itself: find who sends them"
        }
        "rx_after_stop" | "held_at_stop" => "the switch was stopping: stop the senders first",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::remedy;
    use dataplane::counters::DropReason;

    #[test]
    fn every_drop_cause_has_a_remedy() {
        for reason in DropReason::ALL {
            assert!(remedy(reason.name()).is_some(), "{}", reason.name());
        }
        assert_eq!(remedy("none"), None);
    }
}
