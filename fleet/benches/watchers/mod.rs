//! What a watch of each agent's own key costs, against one key that all agents watch and after
//! which each reads its own.

use super::{Parts, end_with_parent, name};
use etcd_client::{Client, EventType, Txn, TxnOp};
use fleet::Access;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::time::{Duration, Instant};

const STAGE: &str = "/bench/stage";
/// Agents of one connection.
const CHANNEL_AGENTS: usize = 250;
const ROUNDS: usize = 3;

fn key(number: usize) -> String {
    format!("/bench/want/{}", name(number))
}

/// The watchers of one process: a line when all watch, and one when all have what is wanted, for
/// each round.
pub(super) async fn part(how: &str, first: usize, last: usize, access: Access) {
    end_with_parent();
    let is_own = how == "own";
    let (said, mut heard) = tokio::sync::mpsc::unbounded_channel();
    let mut client = Client::connect(&access.endpoints, None).await.unwrap();
    for (count, number) in (first..last).enumerate() {
        if count % CHANNEL_AGENTS == 0 {
            client = Client::connect(&access.endpoints, None).await.unwrap();
        }
        let (mut client, said) = (client.clone(), said.clone());
        let watched = if is_own { key(number) } else { STAGE.to_owned() };
        let mut stream = client.watch(watched, None).await.unwrap();
        tokio::spawn(async move {
            while let Ok(Some(message)) = stream.message().await {
                if !message.events().iter().any(|event| event.event_type() == EventType::Put) {
                    continue;
                }
                // Ten thousand reads at once can cost etcd its leader: then they are made again.
                while !is_own && client.get(key(number), None).await.is_err() {
                    tokio::time::sleep(Duration::from_millis(100)).await;
                }
                said.send(()).unwrap();
            }
        });
    }
    let say = |what: &str| {
        println!("{what}");
        std::io::stdout().flush().unwrap();
    };
    say("watching");
    loop {
        for _ in first..last {
            heard.recv().await.unwrap();
        }
        say("done");
    }
}

/// Both ways; the median of some rounds, in seconds.
pub(super) async fn compare(access: &Access, agents: usize) -> Value {
    let mut client = Client::connect(&access.endpoints, None).await.unwrap();
    let mut found = json!({});
    for how in ["own", "stage"] {
        let mut parts = Parts::start(&["watch", how], agents, &access.endpoints.join(","));
        let mut lines: Vec<_> =
            parts.0.iter_mut().map(|child| BufReader::new(child.stdout.take().unwrap())).collect();
        let mut wait = |what: &str| {
            for lines in &mut lines {
                let mut line = String::new();
                lines.read_line(&mut line).unwrap();
                assert_eq!(line.trim(), what);
            }
        };
        wait("watching");
        let mut seconds = Vec::new();
        for round in 0..ROUNDS {
            let begun = Instant::now();
            let numbers: Vec<usize> = (0..agents).collect();
            for part in numbers.chunks(128) {
                let puts = part.iter().map(|&number| TxnOp::put(key(number), "h".repeat(90), None));
                client.txn(Txn::new().and_then(puts.collect::<Vec<_>>())).await.unwrap();
            }
            if how == "stage" {
                client.put(STAGE, round.to_string(), None).await.unwrap();
            }
            wait("done");
            seconds.push(begun.elapsed().as_secs_f64());
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
        seconds.sort_by(f64::total_cmp);
        let median = seconds[ROUNDS / 2];
        println!("watching {how}: all {agents} have what is wanted within {median:.2} s");
        found[how] = json!(median);
    }
    found
}
