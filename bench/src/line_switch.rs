//! The switch of the benches, without a driver: routes behind each port, rules of which the last
//! ones match, PFC armed on two priorities.

use crate::loop_device::LoopDevice;
use dataplane::control_rings::connect;
use dataplane::device::Device;
use dataplane::driver::Polling;
use dataplane::fib::Route;
use dataplane::ids::{PortId, Priority, Tag, WorkerId};
use dataplane::rules::{PortSet, TagMatch, TcamEntry};
use dataplane::rx_queues::rx_queues;
use dataplane::settings::stale_bytes;
use dataplane::testing::RigBuilder;
use dataplane::testing::wire::{Udp, host_v4};
use dataplane::worker::Worker;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

/// What it is to be.
#[derive(Clone, Copy, Debug)]
pub struct LineSwitch {
    /// Ports.
    pub ports: u8,
    /// Ports that the frames of one port leave by, in turn: those that follow it.
    pub outputs: u8,
    /// Routes, in all. Frames to a port that none of them leads to are for its host itself.
    pub routes: u32,
    /// TCAM entries, two at the least: the last two match.
    pub rules: u32,
    /// Frames of a burst.
    pub burst_frames: usize,
    /// Priorities that frames arrive in.
    pub classes: u8,
    /// Different frames that arrive over and over, at all ports together: what is to be compared
    /// should not differ in how much of the caches these take.
    pub templates: u32,
    /// Workers. Ports are dealt out to them in turn.
    pub workers: u8,
    /// Receive queues of each port. The owner of the port polls the first, the workers after it the
    /// others.
    pub queues: u8,
    /// Headroom of each lossless VIQ. With less than 64 of the longest frames a worker takes
    /// shorter bursts.
    pub headroom_bytes: u32,
}

impl Default for LineSwitch {
    fn default() -> Self {
        Self {
            ports: 2,
            outputs: 1,
            routes: 2_000,
            rules: 64,
            burst_frames: 64,
            classes: 1,
            templates: 2_048,
            workers: 1,
            queues: 1,
            headroom_bytes: 200_000,
        }
    }
}

/// Buffers of each worker's device.
const FRAMES: usize = 16_384;

fn port(number: u8) -> PortId {
    PortId::from_number(usize::from(number)).expect("a port")
}

impl LineSwitch {
    /// The network of route `number`: a /24, scattered over 16.0.0.0 to 79.255.255.0, so that many
    /// routes need many nodes of the trie.
    fn network(number: u32) -> [u8; 4] {
        ((16 << 24) + ((number.wrapping_mul(2_654_435_761) & 0x3F_FFFF) << 8)).to_be_bytes()
    }

    /// The port that frame `number` of port `from` leaves by.
    ///
    /// # Panics
    /// If there are more than 256 ports.
    pub fn out(self, from: u8, number: u32) -> u8 {
        let after = u32::from(from) + number % u32::from(self.outputs);
        1 + u8::try_from(after % u32::from(self.ports)).expect("256 ports at the most")
    }

    /// The DSCP of frame `number` of a port: classes 0 and 1 are lossless, the others are not.
    ///
    /// # Panics
    /// If there are more than eight classes.
    pub fn dscp(self, number: u32) -> u8 {
        26 + u8::try_from(number % u32::from(self.classes)).expect("at most 8")
    }

    /// Different frames that arrive at one port.
    pub fn templates_of_port(self) -> u32 {
        self.templates / u32::from(self.ports)
    }

    /// Frames that arrive at `from`. Route `n` leads to the port `n` modulo the ports.
    ///
    /// # Panics
    /// If they are more than 65,536.
    pub fn frames(self, from: u8) -> Vec<Vec<u8>> {
        let ports = u32::from(self.ports);
        let one = |flow: u32| {
            let to = self.out(from, flow);
            let mut frame = Udp::routed(from, to, self.dscp(flow));
            let to = u32::from(to) - 1;
            let routes = self.routes.saturating_sub(to).div_ceil(ports);
            if routes > 0 {
                // Spread over all routes to that port, not the first ones.
                let route = (flow.wrapping_mul(2_654_435_761) % routes) * ports + to;
                let [a, b, c, _] = Self::network(route);
                frame.dst = [a, b, c, 9];
            }
            Udp { src_port: u16::try_from(flow).expect("few"), ..frame }.bytes()
        };
        (0..self.templates_of_port()).map(one).collect()
    }

