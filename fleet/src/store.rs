//! What operators do in the store.

use crate::access::Channel;
use crate::error::StoreError;
use crate::hash::content_hash;
use crate::head::Head;
use crate::keys::Keys;
use crate::manifest::{MANIFEST_BYTES_MAX, Manifest};
use crate::records::{Ack, NetworkFiles, Seen};
use etcd_client::{Client, Compare, CompareOp, GetOptions, PutOptions, Txn, TxnOp};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::collections::BTreeMap;

/// Operations of one transaction: etcd takes 128 (`--max-txn-ops`).
pub(crate) const OPERATIONS_MAX: usize = 128;
/// Bytes of one transaction: etcd takes 1.5 MiB.
const BYTES_MAX: usize = 1 << 20;
/// Rows that are read at once.
const ROWS_MAX: i64 = 2_000;

/// A value, and the store's revision of it: 0 if it is not there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Versioned<T> {
    /// The value.
    pub value: T,
    /// What a change is compared with.
    pub version: i64,
}

/// The store of one network.
#[derive(Clone)]
pub struct Store {
    pub(crate) client: Client,
    pub(crate) keys: Keys,
}

impl std::fmt::Debug for Store {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Store({})", self.keys.root())
    }
}

impl Store {
    /// The store of the network `name`.
    pub fn new(channel: &Channel, name: &str) -> Self {
        Self { client: channel.client.clone(), keys: Keys::new(name) }
    }

    /// Makes the network; `files` say what it is, and `first`, whose rules are in the store
    /// already, what its switches have.
    ///
    /// # Errors
    /// It is there already, or the store does not answer.
    pub async fn init(
        &mut self,
        files: &NetworkFiles,
        first: Option<&Manifest>,
    ) -> Result<(), StoreError> {
        let (head, network) = (self.keys.head(), self.keys.network());
        let absent = Compare::version(head.clone(), CompareOp::Equal, 0);
        let running = first.map(|manifest| manifest.revision);
        let made = Head { latest: running.unwrap_or(0), running, rollout: None };
        let mut puts =
            vec![TxnOp::put(head, json(&made)?, None), TxnOp::put(network, json(files)?, None)];
        if let Some(manifest) = first {
            puts.push(TxnOp::put(self.keys.manifest(manifest.revision), json(manifest)?, None));
        }
        let answer = self.client.txn(Txn::new().when(vec![absent]).and_then(puts)).await?;
        if answer.succeeded() {
            return Ok(());
        }
        Err(StoreError::Input("the network is in the store already".to_owned()))
    }

    /// The network's files.
    ///
    /// # Errors
    /// The store does not answer, or the network is not there.
    pub async fn network(&mut self) -> Result<NetworkFiles, StoreError> {
        let key = self.keys.network();
        self.read(&key).await?.value.ok_or_else(|| self.absent())
    }

    /// The head.
    ///
    /// # Errors
    /// The store does not answer, or the network is not there.
    pub async fn head(&mut self) -> Result<Versioned<Head>, StoreError> {
        let Versioned { value, version } = self.read(&self.keys.head()).await?;
        Ok(Versioned { value: value.ok_or_else(|| self.absent())?, version })
    }

    /// Replaces the head that was read by `head`, with `more` in the same transaction. Returns it
    /// with its new version.
    ///
    /// # Errors
    /// [`StoreError::Conflict`]; or the store does not answer, and it may have been replaced.
    pub async fn replace_head(
        &mut self,
        before: &Versioned<Head>,
        head: Head,
        more: Vec<(String, Vec<u8>)>,
    ) -> Result<Versioned<Head>, StoreError> {
        let key = self.keys.head();
        let same = Compare::mod_revision(key.clone(), CompareOp::Equal, before.version);
        let mut puts = vec![TxnOp::put(key, json(&head)?, None)];
        puts.extend(more.into_iter().map(|(key, value)| TxnOp::put(key, value, None)));
        let answer = self.client.txn(Txn::new().when(vec![same]).and_then(puts)).await?;
        if !answer.succeeded() {
            return Err(StoreError::Conflict);
        }
        let version = answer.header().map_or(0, etcd_client::ResponseHeader::revision);
        Ok(Versioned { value: head, version })
    }

    /// Adds a manifest as the newest revision.
    ///
    /// # Errors
    /// As [`Store::replace_head`].
    pub async fn add_manifest(
        &mut self,
        before: &Versioned<Head>,
        manifest: &Manifest,
    ) -> Result<Versioned<Head>, StoreError> {
        let text = json(manifest)?;
        if text.len() > MANIFEST_BYTES_MAX {
            let bytes = text.len();
            return Err(StoreError::Input(format!(
                "the manifest has {bytes} bytes, and etcd takes {}; use shorter names",
                MANIFEST_BYTES_MAX
            )));
        }
        let more = vec![(self.keys.manifest(manifest.revision), text)];
        self.replace_head(before, before.value.pushed(), more).await
    }

    /// The manifest of a revision.
    ///
    /// # Errors
    /// There is none, or the store does not answer.
    pub async fn manifest(&mut self, revision: u64) -> Result<Manifest, StoreError> {
        let found = self.read(&self.keys.manifest(revision)).await?;
        let absent = || StoreError::Input(format!("there is no revision {revision}"));
        found.value.ok_or_else(absent)
    }

