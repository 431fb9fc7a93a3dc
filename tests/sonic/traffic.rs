//! Traffic without congestion.

use crate::dut::{self, Dut, POOL, PROFILE, default_queue};

const DSCPS: [u8; 7] = [8, 1, 5, 3, 4, 46, 48];

/// FullMeshTrafficSanity and TrafficSanityTest: every port sends to every other, in every queue,
/// and nothing is lost or paused.
#[test]
fn qos_sai_full_mesh_traffic_sanity() {
    const PORTS: u8 = 8;
    const FRAMES: u64 = 10;
    let mut dut = Dut::new(dut::builder(PORTS, PROFILE, POOL));
    for from in 1..=PORTS {
        for to in (1..=PORTS).filter(|&to| to != from) {
            for dscp in DSCPS {
                dut.send(from, to, dscp, 200, u32::try_from(FRAMES).unwrap());
            }
        }
    }
    let mut expected = Vec::new();
    for (port, dscp) in (1..=PORTS).flat_map(|port| DSCPS.map(|dscp| (port, dscp))) {
        let (queue, frames) = (default_queue(dscp), FRAMES * u64::from(PORTS - 1));
        for direction in ["rx", "tx"] {
            expected.push(format!("p{port} {direction}_bytes[{queue}] +{}", frames * 200));
            expected.push(format!("p{port} {direction}_frames[{queue}] +{frames}"));
        }
    }
    expected.sort();
    assert_eq!(dut.moved(), expected);
}
