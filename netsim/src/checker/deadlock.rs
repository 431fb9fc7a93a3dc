//! Deadlock, detected in the running network: a set of queues none of which can ever move again.
//!
//! A VEQ that its peer has paused moves when the peer's VIQ falls below its XON mark, and that
//! takes frames out of the VEQs in which the VIQ's frames wait. So the search starts from every
//! paused VEQ that has frames and whose peer is a switch. It repeatedly removes those that will
//! move: whose VIQ falls far enough by what leaves the VEQs already removed. The remaining VEQs
//! wait for each other: a deadlock. More arrivals cannot resolve it, and a pause is refreshed
//! before it ends. Once nothing moves, the search finds every deadlock. Before that it may find one
//! late, since arrivals tighten it, and never a false one.

use crate::frame::SimFrame;
use crate::network::Network;
use crate::topology::Peer;
use dataplane::buffer::{ViqId, lossless_shared_bytes};
use dataplane::frame::Frame;
use dataplane::ids::{PortId, Priority};
use dataplane::limits::PRIORITIES;
use dataplane::report::{QueueGauges, Report};
use dataplane::settings::{SwitchSettings, ViqSettings};
use dataplane::wire::mac_control::MacControl;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// A cycle of queues that wait for each other, each for the next, the last for the first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Deadlock {
    /// The cycle, beginning with the switch that was added first.
    pub hops: Vec<DeadlockHop>,
}

/// A hop of the cycle: frames that came in at one port cannot leave by another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeadlockHop {
    /// The switch's name.
    pub switch: String,
    /// Where the frames came in.
    pub input: PortId,
    /// With which priority: this VIQ keeps the hop before it paused.
    pub input_priority: Priority,
    /// Where they wait to go out.
    pub output: PortId,
    /// With which priority: this VEQ is paused by the next hop.
    pub output_priority: Priority,
    /// Bytes of them.
    pub bytes: u64,
}

impl fmt::Display for DeadlockHop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}: {} B from port {} (priority {}) wait at port {} (priority {})",
            self.switch,
            self.bytes,
            self.input,
            self.input_priority,
            self.output,
            self.output_priority
        )
    }
}

impl fmt::Display for Deadlock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for hop in &self.hops {
            write!(f, "{hop}; ")?;
        }
        let first = self.hops.first().map_or("nobody", |hop| hop.switch.as_str());
        write!(f, "which waits for {first}")
    }
}

/// A VEQ of the network.
type VeqKey = (usize, PortId, Priority);

/// A snapshot of all switches at one instant.
struct Picture<'a> {
    network: &'a Network,
    reports: Vec<(&'a SwitchSettings, Report)>,
    /// Bytes by VEQ and by the VIQ that they are charged to.
    held_bytes: BTreeMap<VeqKey, BTreeMap<u16, u64>>,
    /// The VEQs that have not been found to move.
    stuck: BTreeSet<VeqKey>,
}

/// The deadlock that the network is in, if it is in one.
pub(crate) fn find(network: &Network) -> Option<Deadlock> {
    let mut picture = Picture::take(network);
    while picture.release_one_round() {}
    picture.cycle()
}

impl<'a> Picture<'a> {
    fn take(network: &'a Network) -> Self {
        let reports = network.switch_reports();
        let reports: Vec<_> = reports.map(|(switch, report)| (&switch.settings, report)).collect();
        let mut held_bytes: BTreeMap<VeqKey, BTreeMap<u16, u64>> = BTreeMap::new();
        for (number, switch) in network.switches().enumerate() {
            let cell_bytes = u64::from(switch.settings.buffer.cell_bytes);
            for note in switch.worker.queued_metas().filter(|note| note.viq != ViqId::NONE) {
                let Some(out) = PortId::from_index(usize::from(note.out)) else { continue };
                let veq = (number, out, Priority::from_low_bits(note.priority));
                let by_viq = held_bytes.entry(veq).or_default();
                *by_viq.entry(viq_number(note.viq)).or_default() +=
                    u64::from(note.bytes).max(cell_bytes);
            }
        }
        let mut picture = Self { network, reports, held_bytes, stuck: BTreeSet::new() };
        let paused = |veq: &&VeqKey| picture.is_paused_by_a_switch(**veq);
        picture.stuck = picture.held_bytes.keys().filter(paused).copied().collect();
        picture
    }

    fn gauges(&self, switch: usize, port: PortId, priority: Priority) -> &QueueGauges {
        &self.reports[switch].1.ports[port.index()].queues[priority.index()]
    }

    /// The switch and port that `veq` sends to.
    fn downstream(&self, (switch, port, _): VeqKey) -> Option<(usize, PortId)> {
        match self.network.peer(switch, port)? {
            Peer::Switch(peer, input) => Some((peer.index(), input)),
            Peer::Host(_) => None,
        }
    }

