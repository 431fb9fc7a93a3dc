//! Ten thousand agents of the real client code against a real etcd of three members on this
//! machine: how long a revision takes until all have acknowledged it, and what that costs.
//!
//! Agents run in a few processes. Each has its own lease, its own watch and its own stream for
//! each; what they share, and real switches do not, is the TCP connection of [`CHANNEL_AGENTS`] of
//! them. Rules are applied by remembering their hash.
//!
//! `make bench-fleet AGENTS=10000`. Writes target/bench/fleet.json.

#[path = "../tests/cluster/mod.rs"]
mod cluster;
mod watchers;

use cluster::Cluster;
use fleet::agent::Agent;
use fleet::records::{NetworkFiles, Seen, Want};
use fleet::session::{self, Connect, Switch};
use fleet::{Access, Channel, Store, content_hash};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

/// Processes that agents run in.
const PROCESSES: usize = 4;
/// Agents of one connection.
const CHANNEL_AGENTS: usize = 250;
/// Agents that begin within a tenth of a second.
const BEGIN_AT_ONCE: usize = 50;
/// Revisions that are rolled out.
const REVISIONS: u64 = 3;
/// What a revision must not take longer than, in seconds.
const MAX_S: f64 = 60.0;
const PATIENCE: Duration = Duration::from_secs(300);
const NETWORK: &str = "bench";

/// A switch that remembers what it was given.
struct Memory(Option<String>);

impl Switch for Memory {
    async fn apply(&mut self, _: &Want, text: &str) -> Result<(), String> {
        self.0 = Some(content_hash(text));
        Ok(())
    }

    async fn runs(&mut self) -> Option<Option<String>> {
        Some(self.0.clone())
    }

    async fn sees(&mut self) -> Option<Seen> {
        Some(Seen { level: Some(1), ..Seen::default() })
    }

    fn report(&mut self, _: &Agent, _: Option<&str>) {}
}

fn name(number: usize) -> String {
    format!("leaf{number:05}")
}

/// Rules as long as those of a leaf with four entries.
fn rules(number: usize, revision: u64) -> String {
    let entry = r#"    {"tag":1,"in":[1,2,3,4,5,6,7,8],"out":[9,10,11,12],"new_tag":1}"#;
    let entries = [entry; 4].join(",\n");
    format!("{{\n  \"switch\": \"{}\",\n  \"edition\": {revision},\n{entries}\n}}\n", name(number))
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let number = |word: &str| word.parse::<usize>().expect("a number");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    match words.as_slice() {
        ["part", first, last, urls] => {
            runtime.block_on(part(number(first), number(last), access(urls)));
            ExitCode::SUCCESS
        }
        ["watch", how, first, last, urls] => {
            runtime.block_on(watchers::part(how, number(first), number(last), access(urls)));
            ExitCode::SUCCESS
        }
        ["--agents", agents] => runtime.block_on(measure(number(agents))),
        // `cargo test --benches` runs it without arguments: small, to see that it works.
        _ => runtime.block_on(measure(40)),
    }
}

fn access(urls: &str) -> Access {
    Access { endpoints: urls.split(',').map(str::to_owned).collect(), ..Access::default() }
}

/// A connection, sooner or later: members are busy while thousands begin.
async fn connect(access: &Access) -> Channel {
    loop {
        match access.connect().await {
            Ok(channel) => return channel,
            Err(_) => tokio::time::sleep(Duration::from_millis(200)).await,
        }
    }
}

/// Ends this process when its parent, whose end of the pipe stdin is, has ended.
fn end_with_parent() {
    std::thread::spawn(|| {
        let _until_the_end = std::io::stdin().read_to_end(&mut Vec::new());
        std::process::exit(0);
    });
}

/// The agents of one process.
async fn part(first: usize, last: usize, access: Access) {
    end_with_parent();
    let mut channel = connect(&access).await;
    for (count, number) in (first..last).enumerate() {
        if count % CHANNEL_AGENTS == 0 {
            channel = connect(&access).await;
        }
        if count % BEGIN_AT_ONCE == 0 {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        let connect = Connect::Shared(Box::new(channel.clone()));
        tokio::spawn(async move {
            let name = name(number);
            let agent = Agent::new(&name, "bench", None, None);
            session::run(&connect, NETWORK, &name, agent, Memory(None)).await;
        });
    }
    std::future::pending::<()>().await;
}

/// Processes that end with this one.
struct Parts(Vec<Child>);

impl Parts {
    fn start(words: &[&str], agents: usize, urls: &str) -> Self {
        let program = std::env::current_exe().unwrap();
        let part = |at: usize| {
            let bounds = [at, at + 1].map(|at| (agents * at / PROCESSES).to_string());
            Command::new(&program)
                .args(words)
                .args(bounds)
                .arg(urls)
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .spawn()
                .unwrap()
        };
        Self((0..PROCESSES).map(part).collect())
    }

    fn memory_mb(&self) -> Vec<u64> {
        self.0.iter().map(|child| peak_mb(child.id())).collect()
    }
}

impl Drop for Parts {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _gone_already = child.kill();
            let _gone_already = child.wait();
        }
    }
}

/// The most memory that a process had, in MB.
fn peak_mb(process: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kb = line.and_then(|line| line.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok());
    kb.unwrap_or(0) / 1024
}

