//! `knotless traffic send`: paced flows that pause for PFC.

use super::clock::{self, Clock};
use super::flow::FlowSpec;
use super::frame::{Addresses, FrameTemplate};
use super::interface::Interface;
use super::payload::{SEQUENCES, TestHeader};
use super::pfc_socket::PfcSocket;
use super::report::{self, FlowSent, PrioritySent, SendReport};
use super::schedule::{Pace, Schedule, Step};
use super::socket::{Listen, PacketSocket, SOCKET_BURST_MAX};
use super::{SLEEP_NS_MAX, TrafficError, set_timer_slack, speed, stop_flag};
use crate::stop_flag::StopFlag;
use arrayvec::ArrayVec;
use clap::Args;
use config::units::parse_duration_ns;
use dataplane::counters::PfcCounters;
use dataplane::gfc::Form;
use dataplane::ids::Priority;
use dataplane::limits::{FRAME_BYTES_MAX, WIRE_OVERHEAD_BYTES};
use dataplane::pfc::receiver::Receiver;
use dataplane::time::{Instant, Speed};
use dataplane::wire::MacAddress;
use dataplane::wire::mac_control::MacControl;
use std::collections::HashMap;
use std::net::IpAddr;

/// Arguments of `send`.
#[derive(Debug, Args)]
pub struct SendArgs {
    /// Interface to send on
    #[arg(long)]
    dev: String,
    /// One flow, as KEY=VALUE,...; may be given several times. Keys: dst-ip (the only one needed),
    /// name, dst-mac (default auto), src-ip, src-mac, dscp, ecn, priority (default dscp / 8), ttl,
    /// vlan, pcp, port (default 4791), src-port, size (bytes without FCS, default 1000), rate
    /// (bits/s of whole frames, or max) or fps, count (frames), start (time after the sender's)
    #[arg(long = "flow", required = true, value_name = "KEYS")]
    flows: Vec<FlowSpec>,
    /// How long to send [default: until every flow has sent its count, or a signal]
    #[arg(long, value_parser = parse_duration_ns, value_name = "TIME")]
    duration: Option<u64>,
    /// Link speed: limits all flows together; a PFC quantum is 512 bit times at this speed
    #[arg(long, default_value = "1G", value_parser = speed, value_name = "RATE")]
    speed: Speed,
    /// Ignore received PFC, as a host without PFC does (it is still counted)
    #[arg(long)]
    ignore_pfc: bool,
    /// Obey rates as well as pauses: the switch sends gentle flow control (GFC), staged form
    #[arg(long, conflicts_with = "ignore_pfc")]
    gfc: bool,
    /// The old name of `--gfc`
    #[arg(long, hide = true, conflicts_with = "ignore_pfc")]
    gentle: bool,
    /// Frames sent between two checks for PFC: more is faster, but reacts later
    #[arg(long, default_value_t = 1, value_name = "FRAMES",
          value_parser = clap::value_parser!(u32).range(1..=SOCKET_BURST_MAX as i64))]
    burst: u32,
    /// How late a flow may be and still catch up with a burst; frames that are later are not sent
    #[arg(long, default_value = "5ms", value_parser = parse_duration_ns, value_name = "TIME")]
    burst_time: u64,
    /// Hold frames for this long, as a NIC does, while the interface is down or gone
    #[arg(long, default_value = "0s", value_parser = parse_duration_ns, value_name = "TIME")]
    hold: u64,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// Retry interval of a frame for which the interface had no room.
const RETRY_NS: u64 = 20_000;
/// The shortest sleep: at high rates, the frames that fall due meanwhile are one small burst, and
/// the core is free in between.
const COALESCE_NS: u64 = 50_000;
/// Shorter sleeps overshoot; the clock is polled instead.
const SLEEP_NS_MIN: u64 = 3_000;
/// The first UDP source port of flows without `src-port`: the ports differ, so that ECMP spreads
/// the flows.
const SOURCE_PORT: u16 = 49_152;
/// Flows of one sender: a mark has eight bits for them.
const FLOWS_MAX: usize = 256;

