//! `knotless traffic recv`: receives and measures test frames, and optionally sends pauses.

use super::clock::{Clock, StampConverter};
use super::interface::Interface;
use super::outages::Outages;
use super::pause_generator::{PauseGenerator, PauseSchedule};
use super::report::{self, BouncesReport, PauseReport, PriorityReceived, RecvReport};
use super::rx_stats::{RxFrame, RxStats};
use super::socket::{Listen, PacketSocket, ReceiveRing, SOCKET_BURST_MAX};
use super::{SLEEP_NS_MAX, TrafficError, priority, set_timer_slack, speed, stop_flag};
use crate::bounces::share;
use crate::stop_flag::StopFlag;
use clap::Args;
use config::units::{parse_count, parse_duration_ns};
use dataplane::ids::Priority;
use dataplane::time::{Instant, Speed};
use dataplane::wire::MacAddress;
use dataplane::wire::mac_control::Pfc;
use socket2::SockRef;
use std::net::{Ipv4Addr, Ipv6Addr, UdpSocket};
use std::time::Duration;

/// Arguments of `recv`.
#[derive(Debug, Args)]
pub struct RecvArgs {
    /// Interface to receive on
    #[arg(long)]
    dev: String,
    /// Stop after this time [default: at a signal]
    #[arg(long, value_parser = parse_duration_ns, value_name = "TIME")]
    duration: Option<u64>,
    /// Stop when no test frame has arrived for this time since the last one
    #[arg(long, value_parser = parse_duration_ns, value_name = "TIME")]
    idle: Option<u64>,
    /// Size of the socket's receive buffer
    #[arg(long, default_value = "64M", value_parser = parse_count, value_name = "BYTES")]
    buffer: u64,
    /// UDP ports to bind, so that the kernel does not answer with ICMP port unreachable
    #[arg(long, default_value = "4791", value_delimiter = ',', value_name = "PORT")]
    udp_port: Vec<u16>,
    /// Count test frames to other MAC addresses as received, not as misdelivered
    #[arg(long)]
    any_mac: bool,
    /// Priorities to pause, separated by commas, at the times of the next three options
    #[arg(long, value_parser = priority, value_delimiter = ',', value_name = "PRIORITY")]
    pause_class: Vec<Priority>,
    /// How long each pause lasts
    #[arg(long, default_value = "10ms", value_parser = parse_duration_ns, value_name = "TIME")]
    pause_for: u64,
    /// Period from the start of one pause to the next [default: one pause]
    #[arg(long, value_parser = parse_duration_ns, value_name = "TIME")]
    pause_every: Option<u64>,
    /// Delay of the first pause after the start
    #[arg(long, default_value = "0s", value_parser = parse_duration_ns, value_name = "TIME")]
    pause_after: u64,
    /// Link speed: a PFC quantum is 512 bit times at this speed
    #[arg(long, default_value = "1G", value_parser = speed, value_name = "RATE")]
    speed: Speed,
    /// Report how often frames were rerouted, by their TTLs, and how many bounces to provision so
    /// that at most this share of the frames bounce more often
    #[arg(long, value_parser = share, value_name = "SHARE")]
    bounces: Option<f64>,
    /// Frames of a measurement of reroutes: it is rerouted if their TTLs differ
    #[arg(
        long,
        default_value_t = 100,
        requires = "bounces",
        value_parser = clap::value_parser!(u64).range(1..),
        value_name = "FRAMES"
    )]
    measurement: u64,
    /// Wait this long for an interface that goes down or away to come up again
    #[arg(long, default_value = "0s", value_parser = parse_duration_ns, value_name = "TIME")]
    hold: u64,
    /// Report each time of at least this length in which no test frame arrived
    #[arg(long, value_parser = parse_duration_ns, value_name = "TIME")]
    outages: Option<u64>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// After a burst that was not full, frames may accumulate for this long: one wake-up for many
/// frames. The kernel timestamps them on arrival, so it affects no figure.
const RX_COALESCE: Duration = Duration::from_micros(100);