    /// The priority of the VIQ at a port that upstream's VEQ of `priority` feeds: another one where
    /// frames change class with every hop.
    fn fed(&self, (switch, input): (usize, PortId), priority: Priority) -> Priority {
        let settings = &self.reports[switch].0.ports[input.index()];
        let feeds = |viq: &Priority| {
            settings.lossless[viq.index()].is_some() && settings.upstream[viq.index()] == priority
        };
        Priority::all().find(feeds).unwrap_or(priority)
    }

    /// Whether it is paused by a switch with no XON in flight. A host resumes sooner or later.
    fn is_paused_by_a_switch(&self, veq: VeqKey) -> bool {
        let (switch, port, priority) = veq;
        let Some((peer, input)) = self.downstream(veq) else { return false };
        let waiting = self.network.switch_node(peer).worker.device().ahead(input);
        let mut on_the_way = waiting.chain(self.network.in_flight_to(switch, port));
        let gauges = self.gauges(switch, port, priority);
        let watchdog = self.reports[switch].0.ports[port.index()].watchdog;
        let is_ignored =
            gauges.stormed && watchdog.is_some_and(|watchdog| watchdog.action.ignores_pauses());
        gauges.rx_paused
            && !is_ignored
            && self.gauges(peer, input, self.fed((peer, input), priority)).tx_paused
            && !on_the_way.any(|frame| is_xon(frame, priority))
    }

    /// Bytes in VEQs still stuck, by switch and VIQ.
    fn stuck_bytes(&self) -> Vec<BTreeMap<u16, u64>> {
        let mut sum: Vec<BTreeMap<u16, u64>> = vec![BTreeMap::new(); self.reports.len()];
        for veq in &self.stuck {
            for (&viq, &bytes) in self.held_bytes.get(veq).into_iter().flatten() {
                *sum[veq.0].entry(viq).or_default() += bytes;
            }
        }
        sum
    }

    /// Removes the VEQs that resume once all frames that are not stuck have left; returns whether
    /// there were any.
    fn release_one_round(&mut self) -> bool {
        let stuck_bytes = self.stuck_bytes();
        let free_bytes: Vec<[u64; PRIORITIES]> =
            (0..self.reports.len()).map(|switch| self.free_bytes(switch, &stuck_bytes)).collect();
        let before = self.stuck.len();
        let stuck = std::mem::take(&mut self.stuck);
        let stays = |veq: &VeqKey| {
            let Some((peer, input)) = self.downstream(*veq) else { return false };
            let fed = self.fed((peer, input), veq.2);
            let viq = viq_number(ViqId::new(input, fed));
            let left_bytes = stuck_bytes[peer].get(&viq).copied().unwrap_or_default();
            let settings = self.reports[peer].0.ports[input.index()].lossless[fed.index()];
            let gauges = self.gauges(peer, input, fed);
            settings.is_some_and(|viq| {
                !resumes(&viq, gauges, left_bytes, free_bytes[peer][fed.index()])
            })
        };
        self.stuck = stuck.into_iter().filter(stays).collect();
        self.stuck.len() != before
    }

    /// What is free in a switch's shared pool once all that is not stuck has left, for the VIQs of
    /// each priority.
    fn free_bytes(&self, switch: usize, stuck_bytes: &[BTreeMap<u16, u64>]) -> [u64; PRIORITIES] {
        let (settings, report) = &self.reports[switch];
        let mut taken_bytes = [0; PRIORITIES];
        for (&viq, &left_bytes) in &stuck_bytes[switch] {
            let (port, priority) = (usize::from(viq) / PRIORITIES, usize::from(viq) % PRIORITIES);
            let Some(viq) = settings.ports[port].lossless[priority] else { continue };
            let base_bytes = base_bytes(&report.ports[port].queues[priority]);
            taken_bytes[priority] +=
                left_bytes.min(base_bytes).saturating_sub(u64::from(viq.reserved_bytes));
        }
        let all_bytes = taken_bytes.iter().sum();
        let pool_bytes = lossless_shared_bytes(settings).saturating_sub(all_bytes);
        std::array::from_fn(|p| match settings.buffer.partition_bytes {
            None => pool_bytes,
            Some(sizes) => sizes[p].saturating_sub(taken_bytes[p]),
        })
    }

    /// A cycle among what is stuck: from each VEQ to the one that holds most of what pauses it.
    fn cycle(&self) -> Option<Deadlock> {
        let mut way = vec![*self.stuck.first()?];
        loop {
            let veq = *way.last()?;
            let (peer, input) = self.downstream(veq)?;
            let viq = viq_number(ViqId::new(input, self.fed((peer, input), veq.2)));
            let bytes_there = |next: &VeqKey| self.held_bytes.get(next)?.get(&viq).copied();
            let next = self
                .stuck
                .range((peer, PortId::FIRST, Priority::default())..)
                .take_while(|next| next.0 == peer)
                .filter_map(|next| Some((bytes_there(next)?, *next)))
                .max_by_key(|&(bytes, next)| (bytes, std::cmp::Reverse(next)));
            let (_, next) = next?;
            if let Some(start) = way.iter().position(|&seen| seen == next) {
                return Some(self.name(&way[start..]));
            }
            way.push(next);
        }
    }

