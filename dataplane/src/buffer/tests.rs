//! Compares the buffer with an oracle that stores every frame and what it was charged to, and
//! recomputes everything from that list each time.

use super::*;
use crate::settings::{
    MacTableSettings, PortSettings, SchedulerSettings, SwitchSettings, Threshold, ViqSettings,
};
use crate::time::Speed;
use crate::wire::MacAddress;
use proptest::prelude::*;
use std::string::String;
use std::vec;

const PORTS: usize = 3;
const CELL: u16 = 256;

pub(super) fn settings(
    lossless: &[(usize, ViqSettings)],
    size_bytes: u64,
    lossy_bytes: u64,
) -> SwitchSettings {
    let mut by_priority = [None; 8];
    lossless.iter().for_each(|&(priority, viq)| by_priority[priority] = Some(viq));
    let port = PortSettings {
        name: String::new(),
        mac: MacAddress::default(),
        speed: Speed::from_gbps(10),
        paced: false,
        frame_bytes_max: 1514,
        worker: crate::ids::WorkerId(0),
        lossless: by_priority,
        upstream: Priority::EACH,
        host_priority: None,
        peak_rates: [None; 8],
        gfc: None,
        watchdog: None,
        rx_backlog_xoff_frames: 0,
        further_queues: alloc::vec![],
    };
    SwitchSettings {
        ports: vec![port; PORTS],
        buffer: BufferSettings {
            size_bytes,
            cell_bytes: CELL,
            lossy_bytes,
            lossy_queue_bytes: u32::MAX,
            lossy_queue_alpha_log2: None,
            frames_max: 1000,
            partition_bytes: None,
            headroom_pool_bytes: None,
        },
        scheduler: SchedulerSettings { strict_bits: 0, quantum_bytes: [1514; 8], fair: false },
        ecn: [None; 8],
        wred: [None; 8],
        big_red_switch: false,
        mac_table: MacTableSettings { entries_max: 16, age_ns: 1, hold_ns: 0 },
        telemetry: None,
        seed: 0,
        host_rates: None,
    }
}

fn viq(threshold: Threshold) -> ViqSettings {
    ViqSettings {
        reserved_bytes: 2_000,
        threshold,
        xon_offset_bytes: 3_000,
        headroom_bytes: 10_000,
        rate_map: None,
    }
}

fn static_xoff(xoff_bytes: u32) -> ViqSettings {
    viq(Threshold::Static { xoff_bytes })
}

fn id(port: usize, priority: u8) -> ViqId {
    ViqId::new(PortId::from_index(port).unwrap(), Priority::new(priority).unwrap())
}

fn xoff(buffer: &mut Buffer, port: usize) -> u8 {
    buffer.xoff_bits(PortId::from_index(port).unwrap(), 0xFF)
}

#[test]
fn a_short_frame_costs_a_cell() {
    let buffer = Buffer::new(&settings(&[], 100_000, 100_000));
    assert_eq!(
        (buffer.cost_bytes(60), buffer.cost_bytes(256), buffer.cost_bytes(1500)),
        (256, 256, 1500)
    );
}

#[test]
fn static_limits_hold_to_the_frame() {
    let mut buffer = Buffer::new(&settings(&[(3, static_xoff(20_000))], 200_000, 50_000));
    for frame in 1..=20 {
        assert_eq!(buffer.admit(id(0, 3), 1_000), Ok(()));
        assert_eq!(xoff(&mut buffer, 0), 0, "frame {frame} reaches the threshold, not more");
    }
    assert_eq!(buffer.admit(id(0, 3), 1_000), Ok(()));
    assert_eq!(xoff(&mut buffer, 0), 1 << 3, "one frame over");
    assert_eq!(buffer.viq(id(0, 3)).headroom_used_bytes(), 1_000);
    for _ in 0..9 {
        assert_eq!(buffer.admit(id(0, 3), 1_000), Ok(()), "headroom");
    }
    assert_eq!(
        buffer.admit(id(0, 3), 1_000),
        Err(DropReason::HeadroomOverrun),
        "one beyond headroom"
    );
    assert_eq!(xoff(&mut buffer, 1), 0, "another port is not told");

    for left in (18..30).rev() {
        buffer.release(id(0, 3), 1_000);
        assert_eq!(xoff(&mut buffer, 0), 1 << 3, "{left} KB: not yet 3 KB below the threshold");
    }
    buffer.release(id(0, 3), 1_000);
    assert_eq!(xoff(&mut buffer, 0), 0, "17 KB: XON");
}

