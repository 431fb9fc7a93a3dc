//! The control socket. One thread accepts; one thread per client reads lines and writes replies.
//! The control thread receives whole requests only, so no client can block it.

use super::protocol::{REQUEST_BYTES_MAX, Reply, Request};
use super::{Call, ReplyTo, Signals};
use crate::unix_socket;
use crossbeam::channel::{Receiver, RecvTimeoutError, Sender, bounded};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use std::fs;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::Shutdown;
use std::os::fd::AsFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// The maximum number of clients; more are refused with a reply.
const CLIENTS_MAX: usize = 32;
/// Requests that may wait for the control thread.
const CALLS_MAX: usize = 64;
/// A client that was idle for so long is disconnected if a new one needs its slot.
const IDLE_MAX: Duration = Duration::from_secs(10);
/// Read timeout of a client.
const READ_MAX: Duration = Duration::from_secs(300);
/// Write timeout of a client.
const WRITE_MAX: Duration = Duration::from_secs(5);
/// How long a reply may take. Reading a file of routes is the longest work there is.
const REPLY_MAX: Duration = Duration::from_secs(120);
/// How long the end waits for replies that are being written.
const LAST_REPLIES_MAX: Duration = Duration::from_secs(2);
/// Poll interval of the accepting thread.
const POLL_MS: u16 = 50;
/// A umask under which the socket has mode 0600.
const PRIVATE_MASK: u32 = 0o177;

/// The socket, for as long as it is served.
#[derive(Debug)]
pub(crate) struct Server {
    path: PathBuf,
    calls: Sender<Call>,
    ended: Arc<AtomicBool>,
    accepting: Option<JoinHandle<()>>,
    clients: Arc<Clients>,
}

