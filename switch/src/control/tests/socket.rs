//! The socket, with a stub in the control thread's place.

use crate::control::Call;
use crate::control::protocol::{REQUEST_BYTES_MAX, Reply, Request, Stopping};
use crate::control::server::{Server, ServerOptions};
use crate::ctl::client::{Client, CtlError};
use crossbeam::channel::Receiver;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

struct Served {
    _folder: tempfile::TempDir,
    socket: PathBuf,
    server: Option<Server>,
}

/// Answers every `stop` with 7 and everything else with a refusal.
fn answer_all(calls: &Receiver<Call>) {
    for Call { request, reply } in calls {
        let answer = match request {
            Request::Stop => Reply::Stopping(Stopping { stopping: 7 }),
            other => Reply::failed(format!("no {other:?}")),
        };
        reply.send(answer).unwrap();
    }
}

fn serve() -> Served {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("s.sock");
    let (server, calls) = Server::start(&socket, ServerOptions::default()).unwrap();
    thread::spawn(move || answer_all(&calls));
    Served { _folder: folder, socket, server: Some(server) }
}

/// What the switch says to `text`.
fn say(socket: &Path, text: &[u8]) -> String {
    let mut stream = UnixStream::connect(socket).unwrap();
    // One that is refused may find the connection closed before it has asked.
    let _refused = stream.write_all(text);
    let mut line = String::new();
    BufReader::new(stream).read_line(&mut line).unwrap();
    line
}

#[test]
fn only_its_user_can_connect_and_the_socket_goes_with_the_server() {
    let mut served = serve();
    let mode = std::fs::metadata(&served.socket).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    drop(served.server.take());
    assert!(!served.socket.exists());
}

/// The process may end as soon as the server is gone. It did, on a busy machine, before the thread
/// of the client that had said `stop` could write the answer.
#[test]
fn the_server_goes_only_after_the_replies_that_it_owes() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("s.sock");
    let (server, calls) = Server::start(&socket, ServerOptions::default()).unwrap();
    let mut stream = UnixStream::connect(&socket).unwrap();
    stream.write_all(b"{\"request\":\"stop\"}\n").unwrap();
    let Call { reply, .. } = calls.recv().unwrap();
    let late = thread::spawn(move || {
        thread::sleep(Duration::from_millis(300));
        reply.send(Reply::Stopping(Stopping { stopping: 7 })).unwrap();
    });
    drop(server);
    stream.set_nonblocking(true).unwrap();
    let mut line = String::new();
    BufReader::new(stream).read_line(&mut line).unwrap();
    assert_eq!(line, "{\"stopping\":7}\n");
    late.join().unwrap();
}

#[test]
fn a_client_asks_many_times_by_one_connection() {
    let served = serve();
    let mut client = Client::connect(&served.socket).unwrap();
    for _ in 0..100 {
        let stopping: Stopping = client.ask(&Request::Stop).unwrap();
        assert_eq!(stopping.stopping, 7);
        let refused = client.ask::<Stopping>(&Request::Rules).unwrap_err();
        assert!(matches!(refused, CtlError::Refused(ref why) if why == "no Rules"), "{refused}");
        assert_eq!(refused.exit_code(), 2);
    }
}

#[test]
fn nonsense_is_answered_with_an_error_and_the_connection_stays() {
    let served = serve();
    let mut stream = UnixStream::connect(&served.socket).unwrap();
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    for nonsense in ["\n", "{}\n", "[1,2]\n", "{\"request\":\"fly\"}\n", "\u{1F600}\n"] {
        stream.write_all(nonsense.as_bytes()).unwrap();
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        assert!(line.starts_with("{\"error\":"), "{nonsense:?}: {line}");
    }
    stream.write_all(b"\xFF\xFE\n{\"request\":\"stop\"}\n").unwrap();
    let lines: Vec<String> = reader.lines().take(2).map(Result::unwrap).collect();
    assert!(lines[0].starts_with("{\"error\":"), "{lines:?}");
    assert_eq!(lines[1], "{\"stopping\":7}");
}