/// Runs the command.
pub(super) fn run(arguments: &RecvArgs) -> Result<(), TrafficError> {
    if arguments.pause_every.is_some_and(|period_ns| period_ns <= arguments.pause_for) {
        let what = "--pause-every: must be longer than --pause-for, or use --pause-for alone";
        return Err(TrafficError::Arguments(what.to_owned()));
    }
    let stop = stop_flag()?;
    set_timer_slack()?;
    let interface = Interface::find(&arguments.dev)?;
    let _held: Vec<UdpSocket> =
        arguments.udp_port.iter().filter_map(|&port| hold_open(port)).collect();
    let mut receiver = Receiver::open(arguments, &interface)?;
    super::print_line(&format!("listening on {}", interface.name));
    let start = receiver.clock.now();
    let ended = loop {
        let ended = receiver.run(arguments, start, &stop);
        match interface.back_after(&ended, arguments.hold, &stop) {
            // The socket of an interface that was down receives again.
            Some(same) if same.index() == interface.index() => {}
            Some(other) => receiver.open_again(&other, arguments.buffer)?,
            None => break ended,
        }
    };
    match ended {
        Ok(()) => {}
        // Frames that arrived before the interface went down are still in the socket, and count.
        Err(TrafficError::InterfaceDown { .. }) => while receiver.drain().unwrap_or(false) {},
        Err(_) => return ended,
    }
    let report = {
        let elapsed_ns = receiver.clock.now().ns_since(start);
        receiver.report(&interface, elapsed_ns, arguments.bounces)?
    };
    if arguments.json {
        report::print_json(&report)?
    } else {
        report.print()?
    }
    ended
}

fn open_socket(
    interface: &Interface,
    buffer: u64,
) -> Result<(PacketSocket, ReceiveRing), TrafficError> {
    let socket = PacketSocket::open(interface, Listen::Everything)?;
    socket.set_receive_buffer(usize::try_from(buffer).unwrap_or(usize::MAX))?;
    socket.set_qdisc_bypass()?;
    let ring = ReceiveRing::new(&socket)?;
    Ok((socket, ring))
}

/// A UDP socket that is never read; `None` if another process has the port, which then keeps the
/// kernel from answering.
fn hold_open(port: u16) -> Option<UdpSocket> {
    let socket = UdpSocket::bind((Ipv6Addr::UNSPECIFIED, port))
        .or_else(|_| UdpSocket::bind((Ipv4Addr::UNSPECIFIED, port)))
        .ok()?;
    // The smallest buffer that the kernel allows: the data are not read. If it refuses, memory is
    // wasted.
    let _ = SockRef::from(&socket).set_recv_buffer_size(1);
    Some(socket)
}

struct Receiver {
    clock: Clock,
    stamps: StampConverter,
    mac: MacAddress,
    socket: PacketSocket,
    ring: ReceiveRing,
    rx_stats: RxStats,
    outages: Option<Outages>,
    pause_generator: Option<PauseGenerator>,
}

impl Receiver {
    fn open(arguments: &RecvArgs, interface: &Interface) -> Result<Self, TrafficError> {
        let (socket, ring) = open_socket(interface, arguments.buffer)?;
        let clock = Clock::start();
        let pause_generator = (!arguments.pause_class.is_empty()).then(|| {
            let schedule = PauseSchedule {
                priorities: arguments.pause_class.clone(),
                start: clock.now() + arguments.pause_after,
                on_ns: arguments.pause_for,
                period_ns: arguments.pause_every,
            };
            PauseGenerator::new(schedule, arguments.speed)
        });
        let rx_stats = RxStats::new(interface.mac, arguments.any_mac, arguments.measurement);
        let mac = interface.mac;
        Ok(Self {
            clock,
            stamps: StampConverter::measure(),
            mac,
            socket,
            ring,
            rx_stats,
            outages: arguments.outages.map(Outages::new),
            pause_generator,
        })
    }

    /// Receives from another interface of the same name from now on.
    fn open_again(&mut self, interface: &Interface, buffer: u64) -> Result<(), TrafficError> {
        (self.socket, self.ring) = open_socket(interface, buffer)?;
        Ok(())
    }

    /// Receives until the duration after `start` or the idle time is over, or `stop` is set.
    fn run(
        &mut self,
        arguments: &RecvArgs,
        start: Instant,
        stop: &StopFlag,
    ) -> Result<(), TrafficError> {
        let end = arguments.duration.map_or(Instant::NEVER, |ns| start + ns);
        loop {
            let full = self.drain()?;
            let now = self.clock.now();
            let silent = match (self.rx_stats.last, arguments.idle) {
                (Some(last), Some(idle_ns)) => last + idle_ns,
                _ => Instant::NEVER,
            };
            if now >= end || now >= silent || stop.asked() {
                return self.finish(now);
            }
            self.pause(now)?;
            if full {
                continue;
            }
            let pause = self.pause_generator.as_ref().map_or(Instant::NEVER, PauseGenerator::next);
            let until = end.min(silent).min(pause).min(now + SLEEP_NS_MAX);
            if until.ns_since(now) > RX_COALESCE_NS {
                self.socket.wait(until.ns_since(now))?;
                std::thread::sleep(RX_COALESCE);
            }
        }
    }

