//! Any sequence of admissions and releases, against books kept the slow way: one line for each
//! frame.
//!
//! Promised: a VIQ's bytes are those of its frames; the whole buffer never holds more than it has;
//! headroom stays within its size and is used only while XOFF is due; what is within a reserve
//! always comes in; an upstream that is told XOFF may still send its headroom; lossy traffic keeps
//! its limit.

use dataplane::buffer::{Buffer, ViqId};
use dataplane::counters::DropReason;
use dataplane::ids::{PortId, Priority};
use dataplane::settings::{SwitchSettings, Threshold, ViqSettings};
use dataplane::testing::RigBuilder;
use dataplane::testing::Script;
use std::collections::BTreeMap;

const PORTS: u8 = 2;
/// Two lossless priorities and a lossy one.
const PRIORITIES: [u8; 3] = [0, 3, 4];
const CELL_BYTES: u32 = 64;

/// A VIQ's frames and what is expected of it.
#[derive(Debug, Default)]
struct Slow {
    frames: Vec<u32>,
    /// What came in since upstream was told to stop, if it was.
    since_xoff_bytes: Option<u32>,
}

impl Slow {
    fn bytes(&self) -> u32 {
        self.frames.iter().sum()
    }
}

/// Does what `data` says.
pub fn run(data: &[u8]) {
    let mut script = Script::new(data);
    let Some(settings) = settings(&mut script) else { return };
    let mut state = State { buffer: Buffer::new(&settings), settings, slow: BTreeMap::new() };
    while state.step(&mut script).is_some() {
        state.check();
    }
}

/// Small sizes, so that everything runs full; as `config` would have let them pass.
fn settings(script: &mut Script<'_>) -> Option<SwitchSettings> {
    let mut settings = RigBuilder::routed(PORTS).settings;
    let (mut committed, mut headroom) = (0, 0);
    for port in &mut settings.ports {
        for priority in PRIORITIES {
            let reserved_bytes = 1_000 + 8 * u32::from(script.octet()?);
            let headroom_bytes = 1_000 + 16 * u32::from(script.octet()?);
            let threshold = match script.octet()? {
                even if even % 2 == 0 => {
                    Threshold::Static { xoff_bytes: reserved_bytes + 16 * u32::from(even) }
                }
                odd => Threshold::Dynamic {
                    alpha_log2: i8::try_from(odd % 17).ok()? - 8,
                    xon_bytes: 8 * u32::from(script.octet()?),
                },
            };
            let xon_offset_bytes = 4 * u32::from(script.octet()?);
            let viq = ViqSettings {
                reserved_bytes,
                threshold,
                xon_offset_bytes,
                headroom_bytes,
                rate_map: None,
            };
            if priority != 0 {
                committed += u64::from(reserved_bytes) + u64::from(headroom_bytes);
                headroom += u64::from(headroom_bytes);
                port.lossless[usize::from(priority)] = Some(viq);
            }
        }
    }
    settings.buffer.cell_bytes = u16::try_from(CELL_BYTES).ok()?;
    settings.buffer.lossy_bytes = 64 * u64::from(script.octet()?);
    let shared_bytes = 64 * u64::from(script.octet()?);
    settings.buffer.size_bytes = committed + settings.buffer.lossy_bytes + shared_bytes;
    let headroom_pool = script.octet()?;
    if headroom_pool >= 128 {
        // Less than what all VIQs may use.
        let pool_bytes = 64 * u64::from(headroom_pool - 128);
        settings.buffer.headroom_pool_bytes = Some(pool_bytes.min(headroom));
    }
    Some(settings)
}

struct State {
    settings: SwitchSettings,
    buffer: Buffer,
    slow: BTreeMap<(u8, u8), Slow>,
}

fn viq_id(port: u8, priority: u8) -> ViqId {
    let port = PortId::from_index(usize::from(port)).unwrap_or_default();
    ViqId::new(port, Priority::from_low_bits(priority))
}

impl State {
    fn viq(&self, port: u8, priority: u8) -> Option<&ViqSettings> {
        self.settings.ports[usize::from(port)].lossless[usize::from(priority)].as_ref()
    }

    /// One operation; `None` at the end of the script.
    fn step(&mut self, script: &mut Script<'_>) -> Option<()> {
        let operation = script.octet()?;
        let port = script.below(PORTS)?;
        let priority = PRIORITIES[usize::from(script.below(3)?)];
        match operation % 8 {
            0..4 => self.admit(port, priority, u32::from(script.word()?) % 1_600),
            4 => self.admit_run(port, priority, 1 + u32::from(script.word()?) % 6_000),
            5 | 6 => {
                let number = usize::from(script.octet()?);
                self.release(port, priority, number);
            }
            _ => self.look(port),
        }
        Some(())
    }

