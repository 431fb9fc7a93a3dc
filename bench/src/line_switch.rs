//! The switch of the benches, without a driver: 1,000 routes behind each port, 64 rules of which the
//! last ones match, PFC armed on two priorities.

use crate::loop_device::LoopDevice;
use dataplane::device::Device;
use dataplane::fib::Route;
use dataplane::ids::{PortId, Tag, WorkerId};
use dataplane::links::connect;
use dataplane::probe::NoProbe;
use dataplane::rules::{PortSet, TagMatch, TcamEntry};
use dataplane::testing::RigBuilder;
use dataplane::testing::wire::{Udp, host_v4};
use dataplane::worker::Worker;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

/// What it is to be.
#[derive(Clone, Copy, Debug)]
pub struct LineSwitch {
    /// Ports. Each sends to the next.
    pub ports: u8,
    /// Routes, in all.
    pub routes: u32,
    /// Frames of a burst.
    pub burst_frames: usize,
    /// Priorities that frames arrive in.
    pub classes: u8,
    /// Workers. Ports are dealt out to them in turn.
    pub workers: u8,
    /// Headroom of each lossless VIQ.
    pub headroom_bytes: u32,
}

impl Default for LineSwitch {
    fn default() -> Self {
        Self {
            ports: 2,
            routes: 2_000,
            burst_frames: 64,
            classes: 1,
            workers: 1,
            headroom_bytes: 40_000,
        }
    }
}

/// Frames that each port receives over and over.
const TEMPLATES: u32 = 1_024;
/// Buffers of each worker's device.
const FRAMES: usize = 16_384;

fn port(number: u8) -> PortId {
    PortId::from_number(usize::from(number)).expect("a port")
}

impl LineSwitch {
    /// The network of route `number`: the 16 million /24 that start at 16.0.0.0.
    fn network(number: u32) -> [u8; 4] {
        ((16 << 24) + (number << 8)).to_be_bytes()
    }

    /// The port that a frame from `from` leaves by.
    const fn next(self, from: u8) -> u8 {
        if from == self.ports { 1 } else { from + 1 }
    }

    /// The DSCP of frame `number`: class 0 is lossless, the others are not.
    fn dscp(self, number: u32) -> u8 {
        let class = u8::try_from(number % u32::from(self.classes)).expect("at most 8");
        if class == 0 { 26 } else { 27 + class }
    }

    /// Frames that arrive at `from`. Route `n` leads to the port `n` modulo the ports.
    fn frames(self, from: u8) -> Vec<Vec<u8>> {
        let to = u32::from(self.next(from)) - 1;
        let ports = u32::from(self.ports);
        let each = (self.routes / ports).max(1);
        let one = |flow: u32| {
            // Spread over all routes to that port, not the first ones.
            let route = (flow.wrapping_mul(2_654_435_761) % each) * ports + to;
            let [a, b, c, _] = Self::network(route);
            let src_port = u16::try_from(flow).expect("few");
            let dscp = self.dscp(flow);
            Udp { dst: [a, b, c, 9], src_port, ..Udp::routed(from, 1, dscp) }.bytes()
        };
        (0..TEMPLATES).map(one).collect()
    }

    fn rules() -> Vec<TcamEntry> {
        let all: PortSet = (0..256).filter_map(PortId::from_index).collect();
        let filler = (0..62).map(|value| TcamEntry {
            tag: TagMatch { value: 2, mask: 63 },
            in_ports: PortSet::from_iter([port(1 + value % 2)]),
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

    /// The switch, with every priority of the classes in use mapped to one of its own.
    ///
    /// # Panics
    /// If there are fewer routes than ports.
    pub fn build(self) -> Worker<LoopDevice, NoProbe> {
        self.build_on(|_, device| device).remove(0)
    }

    /// All its workers, on what `wrap` makes of each one's number and device.
    ///
    /// # Panics
    /// If there are fewer routes than ports.
    pub fn build_on<D: Device>(
        self,
        wrap: impl Fn(usize, LoopDevice) -> D,
    ) -> Vec<Worker<D, NoProbe>> {
        let mut builder = RigBuilder::routed(self.ports);
        for number in 0..self.routes.max(u32::from(self.ports)) {
            let to = u8::try_from(number % u32::from(self.ports)).expect("a port") + 1;
            let gateway = IpAddr::V4(Ipv4Addr::from(host_v4(to, 1)));
            let net = format!("{}/24", Ipv4Addr::from(Self::network(number)));
            let net = net.parse().expect("a network");
            builder.routes.set_route(net, Route::Via(vec![gateway])).expect("room");
        }
        builder.rules = Some(Self::rules());
        for class in 1..self.classes {
            let tag = usize::from(27 + class);
            builder.tags.priority[tag] = dataplane::ids::Priority::from_low_bits(class + 4);
        }
        let settings = &mut builder.settings;
        for (port, number) in settings.ports.iter_mut().zip(0..) {
            port.worker = WorkerId(number % self.workers);
            for viq in port.lossless.iter_mut().flatten() {
                settings.buffer.size_bytes += u64::from(self.headroom_bytes);
                viq.headroom_bytes = self.headroom_bytes;
            }
        }
        settings.buffer.frames_max = settings.buffer.frames_max.max(FRAMES);
        let snapshot = Arc::new(builder.snapshot(0));
        let (links, control) = connect(usize::from(self.workers), usize::from(self.ports));
        // The control thread's ends must live as long as the workers, and have nothing to do here.
        Box::leak(Box::new(control));
        let worker = |(number, links)| {
            let templates = (1..=self.ports).map(|from| self.frames(from)).collect();
            let device = wrap(number, LoopDevice::new(templates, FRAMES, self.burst_frames));
            Worker::new(&builder.settings, Arc::clone(&snapshot), device, links, NoProbe)
        };
        links.into_iter().enumerate().map(worker).collect()
    }
}