    fn name(&self, cycle: &[VeqKey]) -> Deadlock {
        let first = (0..cycle.len()).min_by_key(|&at| cycle[at]).unwrap_or_default();
        let hop = |at: usize| {
            let (before, veq) = (cycle[(at + cycle.len() - 1) % cycle.len()], cycle[at]);
            let input = self.downstream(before).map_or(PortId::FIRST, |(_, input)| input);
            let input_priority = self.fed((veq.0, input), before.2);
            let viq = viq_number(ViqId::new(input, input_priority));
            DeadlockHop {
                switch: self.network.switch_node(veq.0).name.clone(),
                input,
                input_priority,
                output: veq.1,
                output_priority: veq.2,
                bytes: self.held_bytes[&veq].get(&viq).copied().unwrap_or_default(),
            }
        };
        Deadlock { hops: (first..first + cycle.len()).map(|at| hop(at % cycle.len())).collect() }
    }
}

/// Whether a VIQ with these settings, now as `gauges` say, sends XON when `left_bytes` are left of
/// it and `free_bytes` are free in the pool. Headroom is given back first, and while any is used
/// there is no XON.
fn resumes(viq: &ViqSettings, gauges: &QueueGauges, left_bytes: u64, free_bytes: u64) -> bool {
    let xon_limit_bytes = viq.xon_limit_bytes(viq.limit_bytes(free_bytes));
    left_bytes == 0 || left_bytes <= base_bytes(gauges) && left_bytes <= xon_limit_bytes
}

/// Whether `frame` resumes `priority`.
fn is_xon(frame: &SimFrame, priority: Priority) -> bool {
    frame.is_control()
        && matches!(MacControl::parse(frame.head()), MacControl::Pfc(pfc)
            if pfc.enabled_bits & priority.bit() != 0 && pfc.quanta[priority.index()] == 0)
}

/// Bytes of a VIQ that are not in its headroom.
fn base_bytes(gauges: &QueueGauges) -> u64 {
    u64::from(gauges.viq_bytes.saturating_sub(gauges.headroom_bytes))
}

/// Port index times eight, plus priority.
fn viq_number(viq: ViqId) -> u16 {
    u16::try_from(viq.index()).unwrap_or(u16::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::Pool;
    use dataplane::settings::Threshold;
    use dataplane::wire::MacAddress;
    use dataplane::wire::mac_control::Pfc;

    const STATIC: ViqSettings = ViqSettings {
        reserved_bytes: 2_000,
        threshold: Threshold::Static { xoff_bytes: 10_000 },
        xon_offset_bytes: 3_000,
        headroom_bytes: 50_000,
        rate_map: None,
    };

    /// A VIQ of so many bytes, some of them in its headroom.
    fn gauges(viq_bytes: u32, headroom_bytes: u32) -> QueueGauges {
        QueueGauges { viq_bytes, headroom_bytes, ..QueueGauges::default() }
    }

    #[test]
    fn a_viq_resumes_an_offset_below_its_threshold_and_not_while_headroom_is_used() {
        let full = gauges(30_000, 20_000);
        assert!(resumes(&STATIC, &full, 7_000, 0) && !resumes(&STATIC, &full, 7_001, 0));
        assert!(resumes(&STATIC, &full, 0, 0));
        // Its threshold was lower when headroom began: 5,000 B below it, 25,000 in headroom.
        let early = gauges(30_000, 25_000);
        assert!(resumes(&STATIC, &early, 5_000, 0) && !resumes(&STATIC, &early, 5_001, 0));
    }

    #[test]
    fn a_dynamic_threshold_is_what_it_will_be_when_the_rest_has_left() {
        let dynamic =
            |alpha_log2| ViqSettings { threshold: Threshold::dynamic(alpha_log2), ..STATIC };
        let full = gauges(30_000, 0);
        assert!(resumes(&dynamic(-1), &full, 9_000, 20_000));
        assert!(!resumes(&dynamic(-1), &full, 9_001, 20_000));
        assert!(resumes(&dynamic(1), &full, 9_000, 5_000));
        assert!(!resumes(&dynamic(1), &full, 9_001, 5_000));
    }

    #[test]
    fn only_a_pfc_frame_with_time_0_for_the_class_is_an_xon() {
        let p = Priority::from_low_bits;
        let pool = Pool::default();
        let frame = |pfc: Pfc| pool.take(&pfc.to_frame(MacAddress::default()), 60);
        let mixed = frame(Pfc::default().with(p(3), 0).with(p(4), 9));
        assert_eq!([2, 3, 4].map(|class| is_xon(&mixed, p(class))), [false, true, false]);
        let mut head = mixed.head().to_vec();
        head[12..14].copy_from_slice(&[0x08, 0x00]);
        let data = pool.take(&head, 60);
        assert!(!is_xon(&data, p(3)));
    }
}
