//! One stage: what its switches are to have is written, and their acknowledgements are awaited.

use crate::error::StoreError;
use crate::head::Head;
use crate::records::{Ack, Want};
use crate::store::{OPERATIONS_MAX, Store, Versioned, parse};
use etcd_client::{Compare, CompareOp, EventType, Txn, TxnOp, WatchOptions};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;
use tokio::time::{Instant, timeout_at};

/// Why a stage stopped: one line.
#[derive(Debug, thiserror::Error)]
pub enum StageError {
    /// The store.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A switch says why it does not have its rules.
    #[error("switch {switch} refuses: {why}")]
    Refused {
        /// The switch.
        switch: String,
        /// Why.
        why: String,
    },
    /// Switches have not acknowledged in time.
    #[error("{}", silent(switches))]
    Silent {
        /// All of them.
        switches: Vec<String>,
    },
}

fn silent(switches: &[String]) -> String {
    match switches {
        [one] => format!("switch {one} does not answer"),
        [one, more @ ..] => format!("switch {one} and {} more do not answer", more.len()),
        [] => "no switch is missing".to_owned(),
    }
}

/// The switches that have not acknowledged what is wanted of them.
#[derive(Debug)]
struct Missing {
    hashes: BTreeMap<String, String>,
    left: BTreeSet<String>,
    since: Instant,
}

impl Missing {
    fn take(&mut self, switch: &str, ack: &Ack, is_new: bool) -> Result<(), StageError> {
        let Some(hash) = self.hashes.get(switch) else { return Ok(()) };
        if ack.hash.as_ref() == Some(hash) {
            self.left.remove(switch);
        } else if let Some(why) = ack.error.as_ref().filter(|_| is_new) {
            return Err(StageError::Refused { switch: switch.to_owned(), why: why.clone() });
        }
        Ok(())
    }
}

impl Store {
    /// Has these switches go to the rules with these hashes, and waits until all have acknowledged
    /// them, each by its own word. Nothing is written if the head is not the one that was read.
    /// `report` is told how many have, of how many.
    ///
    /// # Errors
    /// A switch refuses; some do not answer until nobody has answered for `patience`; or the
    /// store.
    pub async fn change(
        &mut self,
        head: &Versioned<Head>,
        revision: u64,
        hashes: &BTreeMap<String, String>,
        patience: Duration,
        report: &dyn Fn(usize, usize),
    ) -> Result<(), StageError> {
        let prefix = self.keys.ack("");
        // The watch begins before anything is wanted, so that no acknowledgement is missed.
        let options = WatchOptions::new().with_prefix();
        let mut acks =
            self.client.watch(prefix.as_str(), Some(options)).await.map_err(StoreError::from)?;
        self.write_wants(head, revision, hashes).await?;
        let left = hashes.keys().cloned().collect();
        let mut missing = Missing { hashes: hashes.clone(), left, since: Instant::now() };
        for (switch, ack) in self.acks().await? {
            missing.take(&switch, &ack, false)?;
        }
        let all = hashes.len();
        while !missing.left.is_empty() {
            report(all - missing.left.len(), all);
            let Ok(message) = timeout_at(missing.since + patience, acks.message()).await else {
                return Err(StageError::Silent { switches: missing.left.into_iter().collect() });
            };
            let Some(message) = message.map_err(StoreError::from)? else {
                return Err(StoreError::Silent.into());
            };
            if message.canceled() {
                return Err(StoreError::Silent.into());
            }
            let before = missing.left.len();
            for event in message.events() {
                let (EventType::Put, Some(row)) = (event.event_type(), event.kv()) else {
                    continue;
                };
                let switch = String::from_utf8_lossy(&row.key()[prefix.len()..]).into_owned();
                let key = format!("{prefix}{switch}");
                missing.take(&switch, &parse(&key, row.value())?, true)?;
            }
            if missing.left.len() < before {
                missing.since = Instant::now();
            }
        }
        report(all, all);
        Ok(())
    }

    async fn write_wants(
        &mut self,
        head: &Versioned<Head>,
        revision: u64,
        hashes: &BTreeMap<String, String>,
    ) -> Result<(), StoreError> {
        let wants: Vec<(&String, &String)> = hashes.iter().collect();
        for part in wants.chunks(OPERATIONS_MAX) {
            let same = Compare::mod_revision(self.keys.head(), CompareOp::Equal, head.version);
            let put = |(switch, hash): &(&String, &String)| {
                let want = Want { revision, hash: (*hash).clone() };
                let text = serde_json::to_vec(&want);
                let text = text.map_err(|error| StoreError::Input(error.to_string()))?;
                Ok(TxnOp::put(self.keys.want(switch), text, None))
            };
            let puts = part.iter().map(put).collect::<Result<Vec<_>, StoreError>>()?;
            let answer = self.client.txn(Txn::new().when(vec![same]).and_then(puts)).await?;
            if !answer.succeeded() {
                return Err(StoreError::Conflict);
            }
        }
        Ok(())
    }
}