/// Runs the command.
pub(super) fn run(arguments: &SendArgs) -> Result<(), TrafficError> {
    if arguments.gentle {
        super::print_line("`--gentle` is now `--gfc`");
    }
    let stop = stop_flag()?;
    set_timer_slack()?;
    let interface = Interface::find(&arguments.dev)?;
    let streams = streams(&interface, &arguments.flows)?;
    let dropped_before = interface.tx_dropped()?;
    let mut sender = Sender::open(arguments, &interface, streams)?;
    let start = sender.clock.now();
    let ended = loop {
        let ended = sender.run(start, arguments.duration, &stop);
        match interface.back_after(&ended, arguments.hold, &stop) {
            Some(up) => sender.link_is_up(&interface, &up)?,
            None => break ended,
        }
    };
    let end = sender.clock.now();
    let dropped = match ended {
        Ok(()) => interface.tx_dropped()?.saturating_sub(dropped_before),
        // The interface may be gone, and its counters with it; what was sent counts all the same.
        Err(TrafficError::InterfaceDown { .. }) => {
            interface.tx_dropped().unwrap_or_default().saturating_sub(dropped_before)
        }
        Err(_) => return ended,
    };
    let report = sender.report(&interface, end.ns_since(start), dropped, end);
    if arguments.json {
        report::print_json(&report)?
    } else {
        report.print()?
    }
    ended
}

/// A flow with its resolved addresses and its frame.
#[derive(Debug)]
struct Stream {
    spec: FlowSpec,
    name: String,
    id: u8,
    addresses: Addresses,
    template: FrameTemplate,
}

/// Resolves what the flows leave open, and assigns names and numbers.
fn streams(interface: &Interface, flows: &[FlowSpec]) -> Result<Vec<Stream>, TrafficError> {
    if flows.len() > FLOWS_MAX {
        return Err(TrafficError::Arguments(format!("--flow: more than {FLOWS_MAX} flows")));
    }
    let mut neighbors = HashMap::new();
    let mut streams: Vec<Stream> = Vec::new();
    for (id, spec) in (0_u8..=u8::MAX).zip(flows) {
        let name = spec.name.clone().unwrap_or_else(|| format!("flow{id}"));
        if streams.iter().any(|stream| stream.name == name) {
            return Err(TrafficError::Arguments(format!("--flow: two flows are named `{name}`")));
        }
        let addresses = addresses(interface, spec, id, &mut neighbors)?;
        let template = FrameTemplate::new(spec, &addresses, &name);
        streams.push(Stream { spec: spec.clone(), name, id, addresses, template });
    }
    Ok(streams)
}

/// Resolves what the flow leaves open.
fn addresses(
    interface: &Interface,
    spec: &FlowSpec,
    id: u8,
    neighbors: &mut HashMap<IpAddr, MacAddress>,
) -> Result<Addresses, TrafficError> {
    let destination = spec.destination;
    let (source, destination_mac) = match (spec.source, spec.destination_mac) {
        (Some(source), Some(mac)) => (source, mac),
        (source, mac) => {
            let route = interface.route(destination)?;
            let source = source.or(route.source).ok_or_else(|| TrafficError::Unresolved {
                destination,
                interface: interface.name.clone(),
                why: "the interface has no address; give src-ip".to_owned(),
            })?;
            let mac = match mac.or_else(|| neighbors.get(&route.next_hop).copied()) {
                Some(mac) => mac,
                None => {
                    let mac = interface.neighbor(route.next_hop)?;
                    neighbors.insert(route.next_hop, mac);
                    mac
                }
            };
            (source, mac)
        }
    };
    let source_mac = spec.source_mac.unwrap_or(interface.mac);
    let source_port = spec.source_port.unwrap_or_else(|| SOURCE_PORT + u16::from(id));
    Ok(Addresses { source_mac, destination_mac, source, source_port })
}

/// The PFC receiver: obeys pauses, and rates with `--gfc`. A late wake-up may be made up by at most
/// one burst.
fn receiver(arguments: &SendArgs, obeyed_bits: u8) -> Result<Receiver, TrafficError> {
    let receiver = Receiver::new(obeyed_bits, arguments.speed);
    match (arguments.gfc || arguments.gentle, Form::STAGED) {
        (false, _) => Ok(receiver),
        (true, Some(form)) => Ok(receiver.gfc(form, arguments.burst_time)),
        (true, None) => {
            let why = "--gfc: this build has no gentle flow control; build with the feature `gfc`";
            Err(TrafficError::Arguments(why.to_owned()))
        }
    }
}

/// What a sender listens on, and what it sends by.
fn open_sockets(interface: &Interface) -> Result<(PfcSocket, PacketSocket), TrafficError> {
    let pfc = PfcSocket::open(interface)?;
    let socket = PacketSocket::open(interface, Listen::Nothing)?;
    socket.set_qdisc_bypass()?;
    Ok((pfc, socket))
}

