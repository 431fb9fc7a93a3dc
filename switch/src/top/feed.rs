//! The thread that polls the switch's control socket and reconnects, so that a slow or stopped
//! switch never blocks the keys.

use crate::control::protocol::Request;
use crate::control::stats::Stats;
use crate::ctl::client::{Client, CtlError};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

/// Interval of the attempts to reconnect.
const RETRY: Duration = Duration::from_millis(500);

/// What the thread reports.
#[derive(Debug)]
pub(super) enum FeedEvent {
    /// The stats of the switch.
    Stats(Box<Stats>),
    /// Why there are no stats. The thread keeps trying.
    Waiting(String),
}

/// The stats of the switch now.
///
/// # Errors
/// The switch refuses, or the connection breaks.
pub(super) fn ask(client: &mut Client) -> Result<Stats, CtlError> {
    client.ask(&Request::Stats)
}

/// Polls the switch at `socket` every `interval` until the receiver is dropped.
///
/// # Errors
/// The thread cannot be started.
pub(super) fn start(socket: PathBuf, interval: Duration) -> io::Result<Receiver<FeedEvent>> {
    let (sender, receiver) = sync_channel(1);
    thread::Builder::new()
        .name("top-feed".into())
        .spawn(move || feed(&socket, interval, &sender))?;
    Ok(receiver)
}

fn feed(socket: &Path, interval: Duration, to: &SyncSender<FeedEvent>) {
    let mut connection = None;
    let mut due = Instant::now();
    loop {
        let (event, pause) = match next(socket, &mut connection) {
            Ok(stats) => (FeedEvent::Stats(Box::new(stats)), interval),
            Err(error) => (FeedEvent::Waiting(error.to_string()), RETRY),
        };
        if to.send(event).is_err() {
            return;
        }
        // A late answer does not cause two requests in a row.
        due = (due + pause).max(Instant::now());
        thread::sleep(due.saturating_duration_since(Instant::now()));
    }
}

/// Uses the open connection or a new one. After an error there is none.
fn next(socket: &Path, connection: &mut Option<Client>) -> Result<Stats, CtlError> {
    let mut client = match connection.take() {
        Some(client) => client,
        None => Client::connect(socket)?,
    };
    let stats = ask(&mut client)?;
    *connection = Some(client);
    Ok(stats)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::Call;
    use crate::control::protocol::Reply;
    use crate::control::server::{Server, ServerOptions};
    use crossbeam::channel::Receiver as Calls;

    const PATIENCE: Duration = Duration::from_secs(20);

    /// Answers one request, with `uptime_ns`.
    fn answer(calls: &Calls<Call>, uptime_ns: u64) {
        let Call { request, reply } = calls.recv_timeout(PATIENCE).unwrap();
        assert_eq!(request, Request::Stats);
        let stats = Stats { name: "leaf1".to_owned(), uptime_ns, ..Stats::default() };
        reply.send(Reply::Stats(Box::new(stats))).unwrap();
    }

    /// The next event that is not `Waiting`.
    fn next_stats(events: &Receiver<FeedEvent>) -> u64 {
        loop {
            if let FeedEvent::Stats(stats) = events.recv_timeout(PATIENCE).unwrap() {
                return stats.uptime_ns;
            }
        }
    }

    fn next_waiting(events: &Receiver<FeedEvent>) -> String {
        loop {
            if let FeedEvent::Waiting(why) = events.recv_timeout(PATIENCE).unwrap() {
                return why;
            }
        }
    }

    /// A switch that answers as often as there are uptimes.
    fn switch(socket: &Path, uptimes_ns: Vec<u64>) -> thread::JoinHandle<()> {
        let socket = socket.to_owned();
        thread::spawn(move || {
            let (_server, calls) = Server::start(&socket, ServerOptions::default()).unwrap();
            uptimes_ns.into_iter().for_each(|uptime_ns| answer(&calls, uptime_ns));
        })
    }

    #[test]
    fn the_feed_connects_and_reconnects() {
        let directory = tempfile::tempdir().unwrap();
        let socket = directory.path().join("a.sock");
        let events = start(socket.clone(), Duration::from_millis(1)).unwrap();
        assert!(next_waiting(&events).contains("a.sock"), "not there yet");

        let first = switch(&socket, vec![1, 2]);
        assert_eq!([next_stats(&events), next_stats(&events)], [1, 2]);
        first.join().unwrap();
        next_waiting(&events);

        let second = switch(&socket, vec![7]);
        assert_eq!(next_stats(&events), 7);
        second.join().unwrap();
    }

    #[test]
    fn a_refusal_is_passed_on() {
        let directory = tempfile::tempdir().unwrap();
        let socket = directory.path().join("a.sock");
        let (_server, calls) = Server::start(&socket, ServerOptions::default()).unwrap();
        let events = start(socket, Duration::from_millis(1)).unwrap();
        let call = calls.recv_timeout(PATIENCE).unwrap();
        call.reply.send(Reply::failed("worker 0 does not answer")).unwrap();
        assert_eq!(next_waiting(&events), "worker 0 does not answer");
        answer(&calls, 3);
        assert_eq!(next_stats(&events), 3);
    }
}
