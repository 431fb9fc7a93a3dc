//! A session without a socket, for the fuzzer.

use super::frame::Frames;
use super::ports::PortIndexes;
use super::state::State;
use dataplane::fib::{Compiler, Fib, Hop, Interface, Routes};
use dataplane::ids::PortId;
use dataplane::wire::MacAddress;
use ipnet::Ipv4Net;
use std::net::{IpAddr, Ipv4Addr};

/// The first interfaces are the ports.
#[derive(Debug)]
struct FirstPorts;

impl PortIndexes for FirstPorts {
    fn port_of(&mut self, interface: u32) -> Option<PortId> {
        PortId::from_number(usize::try_from(interface).ok().filter(|number| *number <= 8)?)
    }
}

/// Feeds a peer's bytes to a session and compiles the routes that come of it, twice: change by
/// change, and from scratch. Returns for each route its address, and where either table leads.
pub fn feed(bytes: &[u8]) -> Vec<(IpAddr, [Hop; 2])> {
    let (mut routes, mut compiler, mut fib) = (Routes::new(), Compiler::new(), Fib::default());
    for number in 1..=8_u8 {
        routes.set_interface(Interface {
            net: Ipv4Net::new_assert(Ipv4Addr::new(10, 0, number, 1), 24).into(),
            port: PortId::from_number(number.into()).expect("eight ports"),
            vlan: None,
            mac: MacAddress([2, 0, 0, 0, 0, number]),
            frame_bytes_max: 1514,
        });
    }
    let (mut state, mut frames) = (State::new(Box::new(FirstPorts)), Frames::default());
    state.begin_session(&mut routes);
    for part in bytes.chunks(64) {
        frames.push(part);
        while let Ok(Some(frame)) = frames.take() {
            let frame = frame.to_vec();
            if state.handle(&frame, &mut routes, |_, _| {}).is_err() {
                break;
            }
            compiler.update(&mut routes);
            compiler.apply(&mut fib);
        }
    }
    // What came before an error counts.
    compiler.update(&mut routes);
    compiler.apply(&mut fib);
    let tables = [fib, routes.compile()];
    let addresses = routes.learned().map(|(net, _)| net.addr());
    addresses.map(|address| (address, tables.each_ref().map(|fib| hop(fib, address)))).collect()
}

fn hop(fib: &Fib, address: IpAddr) -> Hop {
    let leaf = match address {
        IpAddr::V4(address) => fib.v4(address.octets()),
        IpAddr::V6(address) => fib.v6(address.octets()),
    };
    *fib.hop(leaf, 0)
}