#[test]
fn once_headroom_is_used_arrivals_go_there_until_it_is_empty() {
    let mut buffer = Buffer::new(&settings(&[(3, static_xoff(4_000))], 200_000, 50_000));
    (0..6).for_each(|_| assert_eq!(buffer.admit(id(0, 3), 1_000), Ok(())));
    assert_eq!(buffer.viq(id(0, 3)).headroom_used_bytes(), 2_000);
    buffer.release(id(0, 3), 1_000);
    assert_eq!(buffer.viq(id(0, 3)).headroom_used_bytes(), 1_000, "headroom is given back first");
    buffer.admit(id(0, 3), 300).unwrap();
    assert_eq!(buffer.viq(id(0, 3)).headroom_used_bytes(), 1_300, "and still charged");
    buffer.release(id(0, 3), 1_300);
    buffer.release(id(0, 3), 1_000);
    buffer.admit(id(0, 3), 300).unwrap();
    assert_eq!(buffer.viq(id(0, 3)).headroom_used_bytes(), 0, "empty: the threshold counts again");
}

#[test]
fn a_dynamic_threshold_follows_what_is_free() {
    let dynamic = viq(Threshold::dynamic(0));
    // Three ports of 12,000 set aside: 60,000 are shared.
    let mut buffer = Buffer::new(&settings(&[(3, dynamic)], 96_000, 0));
    assert_eq!(buffer.pool.shared.size_bytes, 60_000);
    // Alpha 1: one VIQ takes half of the pool on top of its reserve.
    let alone = (0..).take_while(|_| {
        buffer.admit(id(0, 3), 500).unwrap();
        xoff(&mut buffer, 0) == 0
    });
    assert_eq!(alone.count(), 64, "2,000 + 30,000 bytes of 500-byte frames");
    // The second finds 30,000 free and takes half of that.
    let second = (0..).take_while(|_| {
        buffer.admit(id(1, 3), 500).unwrap();
        xoff(&mut buffer, 1) == 0
    });
    assert_eq!(second.count(), 34, "2,000 + 15,000 bytes");
}

#[test]
fn a_dynamic_threshold_below_the_offset_does_not_hold_an_empty_viq() {
    let dynamic = viq(Threshold::dynamic(-7));
    let mut buffer = Buffer::new(&settings(&[(3, dynamic)], 60_000, 0));
    (0..30).for_each(|_| _ = buffer.admit(id(0, 3), 256));
    assert_eq!(xoff(&mut buffer, 0), 1 << 3);
    (0..30).for_each(|_| buffer.release(id(0, 3), 256));
    assert_eq!(xoff(&mut buffer, 0), 0);
}

#[test]
fn lossy_traffic_stops_at_its_limit_and_never_asks_for_a_pause() {
    let mut buffer = Buffer::new(&settings(&[(3, static_xoff(20_000))], 200_000, 5_000));
    (0..5).for_each(|_| assert_eq!(buffer.admit(id(0, 0), 1_000), Ok(())));
    assert_eq!(
        buffer.admit(id(1, 1), 1_000),
        Err(DropReason::IngressLimit),
        "one limit for all ports"
    );
    assert_eq!(xoff(&mut buffer, 0), 0);
    assert_eq!(buffer.admit(id(0, 3), 1_000), Ok(()), "lossless has room of its own");
    buffer.release(id(0, 0), 1_000);
    assert_eq!(buffer.admit(id(1, 1), 1_000), Ok(()));
}

