//! Any bytes as LLDP frames, at any port and time, beside links that come and go: nothing panics,
//! every frame has one outcome, tables and outputs stay within their bounds, and what the agent
//! sends is an LLDPDU that it understands itself.

use agents::lldp::{
    AllowedPeer, Device, LEVEL_LIMIT_DEFAULT, LEVEL_MAX, LldpAgent, LldpSettings, Orientation,
    Outcome, Output, PortRole, PortSettings, Profile, System,
};
use dataplane::ids::PortId;
use dataplane::limits::FRAME_BYTES_MIN;
use dataplane::testing::Script;
use dataplane::time::Instant;
use dataplane::wire::MacAddress;

const PORTS: u8 = 4;
const FRAME_BYTES_MAX: usize = 1_600;
const SECOND_NS: u64 = 1_000_000_000;

fn port(number: u8) -> PortId {
    PortId::from_number(usize::from(number)).unwrap_or_default()
}

const fn mac(number: u8) -> MacAddress {
    MacAddress([2, 0, 0, 0, 0, number])
}

fn agent(first: u8) -> LldpAgent {
    let allowed = [AllowedPeer::Any, AllowedPeer::Host, AllowedPeer::Switch, AllowedPeer::Any];
    let port = |(number, allowed_peer): (u8, AllowedPeer)| PortSettings {
        mac: mac(number),
        name: format!("p{number}"),
        description: "a port".into(),
        max_frame_bytes: 1_518,
        pfc_bits: Some(first),
        allowed_peer,
    };
    let settings = LldpSettings {
        profile: if first & 1 == 0 { Profile::Standard } else { Profile::Slides },
        device: if first & 2 == 0 { Device::Bridge } else { Device::EndStation },
        learns: first & 4 == 0,
        level: (first & 8 != 0).then_some(1 + first % LEVEL_LIMIT_DEFAULT),
        level_limit: if first & 16 == 0 { LEVEL_LIMIT_DEFAULT } else { LEVEL_MAX },
        ..LldpSettings::default()
    };
    let system = System { chassis: mac(1), name: "fuzzed".into(), ..System::default() };
    LldpAgent::new(system, (1..).zip(allowed).map(port).collect(), settings)
}

/// Does what `data` says.
pub fn run(data: &[u8]) {
    let mut script = Script::new(data);
    let Some(first) = script.octet() else { return };
    let mut agent = agent(first);
    let mut now = Instant::from_ns(SECOND_NS);
    let mut seen = Seen::default();
    while step(&mut agent, &mut script, &mut now).is_some() {
        seen.look(&mut agent, now);
    }
    // Whatever was said, it is forgotten when nobody says it any more: no TTL lasts 70,000 s.
    now = now + 70_000 * SECOND_NS;
    agent.handle_timeout(now);
    seen.look(&mut agent, now);
    for number in 1..=PORTS {
        assert!(agent.port(port(number)).is_some_and(|view| view.neighbors.is_empty()));
    }
}

fn step(agent: &mut LldpAgent, script: &mut Script<'_>, now: &mut Instant) -> Option<()> {
    let operation = script.octet()?;
    let number = 1 + script.below(PORTS)?;
    match operation % 8 {
        0 => {
            *now = *now + u64::from(script.word()?) * 1_000_000;
            agent.handle_timeout(*now);
        }
        1 => {
            // As the driver would: exactly when it is due.
            *now = (*now).max(agent.poll_timeout()?);
            agent.handle_timeout(*now);
        }
        2 => agent.handle_link(*now, port(number), script.octet()? % 4 != 0),
        3 if script.octet()? == 0 => agent.shut_down(*now),
        _ => {
            // Most of what is random would end at the first look: begin it as it must begin.
            let mut frame = Vec::new();
            if operation & 0x80 == 0 {
                frame.extend(MacAddress::LLDP.0);
                frame.extend(mac(9).0);
                frame.extend([0x88, 0xCC, 0x02, 7, 4, 2, 0, 0, 0, 0, script.octet()?]);
                frame.extend([0x04, 2, 5, b'x', 0x06, 2, 0, script.octet()?]);
            }
            frame.extend(script.piece(FRAME_BYTES_MAX)?);
            let before: u64 = Outcome::ALL.iter().map(|&o| agent.counters().frames(o)).sum();
            let outcome = agent.handle_frame(*now, port(number), &frame);
            let after: u64 = Outcome::ALL.iter().map(|&o| agent.counters().frames(o)).sum();
            assert_eq!(
                (after, agent.counters().frames_in),
                (before + 1, before + 1),
                "{outcome:?}"
            );
        }
    }
    Some(())
}

/// What was sent in the last second.
#[derive(Default)]
struct Seen {
    sent: Vec<(PortId, u64)>,
}

impl Seen {
    fn look(&mut self, agent: &mut LldpAgent, now: Instant) {
        while let Some(output) = agent.poll_output() {
            if let Output::Send { port, frame } = output {
                self.check(port, &frame, now);
            }
        }
        assert!(agent.level().is_none_or(|level| level <= LEVEL_MAX));
        for (number, role) in (1..=PORTS).zip(agent.port_roles()) {
            let view = agent.port(port(number)).expect("there are four");
            assert!(view.neighbors.len() <= 4);
            assert_eq!(view.role, role);
            let is_sure = view.orientation == Orientation::Downlink || number == 2;
            assert!(
                role != PortRole::Downlink || is_sure,
                "port {number} is a downlink without a reason"
            );
        }
    }

    fn check(&mut self, port: PortId, frame: &[u8], now: Instant) {
        assert!((FRAME_BYTES_MIN..=600).contains(&frame.len()), "{} bytes", frame.len());
        assert_eq!(frame[..6], MacAddress::LLDP.0);
        self.sent.retain(|&(_, at_ns)| at_ns + SECOND_NS > now.ns);
        self.sent.push((port, now.ns));
        let of_port = self.sent.iter().filter(|&&(other, _)| other == port).count();
        assert!(of_port <= 8, "{of_port} frames of one port in a second");
        // Another switch understands it, unless it hears itself.
        let mut other = agent(0);
        other.handle_link(now, port, true);
        assert_eq!(
            other.handle_frame(now, port, frame),
            match ttl(frame) {
                0 => Outcome::Unknown,
                _ => Outcome::Inserted,
            }
        );
    }
}

/// The TTL of a frame of ours: behind a chassis of 9 octets and a port of 5.
fn ttl(frame: &[u8]) -> u8 {
    frame[14 + 9 + 5 + 3]
}
