//! What an operator must know of PFC frames on a NIC, by its driver: what the switch cannot set.

use super::flow_control::drops_sent_pfc;

/// Of the NICs with these drivers. Where the facts are from is in `docs/running.md`.
const NOTES: [(&[&str], &str); 4] = [
    (
        &["mlx5_pci", "mlx5_auxiliary"],
        "the driver cannot have PFC frames forwarded; turn the NIC's own off: `ethtool -A DEV rx \
         off tx off`, `dcb pfc set dev DEV prio-pfc all:off`",
    ),
    (
        &["net_ice"],
        "the driver cannot turn the NIC's own flow control off; before it is bound: `ethtool -A \
         DEV rx off tx off`, `ethtool --set-priv-flags DEV fw-lldp-agent off`",
    ),
    (&["net_ena"], "the driver has no flow control, and nothing is known of PFC frames"),
    (
        &["net_virtio", "net_vmxnet3"],
        "the hypervisor must pass frames to 01:80:c2:00:00:01, which a Linux bridge never does",
    ),
];

/// What the operator of a lossless port must see to, if its NIC has this driver.
pub(crate) fn pfc_note(driver: &str) -> Option<String> {
    if drops_sent_pfc(driver) {
        return Some(format!(
            "NOT lossless, whatever its headroom: its driver, {driver}, drops the PFC frames that \
             the switch sends"
        ));
    }
    let note = NOTES.iter().find(|(drivers, _)| drivers.contains(&driver));
    note.map(|(_, note)| format!("{note}; lossless only if `ctl pfc` counts pauses ({driver})"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_driver_that_needs_something_has_one_line() {
        for (driver, part) in [
            ("mlx5_pci", "ethtool -A"),
            ("net_ice", "fw-lldp-agent off"),
            ("net_ena", "no flow control"),
            ("net_virtio", "Linux bridge"),
            ("net_i40e", "NOT lossless"),
        ] {
            let note = pfc_note(driver).unwrap();
            assert!(note.contains(part) && note.contains(driver), "{note}");
            assert!(!note.contains('\n'), "{note}");
        }
        for driver in ["net_ixgbe", "net_e1000_em", "net_tap"] {
            assert_eq!(pfc_note(driver), None, "{driver}");
        }
    }
}
