//! The store and the agent against a real etcd, which each test starts for itself.

mod cluster;

use cluster::Cluster;
use fleet::agent::Agent;
use fleet::head::{Direction, Head, State};
use fleet::manifest::{Manifest, Stage};
use fleet::records::{NetworkFiles, Seen, Want};
use fleet::session::{self, Connect, Switch};
use fleet::{Access, StageError, Store, StoreError, content_hash, users};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(30);

/// A switch that has what it is given.
#[derive(Clone, Default)]
struct Model(Arc<Mutex<ModelState>>);

#[derive(Default)]
struct ModelState {
    hash: Option<String>,
    refuses: bool,
    applied: usize,
    is_connected: bool,
}

impl Model {
    fn hash(&self) -> Option<String> {
        self.0.lock().unwrap().hash.clone()
    }
}

impl Switch for Model {
    async fn apply(&mut self, _: &Want, text: &str) -> Result<(), String> {
        let mut state = self.0.lock().unwrap();
        if state.refuses {
            return Err("needs a restart".to_owned());
        }
        state.hash = Some(content_hash(text));
        state.applied += 1;
        Ok(())
    }

    async fn runs(&mut self) -> Option<Option<String>> {
        Some(self.hash())
    }

    async fn sees(&mut self) -> Option<Seen> {
        Some(Seen { level: Some(1), ..Seen::default() })
    }

    fn report(&mut self, agent: &Agent, _: Option<&str>) {
        self.0.lock().unwrap().is_connected = agent.is_connected();
    }
}

fn start_agent(access: &Access, name: &str) -> (Model, tokio::task::JoinHandle<()>) {
    let model = Model::default();
    let (own, access, name) = (model.clone(), access.clone(), name.to_owned());
    let task = tokio::spawn(async move {
        let agent = Agent::new(&name, "test", None, None);
        session::run(&Connect::Own(access), "net", &name, agent, own).await;
    });
    (model, task)
}

/// Rules by hash, and by switch their hash.
fn rules(switches: &[&str], edition: &str) -> (BTreeMap<String, String>, BTreeMap<String, String>) {
    let texts = switches.iter().map(|name| (*name, format!("rules of {name}, {edition}")));
    let texts: Vec<_> = texts.collect();
    let by_hash = texts.iter().map(|(_, text)| (content_hash(text), text.clone())).collect();
    let hashes = texts.iter().map(|(name, text)| ((*name).to_owned(), content_hash(text)));
    (by_hash, hashes.collect())
}

async fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let until = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < until, "{what}: not within {PATIENCE:?}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// Has switches change to their rules of an edition; returns the hashes of these.
async fn change(
    store: &mut Store,
    switches: &[&str],
    edition: &str,
    revision: u64,
    patience: Duration,
) -> Result<BTreeMap<String, String>, StageError> {
    let (texts, hashes) = rules(switches, edition);
    store.put_rules(&texts).await?;
    let head = store.head().await?;
    store.change(&head, revision, &hashes, patience, &|_, _| {}).await?;
    Ok(hashes)
}

