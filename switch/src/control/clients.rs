//! The clients of the control socket: how many there are, and which one gives its slot up.

use super::access::Role;
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The maximum number of clients; more are refused with a reply.
const CLIENTS_MAX: usize = 32;
/// The maximum number of those that may only read, so that they never lock an operator out.
const READERS_MAX: usize = 24;
/// A client that was idle for so long is disconnected if a new one needs its slot.
const IDLE_MAX: Duration = Duration::from_secs(10);

/// The clients that are connected.
#[derive(Debug, Default)]
pub(super) struct Clients {
    list: Mutex<Vec<Client>>,
    /// The number of the next client; numbers are not reused.
    next: AtomicU64,
}

#[derive(Debug)]
struct Client {
    stream: UnixStream,
    role: Role,
    number: u64,
    /// The time of its last request or reply; `None` while it is being answered.
    idle_since: Option<Instant>,
}

/// A client's slot.
#[derive(Debug)]
pub(super) struct Place {
    clients: Arc<Clients>,
    role: Role,
    number: u64,
}

/// There is no slot for a client.
#[derive(Debug, thiserror::Error)]
#[error("{0} clients are connected already")]
pub(super) struct Full(usize);

impl Clients {
    /// A slot for the client of `stream`: a free one, or that of the client that has been idle for
    /// longest, if that is long; its connection is closed.
    ///
    /// # Errors
    /// There is none.
    pub(super) fn take(clients: &Arc<Self>, stream: UnixStream, role: Role) -> Result<Place, Full> {
        let mut list = clients.list();
        let readers = list.iter().filter(|client| client.role == Role::Read).count();
        if list.len() >= CLIENTS_MAX || role == Role::Read && readers >= READERS_MAX {
            // A reader takes a reader's slot.
            let may_go = |client: &Client| role == Role::Change || client.role == Role::Read;
            let idle = |client: &Client| client.idle_since.map(|since| since.elapsed());
            let candidates = (0..list.len()).filter(|&at| may_go(&list[at]));
            let longest = candidates.max_by_key(|&at| idle(&list[at]));
            let longest = longest
                .filter(|&at| idle(&list[at]).is_some_and(|idle| idle >= IDLE_MAX))
                .ok_or(Full(list.len()))?;
            let _gone_already = list.swap_remove(longest).stream.shutdown(Shutdown::Both);
        }
        let number = clients.next.fetch_add(1, Ordering::Relaxed);
        list.push(Client { stream, role, number, idle_since: Some(Instant::now()) });
        Ok(Place { clients: Arc::clone(clients), role, number })
    }

    /// Whether a client waits for its reply.
    pub(super) fn is_answering(&self) -> bool {
        self.list().iter().any(|client| client.idle_since.is_none())
    }

    fn list(&self) -> MutexGuard<'_, Vec<Client>> {
        self.list.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Place {
    /// What its client may do.
    pub(super) const fn role(&self) -> Role {
        self.role
    }

    /// Sets whether the client is idle.
    pub(super) fn set_idle(&self, is_idle: bool) {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn connect(clients: &Arc<Clients>, role: Role) -> Result<Place, Full> {
        Clients::take(clients, UnixStream::pair().unwrap().0, role)
    }

    #[test]
    fn readers_leave_slots_to_those_that_may_change() {
        let clients = Arc::new(Clients::default());
        let readers: Vec<Place> =
            (0..READERS_MAX).map(|_| connect(&clients, Role::Read).unwrap()).collect();
        let error = connect(&clients, Role::Read).unwrap_err().to_string();
        assert_eq!(error, "24 clients are connected already");
        let operators: Vec<Place> =
            (READERS_MAX..CLIENTS_MAX).map(|_| connect(&clients, Role::Change).unwrap()).collect();
        let error = connect(&clients, Role::Change).unwrap_err().to_string();
        assert_eq!(error, "32 clients are connected already");
        drop(operators);
        assert!(connect(&clients, Role::Read).is_err());
        drop(readers);
        assert!(connect(&clients, Role::Read).is_ok());
    }
}