#[test]
fn a_partition_that_is_full_leaves_the_others_theirs() {
    let classes = [(3, static_xoff(40_000)), (4, static_xoff(40_000))];
    let mut settings = settings(&classes, 172_000, 0);
    // Three ports, two classes, 12,000 each set aside: 100,000 are shared.
    settings.buffer.partition_bytes = Some([0, 0, 0, 50_000, 50_000, 0, 0, 0]);
    let mut buffer = Buffer::new(&settings);
    // Class 3 takes all it can reach, from every port, headroom included.
    for port in 0..PORTS {
        while buffer.admit(id(port, 3), 500).is_ok() {}
    }
    assert_eq!(buffer.pool.shared.bytes, 50_000, "and no byte of the other's");
    assert_eq!((0..PORTS).fold(0, |bits, port| bits | xoff(&mut buffer, port)), 1 << 3);
    // Class 4 finds what it would have found alone.
    let alone = (0..).take_while(|_| {
        buffer.admit(id(0, 4), 500).unwrap();
        xoff(&mut buffer, 0) & 1 << 4 == 0
    });
    assert_eq!(alone.count(), 80, "40,000 bytes of 500-byte frames");
}

/// What a frame was charged to.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Segment {
    Lossy,
    Base,
    Headroom,
}

/// Every admitted frame of every VIQ; nothing is derived.
#[derive(Clone, Default)]
struct Oracle {
    charges: [[Vec<(u32, Segment)>; 8]; PORTS],
    xoff: [[bool; 8]; PORTS],
}

impl Oracle {
    fn sum(&self, port: usize, priority: usize, segment: Segment) -> u32 {
        let of = |charge: &&(u32, Segment)| charge.1 == segment;
        self.charges[port][priority].iter().filter(of).map(|charge| charge.0).sum()
    }

    fn shared(&self, settings: &SwitchSettings) -> u64 {
        (0..8).map(|p| self.shared_by(settings, p)).sum()
    }

    fn shared_by(&self, settings: &SwitchSettings, p: usize) -> u64 {
        let each = |port: usize, p: usize| {
            settings.ports[port].lossless[p].map_or(0, |viq| {
                u64::from(self.sum(port, p, Segment::Base).saturating_sub(viq.reserved_bytes))
            })
        };
        (0..PORTS).map(|port| each(port, p)).sum()
    }

    /// What is free for `p`: of the pool, or of its partition.
    fn free(&self, settings: &SwitchSettings, p: usize) -> i64 {
        let (size, used) = match settings.buffer.partition_bytes {
            None => (lossless_shared_bytes(settings), self.shared(settings)),
            Some(sizes) => (sizes[p], self.shared_by(settings, p)),
        };
        i64::try_from(size).unwrap() - i64::try_from(used).unwrap()
    }

    fn all(&self, segment: Segment) -> u64 {
        let each = |(port, p)| u64::from(self.sum(port, p, segment));
        (0..PORTS).flat_map(|port| (0..8).map(move |p| (port, p))).map(each).sum()
    }

    fn lossy(&self) -> u64 {
        self.all(Segment::Lossy)
    }

    fn headroom(&self) -> u64 {
        self.all(Segment::Headroom)
    }

    fn limit(&self, settings: &SwitchSettings, p: usize, viq: &ViqSettings) -> u64 {
        match viq.threshold {
            Threshold::Static { xoff_bytes } => u64::from(xoff_bytes),
            Threshold::Dynamic { alpha_log2, .. } => {
                let free = self.free(settings, p).max(0);
                let share = (free as f64 * f64::from(alpha_log2).exp2()) as u64;
                u64::from(viq.reserved_bytes) + share
            }
        }
    }