/// Requests that all members have answered since they started, and messages that they sent on
/// streams.
fn served(cluster: &Cluster) -> (u64, u64) {
    let (mut requests, mut messages) = (0, 0);
    for port in cluster.client_ports() {
        let mut text = String::new();
        let request = "GET /metrics HTTP/1.0\r\nHost: etcd\r\n\r\n";
        let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        stream.read_to_string(&mut text).unwrap();
        let sum = |family: &str, part: &str| -> u64 {
            let lines = text.lines().filter(|line| line.starts_with(family) && line.contains(part));
            let values = lines.filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok());
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a count")]
            let sum = values.sum::<f64>() as u64;
            sum
        };
        requests += sum("grpc_server_handled_total", "grpc_type=\"unary\"");
        messages += sum("grpc_server_msg_sent_total", "grpc_type=\"bidi_stream\"");
    }
    (requests, messages)
}

async fn measure(agents: usize) -> ExitCode {
    let cluster = Cluster::start(3);
    let access = cluster.access();
    let urls = access.endpoints.join(",");
    let mut store = Store::new(&access.connect().await.unwrap(), NETWORK);
    store.init(&NetworkFiles::default(), None).await.unwrap();
    println!("{agents} agents in {PROCESSES} processes, {CHANNEL_AGENTS} to a connection");
    let begun = Instant::now();
    let parts = Parts::start(&["part"], agents, &urls);
    let mut there = 0;
    while there < agents {
        tokio::time::sleep(Duration::from_millis(500)).await;
        there = store.acks().await.map_or(there, |acks| acks.len());
        assert!(begun.elapsed() < PATIENCE, "{there} of {agents} agents are there");
    }
    let connected_s = begun.elapsed().as_secs_f64();
    println!("all connected within {connected_s:.1} s of their start");
    let mut rows = Vec::new();
    for revision in 1..=REVISIONS {
        rows.push(roll_out(&mut store, &cluster, agents, revision).await);
    }
    let etcd_mb: Vec<u64> = cluster.processes().map(peak_mb).collect();
    let agents_mb = parts.memory_mb();
    let driver_mb = peak_mb(std::process::id());
    println!("peak memory, MB: etcd {etcd_mb:?}, agents {agents_mb:?}, driver {driver_mb}");
    drop(parts);
    let watching = watchers::compare(&access, agents).await;
    let seconds: Vec<f64> = rows.iter().filter_map(|row| row["seconds"].as_f64()).collect();
    let worst = seconds.iter().copied().fold(0.0, f64::max);
    write(&json!({
        "agents": agents, "processes": PROCESSES, "agents_of_a_connection": CHANNEL_AGENTS,
        "connected_s": connected_s, "revisions": rows, "etcd_peak_mb": etcd_mb,
        "agents_peak_mb": agents_mb, "driver_peak_mb": driver_mb, "watching": watching,
    }));
    let is_well = worst <= MAX_S;
    println!(
        "slowest revision {worst:.1} s, of {MAX_S} s: {}",
        if is_well { "ok" } else { "TOO SLOW" }
    );
    ExitCode::from(u8::from(!is_well))
}

/// One revision, from its rules to the last acknowledgement.
async fn roll_out(store: &mut Store, cluster: &Cluster, agents: usize, revision: u64) -> Value {
    let texts: Vec<(String, String)> = (0..agents)
        .map(|number| {
            let text = rules(number, revision);
            (content_hash(&text), text)
        })
        .collect();
    let hashes: BTreeMap<String, String> =
        texts.iter().enumerate().map(|(at, (hash, _))| (name(at), hash.clone())).collect();
    let begun = Instant::now();
    store.put_rules(&texts.into_iter().collect()).await.unwrap();
    let pushed_s = begun.elapsed().as_secs_f64();
    let head = store.head().await.unwrap();
    let before = served(cluster);
    let begun = Instant::now();
    store.change(&head, revision, &hashes, PATIENCE, &|_, _| {}).await.unwrap();
    let seconds = begun.elapsed().as_secs_f64();
    let after = served(cluster);
    let acks = store.acks().await.unwrap();
    let agree =
        hashes.iter().filter(|(name, hash)| acks[*name].hash.as_ref() == Some(hash)).count();
    assert_eq!(agree, agents, "an acknowledgement is of other rules");
    let (requests, messages) = (after.0 - before.0, after.1 - before.1);
    #[expect(clippy::cast_precision_loss, reason = "a rate")]
    let per_second = [requests, messages].map(|count| (count as f64 / seconds).round());
    println!(
        "revision {revision}: rules in the store within {pushed_s:.1} s; acknowledged by all \
         within {seconds:.1} s; {requests} requests ({}/s), {messages} messages on streams",
        per_second[0]
    );
    json!({
        "revision": revision, "push_s": pushed_s, "seconds": seconds, "requests": requests,
        "requests_per_second": per_second[0], "stream_messages": messages,
    })
}

fn write(result: &Value) {
    let target = std::env::var_os("CARGO_TARGET_DIR");
    let target =
        target.map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../target"), Into::into);
    let folder = target.join("bench");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("fleet.json"), format!("{result:#}\n")).unwrap();
}
