//! The exporter: a thread that reads what the workers sample and sends it, so that neither they nor
//! the control thread wait for a collector.
//!
//! The sockets are made by the control thread: a thread that serves others makes none
//! (`security/syscalls.rs`).

use super::agent::Agent;
use super::structures::IfCounters;
use crate::control::stats::{SflowCounters, SflowStats};
use crate::log;
use crate::security::{Rights, ThreadKind};
use config::switch::Sflow;
use crossbeam::channel::{Receiver, RecvTimeoutError, Sender, unbounded};
use dataplane::sampling::SampleReader;
use dataplane::time::Instant;
use socket2::{Domain, Socket, Type};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// How long the thread waits between two looks at the rings: a sample is sent at most so late.
const LOOK: Duration = Duration::from_millis(10);
/// How long the workers may take to give up what they sampled with.
const LAST_LOOKS: u32 = 50;

/// Why nothing can be sent: one line.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SocketsError {
    /// The source address is not one of the machine's, or the system has no socket left.
    #[error(
        "sflow: cannot send from {address}: {error}; set `source` to one of the machine's addresses"
    )]
    Bind {
        /// Where from.
        address: IpAddr,
        /// The error.
        error: io::Error,
    },
    /// The thread cannot be started.
    #[error("sflow: {0}")]
    Thread(io::Error),
}

/// A socket for each family of addresses that collectors have.
#[derive(Debug)]
pub(crate) struct Sockets {
    v4: Option<UdpSocket>,
    v6: Option<UdpSocket>,
}

impl Sockets {
    /// The sockets for the collectors of `settings`. Nothing is sent.
    ///
    /// # Errors
    /// The source address cannot be used.
    pub(crate) fn open(settings: &Sflow) -> Result<Self, SocketsError> {
        let open = |is_v4: bool| {
            if !settings.collectors.iter().any(|collector| collector.is_ipv4() == is_v4) {
                return Ok(None);
            }
            let any = if is_v4 {
                IpAddr::V4(Ipv4Addr::UNSPECIFIED)
            } else {
                IpAddr::V6(Ipv6Addr::UNSPECIFIED)
            };
            let given = settings.source.filter(|source| source.is_ipv4() == is_v4);
            let address = given.unwrap_or(any);
            let bound = bind(address).map_err(|error| SocketsError::Bind { address, error })?;
            Ok(Some(bound))
        };
        Ok(Self { v4: open(true)?, v6: open(false)? })
    }

    /// Sends a datagram; whether the system took it.
    fn send(&self, datagram: &[u8], to: SocketAddr) -> bool {
        let socket = if to.is_ipv4() { &self.v4 } else { &self.v6 };
        let sent = socket.as_ref().map(|socket| socket.send_to(datagram, to));
        sent.is_some_and(|sent| sent.is_ok())
    }
}

/// A socket that never waits.
fn bind(address: IpAddr) -> io::Result<UdpSocket> {
    let domain = if address.is_ipv4() { Domain::IPV4 } else { Domain::IPV6 };
    let socket = Socket::new(domain, Type::DGRAM, None)?;
    if address.is_ipv6() {
        socket.set_only_v6(true)?;
    }
    socket.set_nonblocking(true)?;
    socket.bind(&SocketAddr::new(address, 0).into())?;
    Ok(socket.into())
}

/// What is sampled, and who gets it, until it changes.
#[derive(Debug)]
pub(crate) struct Session {
    /// What SWITCH.toml says.
    pub(crate) settings: Sflow,
    /// Where it goes out.
    pub(crate) sockets: Sockets,
    /// By worker.
    pub(crate) readers: Vec<SampleReader>,
    /// When it began, on the workers' clock.
    pub(crate) began: Instant,
}

/// What the control thread tells the exporter.
#[derive(Debug)]
enum Order {
    /// From now on this, or nothing.
    Export(Option<Box<Session>>),
    /// Send these counters.
    Counters(Vec<IfCounters>),
}

/// The control thread's end.
#[derive(Debug)]
pub(crate) struct Exporter {
    orders: Option<Sender<Order>>,
    stats: Arc<Mutex<Option<SflowStats>>>,
    thread: Option<JoinHandle<()>>,
}

impl Exporter {
    /// Starts the thread, with what `rights` leaves it.
    ///
    /// # Errors
    /// The system has no thread left.
    pub(crate) fn start(rights: Rights) -> Result<Self, SocketsError> {
        let (orders, taken) = unbounded();
        let stats = Arc::default();
        let shown = Arc::clone(&stats);
        let run = move || {
            if let Err(error) = rights.restrict_thread(ThreadKind::Server) {
                return log::error("sflow", format!("nothing is sampled: {error}"));
            }
            run(&taken, &shown);
        };
        let thread = thread::Builder::new().name("sflow".into()).spawn(run);
        let thread = Some(thread.map_err(SocketsError::Thread)?);
        Ok(Self { orders: Some(orders), stats, thread })
    }