    fn admit(
        &mut self,
        settings: &SwitchSettings,
        port: usize,
        p: usize,
        cost: u32,
    ) -> Result<(), DropReason> {
        let Some(viq) = settings.ports[port].lossless[p] else {
            if self.lossy() + u64::from(cost) > settings.buffer.lossy_bytes {
                return Err(DropReason::IngressLimit);
            }
            self.charges[port][p].push((cost, Segment::Lossy));
            return Ok(());
        };
        let base = self.sum(port, p, Segment::Base);
        let headroom = self.sum(port, p, Segment::Headroom);
        let limit = self.limit(settings, p, &viq);
        if headroom == 0 {
            let before = self.shared(settings);
            self.charges[port][p].push((cost, Segment::Base));
            let in_pool = self.free(settings, p) >= 0 || self.shared(settings) == before;
            if base + cost <= viq.reserved_bytes || u64::from(base + cost) <= limit && in_pool {
                return Ok(());
            }
            self.charges[port][p].pop();
        }
        let pool_bytes = settings.buffer.headroom_pool_bytes.unwrap_or(u64::MAX);
        let is_exhausted = self.headroom() + u64::from(cost) > pool_bytes;
        if headroom + cost > viq.headroom_bytes || is_exhausted {
            return Err(DropReason::HeadroomOverrun);
        }
        self.charges[port][p].push((cost, Segment::Headroom));
        Ok(())
    }

    /// Releases `cost` bytes, headroom first. A charge is split if only part of it is released.
    fn release(&mut self, port: usize, p: usize, mut cost: u32) {
        for segment in [Segment::Headroom, Segment::Base, Segment::Lossy] {
            for charge in self.charges[port][p].iter_mut().filter(|charge| charge.1 == segment) {
                let taken = charge.0.min(cost);
                charge.0 -= taken;
                cost -= taken;
            }
        }
        self.charges[port][p].retain(|charge| charge.0 > 0);
        assert_eq!(cost, 0);
    }

    fn xoff_bits(&mut self, settings: &SwitchSettings, port: usize) -> u8 {
        (0..8).fold(0, |bits, p| bits | u8::from(self.is_xoff(settings, port, p)) << p)
    }

    fn is_xoff(&mut self, settings: &SwitchSettings, port: usize, p: usize) -> bool {
        let Some(viq) = settings.ports[port].lossless[p] else { return false };
        let base = u64::from(self.sum(port, p, Segment::Base));
        let headroom = self.sum(port, p, Segment::Headroom);
        let limit = self.limit(settings, p, &viq);
        let reserve = u64::from(viq.reserved_bytes);
        let over = if self.xoff[port][p] {
            let offset = u64::from(viq.xon_offset_bytes);
            let is_at_xon = match viq.threshold {
                Threshold::Static { .. } => false,
                Threshold::Dynamic { xon_bytes, .. } => base <= u64::from(xon_bytes).min(limit),
            };
            base > 0 && base + offset > limit && base + offset > reserve && !is_at_xon
        } else {
            base > limit && base > reserve
        };
        self.xoff[port][p] = headroom > 0 || over;
        self.xoff[port][p]
    }
}

/// Port, priority, length, and action: a frame is admitted twice as often as one is released; or a
/// burst is admitted, of equal frames or not.
fn step() -> impl Strategy<Value = (usize, u8, u32, u8)> {
    (0..PORTS, prop::sample::select(vec![0_u8, 3, 4]), 60_u32..1514, 0..6_u8)
}

