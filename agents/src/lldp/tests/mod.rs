//! Tests of the whole agent in virtual time: frames in, outputs and counters out.

mod frames;
mod trust;
mod wire;

use super::pdu::{Id, Pdu};
use super::settings::SECOND_NS;
use super::{
    AllowedPeer, Capabilities, Condition, Device, LldpAgent, LldpSettings, Orientation, Outcome,
    Output, PortRole, PortSettings, Profile, System, Topology,
};
use alloc::borrow::ToOwned;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use dataplane::ids::PortId;
use dataplane::time::Instant;
use dataplane::wire::{MacAddress, ethernet};

/// The port with number `number`.
fn port(number: usize) -> PortId {
    PortId::from_number(number).unwrap()
}

/// The MAC address of neighbor `name`.
fn mac(name: u8) -> MacAddress {
    MacAddress([2, 0xAA, 0, 0, 0, name])
}

/// Our MAC address at port `number`; that of port 1 is the chassis id.
fn ours(number: u8) -> MacAddress {
    MacAddress([2, 0, 0, 0, 0, number])
}

/// The system that we advertise.
fn system() -> System {
    System {
        chassis: ours(1),
        name: "leaf".to_owned(),
        description: "a switch".to_owned(),
        capabilities: Some(Capabilities {
            supported_bits: Capabilities::BRIDGE | Capabilities::ROUTER,
            enabled_bits: Capabilities::ROUTER,
        }),
        management: None,
    }
}

/// Port 1 allows hosts, port 2 switches, ports 3 and 4 any peer.
fn ports() -> Vec<PortSettings> {
    let allowed_peer = [AllowedPeer::Host, AllowedPeer::Switch, AllowedPeer::Any, AllowedPeer::Any];
    let port = |(number, allowed_peer): (u8, AllowedPeer)| PortSettings {
        mac: ours(number),
        name: format!("p{number}"),
        description: String::new(),
        max_frame_bytes: 1_518,
        pfc_bits: Some(0b0001_1000),
        allowed_peer,
    };
    (1..).zip(allowed_peer).map(port).collect()
}

/// An LLDPDU of neighbor `name` without claims.
fn plain_pdu(name: u8, ttl_s: u16) -> Pdu {
    Pdu::new(Id::chassis(mac(name)), Id::port("eth0"), ttl_s)
}

/// An LLDPDU of a switch.
fn switch(name: u8, level: Option<u8>, orientation: Orientation) -> Pdu {
    let topology = Topology { device: Device::Bridge, level, orientation };
    Pdu { topology: Some(topology), ..plain_pdu(name, 120) }
}

/// An LLDPDU of a host.
fn host(name: u8) -> Pdu {
    let topology =
        Topology { device: Device::EndStation, level: Some(0), orientation: Orientation::Unknown };
    Pdu { topology: Some(topology), ..plain_pdu(name, 120) }
}

/// The frame with `pdu`, from its chassis.
fn frame(pdu: &Pdu) -> Vec<u8> {
    let mut frame = Vec::new();
    frame.extend(MacAddress::LLDP.0);
    frame.extend(&pdu.chassis.octets);
    frame.extend(ethernet::LLDP.to_be_bytes());
    pdu.write(Profile::Standard, &mut frame);
    frame
}

/// An agent with all ports up for a minute. Its outputs have been taken.
struct Bench {
    agent: LldpAgent,
    now: Instant,
    counted: BTreeMap<&'static str, u64>,
}

impl Bench {
    fn new() -> Self {
        Self::with(LldpSettings::default())
    }

    fn with(settings: LldpSettings) -> Self {
        let agent = LldpAgent::new(system(), ports(), settings);
        let mut bench =
            Self { agent, now: Instant::from_ns(3_600 * SECOND_NS), counted: BTreeMap::new() };
        for number in 1..=4 {
            bench.agent.handle_link(bench.now, port(number), true);
        }
        bench.wait(60);
        bench.counted();
        bench
    }

    /// Hands in `pdu` at port `number`. Returns the outcome and the outputs.
    fn receive(&mut self, number: usize, pdu: &Pdu) -> (Outcome, Vec<Output>) {
        let outcome = self.agent.handle_frame(self.now, port(number), &frame(pdu));
        (outcome, self.outputs())
    }

    /// Advances the time, and returns the outputs, each with the seconds since the call.
    fn wait(&mut self, seconds: u64) -> Vec<(u64, Output)> {
        let start = self.now;
        let end = start + seconds * SECOND_NS;
        let mut all = Vec::new();
        while let Some(due) = self.agent.poll_timeout().filter(|&due| due <= end) {
            self.now = self.now.max(due);
            self.agent.handle_timeout(self.now);
            let elapsed = self.now.ns_since(start) / SECOND_NS;
            all.extend(self.outputs().into_iter().map(|output| (elapsed, output)));
        }
        self.now = end;
        all
    }

    fn outputs(&mut self) -> Vec<Output> {
        core::iter::from_fn(|| self.agent.poll_output()).collect()
    }

    /// The conditions that are reported within `seconds`.
    fn reported(&mut self, seconds: u64) -> Vec<(usize, Condition, bool)> {
        let reported = self.wait(seconds).into_iter().filter_map(|(_, output)| match output {
            Output::ConditionChanged { port, condition, begins } => {
                Some((port.number(), condition, begins))
            }
            _ => None,
        });
        reported.collect()
    }

    /// The counters that changed since the last call, each with the difference, by name.
    fn counted(&mut self) -> Vec<(&'static str, u64)> {
        let now: BTreeMap<_, _> = self.agent.counters().iter().collect();
        let before = core::mem::replace(&mut self.counted, now);
        let moved = self
            .counted
            .iter()
            .map(|(name, value)| (*name, value - before.get(name).copied().unwrap_or_default()));
        moved.filter(|&(_, value)| value != 0).collect()
    }

    fn orientation(&self, number: usize) -> Orientation {
        self.agent.port(port(number)).unwrap().orientation
    }

    fn role(&self, number: usize) -> PortRole {
        self.agent.port(port(number)).unwrap().role
    }

    fn neighbors(&self, number: usize) -> usize {
        self.agent.port(port(number)).unwrap().neighbors.len()
    }
}

/// The LLDPDUs sent, as (port number, LLDPDU).
fn sent(outputs: &[Output]) -> Vec<(usize, Pdu)> {
    let sent = outputs.iter().filter_map(|output| match output {
        Output::Send { port, frame } => Some((port.number(), Pdu::read(&frame[14..]).unwrap().0)),
        _ => None,
    });
    sent.collect()
}
