//! The listening socket, and the one session at a time.

use super::ports::PortIndexes;
use super::session::{Epochs, Session, SessionEnd, Step};
use super::state::{Refusal, State};
use crate::control::stats::FpmStats;
use crate::log;
use dataplane::fib::Routes;
use dataplane::time::Instant;
use socket2::{SockRef, TcpKeepalive};
use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::Duration;

/// Time without a message after which zebra has sent what it had.
const QUIET_NS: u64 = 1_000_000_000;
/// A peer on another machine that is gone is noticed after this time and three probes.
const KEEPALIVE: Duration = Duration::from_secs(5);

/// The socket cannot be made: one line.
#[derive(Debug, thiserror::Error)]
#[error("fpm at {address}: {error}; set [routing] fpm to another address")]
pub(crate) struct FpmError {
    address: SocketAddr,
    error: io::Error,
}

/// Takes routes from zebra.
#[derive(Debug)]
pub(crate) struct FpmServer {
    listener: TcpListener,
    address: SocketAddr,
    state: State,
    session: Option<Session>,
    /// How long stale routes may stay after a session's begin.
    stale_ns: u64,
    /// When they are removed.
    sweep_at: Option<Instant>,
    message_at: Instant,
    sessions: u64,
    errors: u64,
}

impl FpmServer {
    /// Listens at `address`. Routes that a new session does not give again stay for `stale_ns`.
    ///
    /// # Errors
    /// The address is in use or not allowed.
    pub(crate) fn bind(
        address: SocketAddr,
        stale_ns: u64,
        ports: Box<dyn PortIndexes>,
    ) -> Result<Self, FpmError> {
        let bind = || {
            let listener = TcpListener::bind(address)?;
            listener.set_nonblocking(true)?;
            let at = listener.local_addr()?;
            Ok((listener, at))
        };
        let (listener, address) = bind().map_err(|error| FpmError { address, error })?;
        Ok(Self {
            listener,
            address,
            state: State::new(ports),
            session: None,
            stale_ns,
            sweep_at: None,
            message_at: Instant::ZERO,
            sessions: 0,
            errors: 0,
        })
    }

    /// Where it listens.
    pub(crate) const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Does what is due.
    pub(crate) fn step(&mut self, now: Instant, routes: &mut Routes, epochs: Epochs) -> Step {
        let mut step = Step::default();
        if let Some(session) = &mut self.session {
            let had_begun = session.has_begun;
            let read = session.read(&mut self.state, routes, epochs, &mut step);
            if session.has_begun && !had_begun {
                self.sessions += 1;
                self.sweep_at = Some(now + self.stale_ns);
                let (peer, stale) = (session.peer, self.state.stale(routes));
                log::info("fpm", format!("fpm: {peer} is connected; {stale} routes are stale"));
            }
            if step.any {
                self.message_at = now;
            }
            if let Err(end) = read.and_then(|()| session.write(epochs.in_use)) {
                self.end(&end, routes);
            }
        }
        // Not before: a zebra that has just ended must not stand in the way of the next one.
        self.accept();
        if self.session.is_some()
            && self.sweep_at.is_some_and(|due| due <= now)
            && now.ns_since(self.message_at) >= QUIET_NS
        {
            self.sweep_at = None;
            let swept = self.state.sweep(routes);
            step.changed |= swept > 0;
            log::info("fpm", format!("fpm: {swept} stale routes removed"));
        }
        step
    }

    /// Takes a connection. A second one is refused while the first one is at work: zebra opens one.
    fn accept(&mut self) {
        loop {
            let (stream, peer) = match self.listener.accept() {
                Ok(accepted) => accepted,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                // The peer went away, or there are too many open files; the next step tries again.
                Err(_) => return,
            };
            if let Some(session) = self.session.as_ref().filter(|session| session.has_begun) {
                self.errors += 1;
                let other = session.peer;
                log::warning("fpm", format!("fpm: {peer} is refused; {other} is connected"));
                continue;
            }
            match prepare(&stream) {
                Ok(()) => self.session = Some(Session::new(stream, peer)),
                Err(error) => {
                    self.errors += 1;
                    log::warning("fpm", format!("fpm: {peer}: {error}"));
                }
            }
        }
    }

    fn end(&mut self, end: &SessionEnd, routes: &Routes) {
        let Some(session) = self.session.take() else { return };
        let (peer, kept) = (session.peer, routes.learned().len());
        self.errors += u64::from(end.is_malformed());
        if end.is_malformed() || session.has_begun {
            let text = format!("fpm: {peer} is disconnected: {end}; {kept} routes stay");
            log::warning("fpm", text);
        }
    }

    /// The figures.
    pub(crate) fn stats(&self, routes: &Routes) -> FpmStats {
        let session = self.session.as_ref().filter(|session| session.has_begun);
        let refused = |cause: Refusal| {
            let count = self.state.refused.get(&cause).copied().unwrap_or_default();
            (cause.name().to_owned(), count)
        };
        FpmStats {
            address: self.address.to_string(),
            connected: session.is_some(),
            peer: session.map(|session| session.peer.to_string()),
            sessions: self.sessions,
            messages: self.state.messages,
            routes: routes.learned().len() as u64,
            stale_routes: self.state.stale(routes) as u64,
            next_hops: self.state.next_hops() as u64,
            errors: self.errors,
            refused: Refusal::ALL.map(refused).into(),
        }
    }
}

fn prepare(stream: &TcpStream) -> io::Result<()> {
    stream.set_nonblocking(true)?;
    stream.set_nodelay(true)?;
    let keepalive = TcpKeepalive::new().with_time(KEEPALIVE).with_interval(KEEPALIVE);
    SockRef::from(stream).set_tcp_keepalive(&keepalive.with_retries(3))
}

#[cfg(test)]
mod tests {
    use super::*;
    use dataplane::ids::PortId;
    use std::io::Write;

    /// No interface has a port.
    #[derive(Debug)]
    struct Nowhere;

    impl PortIndexes for Nowhere {
        fn port_of(&mut self, _interface: u32) -> Option<PortId> {
            None
        }
    }

    const EPOCHS: Epochs = Epochs { in_use: 0, made: 0, is_change_pending: false };

    /// A frame with a netlink message that does nothing.
    const NOTHING: [u8; 20] = [1, 1, 0, 20, 16, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];

    fn connect(server: &FpmServer) -> TcpStream {
        let mut stream = TcpStream::connect(server.address()).unwrap();
        stream.write_all(&NOTHING).unwrap();
        stream
    }

    #[test]
    fn the_next_daemon_may_come_before_the_end_of_the_last_one_was_read() {
        let mut routes = Routes::new();
        let any = SocketAddr::from(([127, 0, 0, 1], 0));
        let mut server = FpmServer::bind(any, 0, Box::new(Nowhere)).unwrap();
        let first = connect(&server);
        let mut until = |server: &mut FpmServer, sessions| {
            let asked = std::time::Instant::now();
            while server.sessions < sessions {
                server.step(Instant::ZERO, &mut routes, EPOCHS);
                assert!(asked.elapsed() < Duration::from_secs(20), "{server:?}");
            }
        };
        until(&mut server, 1);
        drop(first);
        let second = connect(&server);
        until(&mut server, 2);
        let peer = server.session.as_ref().map(|session| session.peer);
        assert_eq!((peer, server.errors), (second.local_addr().ok(), 0));
    }
}
