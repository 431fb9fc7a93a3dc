//! Pauses are obeyed: once a PFC frame has arrived whole, no frame of a paused class starts on the
//! wire in the other direction until the class is resumed or its time has run out (IEEE 802.1Q,
//! clause 36). The check reads the wires and has its own clock: an oracle for the receivers of
//! switches and hosts.

use super::violation::Violation;
use crate::event::Picoseconds;
use crate::frame::SimFrame;
use dataplane::frame::Frame;
use dataplane::gfc::{Form, is_rate};
use dataplane::ids::Priority;
use dataplane::limits::PRIORITIES;
use dataplane::time::Speed;
use dataplane::wire::mac_control::MacControl;

/// Nodes count in nanoseconds, and may be early by so much.
const SLACK_PS: Picoseconds = 2_000;
const PS_PER_SECOND: u128 = 1_000_000_000_000;
/// Bits of a quantum.
const QUANTUM_BITS: u128 = 512;

/// Since when and until when a priority is paused, or was last.
#[derive(Clone, Copy, Debug, Default)]
struct Pause {
    since_ps: Picoseconds,
    until_ps: Picoseconds,
}

/// A span of time in which a wire's sender was paused in a priority.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) wire: u32,
    pub(crate) priority: u8,
    pub(crate) from_ps: Picoseconds,
    pub(crate) to_ps: Picoseconds,
}

/// See the module's head.
#[derive(Clone, Debug)]
pub(crate) struct PauseWatch {
    pub(crate) lossless_bits: u8,
    /// The form of rate frames, which are not pauses.
    form: Option<Form>,
    /// Whether a watchdog may let frames go in spite of a pause.
    may_be_ignored: bool,
    /// By wire: the priorities in which its sender is paused. Few bytes, which stay in the cache.
    xoff_sent_bits: Vec<u8>,
    /// By wire and priority.
    pauses: Vec<[Pause; PRIORITIES]>,
    spans: Vec<Span>,
    /// The first by time, and of one instant by wire: when, on which wire, in which priority.
    violation: Option<(Picoseconds, u32, u8)>,
}

impl PauseWatch {
    pub(crate) fn new(wires: usize, lossless_bits: u8) -> Self {
        let (xoff_sent_bits, pauses) = (vec![0; wires], vec![Default::default(); wires]);
        let spans = Vec::new();
        let (form, may_be_ignored, violation) = (None, false, None);
        Self { lossless_bits, form, may_be_ignored, xoff_sent_bits, pauses, spans, violation }
    }

    /// Treats rates in `form` as no pauses.
    pub(crate) fn gfc(self, form: Option<Form>) -> Self {
        Self { form, ..self }
    }

    /// Accepts frames in spite of a pause, as a watchdog may forward them.
    pub(crate) fn excusing(self, may_be_ignored: bool) -> Self {
        Self { may_be_ignored, ..self }
    }

    /// A control frame arrived at the sender of `wire`, which sends at `speed`.
    pub(crate) fn on_control(
        &mut self,
        wire: u32,
        speed: Speed,
        frame: &SimFrame,
        now_ps: Picoseconds,
    ) {
        let MacControl::Pfc(pfc) = MacControl::parse(frame.head()) else { return };
        for p in Priority::in_bits(pfc.enabled_bits & self.lossless_bits) {
            self.expire(wire, p, now_ps);
            let is_rate = self.form.is_some_and(|form| is_rate(form, pfc.quanta[p.index()]));
            let quanta = if is_rate { 0 } else { pfc.quanta[p.index()] };
            let is_paused = self.is_paused_in(wire, p);
            if quanta == 0 {
                if is_paused {
                    self.end(wire, p, now_ps);
                }
                continue;
            }
            let pause = &mut self.pauses[wire as usize][p.index()];
            if !is_paused {
                self.xoff_sent_bits[wire as usize] |= p.bit();
                pause.since_ps = now_ps;
            }
            pause.until_ps = now_ps + quanta_ps(quanta, speed);
        }
    }

    /// Whether the sender of `wire` is paused in any priority.
    pub(crate) fn is_paused(&self, wire: u32) -> bool {
        self.xoff_sent_bits[wire as usize] != 0
    }

    /// Whether the sender of `wire` is paused in `priority`.
    fn is_paused_in(&self, wire: u32, priority: Priority) -> bool {
        self.xoff_sent_bits[wire as usize] & priority.bit() != 0
    }

    /// A data frame of `priority` starts on `wire`.
    pub(crate) fn starts(&mut self, wire: u32, priority: Priority, now_ps: Picoseconds) {
        self.expire(wire, priority, now_ps + SLACK_PS);
        let is_paused = self.is_paused_in(wire, priority);
        if is_paused && !self.may_be_ignored {
            let violation = (now_ps, wire, priority.value());
            self.violation = Some(self.violation.map_or(violation, |first| first.min(violation)));
        }
    }

    /// The link of `wire` went down: its sender is no longer paused.
    pub(crate) fn on_link_down(&mut self, wire: u32, now_ps: Picoseconds) {
        for priority in Priority::all() {
            self.expire(wire, priority, now_ps);
            if self.is_paused_in(wire, priority) {
                self.end(wire, priority, now_ps);
            }
        }
    }