#[test]
fn a_line_without_an_end_is_cut_off() {
    let served = serve();
    let answer = say(&served.socket, &vec![b'x'; REQUEST_BYTES_MAX + 10]);
    assert!(answer.contains("longer than 16 KiB"), "{answer}");

    let mut stream = UnixStream::connect(&served.socket).unwrap();
    stream.write_all(b"{\"request\":").unwrap();
    stream.shutdown(std::net::Shutdown::Write).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.contains("incomplete"), "{answer}");
}

#[test]
fn idle_clients_do_not_block_others_while_slots_are_free() {
    let served = serve();
    let connect = |count| -> Vec<UnixStream> {
        (0..count).map(|_| UnixStream::connect(&served.socket).unwrap()).collect()
    };
    let silent = connect(20);
    let began = Instant::now();
    assert_eq!(say(&served.socket, b"{\"request\":\"stop\"}\n"), "{\"stopping\":7}\n");
    assert!(began.elapsed() < Duration::from_secs(5));

    let more = connect(20);
    let refused = say(&served.socket, b"{\"request\":\"stop\"}\n");
    assert!(refused.contains("32 clients are connected already"), "{refused}");
    drop((silent, more));
    let until = Instant::now() + Duration::from_secs(10);
    while !say(&served.socket, b"{\"request\":\"stop\"}\n").contains('7') {
        assert!(Instant::now() < until, "the places are not given back");
        thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn idle_clients_are_replaced_by_new_ones() {
    let served = serve();
    let silent: Vec<UnixStream> =
        (0..32).map(|_| UnixStream::connect(&served.socket).unwrap()).collect();
    let is_answered = || {
        let mut stream = UnixStream::connect(&served.socket).unwrap();
        let _refused = stream.write_all(b"{\"request\":\"stop\"}\n");
        let mut reported = String::new();
        let _refused = BufReader::new(stream).read_line(&mut reported);
        reported.contains('7')
    };
    let began = Instant::now();
    while !is_answered() {
        assert!(began.elapsed() < Duration::from_secs(30), "32 silent clients lock all others out");
        thread::sleep(Duration::from_millis(100));
    }
    // One of them gave its place up and knows it.
    let closed = silent.into_iter().filter(|stream| {
        stream.set_nonblocking(true).unwrap();
        matches!((&*stream).read(&mut [0]), Ok(0))
    });
    assert_eq!(closed.count(), 1);
}

#[test]
fn a_dead_process_s_socket_is_replaced_and_nothing_else_is() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("s.sock");
    drop(UnixListener::bind(&socket).unwrap());
    assert!(socket.exists(), "left behind");
    drop(Server::start(&socket, ServerOptions::default()).unwrap());

    std::fs::write(&socket, "precious").unwrap();
    let error = Server::start(&socket, ServerOptions::default()).unwrap_err().to_string();
    assert!(error.contains("something else is there"), "{error}");
    assert_eq!(std::fs::read_to_string(&socket).unwrap(), "precious");
}

#[test]
fn a_shutdown_without_a_reply_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("s.sock");
    let (server, calls) = Server::start(&socket, ServerOptions::default()).unwrap();
    let asking = thread::spawn({
        let socket = socket.clone();
        move || say(&socket, b"{\"request\":\"stats\"}\n")
    });
    let call = calls.recv().unwrap();
    drop(call);
    assert!(asking.join().unwrap().contains("is stopping"));
    drop(server);
}

/// A client that means its request needs no seconds for it, however steadily it sends.
#[test]
fn a_request_that_trickles_in_is_cut_off() {
    let served = serve();
    let mut stream = UnixStream::connect(&served.socket).unwrap();
    stream.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
    let began = Instant::now();
    let mut answer = String::new();
    while answer.is_empty() {
        // After the answer the connection is closed.
        let _closed = stream.write_all(b" ");
        let _nothing_yet = stream.read_to_string(&mut answer);
        assert!(began.elapsed() < Duration::from_secs(60), "it is waited for");
    }
    assert!(answer.contains("the request took longer than 5 s"), "{answer}");
    assert!(began.elapsed() > Duration::from_secs(4), "{:?}", began.elapsed());
}