struct Sender {
    streams: Vec<Stream>,
    schedule: Schedule,
    clock: Clock,
    socket: PacketSocket,
    pfc: PfcSocket,
    pauses: Receiver,
    /// Without what `pauses` counts.
    counters: PfcCounters,
    obeys_pfc: bool,
    run: u8,
    coalesce_ns: u64,
    refused: u64,
    buffer: Vec<u8>,
}

impl Sender {
    fn open(
        arguments: &SendArgs,
        interface: &Interface,
        streams: Vec<Stream>,
    ) -> Result<Self, TrafficError> {
        let (pfc, socket) = open_sockets(interface)?;
        let burst = usize::try_from(arguments.burst).unwrap_or(SOCKET_BURST_MAX);
        let obeyed_bits = if arguments.ignore_pfc { 0 } else { u8::MAX };
        let clock = Clock::start();
        let start = clock.now();
        let paces: Vec<Pace> =
            streams.iter().map(|stream| pace(&stream.spec, arguments.speed, start)).collect();
        let schedule = Schedule::new(&paces, start, arguments.burst_time, arguments.burst);
        Ok(Self {
            streams,
            schedule,
            clock,
            socket,
            pfc,
            pauses: receiver(arguments, obeyed_bits)?,
            counters: PfcCounters::default(),
            obeys_pfc: !arguments.ignore_pfc,
            run: run_number(),
            coalesce_ns: COALESCE_NS.min(arguments.burst_time / 2),
            refused: 0,
            buffer: vec![0; burst * FRAME_BYTES_MAX],
        })
    }

    /// Goes on after the link was down: `after` is the same interface as `before`, or another one.
    /// A pause ends with the link.
    fn link_is_up(&mut self, before: &Interface, after: &Interface) -> Result<(), TrafficError> {
        if before.index() != after.index() {
            (self.pfc, self.socket) = open_sockets(after)?;
        }
        self.pauses.reset(self.clock.now());
        Ok(())
    }

    /// Sends until the flows are done, `duration_ns` after `start` is over or `stop` is asked.
    fn run(
        &mut self,
        start: Instant,
        duration_ns: Option<u64>,
        stop: &StopFlag,
    ) -> Result<(), TrafficError> {
        let end = duration_ns.map_or(Instant::NEVER, |ns| start + ns);
        loop {
            let now = self.clock.now();
            if now >= end || stop.asked() {
                return Ok(());
            }
            self.process_pfc()?;
            let limited = self.pauses.limited_bits(now);
            match self.schedule.next(now, self.pauses.paused_bits() | limited) {
                // A flow limited by GFC is sent frame by frame.
                Step::Send { flow, .. } if self.is_slowed(flow) => self.send(flow, 1, now)?,
                Step::Send { flow, frames } => self.send(flow, frames, now)?,
                Step::Wait(until) => {
                    let may_send_at = self.pauses.expires_at().min(self.pauses.free_at(limited));
                    self.sleep(now, until.min(may_send_at).min(end))?;
                }
                Step::Finished => return Ok(()),
            }
        }
    }

    /// Whether GFC limits the class of a flow.
    fn is_slowed(&self, flow: usize) -> bool {
        self.pauses.rate_limited_bits() & self.streams[flow].spec.priority.bit() != 0
    }

    /// Processes the PFC frames that have arrived, each as of the time it was read: a pause never
    /// ends early.
    fn process_pfc(&mut self) -> Result<(), TrafficError> {
        let Self { clock, pfc, pauses, counters, .. } = self;
        pfc.poll(|control| {
            let now = clock.now();
            pauses.expire(now);
            match control {
                MacControl::Pfc(pfc) => pauses.receive(&pfc, now),
                MacControl::Pause => counters.rx_link_pause_frames += 1,
                MacControl::Unknown => counters.rx_unknown_frames += 1,
                MacControl::Truncated => counters.rx_truncated_frames += 1,
            }
        })?;
        pauses.expire(clock.now());
        Ok(())
    }

