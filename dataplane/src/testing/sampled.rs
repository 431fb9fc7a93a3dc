//! What the sampling tells of a switch, against the switch's own counters.

use super::TestDevice;
use crate::capture::record::{Ending, Kind};
use crate::counters::DropReason;
use crate::ids::PortId;
use crate::punt::PuntReason;
use crate::report::Report;
use crate::sampling::{Sample, SampleReader, SamplingSettings, connect};
use crate::worker::Worker;
use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::vec;
use alloc::vec::Vec;

/// Room for all samples of a step.
const RING_SAMPLES: usize = 1_000;

/// The samples of one switch, counted.
#[derive(Debug)]
pub(super) struct Sampled {
    reader: SampleReader,
    rate: u32,
    /// By port: frames that arrived.
    arrived: BTreeMap<PortId, u64>,
    /// By port: samples of received frames.
    received: BTreeMap<PortId, u64>,
    /// By port and cause.
    drops: BTreeMap<(PortId, u8), u64>,
    punts: u64,
}

impl Sampled {
    /// One received frame in `rate`, and all drops.
    pub(super) fn new(worker: &mut Worker<TestDevice>, rate: u32) -> Self {
        let settings = SamplingSettings {
            rates: vec![rate; worker.core.ports.len()],
            drops_per_second: u32::MAX,
            header_bytes: 64,
            seed: u64::from(rate),
        };
        let (sampling, reader) = connect(&settings, 0, RING_SAMPLES);
        let _none_before = worker.core.accounting.set_sampling(Some(sampling));
        Self {
            reader,
            rate,
            arrived: BTreeMap::new(),
            received: BTreeMap::new(),
            drops: BTreeMap::new(),
            punts: 0,
        }
    }

    /// So many frames arrive at `port` next.
    pub(super) fn receives(&mut self, port: PortId, frames: usize) {
        *self.arrived.entry(port).or_default() += frames as u64;
    }

    /// Reads all samples.
    pub(super) fn read(&mut self) {
        while let Ok(sample) = self.reader.ring.pop() {
            self.count(&sample);
        }
    }

    fn count(&mut self, sample: &Sample) {
        let record = &sample.record;
        assert!(sample.header.len() <= record.frame_bytes as usize);
        match record.kind {
            Kind::In => {
                *self.received.entry(record.port).or_default() += 1;
                assert_eq!(sample.pool, self.arrived[&record.port], "as of this burst");
                assert!(record.ending != Ending::Forwarded || record.out_port.is_some());
                let has_cause = matches!(record.ending, Ending::Dropped | Ending::Punted);
                assert_eq!(record.cause.is_some(), has_cause, "{record:?}");
            }
            Kind::Drop => {
                let cause = record.cause.expect("a drop has a cause");
                *self.drops.entry((record.port, cause)).or_default() += 1;
            }
            Kind::Punt => {
                let why = PuntReason::ALL[usize::from(record.cause.expect("it has a cause"))];
                assert!(!matches!(why, PuntReason::ForUs | PuntReason::Lldp | PuntReason::Host));
                self.punts += 1;
            }
            other => panic!("{other:?} is not sampled"),
        }
    }

    /// All drops are told, cause by cause; at a rate of 1, all frames are sampled.
    pub(super) fn check(&mut self, worker: &Worker<TestDevice>) {
        self.read();
        assert_eq!((self.reader.missed_samples(), self.reader.missed_drops()), (0, 0));
        if self.rate == 1 {
            let arrived: Vec<_> = self.arrived.iter().filter(|(_, frames)| **frames > 0).collect();
            assert_eq!(self.received.iter().collect::<Vec<_>>(), arrived);
        }
        let mut report = Box::<Report>::default();
        worker.report(&mut report, crate::time::Instant::ZERO);
        let mut punted = 0;
        for port in &report.ports {
            punted += port.counters.punted_frames;
            for &why in DropReason::ALL {
                let seen = self.drops.get(&(port.port, why as u8)).copied().unwrap_or_default();
                assert_eq!(seen, port.counters.dropped(why), "{why:?} at {}", port.port);
            }
        }
        assert!(self.punts <= punted);
    }
}
