//! Who works on a rollout: one at a time, for as long as its process lives.

use crate::error::StoreError;
use crate::store::Store;
use etcd_client::{Client, Compare, CompareOp, PutOptions, Txn, TxnOp};
use std::time::Duration;
use tokio::task::JoinHandle;
use tokio::time::{interval, timeout};

/// How long the right outlives its process, in seconds.
const LEASE_S: i64 = 10;
/// How often it is renewed.
const RENEW: Duration = Duration::from_secs(3);

/// The right to work on the rollout. It ends with [`Driver::release`], or soon after the process.
#[derive(Debug)]
pub struct Driver {
    lease: i64,
    renewing: JoinHandle<()>,
}

impl Store {
    /// Takes the right to work on the rollout; `who` says by whom, to others that want it.
    ///
    /// # Errors
    /// Somebody else has it, or the store does not answer.
    pub async fn drive(&mut self, who: &str) -> Result<Driver, StoreError> {
        let key = self.keys.driver();
        let lease = self.client.lease_grant(LEASE_S, None).await?.id();
        let absent = Compare::version(key.as_str(), CompareOp::Equal, 0);
        let put = TxnOp::put(key.as_str(), who, Some(PutOptions::new().with_lease(lease)));
        let get = TxnOp::get(key.as_str(), None);
        let txn = Txn::new().when(vec![absent]).and_then(vec![put]).or_else(vec![get]);
        let answer = self.client.txn(txn).await?;
        if !answer.succeeded() {
            self.client.lease_revoke(lease).await?;
            let mut other = String::new();
            for answer in answer.op_responses() {
                if let etcd_client::TxnOpResponse::Get(answer) = answer
                    && let Some(row) = answer.kvs().first()
                {
                    other = String::from_utf8_lossy(row.value()).into_owned();
                }
            }
            return Err(StoreError::Input(format!(
                "{other} works on the rollout; `fleet pause` stops it. If that process is gone, \
                 try again in {LEASE_S} s"
            )));
        }
        let client = self.client.clone();
        Ok(Driver { lease, renewing: tokio::spawn(renew(client, lease)) })
    }
}

impl Driver {
    /// Gives the right back. If the store does not answer it ends by itself.
    pub async fn release(self, store: &mut Store) {
        self.renewing.abort();
        let revoked = timeout(RENEW, store.client.lease_revoke(self.lease));
        let _ends_by_itself = revoked.await;
    }
}

/// Renews a lease for as long as the store answers. What has ended meanwhile stays ended: the
/// head's compare-and-swap keeps two from working on it.
async fn renew(mut client: Client, lease: i64) {
    let mut ticks = interval(RENEW);
    loop {
        ticks.tick().await;
        let Ok((mut keeper, mut answers)) = client.lease_keep_alive(lease).await else { continue };
        loop {
            ticks.tick().await;
            let renewed = async {
                keeper.keep_alive().await?;
                answers.message().await
            };
            match timeout(RENEW, renewed).await {
                Ok(Ok(Some(_))) => {}
                _ => break,
            }
        }
    }
}