    /// Receives one burst; returns whether there may be more.
    fn drain(&mut self) -> Result<bool, TrafficError> {
        let now = self.clock.now();
        self.stamps.refresh(self.clock.monotonic_ns(now));
        let Self { clock, stamps, socket, ring, rx_stats, outages, pause_generator, .. } = self;
        let frames = ring.receive(socket, |frame| {
            let monotonic_ns = frame
                .realtime_ns
                .map_or_else(|| clock.monotonic_ns(now), |stamp| stamps.monotonic_ns(stamp));
            let when = clock.instant(monotonic_ns);
            let (bytes, tci, cut) = (frame.bytes, frame.tci, frame.cut);
            let known = rx_stats.record(&RxFrame { bytes, tci, cut, when, monotonic_ns });
            if let (Some(_), Some(outages)) = (known, outages.as_mut()) {
                outages.record(when);
            }
            if let (Some((priority, bytes)), Some(pause_generator)) =
                (known, pause_generator.as_mut())
            {
                pause_generator.record(priority, bytes, when);
            }
        })?;
        Ok(frames == SOCKET_BURST_MAX)
    }

    fn pause(&mut self, now: Instant) -> Result<(), TrafficError> {
        while let Some(frame) =
            self.pause_generator.as_mut().and_then(|pause_generator| pause_generator.poll(now))
        {
            self.send(&frame)?;
            let now = self.clock.now();
            if let Some(pause_generator) = &mut self.pause_generator {
                pause_generator.sent(now);
            }
        }
        Ok(())
    }

    /// Receives what has already arrived, and sends the XON that is due.
    fn finish(&mut self, now: Instant) -> Result<(), TrafficError> {
        if let Some(frame) =
            self.pause_generator.as_mut().and_then(|pause_generator| pause_generator.stop(now))
        {
            self.send(&frame)?;
        }
        while self.drain()? && self.clock.now() < now + DRAIN_NS_MAX {}
        Ok(())
    }

    /// Sends a PFC frame; retries while the interface has no room.
    fn send(&mut self, pfc: &Pfc) -> Result<(), TrafficError> {
        let bytes = pfc.to_frame(self.mac);
        for _ in 0..SEND_TRIES {
            if self.socket.send(&[&bytes])? == 1 {
                return Ok(());
            }
            std::thread::sleep(Duration::from_micros(20));
        }
        let source = std::io::ErrorKind::WouldBlock.into();
        Err(TrafficError::System { what: "send a PFC frame", source })
    }

    fn report(
        &self,
        interface: &Interface,
        elapsed_ns: u64,
        share: Option<f64>,
    ) -> Result<RecvReport, TrafficError> {
        let flows = self.rx_stats.flows();
        let received = |priority: Priority| {
            let received = self.rx_stats.pfc[priority.index()];
            PriorityReceived { priority: priority.value(), xoff: received.xoff, xon: received.xon }
        };
        Ok(RecvReport {
            interface: interface.name.clone(),
            elapsed_ns,
            frames: flows.iter().map(|flow| flow.frames).sum(),
            bytes: flows.iter().map(|flow| flow.bytes).sum(),
            misdelivered: self.rx_stats.misdelivered,
            damaged_headers: self.rx_stats.damaged_headers,
            other_frames: self.rx_stats.other,
            dropped_by_own_socket: self.socket.take_statistics()?.dropped,
            link_pause_frames: self.rx_stats.link_pauses,
            priorities: Priority::all().map(received).collect(),
            pauser: self.pause_generator.as_ref().map(|pause_generator| PauseReport {
                priorities: pause_generator.priorities().map(Priority::value).collect(),
                counters: pause_generator.counters(),
            }),
            outages_ns: self.outages.as_ref().map(|outages| outages.lengths_ns().to_vec()),
            bounces: share.map(|share| BouncesReport::new(self.rx_stats.reroutes(), share)),
            flows,
        })
    }
}

/// [`RX_COALESCE`] in nanoseconds: no sleep is planned that would end sooner.
const RX_COALESCE_NS: u64 = 100_000;
/// How long the last drain may take if frames keep coming.
const DRAIN_NS_MAX: u64 = 200_000_000;
/// Attempts to send a PFC frame, 20 us apart.
const SEND_TRIES: usize = 5_000;
