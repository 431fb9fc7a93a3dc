//! The agent of a switch at work: connect, watch, apply, acknowledge, and again from the start when
//! the store is gone.

use crate::access::{Access, Channel};
use crate::agent::{Action, Agent, Input};
use crate::error::StoreError;
use crate::keys::Keys;
use crate::records::{Seen, Want};
use crate::store::{Store, parse};
use etcd_client::{EventType, LeaseKeepAliveStream, LeaseKeeper, WatchOptions, WatchStream};
use std::future::Future;
use std::time::Duration;
use tokio::time::{Instant, MissedTickBehavior, interval_at, sleep, timeout};

/// How long an acknowledgement outlives its switch, in seconds.
const LEASE_S: i64 = 15;
/// How often the lease is renewed.
const RENEW: Duration = Duration::from_secs(5);
/// How often the switch is asked what it runs and sees. Only what is new is written.
const LOOK: Duration = Duration::from_secs(5);

/// The switch that an agent works for.
pub trait Switch: Send {
    /// Applies rules: all of them, for good, or none.
    fn apply(&mut self, want: &Want, text: &str)
    -> impl Future<Output = Result<(), String>> + Send;
    /// The hash of the rules in the data path; `None` outside if it does not answer.
    fn runs(&mut self) -> impl Future<Output = Option<Option<String>>> + Send;
    /// What it sees around it, if that is published.
    fn sees(&mut self) -> impl Future<Output = Option<Seen>> + Send;
    /// Takes what an operator at the switch should know: whether the store answers, and why not.
    fn report(&mut self, agent: &Agent, why: Option<&str>);
}

/// How an agent gets its connection.
#[derive(Clone, Debug)]
pub enum Connect {
    /// It makes its own.
    Own(Access),
    /// It shares that of its process.
    Shared(Box<Channel>),
}

impl Connect {
    async fn connect(&self) -> Result<Channel, StoreError> {
        match self {
            Self::Own(access) => access.connect().await,
            Self::Shared(channel) => Ok((**channel).clone()),
        }
    }
}

/// Works for `switch`, whose name is `name`, until it is dropped.
pub async fn run<S: Switch>(
    connect: &Connect,
    network: &str,
    name: &str,
    mut agent: Agent,
    mut switch: S,
) {
    switch.report(&agent, None);
    loop {
        let keys = Keys::new(network);
        let ended = match Session::begin(connect, network, &keys, name).await {
            Ok((mut session, want)) => session.run(&mut agent, &mut switch, want).await,
            Err(error) => error,
        };
        for action in agent.step(Input::Lost) {
            if let Action::Connect(after) = action {
                switch.report(&agent, Some(&ended.to_string()));
                sleep(after).await;
            }
        }
    }
}

/// What is wanted of a switch, with the rules, from a store that answers within `patience`.
///
/// # Errors
/// The store does not answer, or has no such rules.
pub async fn wanted(
    access: &Access,
    network: &str,
    name: &str,
    patience: Duration,
) -> Result<Option<(Want, String)>, StoreError> {
    let channel = access.connect_within(patience).await?;
    let mut store = Store::new(&channel, network);
    let key = store.keys.want(name);
    let answer = store.client.get(key.as_str(), None).await?;
    let Some(row) = answer.kvs().first() else { return Ok(None) };
    let want: Want = parse(&key, row.value())?;
    let mut rules = store.rules(&[want.hash.as_str()]).await?;
    Ok(rules.remove(&want.hash).map(|text| (want, text)))
}

/// One connection's worth of work.
struct Session {
    store: Store,
    name: String,
    lease: i64,
    keeper: LeaseKeeper,
    renewed: LeaseKeepAliveStream,
    watch: WatchStream,
    /// What was published last.
    seen: Option<Seen>,
}

impl Session {
    async fn begin(
        connect: &Connect,
        network: &str,
        keys: &Keys,
        name: &str,
    ) -> Result<(Self, Option<Want>), StoreError> {
        let channel = connect.connect().await?;
        let mut store = Store::new(&channel, network);
        let key = keys.want(name);
        let answer = store.client.get(key.as_str(), None).await?;
        let want = answer.kvs().first().map(|row| parse(&key, row.value())).transpose()?;
        let revision = answer.header().map_or(0, etcd_client::ResponseHeader::revision);
        let options = WatchOptions::new().with_start_revision(revision + 1);
        let watch = store.client.watch(key, Some(options)).await?;
        let lease = store.client.lease_grant(LEASE_S, None).await?.id();
        let (keeper, renewed) = store.client.lease_keep_alive(lease).await?;
        let name = name.to_owned();
        Ok((Self { store, name, lease, keeper, renewed, watch, seen: None }, want))
    }

