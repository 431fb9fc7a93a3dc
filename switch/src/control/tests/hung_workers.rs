//! The links of ports whose worker hangs.

use super::Rig;
use dataplane::testing::wire::Udp;

/// Ports 1 and 3 are worker 0's, port 2 is worker 1's.
const THREE: &str = r#"
name = "s1"
[control]
socket = "s1.sock"
[[lossless]]
priority = 3
[workers]
count = 2
[[port]]
name = "a"
device = "net_null0"
vlan = 7
classify = "port"
default_tag = 3
[[port]]
name = "b"
device = "net_null1"
vlan = 7
classify = "port"
default_tag = 3
[[port]]
name = "c"
device = "net_null2"
vlan = 7
classify = "port"
default_tag = 3
"#;

/// Bits of ports, as the rig's memory has them.
const PORT_B: u64 = 0b010;
const SECOND_NS: u64 = 1_000_000_000;

impl Rig {
    /// Lets `ns` pass, while the workers from `hung` on take no turn.
    fn pass_without(&mut self, hung: usize, ns: u64) {
        for _ in 0..100 {
            self.memory.now.set(self.memory.now.get() + ns / 100);
            self.turn_control();
            (0..hung).for_each(|worker| self.turn_worker(worker));
        }
    }

    fn down(&self) -> u64 {
        self.memory.down.get()
    }
}

#[test]
fn the_ports_of_a_worker_that_hangs_lose_their_links_until_it_answers() {
    let mut rig = Rig::new(THREE);
    rig.pass(SECOND_NS);
    rig.pass_without(1, 2 * SECOND_NS);
    assert_eq!(rig.down(), 0, "a worker may be late");
    rig.pass_without(1, 3 * SECOND_NS);
    assert_eq!(rig.down(), PORT_B, "and no port of the other worker");
    rig.pass_without(1, 20 * SECOND_NS);
    assert_eq!(rig.down(), PORT_B, "once, for as long as it hangs");
    rig.pass(SECOND_NS);
    assert_eq!(rig.down(), 0);
    assert!(rig.stats().ports.iter().all(|port| port.link));
    rig.assert_balanced();
}

#[test]
fn what_waits_for_a_worker_that_hangs_is_sent_when_it_answers() {
    let mut rig = Rig::new(THREE);
    // The switch learns where the stations are.
    rig.arrive(2, &Udp::bridged(2, 1, 3).bytes());
    rig.arrive(1, &Udp::bridged(1, 2, 3).bytes());
    rig.turns(5);
    let _learned_by = (rig.sent(1), rig.sent(2), rig.sent(3));
    rig.pass_without(1, 5 * SECOND_NS);
    assert_eq!(rig.down(), PORT_B);
    for sequence in 0..10 {
        rig.arrive(1, &Udp { sequence, ..Udp::bridged(1, 2, 3) }.bytes());
        rig.arrive(3, &Udp { sequence, ..Udp::bridged(3, 1, 3) }.bytes());
    }
    rig.pass_without(1, SECOND_NS);
    assert_eq!(rig.sent(1).len(), 10, "the other worker's ports forward");
    assert_eq!(rig.sent(2).len(), 0);
    rig.pass(SECOND_NS);
    assert_eq!(rig.sent(2).len(), 10, "nothing was dropped as for a lost link");
    assert_eq!(rig.stats().totals.dropped, 0);
    rig.assert_balanced();
}

#[test]
fn a_port_that_was_down_before_is_left_alone() {
    let mut rig = Rig::new(THREE);
    rig.memory.down.set(PORT_B);
    rig.pass(SECOND_NS);
    rig.pass_without(1, 5 * SECOND_NS);
    rig.memory.down.set(0);
    rig.pass_without(1, SECOND_NS);
    assert_eq!(rig.down(), 0);
    rig.pass(SECOND_NS);
    assert_eq!(rig.down(), 0);
    assert!(rig.stats().ports[1].up, "it came up by itself");
}

#[test]
fn several_workers_that_hang_are_all_noticed() {
    let mut rig = Rig::new(THREE);
    rig.pass(SECOND_NS);
    rig.pass_without(0, 5 * SECOND_NS);
    assert_eq!(rig.down(), 0b111);
    rig.pass_without(1, 5 * SECOND_NS);
    assert_eq!(rig.down(), 0b111, "one still hangs");
    rig.pass(SECOND_NS);
    assert_eq!(rig.down(), 0);
}

#[test]
fn a_switch_that_was_stopped_as_a_whole_blames_no_worker() {
    let mut rig = Rig::new(THREE);
    rig.pass(SECOND_NS);
    // A round has begun, and nobody takes a turn for long.
    rig.pass_without(0, SECOND_NS);
    rig.memory.now.set(rig.memory.now.get() + 60 * SECOND_NS);
    rig.turn_control();
    assert_eq!(rig.down(), 0);
    rig.pass(SECOND_NS);
    assert_eq!(rig.down(), 0);
    rig.assert_balanced();
}
