//! What happens in the store, as it happens.

use crate::error::StoreError;
use crate::head::Head;
use crate::records::Ack;
use crate::store::{Store, parse};
use etcd_client::{EventType, WatchOptions, WatchStream};

/// Something happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// The head is another one.
    Head(Head),
    /// A switch says what it has.
    Ack(String, Ack),
    /// A switch is gone, or does not reach the store.
    Gone(String),
}

/// What happens from now on.
pub struct Events {
    stream: WatchStream,
    head: String,
    acks: String,
}

impl std::fmt::Debug for Events {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Events({})", self.head)
    }
}

impl Store {
    /// Begins to watch.
    ///
    /// # Errors
    /// The store does not answer.
    pub async fn events(&mut self) -> Result<Events, StoreError> {
        let options = WatchOptions::new().with_prefix();
        let stream = self.client.watch(self.keys.root(), Some(options)).await?;
        Ok(Events { stream, head: self.keys.head(), acks: self.keys.ack("") })
    }
}

impl Events {
    /// The next ones.
    ///
    /// # Errors
    /// The store is gone.
    pub async fn next(&mut self) -> Result<Vec<Event>, StoreError> {
        let message = self.stream.message().await?.ok_or(StoreError::Silent)?;
        if message.canceled() {
            return Err(StoreError::Refused(message.cancel_reason().to_owned()));
        }
        let mut events = Vec::new();
        for event in message.events() {
            let Some(row) = event.kv() else { continue };
            let key = String::from_utf8_lossy(row.key()).into_owned();
            let is_put = event.event_type() == EventType::Put;
            if key == self.head && is_put {
                events.push(Event::Head(parse(&key, row.value())?));
            } else if let Some(switch) = key.strip_prefix(&self.acks) {
                events.push(if is_put {
                    Event::Ack(switch.to_owned(), parse(&key, row.value())?)
                } else {
                    Event::Gone(switch.to_owned())
                });
            }
        }
        Ok(events)
    }
}
