//! Routes that zebra has read back from the kernel: a zebra that starts finds the routes of the one
//! before it there, and gives them on until the daemons have theirs. It does not read the gateways
//! of the other address family (RFC 8950), which unnumbered BGP has; what it then gives is the same
//! ports without a gateway (seen with FRR 10.3). Frames would be lost until BGP is back.

use dataplane::fib::Path;
use dataplane::ids::PortId;
use ipnet::IpNet;
use std::collections::BTreeSet;

/// Whether a route for `prefix` by the paths `new` is the one by `old` without its gateways.
pub(super) fn lacks_gateways(prefix: IpNet, old: &[Path], new: &[Path]) -> bool {
    let is_v4 = prefix.addr().is_ipv4();
    let is_foreign = |path: &Path| path.gateway.is_some_and(|gateway| gateway.is_ipv4() != is_v4);
    let ports = |paths: &[Path]| -> BTreeSet<Option<PortId>> {
        paths.iter().map(|path| path.port).collect()
    };
    !old.is_empty()
        && old.iter().all(is_foreign)
        && new.iter().all(|path| path.gateway.is_none())
        && ports(old) == ports(new)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(list: &[(&str, u8)]) -> Vec<Path> {
        let path = |&(gateway, port): &(&str, u8)| Path {
            gateway: (!gateway.is_empty()).then(|| gateway.parse().unwrap()),
            port: PortId::from_number(usize::from(port)),
            weight: 1,
        };
        list.iter().map(path).collect()
    }

    #[test]
    fn only_gateways_of_the_other_family_get_lost() {
        let (v4, v6): (IpNet, IpNet) =
            ("10.1.0.0/16".parse().unwrap(), "fd00::/48".parse().unwrap());
        let unnumbered = paths(&[("fe80::1", 1), ("fe80::2", 2)]);
        let bare = paths(&[("", 2), ("", 1)]);
        assert!(lacks_gateways(v4, &unnumbered, &bare));
        assert!(!lacks_gateways(v6, &unnumbered, &bare), "of one's own family they are read");
        assert!(!lacks_gateways(v4, &paths(&[("10.0.1.2", 1)]), &paths(&[("", 1)])));
        assert!(!lacks_gateways(v4, &unnumbered, &paths(&[("", 1)])), "another way");
        assert!(!lacks_gateways(v4, &unnumbered, &unnumbered));
        assert!(!lacks_gateways(v4, &[], &[]));
    }
}
