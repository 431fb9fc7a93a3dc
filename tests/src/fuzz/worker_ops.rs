//! Any sequence of frames, pauses, time, full devices and broken links at a whole switch.
//!
//! Time passes as a driver has it, who turns the worker when it asks, and as one who lost its core:
//! pauses run out meanwhile, and stations send again. Promised at every moment: the books balance
//! (the rig checks), and no lossless frame is lost or overtaken. Promised at the end, when nothing
//! stands in the way any more: everything drains, nobody is left paused, and every lossless frame
//! has come out.

use super::upstream::Stations;
use dataplane::control_rings::Command;
use dataplane::counters::DropReason;
use dataplane::ids::{PortId, Priority};
use dataplane::testing::Script;
use dataplane::testing::{Rig, RigBuilder};
use dataplane::wire::MacAddress;
use dataplane::wire::mac_control::Pfc;

const PORTS: u8 = 3;
/// Headroom of a VIQ of the rig, less a frame: what may be on its way when XOFF is told. Flooding
/// makes a copy for each port, and each is charged.
const ON_THEIR_WAY_BYTES_MAX: usize = 38_000;
/// The longest step of time: XOFF is told again after 1.26 ms and lasts 3.35 ms.
const STEP_NS_MAX: u64 = 1_000_000;

/// From this operation on a wait is one without turns, longer than any pause: a core was lost.
const STARVED: u8 = 0x80;
const STARVED_NS_MAX: u64 = 200_000_000;

/// Does what `data` says.
pub fn run(data: &[u8]) {
    let mut script = Script::new(data);
    let Some(kind) = script.octet() else { return };
    let is_bridged = kind & 1 == 1;
    let mut builder =
        if is_bridged { RigBuilder::bridged(PORTS) } else { RigBuilder::routed(PORTS) };
    if kind & 2 == 2 {
        builder = builder.owned_by(2, 1);
    }
    let copies = if is_bridged { usize::from(PORTS) - 1 } else { 1 };
    let mut state = State {
        rig: builder.build(),
        stations: Stations::new(PORTS, is_bridged, ON_THEIR_WAY_BYTES_MAX / copies),
        room_frames: [None; PORTS as usize],
        is_down: [false; PORTS as usize],
    };
    while state.step(&mut script).is_some() {}
    state.drain();
}

struct State {
    rig: Rig,
    stations: Stations,
    /// By port: frames that the device takes in a turn.
    room_frames: [Option<usize>; PORTS as usize],
    is_down: [bool; PORTS as usize],
}

impl State {
    /// One operation; `None` at the end of the script.
    fn step(&mut self, script: &mut Script<'_>) -> Option<()> {
        let operation = script.octet()?;
        let port = 1 + script.below(PORTS)?;
        match operation % 16 {
            0..6 => self.send(script, port)?,
            6 | 7 => self.pause(script, port)?,
            8 if operation >= STARVED => {
                self.rig.wait(u64::from(script.word()?) * STARVED_NS_MAX / 0xFFFF);
            }
            8 => self.rig.wait(u64::from(script.word()?) * 16 % STEP_NS_MAX),
            9 => self.wait_as_told(),
            10 => {
                // At least one, or the switch could not even say XOFF.
                let room = usize::from(script.octet()?);
                self.room_frames[usize::from(port) - 1] = (room > 0).then_some(room);
            }
            11 => self.set_link(port, script.octet()? % 4 != 0),
            12 => {
                let garbage = script.piece(200)?;
                self.rig.arrive(port, garbage);
            }
            13 => self.rig.port(port).backlog_frames = Some(u32::from(script.octet()?) * 4),
            _ => self.turn(),
        }
        Some(())
    }

    fn send(&mut self, script: &mut Script<'_>, from: u8) -> Option<()> {
        let to = 1 + script.below(PORTS)?;
        let class = script.below(3)?;
        let bytes = 60 + usize::from(script.octet()?) * 1_454 / 255;
        let count = 1 + script.below(16)?;
        if to != from {
            for _ in 0..count {
                self.stations.send(&mut self.rig, (from, to, class), bytes);
            }
        }
        Some(())
    }

    /// A peer pauses, resumes, or pauses something it may not.
    fn pause(&mut self, script: &mut Script<'_>, port: u8) -> Option<()> {
        let enabled_bits = script.octet()?;
        let quanta = script.word()?;
        let zeros = script.octet()?;
        let pfc = Priority::all().filter(|p| enabled_bits & p.bit() != 0).fold(
            Pfc::default(),
            |pfc, priority| {
                let resumes = zeros & priority.bit() != 0;
                pfc.with(priority, if resumes { 0 } else { quanta })
            },
        );
        self.rig.arrive(port, &pfc.to_frame(MacAddress([2, 0, 0, 1, port, 9])));
        Some(())
    }

    fn set_link(&mut self, port: u8, is_up: bool) {
        let Some(id) = PortId::from_number(usize::from(port)) else { return };
        self.is_down[usize::from(port) - 1] = !is_up;
        // What a port holds is gone when it goes down, and a station that was paused through it may
        // hear nothing any more.
        self.stations.may_lose |= !is_up;
        self.rig.command(|| Command::Link(id, is_up));
        self.turn();
    }

    /// Waits until the switch says that it must be turned, as its driver would.
    fn wait_as_told(&mut self) {
        let turns = self.rig.turn();
        self.after_turn();
        let next = turns.iter().map(|turn| turn.next.ns_since(self.rig.now)).min();
        self.rig.wait(next.unwrap_or(0).clamp(1, STEP_NS_MAX));
        self.turn();
    }

    fn turn(&mut self) {
        self.rig.turn();
        self.after_turn();
    }

    fn after_turn(&mut self) {
        self.stations.listen(&mut self.rig);
        self.check_nothing_lost();
        self.rig.totals();
        for port in 1..=PORTS {
            self.rig.port(port).takes_frames = self.room_frames[usize::from(port) - 1];
        }
    }

    fn check_nothing_lost(&self) {
        let lost = self.lossless_lost();
        assert!(lost == 0 || self.stations.may_lose, "{lost} lossless frames lost");
    }

    fn lossless_lost(&self) -> u64 {
        // Garbage may end for any other reason.
        let of = |port| self.rig.dropped(port, DropReason::HeadroomOverrun);
        (1..=PORTS).map(of).sum()
    }

    /// Nothing stands in the way any more: everything must come out.
    fn drain(&mut self) {
        self.room_frames = [None; PORTS as usize];
        for port in 1..=PORTS {
            self.rig.port(port).takes_frames = None;
            self.rig.port(port).backlog_frames = Some(0);
            if self.is_down[usize::from(port) - 1] {
                self.set_link(port, true);
            }
        }
        // The longest pause, and a turn for whatever is left.
        for _ in 0..8 {
            self.rig.settle();
            self.stations.listen(&mut self.rig);
            self.rig.wait(STEP_NS_MAX);
        }
        self.rig.settle();
        self.stations.listen(&mut self.rig);
        self.check_nothing_lost();
        let totals = self.rig.totals();
        assert_eq!(totals.held, 0, "frames are stuck: {totals:?}");
        assert!(!self.stations.any_silent(self.rig.now), "a station is left paused");
        for port in 1..=PORTS {
            let report = self.rig.report(port);
            for (priority, queue) in report.queues.iter().enumerate() {
                assert_eq!(queue.viq_bytes, 0, "port {port} priority {priority}");
                assert!(!queue.tx_paused && !queue.rx_paused, "port {port} priority {priority}");
            }
        }
        self.stations.check_all_there();
    }
}
