//! `knotless roce recv`: lets peers write, read and change its memory, and receives their messages.

use super::RoceError;
use super::args::LinkArgs;
use super::driver::{Driver, packet_mtu};
use super::exchange::{Pair, Progress, Session};
use super::report::{EndpointReport, RecvReport};
use crate::traffic::interface::Interface;
use crate::traffic::{set_timer_slack, stop_flag};
use clap::Args;
use config::units::{parse_duration_ns, parse_size};
use roce::memory::{Region, RegionId};
use roce::work::{Completion, Done, Place, QueuePairId, ReceiveRequest, Status};
use std::fs::File;
use std::io::{BufWriter, ErrorKind, Write};
use std::net::{IpAddr, Ipv6Addr, SocketAddr, TcpListener};
use std::path::PathBuf;

/// Arguments of `recv`.
#[derive(Debug, Args)]
pub struct RecvArgs {
    #[command(flatten)]
    link: LinkArgs,
    /// The endpoint's own address [default: the one at which the first peer connects]
    #[arg(long)]
    ip: Option<IpAddr>,
    /// The longest operation of a peer: so much memory it offers, and so long are receive buffers
    #[arg(long, default_value = "1MiB", value_parser = parse_size)]
    size: u64,
    /// Receive buffers of a queue pair; without one a message waits (RNR)
    #[arg(long, default_value_t = 32, value_name = "COUNT",
          value_parser = clap::value_parser!(u32).range(1..=4_096))]
    buffers: u32,
    /// Stop after so many peers have come and gone [default: at a signal]
    #[arg(long, value_name = "COUNT")]
    sessions: Option<u64>,
    /// Stop after this time [default: at a signal]
    #[arg(long, value_parser = parse_duration_ns, value_name = "TIME")]
    duration: Option<u64>,
    /// Write the messages of `knotless roce send` to this file
    #[arg(long, value_name = "FILE")]
    to: Option<PathBuf>,
}

/// Memory of a queue pair is offered from here on, each at its own address.
const ADDRESS: u64 = 0x2000_0000;
/// perftest writes small operations around a page.
const MEMORY_BYTES_MIN: u64 = 8_192;
const POLL_NS: u64 = 1_000_000;

/// A queue pair that was offered, to which peer, and the regions of its memory and its buffers.
struct Offered {
    peer: SocketAddr,
    queue_pair: QueuePairId,
    memory: RegionId,
    buffers: RegionId,
}

struct Server<'a> {
    arguments: &'a RecvArgs,
    interface: Interface,
    listener: TcpListener,
    driver: Option<(IpAddr, Driver)>,
    sessions: Vec<Session>,
    offered: Vec<Offered>,
    /// Queue pairs that were ever offered.
    numbers: u64,
    ended: u64,
    messages: u64,
    message_bytes: u64,
    file: Option<BufWriter<File>>,
}

