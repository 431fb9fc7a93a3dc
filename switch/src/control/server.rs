//! The control socket. One thread accepts; one thread per client reads lines and writes replies.
//! The control thread receives whole requests only, so no client can block it.

use super::access::{Access, Role};
use super::capture_stream::{self, CaptureClient};
use super::clients::{Clients, Place};
use super::lines::{LineError, LineStream};
use super::protocol::{Reply, Request};
use super::{Call, ReplyTo, Signals};
use crate::log;
use crate::security::{Rights, ThreadKind};
use crate::unix_socket;
use crossbeam::channel::{Receiver, RecvTimeoutError, Sender, bounded};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use std::fs;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// Requests that may wait for the control thread.
const CALLS_MAX: usize = 64;
/// How long a request waits for room among them.
const CALL_MAX: Duration = Duration::from_secs(5);
/// How long a reply may take. Reading a file of routes is the longest work there is.
const REPLY_MAX: Duration = Duration::from_secs(120);
/// How long the end waits for replies that are being written.
const LAST_REPLIES_MAX: Duration = Duration::from_secs(2);
/// Poll interval of the accepting thread.
const POLL_MS: u16 = 50;

/// The socket, for as long as it is served.
#[derive(Debug)]
pub(crate) struct Server {
    path: PathBuf,
    calls: Sender<Call>,
    ended: Arc<AtomicBool>,
    accepting: Option<JoinHandle<()>>,
    clients: Arc<Clients>,
}

/// Who is served, and by threads of which rights.
#[derive(Clone, Debug, Default)]
pub(crate) struct ServerOptions {
    /// Who may connect.
    pub access: Access,
    /// What the process has left.
    pub rights: Rights,
}

impl Server {
    /// Serves the socket at `path`, where nothing may exist but the socket of a process that has
    /// ended. Only those that `options` names can connect, from the first moment on. Requests
    /// arrive by the receiver.
    ///
    /// # Errors
    /// The socket cannot be made there.
    pub(crate) fn start(path: &Path, options: ServerOptions) -> io::Result<(Self, Receiver<Call>)> {
        let listener = unix_socket::listen(path, 0o777 & !options.access.socket_mode())?;
        let (calls, receiver) = bounded(CALLS_MAX);
        let their_calls = calls.clone();
        let ended = Arc::new(AtomicBool::new(false));
        let clients = Arc::new(Clients::default());
        let acceptor = Acceptor {
            listener,
            calls: their_calls,
            options,
            ended: Arc::clone(&ended),
            clients: Arc::clone(&clients),
        };
        let accepting = thread::Builder::new().name("ctl".into()).spawn(move || acceptor.run())?;
        let accepting = Some(accepting);
        let server = Self { path: path.to_owned(), calls, ended, accepting, clients };
        Ok((server, receiver))
    }

    /// Where requests go that do not come by the socket.
    pub(crate) fn calls(&self) -> Sender<Call> {
        self.calls.clone()
    }
}

impl Drop for Server {
    /// Stops accepting, removes the socket, and waits for the replies that are being written: the
    /// process may end right after, and the client that said `stop` must see its answer.
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Relaxed);
        if let Some(accepting) = self.accepting.take() {
            let _fault_of_the_thread = accepting.join();
        }
        let _gone_already = fs::remove_file(&self.path);
        let end = Instant::now() + LAST_REPLIES_MAX;
        while self.clients.is_answering() && Instant::now() < end {
            thread::sleep(Duration::from_millis(1));
        }
    }
}

/// The thread that takes clients in.
struct Acceptor {
    listener: UnixListener,
    calls: Sender<Call>,
    options: ServerOptions,
    ended: Arc<AtomicBool>,
    clients: Arc<Clients>,
}

impl Acceptor {
    fn run(self) {
        // The clients' threads have the same.
        if let Err(error) = self.options.rights.restrict_thread(ThreadKind::Server) {
            log::error("control", format!("the control socket is not served: {error}"));
            return;
        }
        while !self.ended.load(Ordering::Relaxed) {
            let mut readable = [PollFd::new(self.listener.as_fd(), PollFlags::POLLIN)];
            // An interrupted or failed wait only ends early.
            let _cut_short = poll(&mut readable, PollTimeout::from(POLL_MS));
            if let Ok((stream, _)) = self.listener.accept() {
                self.take(stream);
            }
        }
    }