/// Changes the rules of s1, again and again while members come and go.
async fn change_at_last(access: &Access, edition: &str, revision: u64) -> BTreeMap<String, String> {
    let until = Instant::now() + PATIENCE;
    loop {
        let done = async {
            let mut store = Store::new(&access.connect().await?, "net");
            change(&mut store, &["s1"], edition, revision, PATIENCE).await
        };
        match done.await {
            Ok(hashes) => return hashes,
            Err(error) => assert!(Instant::now() < until, "{error}"),
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

async fn store(access: &Access) -> Store {
    let mut store = Store::new(&access.connect().await.unwrap(), "net");
    store.init(&NetworkFiles::default(), None).await.unwrap();
    store
}

#[tokio::test]
async fn agents_apply_what_is_wanted_and_acknowledge_it() {
    let cluster = Cluster::start(1);
    let access = cluster.access();
    let mut store = store(&access).await;
    let agents = ["s1", "s2"].map(|name| start_agent(&access, name));
    let switches = ["s1", "s2"];
    let hashes = change(&mut store, &switches, "a", 1, PATIENCE).await.unwrap();
    let (texts, _) = rules(&switches, "a");
    let names: Vec<&str> = texts.keys().map(String::as_str).collect();
    assert_eq!(store.rules(&names).await.unwrap(), texts);
    for ((model, _), hash) in agents.iter().zip(hashes.values()) {
        assert_eq!(model.hash().as_ref(), Some(hash));
    }
    let acks = store.acks().await.unwrap();
    assert_eq!(acks["s1"].revision, Some(1));
    // One refuses: the stage says so and who.
    agents[1].0.0.lock().unwrap().refuses = true;
    let error = change(&mut store, &switches, "b", 2, PATIENCE).await.unwrap_err();
    assert_eq!(error.to_string(), "switch s2 refuses: needs a restart");
    // One is gone: within the lease its acknowledgement is, too.
    agents[0].1.abort();
    let patience = Duration::from_secs(1);
    let error = change(&mut store, &["s1"], "c", 3, patience).await.unwrap_err();
    assert_eq!(error.to_string(), "switch s1 does not answer");
    let until = Instant::now() + PATIENCE;
    while store.acks().await.unwrap().contains_key("s1") {
        assert!(Instant::now() < until, "the acknowledgement outlives its lease");
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    let seen = store.seen().await.unwrap();
    assert_eq!(seen["s2"].level, Some(1));
}

#[tokio::test]
async fn without_the_store_switches_stay_and_with_it_they_converge() {
    let mut cluster = Cluster::start(3);
    let access = cluster.access();
    let mut store = store(&access).await;
    let (model, _task) = start_agent(&access, "s1");
    change(&mut store, &["s1"], "a", 1, PATIENCE).await.unwrap();
    // One of three: nothing is lost.
    cluster.kill(0);
    let hashes = change_at_last(&access, "b", 2).await;
    assert_eq!(model.hash().as_ref(), hashes.get("s1"));
    let ran = model.hash();
    // All three: the switch goes on, and knows.
    cluster.kill(1);
    cluster.kill(2);
    wait_until("the agent notices", || !model.0.lock().unwrap().is_connected).await;
    assert!(matches!(store.head().await, Err(StoreError::Silent)));
    assert_eq!(model.hash(), ran);
    for member in 0..3 {
        cluster.restart(member);
    }
    wait_until("the agent is back", || model.0.lock().unwrap().is_connected).await;
    let hashes = change_at_last(&access, "c", 3).await;
    assert_eq!((model.hash().as_ref(), model.0.lock().unwrap().applied), (hashes.get("s1"), 3));
}

/// Two of three members are gone, so there is no leader: to connect is in vain, until one is back
/// and a leader is elected.
#[tokio::test]
async fn a_store_without_a_leader_is_waited_for() {
    let mut cluster = Cluster::start(3);
    let access = cluster.access();
    cluster.kill(0);
    cluster.kill(1);
    assert!(matches!(access.connect().await, Err(StoreError::Silent)));
    let (waiting, began) = (access.connect_within(PATIENCE), Instant::now());
    let back = async {
        tokio::time::sleep(Duration::from_secs(3)).await;
        cluster.restart(0);
    };
    let (connected, ()) = tokio::join!(waiting, back);
    assert!(connected.is_ok(), "{:?} after {:?}", connected.err(), began.elapsed());
    assert!(began.elapsed() >= Duration::from_secs(3));
    cluster.kill(0);
    let brief = Duration::from_millis(100);
    assert!(matches!(access.connect_within(brief).await, Err(StoreError::Silent)));
}

#[tokio::test]
async fn of_two_operators_one_is_refused() {
    let cluster = Cluster::start(1);
    let access = cluster.access();
    let mut one = store(&access).await;
    let mut other = Store::new(&access.connect().await.unwrap(), "net");
    let exists = other.init(&NetworkFiles::default(), None).await.unwrap_err();
    assert!(exists.to_string().contains("in the store already"), "{exists}");
    let (mine, theirs) = (one.head().await.unwrap(), other.head().await.unwrap());
    let stage = Stage { switches: vec![0], ..Stage::default() };
    let manifest = |message: &str| Manifest {
        revision: 1,
        switches: vec![("s1".into(), "h".into())],
        stages: vec![stage.clone()],
        message: message.into(),
        ..Manifest::default()
    };
    let pushed = one.add_manifest(&mine, &manifest("mine")).await.unwrap();
    let refused = other.add_manifest(&theirs, &manifest("theirs")).await;
    assert!(matches!(refused, Err(StoreError::Conflict)));
    assert_eq!(other.manifest(1).await.unwrap().message, "mine");
    // What one wants of switches by an old head is not written.
    let begun = pushed.value.begin(1, None, 1).unwrap();
    let begun = one.replace_head(&pushed, begun, Vec::new()).await.unwrap();
    let hashes = BTreeMap::from([("s1".to_owned(), "h".to_owned())]);
    let stale = other.change(&pushed, 1, &hashes, PATIENCE, &|_, _| {}).await.unwrap_err();
    assert!(stale.to_string().contains("somebody else"), "{stale}");
    let paused = other.head().await.unwrap();
    assert_eq!(paused, begun);
    let state = |head: &Head| head.rollout.as_ref().map(|rollout| rollout.state);
    let paused = other.replace_head(&paused, paused.value.pause().unwrap(), vec![]).await.unwrap();
    assert_eq!(state(&paused.value), Some(State::Pausing));
    let back = paused.value.resume(Some(Direction::Back)).unwrap();
    assert_eq!(state(&back), Some(State::Running));
}

#[tokio::test]
async fn a_switch_can_write_its_own_keys_and_no_others() {
    let cluster = Cluster::start(1);
    let mut access = cluster.access();
    let channel = access.connect().await.unwrap();
    let mut store = Store::new(&channel, "net");
    store.init(&NetworkFiles::default(), None).await.unwrap();
    for switch in ["s1", "s12"] {
        users::add(&channel, &users::switch_rights("net", switch), "secret").await.unwrap();
    }
    // Again, with another password: rights and user stay.
    users::add(&channel, &users::switch_rights("net", "s1"), "better").await.unwrap();
    cluster.enable_authentication();
    let password = cluster.folder().join("password");
    std::fs::write(&password, "better\n").unwrap();
    access.user = Some(("net.s1".to_owned(), password));
    let (model, _task) = start_agent(&access, "s1");
    let as_root = ["--user", "root:root"];
    let (texts, hashes) = rules(&["s1"], "a");
    let (hash, text) = texts.first_key_value().unwrap();
    cluster
        .etcdctl(&[&as_root[..], &["put", &format!("/knotless/net/rules/{hash}"), text]].concat());
    let want = format!(r#"{{"revision":1,"hash":"{hash}"}}"#);
    cluster.etcdctl(&[&as_root[..], &["put", "/knotless/net/want/s1", &want]].concat());
    wait_until("the switch applies", || model.hash().as_ref() == hashes.get("s1")).await;
    let ack = || cluster.etcdctl(&[&as_root[..], &["get", "/knotless/net/ack/s1"]].concat()).1;
    wait_until("it acknowledges", || ack().contains(hash)).await;
    for (command, key, is_allowed) in [
        ("put", "ack/s1", true),
        ("put", "seen/s1", true),
        ("put", "ack/s12", false),
        ("put", "seen/s12", false),
        ("put", "ack/s", false),
        ("put", "want/s1", false),
        ("put", "head", false),
        ("put", "network", false),
        ("put", "manifest/0000000001", false),
        ("put", &format!("rules/{hash}"), false),
        ("del", &format!("rules/{hash}"), false),
        ("get", "want/s1", true),
        ("get", "want/s12", false),
        ("get", "ack/s12", false),
        ("get", "head", false),
        ("get", &format!("rules/{hash}"), true),
    ] {
        let key = format!("/knotless/net/{key}");
        let mut arguments = vec!["--user", "net.s1:better", command, &key];
        arguments.extend((command == "put").then_some("{}"));
        let (is_done, said) = cluster.etcdctl(&arguments);
        assert_eq!(is_done, is_allowed, "{command} {key}: {said}");
        assert!(is_done || said.contains("permission denied"), "{command} {key}: {said}");
    }
}

#[tokio::test]
async fn with_tls_both_ends_need_certificates_of_the_authority() {
    let cluster = Cluster::start_tls();
    let access = cluster.access();
    let mut store = store(&access).await;
    let (model, _task) = start_agent(&access, "s1");
    let hashes = change(&mut store, &["s1"], "a", 1, PATIENCE).await.unwrap();
    assert_eq!(model.hash().as_ref(), hashes.get("s1"));
    let nobody = Access { identity: None, ..access.clone() };
    assert!(nobody.connect().await.is_err(), "a client without a certificate");
    let own = cluster.folder().join("switch.pem");
    let stranger = Access { ca: Some(own), ..access };
    assert!(stranger.connect().await.is_err(), "a member of an authority that is not known");
}