    fn admit(&mut self, port: u8, priority: u8, bytes: u32) {
        let cost = self.buffer.cost_bytes(bytes);
        assert!(cost >= CELL_BYTES && cost >= bytes);
        let settings = self.viq(port, priority).copied();
        let lossy_before = self.buffer.pool.lossy.bytes;
        let viq = self.buffer.viq(viq_id(port, priority));
        let (held, in_headroom) = (viq.bytes(), viq.headroom_used_bytes());
        let admission = self.buffer.admit(viq_id(port, priority), cost);
        self.note_headroom(viq_id(port, priority));
        let left = self.headroom_pool_left();
        let slow = self.slow.entry((port, priority)).or_default();
        match (settings, admission) {
            (_, Ok(())) => {
                slow.frames.push(cost);
                slow.since_xoff_bytes = slow.since_xoff_bytes.map(|bytes| bytes + cost);
            }
            (None, Err(DropReason::IngressLimit)) => {
                assert!(lossy_before + u64::from(cost) > self.settings.buffer.lossy_bytes);
            }
            (Some(viq), Err(DropReason::HeadroomOverrun)) => {
                let in_reserve = in_headroom == 0 && held + cost <= viq.reserved_bytes;
                assert!(!in_reserve, "{cost} bytes do not come into a reserve of {viq:?}");
                if let Some(since) = slow.since_xoff_bytes
                    && u64::from(cost) <= left
                {
                    let promised = viq.headroom_bytes;
                    assert!(since + cost > promised, "{since} + {cost} after XOFF, of {promised}");
                }
            }
            (viq, other) => panic!("{other:?} of {viq:?}"),
        }
    }

    /// What all VIQs together may still use of headroom that they share.
    fn headroom_pool_left(&self) -> u64 {
        let used = self.slow.keys().map(|&(port, priority)| {
            u64::from(self.buffer.viq(viq_id(port, priority)).headroom_used_bytes())
        });
        let pool_bytes = self.settings.buffer.headroom_pool_bytes;
        pool_bytes.map_or(u64::MAX, |pool_bytes| pool_bytes - used.sum::<u64>())
    }

    /// As the pipeline does after it has charged a VIQ.
    fn note_headroom(&mut self, viq: ViqId) {
        if self.buffer.viq(viq).headroom_used_bytes() != 0 {
            self.buffer.note_headroom(viq);
        }
    }

    /// A run comes in as a whole or not at all; and into headroom, all of it, if that is in use and
    /// has the room.
    fn admit_run(&mut self, port: u8, priority: u8, cost: u32) {
        let id = viq_id(port, priority);
        let before = self.buffer.viq(id).bytes();
        let in_headroom = self.buffer.viq(id).headroom_used_bytes();
        let came_in = self.buffer.admit_run(id, cost);
        self.note_headroom(id);
        let viq = self.buffer.viq(id);
        let more = if came_in { cost } else { 0 };
        let more_headroom = if in_headroom > 0 { more } else { 0 };
        assert_eq!(viq.headroom_used_bytes(), in_headroom + more_headroom);
        assert_eq!(viq.bytes(), before + more);
        let headroom = self.viq(port, priority).map_or(0, |settings| settings.headroom_bytes);
        assert!(viq.headroom_used_bytes() <= headroom, "more headroom than there is");
        if came_in {
            let slow = self.slow.entry((port, priority)).or_default();
            slow.frames.push(cost);
            slow.since_xoff_bytes = slow.since_xoff_bytes.map(|bytes| bytes + cost);
        }
    }

    fn release(&mut self, port: u8, priority: u8, number: usize) {
        let slow = self.slow.entry((port, priority)).or_default();
        if slow.frames.is_empty() {
            return;
        }
        let cost = slow.frames.swap_remove(number % slow.frames.len());
        self.buffer.release(viq_id(port, priority), cost);
    }

    /// The generator looks whether upstream must be silent.
    fn look(&mut self, port: u8) {
        let id = PortId::from_index(usize::from(port)).unwrap_or_default();
        let bits = self.buffer.xoff_bits(id, 0xFF);
        for priority in PRIORITIES {
            let viq = self.buffer.viq(viq_id(port, priority));
            let is_xoff = bits >> priority & 1 == 1;
            let is_lossless = self.viq(port, priority).is_some();
            assert!(is_lossless || !is_xoff, "a lossy VIQ pauses nobody");
            assert!(viq.bytes() > 0 || !is_xoff, "an empty VIQ pauses nobody");
            assert!(
                !is_lossless || viq.headroom_used_bytes() == 0 || is_xoff,
                "headroom is for XOFF"
            );
            let slow = self.slow.entry((port, priority)).or_default();
            // From the first look that says XOFF on, upstream may send its headroom and no more.
            slow.since_xoff_bytes = match (is_xoff, slow.since_xoff_bytes) {
                (true, None) => Some(viq.headroom_used_bytes()),
                (true, since) => since,
                (false, _) => None,
            };
        }
    }

    fn check(&self) {
        let mut all = 0;
        for (&(port, priority), slow) in &self.slow {
            let viq = self.buffer.viq(viq_id(port, priority));
            assert_eq!(viq.bytes(), slow.bytes(), "port {port} priority {priority}");
            assert!(self.buffer.peak_bytes(viq_id(port, priority)) >= viq.bytes());
            all += u64::from(viq.bytes());
            if let Some(settings) = self.viq(port, priority) {
                assert!(viq.headroom_used_bytes() <= settings.headroom_bytes);
            }
        }
        assert!(all <= self.settings.buffer.size_bytes, "{all} bytes in the buffer");
        let pool = self.buffer.pool;
        assert!(pool.lossy.bytes <= self.settings.buffer.lossy_bytes);
        assert!(pool.shared.bytes <= pool.shared.size_bytes);
        let _left = self.headroom_pool_left();
        let of_lossy = |((_, priority), slow): (&(u8, u8), &Slow)| {
            if *priority == 0 { u64::from(slow.bytes()) } else { 0 }
        };
        assert_eq!(pool.lossy.bytes, self.slow.iter().map(of_lossy).sum::<u64>());
    }
}