    fn expire(&mut self, wire: u32, priority: Priority, now_ps: Picoseconds) {
        if self.is_paused_in(wire, priority) {
            let until_ps = self.pauses[wire as usize][priority.index()].until_ps;
            if until_ps <= now_ps {
                self.end(wire, priority, until_ps);
            }
        }
    }

    fn end(&mut self, wire: u32, priority: Priority, to_ps: Picoseconds) {
        self.xoff_sent_bits[wire as usize] &= !priority.bit();
        let from_ps = self.pauses[wire as usize][priority.index()].since_ps;
        self.spans.push(Span { wire, priority: priority.value(), from_ps, to_ps });
    }

    /// Since when the sender of `wire` is paused in `priority`; `None` if it is not.
    pub(crate) fn since_ps(&self, wire: u32, priority: Priority) -> Option<Picoseconds> {
        let xoff_sent_bits = self.xoff_sent_bits.get(wire as usize)?;
        let is_paused_in = xoff_sent_bits & priority.bit() != 0;
        is_paused_in.then(|| self.pauses[wire as usize][priority.index()].since_ps)
    }

    /// All pauses so far; running ones end at `now_ps`.
    pub(crate) fn spans(&self, now_ps: Picoseconds) -> impl Iterator<Item = Span> {
        let wires = (0_u32..).zip(&self.xoff_sent_bits).zip(&self.pauses);
        let running = wires.flat_map(move |((wire, &xoff_sent_bits), pauses)| {
            Priority::in_bits(xoff_sent_bits).map(move |p| Span {
                wire,
                priority: p.value(),
                from_ps: pauses[p.index()].since_ps,
                to_ps: pauses[p.index()].until_ps.min(now_ps),
            })
        });
        self.spans.iter().copied().chain(running)
    }

    /// The first frame that started in a pause, by all watches. `name` names the sender of a wire.
    pub(crate) fn check(watches: &[&Self], name: impl Fn(u32) -> String) -> Result<(), Violation> {
        let first = watches.iter().filter_map(|watch| watch.violation).min();
        let Some((at_ps, wire, priority)) = first else { return Ok(()) };
        let priority = Priority::from_low_bits(priority);
        Err(Violation::PauseIgnored { sender: name(wire), priority, at_ps })
    }
}

fn quanta_ps(quanta: u16, speed: Speed) -> Picoseconds {
    let bits = u128::from(quanta) * QUANTUM_BITS;
    u64::try_from(bits * PS_PER_SECOND / u128::from(speed.bps())).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::Pool;
    use dataplane::wire::MacAddress;
    use dataplane::wire::mac_control::Pfc;

    const P3: Priority = Priority::from_low_bits(3);
    const P4: Priority = Priority::from_low_bits(4);

    /// Wire 1 at 10G, whose sender receives `quanta` for priority 3 at each time.
    fn watch(heard: &[(Picoseconds, u16)]) -> PauseWatch {
        let mut watch = PauseWatch::new(2, P3.bit());
        for &(at_ps, quanta) in heard {
            let pfc = Pfc::default().with(P3, quanta).with(P4, quanta);
            let frame = Pool::default().take(&pfc.to_frame(MacAddress::default()), 0);
            watch.on_control(1, Speed::from_gbps(10), &frame, at_ps);
        }
        watch
    }

    fn verdict(heard: &[(Picoseconds, u16)], priority: Priority, start_ps: Picoseconds) -> bool {
        let mut watch = watch(heard);
        watch.starts(1, priority, start_ps);
        watch.starts(0, priority, start_ps);
        PauseWatch::check(&[&watch], |wire| wire.to_string()).is_ok()
    }

    #[test]
    fn a_frame_that_starts_in_a_pause_is_found_and_no_other() {
        // 10 quanta are 512 ns at 10G.
        let pause = (1_000, 10);
        assert!(!verdict(&[pause], P3, 1_000) && !verdict(&[pause], P3, 510_000));
        assert!(verdict(&[pause], P3, 513_000), "it has run out");
        assert!(verdict(&[pause], P4, 1_000), "a lossy class is never paused");
        assert!(verdict(&[pause, (2_000, 0)], P3, 2_000), "resumed");
        assert!(!verdict(&[pause, (400_000, 10)], P3, 900_000), "refreshed");
        assert!(verdict(&[pause, (2_000, 1)], P3, 60_000), "the new time replaces the old one");
    }

    #[test]
    fn spans_end_when_the_pause_does() {
        let spans = |heard: &[_], now_ps| {
            let span = |span: Span| (span.wire, span.priority, span.from_ps, span.to_ps);
            watch(heard).spans(now_ps).map(span).collect::<Vec<_>>()
        };
        assert_eq!(spans(&[(1_000, 10), (2_000, 0)], 9_000), [(1, 3, 1_000, 2_000)]);
        assert_eq!(spans(&[(1_000, 10)], 9_000), [(1, 3, 1_000, 9_000)]);
        let twice = spans(&[(1_000, 10), (900_000, 10)], 950_000);
        assert_eq!(twice, [(1, 3, 1_000, 513_000), (1, 3, 900_000, 950_000)]);
    }
}
