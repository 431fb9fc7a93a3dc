//! `fleet watch`: what happens, as it happens.

use super::access::AccessArgs;
use super::rollout::place;
use super::{Answer, Failure};
use crate::output;
use fleet::head::Head;
use fleet::records::Ack;
use fleet::{Event, StoreError};
use serde_json::json;
use std::time::Duration;
use tokio::time::sleep;

/// How often a store that does not answer is tried.
const RETRY: Duration = Duration::from_secs(1);

pub(super) async fn run(access: &AccessArgs, is_json: bool) -> Result<Answer, Failure> {
    let mut is_silent = false;
    loop {
        let ended = match follow(access, is_json, &mut is_silent).await {
            Err(Failure::Store(error @ (StoreError::Silent | StoreError::Refused(_)))) => error,
            other => return other,
        };
        if !is_silent {
            say(is_json, &ended.to_string(), json!({ "lost": ended.to_string() }));
        }
        is_silent = true;
        sleep(RETRY).await;
    }
}

async fn follow(
    access: &AccessArgs,
    is_json: bool,
    is_silent: &mut bool,
) -> Result<Answer, Failure> {
    let mut store = access.store().await?;
    let mut events = store.events().await?;
    let head = store.head().await?.value;
    *is_silent = false;
    say(is_json, &head_line(&head), json!({ "head": head }));
    loop {
        for event in events.next().await? {
            match event {
                Event::Head(head) => say(is_json, &head_line(&head), json!({ "head": head })),
                Event::Ack(switch, ack) => {
                    say(is_json, &ack_line(&switch, &ack), json!({ "switch": switch, "ack": ack }));
                }
                Event::Gone(switch) => {
                    let line = format!("{switch} does not answer");
                    say(is_json, &line, json!({ "switch": switch, "ack": null }));
                }
            }
        }
    }
}

fn say(is_json: bool, line: &str, json: serde_json::Value) {
    if is_json {
        output::print(json);
    } else {
        output::print(line);
    }
}

fn head_line(head: &Head) -> String {
    let running =
        head.running.map_or_else(|| "no revision".to_owned(), |it| format!("revision {it}"));
    match &head.rollout {
        None => format!("{running} runs; the newest is {}", head.latest),
        Some(rollout) => format!("the rollout stands {}", place(rollout)),
    }
}

fn ack_line(switch: &str, ack: &Ack) -> String {
    let has = ack.revision.map_or_else(
        || "has rules of no revision".to_owned(),
        |revision| format!("has revision {revision}"),
    );
    match &ack.error {
        Some(error) => format!("{switch} {has}, and refuses: {error}"),
        None => format!("{switch} {has}"),
    }
}