    /// Sends `frames` of one flow, as many as the interface takes.
    fn send(&mut self, flow: usize, frames: u32, now: Instant) -> Result<(), TrafficError> {
        let stream = &self.streams[flow];
        let first = self.schedule.frames_sent(flow);
        let mut test_header = TestHeader {
            flow: stream.id,
            priority: stream.spec.priority,
            run: self.run,
            sequence: 0,
            sent_ns: clock::monotonic_ns(),
        };
        let mut burst: ArrayVec<&[u8], SOCKET_BURST_MAX> = ArrayVec::new();
        let slots = self.buffer.chunks_exact_mut(FRAME_BYTES_MAX);
        for (sequence, slot) in (first..first + u64::from(frames)).zip(slots) {
            test_header.sequence = sequence;
            burst.push(stream.template.write(&test_header, slot));
        }
        let accepted = self.socket.send(&burst)?;
        if accepted < burst.len() {
            self.refused += 1;
        }
        let accepted = u32::try_from(accepted).unwrap_or(u32::MAX);
        self.schedule.sent(flow, accepted, now);
        let frame_bytes = u32::try_from(stream.template.frame_bytes()).unwrap_or(u32::MAX);
        (0..accepted).for_each(|_| self.pauses.sent(stream.spec.priority, frame_bytes, now));
        if accepted == 0 { self.pfc.wait(now, now + RETRY_NS) } else { Ok(()) }
    }

    /// Sleeps until `until`, or a little longer so that several frames go at once; a PFC frame
    /// ends it.
    fn sleep(&self, now: Instant, until: Instant) -> Result<(), TrafficError> {
        let until = until.max(now + self.coalesce_ns).min(now + SLEEP_NS_MAX);
        if until.ns_since(now) < SLEEP_NS_MIN { Ok(()) } else { self.pfc.wait(now, until) }
    }

    fn report(
        &self,
        interface: &Interface,
        elapsed_ns: u64,
        dropped: u64,
        end: Instant,
    ) -> SendReport {
        let flows: Vec<FlowSent> = (self.streams.iter().enumerate())
            .map(|(index, stream)| {
                let frames = self.schedule.frames_sent(index);
                let bytes = frames * stream.template.frame_bytes() as u64;
                FlowSent {
                    name: stream.name.clone(),
                    flow: stream.id,
                    source: stream.addresses.source,
                    destination: stream.spec.destination,
                    destination_mac: stream.addresses.destination_mac.to_string(),
                    priority: stream.spec.priority.value(),
                    dscp: stream.spec.dscp,
                    frames,
                    bytes,
                    rate_bps: report::rate_bps(bytes, elapsed_ns),
                    goodput_bps: report::rate_bps(
                        frames * stream.template.payload_bytes() as u64,
                        elapsed_ns,
                    ),
                    forfeited_ns: self.schedule.forfeited_ns(index),
                }
            })
            .collect();
        let mut counters = self.counters;
        self.pauses.count_into(&mut counters);
        SendReport {
            interface: interface.name.clone(),
            elapsed_ns,
            frames: flows.iter().map(|flow| flow.frames).sum(),
            bytes: flows.iter().map(|flow| flow.bytes).sum(),
            refused: self.refused,
            interface_tx_dropped: dropped,
            pfc_obeyed: self.obeys_pfc,
            link_pause_frames: counters.rx_link_pause_frames,
            priorities: Priority::all()
                .map(|priority| PrioritySent {
                    priority: priority.value(),
                    xoff: counters.rx_xoff[priority.index()],
                    xon: counters.rx_xon[priority.index()],
                    pauses: counters.rx_pauses[priority.index()],
                    paused_ns: counters.rx_paused_ns[priority.index()]
                        + self.pauses.running_ns(priority, end),
                })
                .collect(),
            flows,
        }
    }
}

fn pace(spec: &FlowSpec, speed: Speed, start: Instant) -> Pace {
    let wire_bytes = (spec.size_bytes + WIRE_OVERHEAD_BYTES) as u64;
    Pace {
        priority: spec.priority,
        interval_ps: spec.rate.interval_ps(spec.size_bytes),
        wire_ps: speed.bytes_ps(wire_bytes),
        count: Some(spec.count.unwrap_or(SEQUENCES)),
        start: start + spec.start_ns,
    }
}

/// A number that differs from one start to the next, so that a receiver that outlives its sender
/// does not take the next one's frames for duplicates.
fn run_number() -> u8 {
    let [a, b, c, d, ..] = (clock::monotonic_ns() >> 16).to_le_bytes();
    let [e, f, ..] = std::process::id().to_le_bytes();
    a ^ b ^ c ^ d ^ e ^ f
}