impl Server {
    /// Serves the socket at `path`, where nothing may exist but the socket of a process that has
    /// ended. Only this user can connect, from the first moment on. Requests arrive by the
    /// receiver.
    ///
    /// # Errors
    /// The socket cannot be made there.
    pub(crate) fn start(path: &Path) -> io::Result<(Self, Receiver<Call>)> {
        let listener = unix_socket::listen(path, PRIVATE_MASK)?;
        let (calls, receiver) = bounded(CALLS_MAX);
        let their_calls = calls.clone();
        let ended = Arc::new(AtomicBool::new(false));
        let their_ended = Arc::clone(&ended);
        let clients = Arc::new(Clients::default());
        let their_clients = Arc::clone(&clients);
        let accept = move || accept(&listener, &their_calls, &their_ended, &their_clients);
        let accepting = thread::Builder::new().name("ctl".into()).spawn(accept)?;
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

/// Takes clients in until the end.
fn accept(
    listener: &UnixListener,
    calls: &Sender<Call>,
    ended: &AtomicBool,
    clients: &Arc<Clients>,
) {
    while !ended.load(Ordering::Relaxed) {
        let mut readable = [PollFd::new(listener.as_fd(), PollFlags::POLLIN)];
        // An interrupted or failed wait only ends early.
        let _cut_short = poll(&mut readable, PollTimeout::from(POLL_MS));
        if let Ok((stream, _)) = listener.accept() {
            serve_client(stream, calls.clone(), Arc::clone(clients));
        }
    }
}

fn serve_client(stream: UnixStream, calls: Sender<Call>, clients: Arc<Clients>) {
    let place = Clients::take(&clients, &stream);
    let serve = move || {
        // The client has disconnected.
        let _broken_off = match place {
            Some(place) => serve(stream, &calls, &place),
            None => refuse(stream),
        };
    };
    // Without a thread the client sees the connection close.
    let _closed = thread::Builder::new().name("ctl-client".into()).spawn(serve);
}

/// The clients that are connected.
#[derive(Debug, Default)]
struct Clients {
    list: Mutex<Vec<Client>>,
    /// The number of the next client; numbers are not reused.
    next: AtomicU64,
}

#[derive(Debug)]
struct Client {
    stream: UnixStream,
    number: u64,
    /// The time of its last request or reply; `None` while it is being answered.
    idle_since: Option<Instant>,
}

/// A client's slot.
struct Place {
    clients: Arc<Clients>,
    number: u64,
}

impl Clients {
    /// A slot for the client of `stream`: a free one, or that of the client that has been idle for
    /// longest, if that is long; its connection is closed.
    fn take(clients: &Arc<Self>, stream: &UnixStream) -> Option<Place> {
        let stream = stream.try_clone().ok()?;
        let mut list = clients.list();
        if list.len() >= CLIENTS_MAX {
            let idle = |client: &Client| client.idle_since.map(|since| since.elapsed());
            let longest = (0..list.len()).max_by_key(|&at| idle(&list[at]))?;
            if idle(&list[longest]).is_none_or(|idle| idle < IDLE_MAX) {
                return None;
            }
            let _gone_already = list.swap_remove(longest).stream.shutdown(Shutdown::Both);
        }
        let number = clients.next.fetch_add(1, Ordering::Relaxed);
        list.push(Client { stream, number, idle_since: Some(Instant::now()) });
        Some(Place { clients: Arc::clone(clients), number })
    }

    /// Whether a client waits for its reply.
    fn is_answering(&self) -> bool {
        self.list().iter().any(|client| client.idle_since.is_none())
    }

    fn list(&self) -> MutexGuard<'_, Vec<Client>> {
        self.list.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Place {
    /// Sets whether the client is idle.
    fn set_idle(&self, is_idle: bool) {
        let mut list = self.clients.list();
        if let Some(client) = list.iter_mut().find(|client| client.number == self.number) {
            client.idle_since = is_idle.then(Instant::now);
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.clients.list().retain(|client| client.number != self.number);
    }
}

fn refuse(mut stream: UnixStream) -> io::Result<()> {
    stream.set_write_timeout(Some(WRITE_MAX))?;
    write_reply(&mut stream, &Reply::failed(format!("{CLIENTS_MAX} clients are connected already")))
}

/// Answers one client, line by line, until it disconnects.
fn serve(stream: UnixStream, calls: &Sender<Call>, place: &Place) -> io::Result<()> {
    stream.set_nonblocking(false)?;
    stream.set_read_timeout(Some(READ_MAX))?;
    stream.set_write_timeout(Some(WRITE_MAX))?;
    let mut writer = stream.try_clone()?;
    let mut reader = BufReader::new(stream);
    let mut line = Vec::new();
    loop {
        line.clear();
        let most = u64::try_from(REQUEST_BYTES_MAX).unwrap_or(u64::MAX);
        reader.by_ref().take(most).read_until(b'\n', &mut line)?;
        if line.is_empty() {
            return Ok(());
        }
        if !line.ends_with(b"\n") {
            let why =
                if line.len() >= REQUEST_BYTES_MAX { "longer than 16 KiB" } else { "incomplete" };
            return write_reply(&mut writer, &Reply::failed(format!("the request is {why}")));
        }
        place.set_idle(false);
        let reply = match Request::read(&line) {
            // A client that executes a plan relies on this: a request that it gave up is not
            // executed later.
            Ok(Request::AddRoute { .. } | Request::DelRoute { .. }) if is_closed(&writer) => {
                return Ok(());
            }
            Ok(request) => ask(request, calls),
            Err(error) => Reply::failed(error),
        };
        write_reply(&mut writer, &reply)?;
        place.set_idle(true);
    }
}

/// Whether the client has closed its end and will see no reply.
fn is_closed(stream: &UnixStream) -> bool {
    let mut ends = [PollFd::new(stream.as_fd(), PollFlags::empty())];
    poll(&mut ends, PollTimeout::ZERO).is_ok()
        && ends[0].revents().is_some_and(|what| what.contains(PollFlags::POLLHUP))
}

/// Passes the request to the control thread.
fn ask(request: Request, calls: &Sender<Call>) -> Reply {
    let (reply, answer) = bounded(1);
    if calls.send_timeout(Call { request, reply: ReplyTo::Thread(reply) }, WRITE_MAX).is_err() {
        return Reply::failed("the switch is too busy to answer or is stopping");
    }
    match answer.recv_timeout(REPLY_MAX) {
        Ok(reply) => reply,
        Err(RecvTimeoutError::Timeout) => Reply::failed("the switch took too long to answer"),
        Err(RecvTimeoutError::Disconnected) => Reply::failed("the switch is stopping"),
    }
}

fn write_reply(to: &mut UnixStream, reply: &Reply) -> io::Result<()> {
    let mut text = serde_json::to_vec(reply)?;
    text.push(b'\n');
    to.write_all(&text)
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