    /// Exports this from now on, or nothing.
    pub(crate) fn export(&self, session: Option<Session>) {
        self.order(Order::Export(session.map(Box::new)));
    }

    /// Sends these counters.
    pub(crate) fn send_counters(&self, counters: Vec<IfCounters>) {
        self.order(Order::Counters(counters));
    }

    fn order(&self, order: Order) {
        // The thread has ended if it could not give up its rights, which was said.
        let _ended = self.orders.as_ref().map(|orders| orders.send(order));
    }

    /// What was sent; `None` if nothing is sampled.
    pub(crate) fn stats(&self) -> Option<SflowStats> {
        self.stats.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Sends what the workers, which have ended, have left.
    pub(crate) fn finish(&mut self) {
        self.orders = None;
        if let Some(thread) = self.thread.take() {
            // A panic was reported by the thread.
            let _ended = thread.join();
        }
    }
}

impl Drop for Exporter {
    fn drop(&mut self) {
        self.finish();
    }
}

fn run(orders: &Receiver<Order>, shown: &Mutex<Option<SflowStats>>) {
    let mut now: Option<Running> = None;
    // What earlier sessions have counted.
    let mut before = SflowCounters::default();
    loop {
        let order = match &now {
            Some(_) => orders.recv_timeout(LOOK),
            None => orders.recv().map_err(|_| RecvTimeoutError::Disconnected),
        };
        let is_over = matches!(order, Err(RecvTimeoutError::Disconnected));
        if is_over || matches!(order, Ok(Order::Export(_))) {
            before += now.take().map(Running::finish).unwrap_or_default();
        }
        match order {
            Ok(Order::Export(session)) => now = session.map(|session| Running::new(*session)),
            Ok(Order::Counters(counters)) => {
                let agent = now.iter_mut().map(|now| &mut now.agent);
                agent.for_each(|agent| counters.iter().for_each(|it| agent.take_counters(it)));
            }
            Err(_) => {}
        }
        let stats = now.as_mut().map(|now| {
            now.look();
            now.stats(before)
        });
        if is_over {
            let mut shown = shown.lock().unwrap_or_else(PoisonError::into_inner);
            shown.iter_mut().for_each(|shown| shown.counters = before);
            return;
        }
        *shown.lock().unwrap_or_else(PoisonError::into_inner) = stats;
    }
}

/// A session in the thread.
struct Running {
    session: Session,
    agent: Agent,
    since: std::time::Instant,
    sent: u64,
    lost: u64,
}

impl Running {
    fn new(session: Session) -> Self {
        let agent = Agent::new(&session.settings);
        Self { session, agent, since: std::time::Instant::now(), sent: 0, lost: 0 }
    }

    /// Sends what has been sampled.
    fn look(&mut self) {
        let uptime = Duration::from_nanos(self.session.began.ns) + self.since.elapsed();
        let uptime_ms = uptime.as_millis() & u128::from(u32::MAX);
        self.agent.set_uptime_ms(u32::try_from(uptime_ms).unwrap_or_default());
        let lost = self.lost_of_workers();
        let not_reported = lost.suppressed_drops + lost.missed_drops;
        for reader in &mut self.session.readers {
            for _ in 0..reader.ring.slots() {
                let Ok(sample) = reader.ring.pop() else { break };
                self.agent.take(&sample, not_reported);
            }
        }
        for datagram in self.agent.datagrams() {
            for &collector in &self.session.settings.collectors {
                if self.session.sockets.send(&datagram, collector) {
                    self.sent += 1;
                } else {
                    self.lost += 1;
                }
            }
        }
    }

    /// Sends what is left, once the workers no longer sample.
    fn finish(mut self) -> SflowCounters {
        for _ in 0..LAST_LOOKS {
            if self.session.readers.iter().all(|reader| reader.ring.is_abandoned()) {
                break;
            }
            thread::sleep(LOOK);
        }
        self.look();
        self.counters()
    }

    fn lost_of_workers(&self) -> SflowCounters {
        let readers = &self.session.readers;
        SflowCounters {
            missed_samples: readers.iter().map(SampleReader::missed_samples).sum(),
            missed_drops: readers.iter().map(SampleReader::missed_drops).sum(),
            suppressed_drops: readers.iter().map(SampleReader::suppressed_drops).sum(),
            ..SflowCounters::default()
        }
    }

    fn counters(&self) -> SflowCounters {
        let mut counters = self.agent.counters;
        counters += self.lost_of_workers();
        counters.sent_datagrams = self.sent;
        counters.lost_datagrams = self.lost;
        counters
    }

    fn stats(&self, before: SflowCounters) -> SflowStats {
        let mut counters = self.counters();
        counters += before;
        let settings = &self.session.settings;
        SflowStats {
            agent: settings.agent.to_string(),
            collectors: settings.collectors.iter().map(ToString::to_string).collect(),
            sample_rates: settings.sample_rates.clone(),
            polling_ns: settings.polling_ns.unwrap_or(0),
            drop_monitor_limit: settings.drops_per_second,
            counters,
        }
    }
}
