//! The HTTP server: one thread, with the least share of a CPU that others want.
//!
//! Each limit of a client bounds what it can take from the others: there are at most
//! [`CONNECTIONS_MAX`] connections, further ones wait until one of these ends, and each of these
//! ends. A request has to be complete, and the next one to begin, within [`READ_MAX`]; a response
//! has to be taken without a break of [`WRITE_MAX`]; after [`AGE_MAX`] a connection ends with its
//! current response, or [`LAST_MAX`] later without it.

use super::accept;
use super::listen::{MetricsListener, Socket, SocketFile};
use super::source::Source;
use crate::control::Call;
use crate::log;
use crate::security::{Rights, ThreadKind};
use crossbeam::channel::Sender;
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{ACCEPT, ALLOW, CONTENT_TYPE, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use std::convert::Infallible;
use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, UnixListener};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};
use tokio::time::{sleep, timeout};
use tokio_io_timeout::TimeoutStream;

/// Connections at once.
const CONNECTIONS_MAX: usize = 32;
/// How long a request may take to arrive, and a connection may be idle.
const READ_MAX: Duration = Duration::from_secs(5);
/// How long a client may take no byte of its response.
const WRITE_MAX: Duration = Duration::from_secs(5);
/// After this time a connection takes no further request.
const AGE_MAX: Duration = Duration::from_secs(60);
/// How long the last response of such a connection may take.
const LAST_MAX: Duration = Duration::from_secs(5);
/// The longest request line with its headers, in bytes.
const REQUEST_BYTES_MAX: usize = 16 << 10;
/// How long to wait if a connection cannot be accepted, for lack of file descriptors for instance.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
/// The lowest priority of a thread. It gets about 1 % of a CPU that a worker wants.
const NICENESS: i32 = 19;

/// The server, for as long as metrics are served.
#[derive(Debug)]
pub(crate) struct MetricsServer {
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
    _file: Option<SocketFile>,
}

impl MetricsServer {
    /// Serves the metrics of the switch `name`, whose control thread takes `calls`, by a thread
    /// with what `rights` leaves it.
    ///
    /// # Errors
    /// The system has no thread or no file descriptor left.
    pub(crate) fn start(
        listener: MetricsListener,
        name: &str,
        calls: Sender<Call>,
        rights: Rights,
    ) -> io::Result<Self> {
        let runtime = Builder::new_current_thread().enable_io().enable_time().build()?;
        let source = Arc::new(Source::new(name, calls));
        let (stop, stopped) = oneshot::channel();
        let (socket, file) = listener.into_parts();
        let run = move || {
            // Refused only where a policy forbids the call; the thread then has the priority of the
            // others.
            let _niceness = rustix::process::nice(NICENESS);
            match rights.restrict_thread(ThreadKind::Server) {
                Ok(()) => serve(&runtime, socket, source, stopped),
                Err(error) => log::error("metrics", format!("the metrics are not served: {error}")),
            }
        };
        let thread = thread::Builder::new().name("metrics".into()).spawn(run)?;
        Ok(Self { stop: Some(stop), thread: Some(thread), _file: file })
    }
}

impl Drop for MetricsServer {
    /// Closes all connections.
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _fault_of_the_thread = thread.join();
        }
    }
}

/// Serves until the other end of `stopped` is dropped.
fn serve(runtime: &Runtime, socket: Socket, source: Arc<Source>, stopped: oneshot::Receiver<()>) {
    runtime.block_on(async {
        tokio::select! {
            () = accept_all(socket, source) => {}
            _ = stopped => {}
        }
    });
}

async fn accept_all(socket: Socket, source: Arc<Source>) {
    let slots = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    // The sockets do not block, and the runtime is there: neither conversion fails.
    match socket {
        Socket::Tcp(listener, _) => {
            let Ok(listener) = TcpListener::from_std(listener) else { return };
            loop {
                let Ok(slot) = Arc::clone(&slots).acquire_owned().await else { return };
                let accepted = listener.accept().await;
                spawn(accepted.map(|(stream, _)| stream), slot, &source).await;
            }
        }
        Socket::Unix(listener) => {
            let Ok(listener) = UnixListener::from_std(listener) else { return };
            loop {
                let Ok(slot) = Arc::clone(&slots).acquire_owned().await else { return };
                let accepted = listener.accept().await;
                spawn(accepted.map(|(stream, _)| stream), slot, &source).await;
            }
        }
    }
}

async fn spawn<S: AsyncRead + AsyncWrite + Send + 'static>(
    accepted: io::Result<S>,
    slot: OwnedSemaphorePermit,
    source: &Arc<Source>,
) {
    match accepted {
        Ok(stream) => {
            tokio::spawn(serve_client(stream, slot, Arc::clone(source)));
        }
        Err(_) => sleep(ACCEPT_PAUSE).await,
    }
}

/// Answers one client until it disconnects or is over a limit.
async fn serve_client<S: AsyncRead + AsyncWrite + Send + 'static>(
    stream: S,
    _slot: OwnedSemaphorePermit,
    source: Arc<Source>,
) {
    let mut stream = TimeoutStream::new(stream);
    stream.set_write_timeout(Some(WRITE_MAX));
    let service = service_fn(move |request| answer(request, Arc::clone(&source)));
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(READ_MAX)
        .max_buf_size(REQUEST_BYTES_MAX)
        .serve_connection(TokioIo::new(Box::pin(stream)), service);
    let mut connection = pin!(connection);
    tokio::select! {
        // The client has disconnected, is over a limit, or has been told what is wrong.
        _ended = connection.as_mut() => return,
        () = sleep(AGE_MAX) => connection.as_mut().graceful_shutdown(),
    }
    let _cut_off = timeout(LAST_MAX, connection).await;
}

async fn answer(
    request: Request<Incoming>,
    source: Arc<Source>,
) -> Result<Response<Full<Bytes>>, Infallible> {
    if request.uri().path() != "/metrics" {
        return Ok(plain(StatusCode::NOT_FOUND, "the metrics are at /metrics"));
    }
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        let mut refused = plain(StatusCode::METHOD_NOT_ALLOWED, "only GET and HEAD are answered");
        refused.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
        return Ok(refused);
    }
    let values = request.headers().get_all(ACCEPT).into_iter();
    let format = accept::wanted(values.filter_map(|value| value.to_str().ok()));
    let response = match source.page(format).await {
        Ok(page) => {
            let mut response = Response::new(Full::new(page));
            let kind = HeaderValue::from_static(format.content_type());
            response.headers_mut().insert(CONTENT_TYPE, kind);
            response
        }
        Err(why) => plain(StatusCode::SERVICE_UNAVAILABLE, why),
    };
    Ok(response)
}

/// A response of one line.
fn plain(status: StatusCode, line: &str) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(format!("{line}\n").into()));
    *response.status_mut() = status;
    let kind = HeaderValue::from_static("text/plain; charset=utf-8");
    response.headers_mut().insert(CONTENT_TYPE, kind);
    response
}