    /// Works until the store is gone; returns why it is.
    async fn run<S: Switch>(
        &mut self,
        agent: &mut Agent,
        switch: &mut S,
        want: Option<Want>,
    ) -> StoreError {
        match self.work(agent, switch, want).await {
            Ok(never) => never,
            Err(error) => error,
        }
    }

    async fn work<S: Switch>(
        &mut self,
        agent: &mut Agent,
        switch: &mut S,
        want: Option<Want>,
    ) -> Result<StoreError, StoreError> {
        let actions = agent.step(Input::Connected(want));
        switch.report(agent, None);
        self.perform(agent, switch, actions).await?;
        let ticks = |agent: &mut Agent, every: Duration| {
            let mut ticks = interval_at(Instant::now() + agent.spread(every), every);
            ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
            ticks
        };
        let (mut renew, mut look) = (ticks(agent, RENEW), ticks(agent, LOOK));
        let mut renewed_at = Instant::now();
        let lease_max = Duration::from_secs(LEASE_S.unsigned_abs());
        loop {
            tokio::select! {
                message = self.watch.message() => {
                    let Some(message) = message? else { return Err(StoreError::Silent) };
                    if message.canceled() {
                        return Err(StoreError::Refused(message.cancel_reason().to_owned()));
                    }
                    let Some(event) = message.events().last() else { continue };
                    let want = match (event.event_type(), event.kv()) {
                        (EventType::Put, Some(row)) => {
                            Some(parse(&String::from_utf8_lossy(row.key()), row.value())?)
                        }
                        _ => None,
                    };
                    let actions = agent.step(Input::Wanted(want));
                    self.perform(agent, switch, actions).await?;
                }
                answer = self.renewed.message() => {
                    match answer? {
                        Some(answer) if answer.ttl() > 0 => renewed_at = Instant::now(),
                        _ => return Err(StoreError::Refused("the lease has ended".to_owned())),
                    }
                }
                _ = renew.tick() => {
                    if renewed_at.elapsed() > lease_max {
                        return Err(StoreError::Silent);
                    }
                    timeout(RENEW, self.keeper.keep_alive()).await.map_err(|_| StoreError::Silent)??;
                }
                _ = look.tick() => self.look(agent, switch).await?,
            }
        }
    }

    /// Does what the agent says until it has nothing more to do. What follows from an action is
    /// done before the others, so nothing that can fail comes between rules and their application.
    async fn perform<S: Switch>(
        &mut self,
        agent: &mut Agent,
        switch: &mut S,
        actions: Vec<Action>,
    ) -> Result<(), StoreError> {
        let mut actions = std::collections::VecDeque::from(actions);
        while let Some(action) = actions.pop_front() {
            let more = match action {
                Action::Fetch(hash) => {
                    let key = self.store.keys.rules(&hash);
                    let answer = self.store.client.get(key, None).await?;
                    let text = answer.kvs().first();
                    let text = text.map(|row| String::from_utf8_lossy(row.value()).into_owned());
                    agent.step(Input::Fetched { hash, text })
                }
                Action::Apply(want, text) => {
                    let result = switch.apply(&want, &text).await;
                    agent.step(Input::Applied { want, result })
                }
                Action::Acknowledge(_) => {
                    let ack = agent.ack();
                    switch.report(agent, ack.error.as_deref());
                    let key = self.store.keys.ack(&self.name);
                    self.store.put(key, &ack, Some(self.lease)).await?;
                    Vec::new()
                }
                Action::Connect(_) => Vec::new(),
            };
            more.into_iter().rev().for_each(|action| actions.push_front(action));
        }
        Ok(())
    }

    /// Asks the switch what it runs and sees, and writes what is new.
    async fn look<S: Switch>(
        &mut self,
        agent: &mut Agent,
        switch: &mut S,
    ) -> Result<(), StoreError> {
        if let Some(hash) = switch.runs().await {
            let actions = agent.step(Input::Runs(hash));
            self.perform(agent, switch, actions).await?;
        }
        let seen = switch.sees().await;
        if let Some(seen) = seen.filter(|seen| self.seen.as_ref() != Some(seen)) {
            let key = self.store.keys.seen(&self.name);
            self.store.put(key, &seen, Some(self.lease)).await?;
            self.seen = Some(seen);
        }
        Ok(())
    }
}