    /// Serves a client by a thread of its own, if it may be served.
    fn take(&self, stream: UnixStream) {
        let Ok(lines) = LineStream::new(&stream) else { return };
        let place = match self.options.access.role_of(&stream) {
            Err(error) => return refuse(lines, &error.to_string()),
            Ok(role) => match Clients::take(&self.clients, stream, role) {
                Err(full) => return refuse(lines, &full.to_string()),
                Ok(place) => place,
            },
        };
        let calls = self.calls.clone();
        let serve = move || {
            // The client has disconnected, or was too slow.
            let _broken_off = serve(lines, &calls, &place);
        };
        // Without a thread the client sees the connection close.
        let _closed = thread::Builder::new().name("ctl-client".into()).spawn(serve);
    }
}

/// Tells why a client is not served, if it takes that at once: a thread for it would be what it is
/// refused.
fn refuse(mut lines: LineStream, why: &str) {
    let _client_is_gone = lines.write_at_once(&Reply::failed(why));
}

/// Answers one client, line by line, until it disconnects.
fn serve(mut lines: LineStream, calls: &Sender<Call>, place: &Place) -> io::Result<()> {
    loop {
        let line = match lines.read() {
            Ok(Some(line)) => line,
            Ok(None) => return Ok(()),
            Err(LineError::Broken(error)) => return Err(error),
            Err(error) => return lines.write(&Reply::failed(error)),
        };
        place.set_idle(false);
        if let Ok(request @ Request::Capture(_)) = Request::read(line)
            && place.role() == Role::Change
        {
            return capture(lines, request, calls);
        }
        let reply = match Request::read(line) {
            Ok(request) if request.is_change() && place.role() == Role::Read => Reply::failed(
                "this needs the right to change the switch; ask as root or as a member of \
                 `change_group` of [control]",
            ),
            // A client that executes a plan relies on this: a request that it gave up is not
            // executed later.
            Ok(Request::AddRoute { .. } | Request::DelRoute { .. }) if lines.is_closed() => {
                return Ok(());
            }
            Ok(request) => ask(request, calls),
            Err(error) => Reply::failed(error),
        };
        lines.write(&reply)?;
        place.set_idle(true);
    }
}

/// Captures for a client until it has had enough.
fn capture(mut lines: LineStream, request: Request, calls: &Sender<Call>) -> io::Result<()> {
    let (client, readers) = CaptureClient::of(lines.stream());
    let reply = ask_for(request, calls, |reply| ReplyTo::Capture(reply, client));
    lines.write(&reply)?;
    match readers.try_recv() {
        Ok(readers) => capture_stream::serve(lines.stream(), readers),
        // It was refused.
        Err(_) => Ok(()),
    }
}

/// Passes the request to the control thread.
fn ask(request: Request, calls: &Sender<Call>) -> Reply {
    ask_for(request, calls, ReplyTo::Thread)
}

/// Passes the request to the control thread; `to` makes of a channel who waits for the reply.
fn ask_for(
    request: Request,
    calls: &Sender<Call>,
    to: impl FnOnce(Sender<Reply>) -> ReplyTo,
) -> Reply {
    let (reply, answer) = bounded(1);
    if calls.send_timeout(Call { request, reply: to(reply) }, CALL_MAX).is_err() {
        return Reply::failed("the switch is too busy to answer or is stopping");
    }
    match answer.recv_timeout(REPLY_MAX) {
        Ok(reply) => reply,
        Err(RecvTimeoutError::Timeout) => Reply::failed("the switch took too long to answer"),
        Err(RecvTimeoutError::Disconnected) => Reply::failed("the switch is stopping"),
    }
}

impl Signals {
    /// Flags that SIGINT and SIGTERM (stop) and SIGHUP (reload) raise. A second SIGINT or SIGTERM
    /// ends the process at once.
    ///
    /// # Errors
    /// The system refuses.
    pub(crate) fn install() -> io::Result<Self> {
        use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
        use signal_hook::flag;
        let signals = Self::default();
        for signal in [SIGINT, SIGTERM] {
            // In this order: the first signal finds the flag down, and then raises it.
            flag::register_conditional_shutdown(signal, 128 + signal, Arc::clone(&signals.stop))?;
            flag::register(signal, Arc::clone(&signals.stop))?;
        }
        flag::register(SIGHUP, Arc::clone(&signals.reload))?;
        Ok(signals)
    }
}