    fn entries(self) -> Vec<TcamEntry> {
        let all: PortSet = (0..256).filter_map(PortId::from_index).collect();
        let filler = (0..self.rules.saturating_sub(2)).map(|number| TcamEntry {
            tag: TagMatch { value: 2, mask: 63 },
            in_ports: PortSet::from_iter([port(if number % 2 == 0 { 1 } else { 2 })]),
            out_ports: all,
            new_tag: Tag::from_low_bits(2),
        });
        let keep = |value| TcamEntry {
            tag: TagMatch { value, mask: 63 },
            in_ports: all,
            out_ports: all,
            new_tag: Tag::from_low_bits(value),
        };
        filler.chain([keep(1), keep(2)]).collect()
    }

    /// What the switch is built from. Each class has a priority of its own, from 3 on.
    ///
    /// # Panics
    /// If it is not one that the benches can have: no port, no frame for each port.
    pub fn builder(self) -> RigBuilder {
        let mut builder = RigBuilder::routed(self.ports);
        for number in 0..self.routes {
            let to = u8::try_from(number % u32::from(self.ports)).expect("a port") + 1;
            let gateway = IpAddr::V4(Ipv4Addr::from(host_v4(to, 1)));
            let net = format!("{}/24", Ipv4Addr::from(Self::network(number)));
            let net = net.parse().expect("a network");
            builder.routes.set_route(net, Route::Via(vec![gateway])).expect("room");
        }
        builder.rules = Some(self.entries());
        for class in 2..self.classes {
            let tag = usize::from(26 + class);
            builder.tags.priority[tag] = Priority::from_low_bits(3 + class);
        }
        let settings = &mut builder.settings;
        for (port, number) in settings.ports.iter_mut().zip(0..) {
            port.worker = WorkerId(number % self.workers);
            let further = (1..self.queues).map(|queue| WorkerId((number + queue) % self.workers));
            port.further_queues = further.collect();
            let stale = stale_bytes(port.rx_queues(), u32::from(port.frame_bytes_max) + 8);
            for viq in port.lossless.iter_mut().flatten() {
                settings.buffer.size_bytes += u64::from(self.headroom_bytes + stale);
                viq.headroom_bytes = self.headroom_bytes;
            }
        }
        settings.buffer.frames_max = settings.buffer.frames_max.max(FRAMES);
        builder
    }

    /// The switch, of one worker.
    ///
    /// # Panics
    /// As [`Self::builder`] does.
    pub fn build(self) -> Worker<LoopDevice> {
        self.build_on(|_, device| device).remove(0)
    }

    /// All its workers, on what `wrap` makes of each one's number and device.
    ///
    /// # Panics
    /// As [`Self::builder`] does.
    pub fn build_on<D: Device>(self, wrap: impl Fn(usize, LoopDevice) -> D) -> Vec<Worker<D>> {
        let builder = self.builder();
        let snapshot = Arc::new(builder.snapshot(0));
        let queues = rx_queues(&builder.settings);
        let (links, control) = connect(usize::from(self.workers), queues.len());
        // The control thread's ends must live as long as the workers, and have nothing to do here.
        Box::leak(Box::new(control));
        let worker = |(number, links)| {
            let numbers = queues.iter().map(|queue| queue.port.number());
            let frames = |port| self.frames(u8::try_from(port).expect("256 ports at the most"));
            let templates = numbers.map(frames).collect();
            let device = wrap(number, LoopDevice::new(templates, FRAMES, self.burst_frames));
            Worker::new(&builder.settings, Arc::clone(&snapshot), device, links, Polling::default())
        };
        links.into_iter().enumerate().map(worker).collect()
    }
}