    /// Puts rules in the store, by their hash, as many in a request as it takes.
    ///
    /// # Errors
    /// The store does not answer; some of them may be in it.
    pub async fn put_rules(&mut self, rules: &BTreeMap<String, String>) -> Result<(), StoreError> {
        let (mut batch, mut bytes) = (Vec::new(), 0);
        for (hash, text) in rules {
            let more = text.len() + 256;
            if batch.len() == OPERATIONS_MAX || (bytes + more > BYTES_MAX && bytes > 0) {
                self.client.txn(Txn::new().and_then(std::mem::take(&mut batch))).await?;
                bytes = 0;
            }
            bytes += more;
            batch.push(TxnOp::put(self.keys.rules(hash), text.as_str(), None));
        }
        if !batch.is_empty() {
            self.client.txn(Txn::new().and_then(batch)).await?;
        }
        Ok(())
    }

    /// The rules with these hashes, as the store has them; each text has its hash.
    ///
    /// # Errors
    /// One is missing or has another hash, or the store does not answer.
    pub async fn rules(&mut self, hashes: &[&str]) -> Result<BTreeMap<String, String>, StoreError> {
        let mut found = BTreeMap::new();
        for part in hashes.chunks(OPERATIONS_MAX) {
            let gets = part.iter().map(|hash| TxnOp::get(self.keys.rules(hash), None));
            let answer = self.client.txn(Txn::new().and_then(gets.collect::<Vec<_>>())).await?;
            for answer in answer.op_responses() {
                let etcd_client::TxnOpResponse::Get(answer) = answer else { continue };
                for row in answer.kvs() {
                    let text = String::from_utf8_lossy(row.value()).into_owned();
                    found.insert(content_hash(&text), text);
                }
            }
        }
        match hashes.iter().find(|hash| !found.contains_key(**hash)) {
            None => Ok(found),
            Some(hash) => Err(StoreError::Corrupt {
                key: self.keys.rules(hash),
                why: "is missing, or has another hash than its name".to_owned(),
            }),
        }
    }

    /// What switches have, by name.
    ///
    /// # Errors
    /// The store does not answer.
    pub async fn acks(&mut self) -> Result<BTreeMap<String, Ack>, StoreError> {
        let prefix = self.keys.ack("");
        self.read_all(&prefix).await
    }

    /// What switches see, by name.
    ///
    /// # Errors
    /// The store does not answer.
    pub async fn seen(&mut self) -> Result<BTreeMap<String, Seen>, StoreError> {
        let prefix = self.keys.seen("");
        self.read_all(&prefix).await
    }

    fn absent(&self) -> StoreError {
        let root = self.keys.root();
        StoreError::Input(format!("there is no {root} in the store; `fleet init` makes it"))
    }

    async fn read<T: DeserializeOwned>(
        &mut self,
        key: &str,
    ) -> Result<Versioned<Option<T>>, StoreError> {
        let answer = self.client.get(key, None).await?;
        let Some(row) = answer.kvs().first() else {
            return Ok(Versioned { value: None, version: 0 });
        };
        Ok(Versioned { value: Some(parse(key, row.value())?), version: row.mod_revision() })
    }

    /// All rows whose key begins with `prefix`, by the rest of the key.
    async fn read_all<T: DeserializeOwned>(
        &mut self,
        prefix: &str,
    ) -> Result<BTreeMap<String, T>, StoreError> {
        let mut rows = BTreeMap::new();
        let mut end = prefix.as_bytes().to_vec();
        // The byte behind the slash that the prefix ends with.
        end.pop();
        end.push(b'/' + 1);
        let mut from = prefix.as_bytes().to_vec();
        loop {
            let options = GetOptions::new().with_range(end.clone()).with_limit(ROWS_MAX);
            let answer = self.client.get(from, Some(options)).await?;
            let mut last = Vec::new();
            for row in answer.kvs() {
                let name = String::from_utf8_lossy(&row.key()[prefix.len()..]).into_owned();
                let key = format!("{prefix}{name}");
                rows.insert(name, parse(&key, row.value())?);
                last = row.key().to_vec();
            }
            if !answer.more() || last.is_empty() {
                return Ok(rows);
            }
            last.push(0);
            from = last;
        }
    }

    /// Writes a record under a lease, or without one.
    pub(crate) async fn put<T: Serialize>(
        &mut self,
        key: String,
        value: &T,
        lease: Option<i64>,
    ) -> Result<(), StoreError> {
        let options = lease.map(|lease| PutOptions::new().with_lease(lease));
        self.client.put(key, json(value)?, options).await?;
        Ok(())
    }
}

pub(crate) fn parse<T: DeserializeOwned>(key: &str, bytes: &[u8]) -> Result<T, StoreError> {
    serde_json::from_slice(bytes).map_err(|error| StoreError::Corrupt {
        key: key.to_owned(),
        why: format!("cannot be read: {error}"),
    })
}

fn json(value: &impl Serialize) -> Result<Vec<u8>, StoreError> {
    serde_json::to_vec(value).map_err(|error| StoreError::Input(error.to_string()))
}