proptest! {
    #[test]
    fn the_buffer_agrees_with_the_oracle(
        dynamic: bool, alpha_log2 in -4_i8..3, parts: bool,
        xon_bytes in prop_oneof![Just(0_u32), 1_000..40_000_u32],
        headroom_pool in proptest::option::of(1_000..30_000_u64),
        steps in proptest::collection::vec(step(), 1..400),
    ) {
        let threshold = if dynamic {
            Threshold::Dynamic { alpha_log2, xon_bytes }
        } else {
            Threshold::Static { xoff_bytes: 15_000 }
        };
        let classes = [(3, viq(threshold)), (4, static_xoff(9_000))];
        let mut settings = settings(&classes, 160_000, 12_000);
        // 76,000 B are shared: a third for priority 3, and less for priority 4 than three static
        // thresholds of it take.
        settings.buffer.partition_bytes = parts.then_some([0, 0, 0, 25_000, 15_000, 0, 0, 0]);
        // Six VIQs could use 60,000 B of headroom.
        if let Some(pool_bytes) = headroom_pool {
            settings.buffer.headroom_pool_bytes = Some(pool_bytes);
            settings.buffer.size_bytes = 100_000 + pool_bytes;
        }
        prop_assert_eq!(lossless_shared_bytes(&settings), 76_000);
        let mut buffer = Buffer::new(&settings);
        let mut oracle = Oracle::default();
        for (port, priority, bytes, action) in steps {
            let p = usize::from(priority);
            let cost = buffer.cost_bytes(bytes);
            if action >= 4 {
                // All or none are admitted; if all, the result is the same as one by one.
                let costs: Vec<u32> = match action {
                    4 => vec![buffer.cell_bytes(); bytes as usize / 100],
                    _ => (0..bytes / 200).map(|n| cost + n * 10).collect(),
                };
                let viq = id(port, priority);
                let count = u32::try_from(costs.len()).unwrap();
                let together = buffer.admit_run(viq, costs.iter().sum())
                    || action == 4 && buffer.admit_cells(viq, count);
                let mut alone = oracle.clone();
                let one_by_one = costs
                    .iter()
                    .all(|&cost| alone.admit(&settings, port, p, cost) == Ok(()));
                prop_assert!(one_by_one || !together, "let in what may not come in");
                prop_assert!(together || action != 4 || !one_by_one, "kept out what may come in");
                if together {
                    oracle = alone;
                }
            } else if action < 2 {
                prop_assert_eq!(buffer.admit(id(port, priority), cost), oracle.admit(&settings, port, p, cost));
            } else if let Some(&(cost, _)) = oracle.charges[port][p].first() {
                buffer.release(id(port, priority), cost);
                oracle.release(port, p, cost);
            }
            let total: u32 = oracle.charges[port][p].iter().map(|charge| charge.0).sum();
            let viq = buffer.viq(id(port, priority));
            prop_assert_eq!(viq.bytes(), total);
            prop_assert_eq!(viq.headroom_used_bytes(), oracle.sum(port, p, Segment::Headroom));
            prop_assert_eq!(buffer.pool.shared.bytes, oracle.shared(&settings));
            prop_assert_eq!(buffer.pool.lossy.bytes, oracle.lossy());
            prop_assert_eq!(buffer.pool.headroom.bytes, oracle.headroom());
            let left = |p: usize, size: u32| {
                let own = u64::from(size - oracle.sum(port, p, Segment::Headroom));
                own.min(headroom_pool.unwrap_or(u64::MAX) - oracle.headroom())
            };
            let lossless = settings.ports[port].lossless.iter().enumerate();
            let left = lossless.filter_map(|(p, viq)| Some(left(p, viq.as_ref()?.headroom_bytes)));
            prop_assert_eq!(
                Some(u64::from(buffer.headroom_left_bytes(PortId::from_index(port).unwrap(), 0b0001_1000))),
                left.min()
            );
            for port in 0..PORTS {
                prop_assert_eq!(xoff(&mut buffer, port), oracle.xoff_bits(&settings, port));
            }
        }
    }
}

#[test]
fn the_ledger_tells_the_owner_what_others_released() {
    let settings = settings(&[(3, static_xoff(20_000))], 200_000, 50_000);
    let mut buffer = Buffer::new(&settings);
    let ledger = alloc::sync::Arc::new(Ledger::new(PORTS));
    let mut reader = LedgerReader::new(alloc::sync::Arc::clone(&ledger));
    let mut writer = LedgerWriter::new(ledger);
    let own = [PortId::from_index(0).unwrap(), PortId::from_index(2).unwrap()];
    (0..4).for_each(|_| _ = buffer.admit(id(0, 3), 1_000));
    buffer.admit(id(2, 0), 500).unwrap();
    writer.add_release(id(0, 3), 1_000);
    writer.add_release(id(0, 3), 1_000);
    reader.collect(&own, &mut buffer);
    assert_eq!(buffer.viq(id(0, 3)).bytes(), 4_000, "not published yet");
    writer.add_release(id(2, 0), 500);
    writer.publish_releases();
    reader.collect(&own, &mut buffer);
    reader.collect(&own, &mut buffer);
    assert_eq!(
        (buffer.viq(id(0, 3)).bytes(), buffer.viq(id(2, 0)).bytes()),
        (2_000, 0),
        "once each"
    );
    writer.publish_use(7, 9);
    assert_eq!(reader.used_bytes(), (7, 9));
}