/// Runs the command.
pub(super) fn run(arguments: &RecvArgs) -> Result<(), RoceError> {
    let link = &arguments.link;
    link.check()?;
    if !(1..=1 << 30).contains(&arguments.size) {
        return Err(RoceError::Arguments("--size: 1 byte to 1 GiB".to_owned()));
    }
    let stop = stop_flag()?;
    set_timer_slack()?;
    let interface = Interface::find(&link.dev)?;
    let at = SocketAddr::new(Ipv6Addr::UNSPECIFIED.into(), link.port);
    let listener = TcpListener::bind(at)
        .and_then(|listener| listener.set_nonblocking(true).map(|()| listener))
        .map_err(|source| RoceError::Listen { port: link.port, source })?;
    let create = |file: &PathBuf| {
        File::create(file).map_err(|source| RoceError::File { file: file.clone(), source })
    };
    let mut server = Server {
        arguments,
        interface,
        listener,
        driver: None,
        sessions: Vec::new(),
        offered: Vec::new(),
        numbers: 0,
        ended: 0,
        messages: 0,
        message_bytes: 0,
        file: arguments.to.as_ref().map(create).transpose()?.map(BufWriter::new),
    };
    if let Some(ip) = arguments.ip {
        server.open(ip)?;
    }
    super::print_line(&format!("listening on {}, TCP port {}", link.dev, link.port));
    let started = std::time::Instant::now();
    let is_over = |server: &Server<'_>| {
        let elapsed = u64::try_from(started.elapsed().as_nanos()).unwrap_or(u64::MAX);
        stop.asked()
            || arguments.duration.is_some_and(|ns| elapsed >= ns)
            || arguments.sessions.is_some_and(|sessions| server.ended >= sessions)
    };
    while !is_over(&server) {
        server.turn()?;
    }
    if let Some(file) = &mut server.file {
        let named = arguments.to.clone().unwrap_or_default();
        file.flush().map_err(|source| RoceError::File { file: named, source })?;
    }
    let elapsed_ns = u64::try_from(started.elapsed().as_nanos()).unwrap_or(u64::MAX);
    server.report(elapsed_ns)?.print(link.json)
}

impl Server<'_> {
    fn open(&mut self, ip: IpAddr) -> Result<&mut Driver, RoceError> {
        if self.driver.is_none() {
            let driver = Driver::open(self.interface.clone(), ip, &self.arguments.link)?;
            self.driver = Some((ip, driver));
        }
        match &mut self.driver {
            Some((own, driver)) if *own == ip => Ok(driver),
            _ => Err(RoceError::Arguments(format!(
                "--ip: a peer connects to {ip}, which is not the endpoint's address"
            ))),
        }
    }

    /// Looks at everything once.
    fn turn(&mut self) -> Result<(), RoceError> {
        self.accept()?;
        let mut at = 0;
        while let Some(session) = self.sessions.get_mut(at) {
            match session.poll() {
                Ok(Progress::Waits) => at += 1,
                Ok(Progress::Asks(theirs)) => self.offer(at, theirs)?,
                Ok(Progress::Over) => self.end(at),
                Err(error) => {
                    super::print_line(&error.to_string());
                    self.end(at);
                }
            }
        }
        let Some((_, driver)) = &mut self.driver else {
            std::thread::sleep(std::time::Duration::from_nanos(POLL_NS));
            return Ok(());
        };
        let mut is_busy = false;
        // The control connections change seldom; frames are looked for more often.
        for _ in 0..16 {
            is_busy = driver.turn()?;
            if !is_busy {
                break;
            }
        }
        while let Some((_, driver)) = &mut self.driver
            && let Some(completion) = driver.endpoint.poll_completion()
        {
            self.complete(&completion)?;
        }
        match &self.driver {
            Some((_, driver)) if !is_busy => driver.sleep(driver.now() + POLL_NS),
            _ => Ok(()),
        }
    }

    /// A peer has gone: what it was offered is taken back.
    fn end(&mut self, at: usize) {
        let peer = self.sessions.swap_remove(at).peer;
        self.ended += 1;
        let Some((_, driver)) = &mut self.driver else { return };
        for offered in self.offered.iter().filter(|offered| offered.peer == peer) {
            driver.endpoint.close(offered.queue_pair);
            for region in [offered.memory, offered.buffers] {
                driver.endpoint.deregister(region);
                driver.memory.regions[usize::try_from(region.0).unwrap_or(0)] = Vec::new();
            }
        }
        self.offered.retain(|offered| offered.peer != peer);
    }

    fn accept(&mut self) -> Result<(), RoceError> {
        match self.listener.accept() {
            Ok((stream, peer)) => {
                let own = self.arguments.link.mtu;
                let mtu = own.map_or_else(|| self.interface.mtu().map(packet_mtu), Ok)?;
                self.sessions.push(Session::new(stream, peer, mtu)?);
                Ok(())
            }
            Err(error)
                if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) =>
            {
                Ok(())
            }
            Err(source) => Err(RoceError::Listen { port: self.arguments.link.port, source }),
        }
    }

    /// Offers a queue pair with memory and receive buffers to one of a client.
    fn offer(&mut self, at: usize, theirs: Pair) -> Result<(), RoceError> {
        let (size, buffers) = (self.arguments.size, self.arguments.buffers);
        let session = &self.sessions[at];
        let (mtu, ip) = (session.mtu, session.own_ip());
        let ip = self.arguments.ip.or(ip).unwrap_or(theirs.ip);
        let (peer, number) = (session.peer, self.numbers);
        self.numbers += 1;
        let driver = self.open(ip)?;
        let bytes = (2 * size).max(MEMORY_BYTES_MIN);
        let address = ADDRESS + number * bytes.next_power_of_two().max(1 << 20);
        let (memory, key) = driver.endpoint.register(Region { address, bytes, is_remote: true });
        driver.memory.regions.push(vec![0; usize::try_from(bytes).unwrap_or(0)]);
        let buffer_bytes = size * u64::from(buffers);
        let local = Region { address: 0, bytes: buffer_bytes, is_remote: false };
        let (region, _) = driver.endpoint.register(local);
        driver.memory.regions.push(vec![0; usize::try_from(buffer_bytes).unwrap_or(0)]);
        let (queue_pair, own, psn) = driver.create_queue_pair(mtu);
        driver.connect(queue_pair, &theirs)?;
        let offered = Offered { peer, queue_pair, memory, buffers: region };
        for id in 0..u64::from(buffers) {
            post(driver, &offered, id, size)?;
        }
        self.offered.push(offered);
        let own = Pair { queue_pair: own, psn, key, address, reads: 16, ip };
        self.sessions[at].answer(theirs, own)
    }

    /// A message has come, and its buffer is posted again; or a queue pair has failed.
    fn complete(&mut self, completion: &Completion) -> Result<(), RoceError> {
        let Some((_, driver)) = &mut self.driver else { return Ok(()) };
        let offered = self.offered.iter().find(|it| it.queue_pair == completion.queue_pair);
        let Some(offered) = offered else { return Ok(()) };
        match completion.status {
            Status::Success => {}
            // Of the connection, not of this command: others go on.
            Status::Flushed => return Ok(()),
            status => {
                super::print_line(&format!("{}", RoceError::Operation(status)));
                return Ok(());
            }
        }
        self.messages += 1;
        self.message_bytes += u64::from(completion.bytes);
        let size = self.arguments.size;
        if let (Some(file), Done::Receive { .. }) = (&mut self.file, completion.done) {
            let place = Place { region: offered.buffers, offset: completion.id * size };
            let named = self.arguments.to.clone().unwrap_or_default();
            file.write_all(driver.memory.read(place, completion.bytes))
                .map_err(|source| RoceError::File { file: named, source })?;
        }
        post(driver, offered, completion.id, size)
    }

    fn report(&self, elapsed_ns: u64) -> Result<RecvReport, RoceError> {
        let Some((_, driver)) = &self.driver else { return Err(RoceError::NoPeer) };
        Ok(RecvReport {
            interface: self.interface.name.clone(),
            elapsed_ns,
            sessions: self.ended,
            messages: self.messages,
            message_bytes: self.message_bytes,
            endpoint: EndpointReport::of(driver)?,
        })
    }
}

/// Posts receive buffer `id` of a queue pair. One that has failed takes none.
fn post(driver: &mut Driver, offered: &Offered, id: u64, size: u64) -> Result<(), RoceError> {
    use roce::work::PostError;
    let local = Place { region: offered.buffers, offset: id * size };
    let bytes = u32::try_from(size).unwrap_or(0);
    let buffer = ReceiveRequest { id, local, bytes };
    match driver.endpoint.post_receive(offered.queue_pair, buffer) {
        Err(error) if error != PostError::Failed => Err(error.into()),
        _ => Ok(()),
    }
}
