//! `fleet status`: the fabric as its switches see it.

use super::access::AccessArgs;
use super::rollout::place;
use super::waits::{Waits, waits};
use super::wiring::{Miswired, miswired};
use super::{Answer, Failure, network_files};
use crate::ctl::tables::{table, text};
use fabric::Network;
use fleet::head::{Head, State};
use fleet::records::{Ack, Seen};
use serde::Serialize;
use serde_json::json;
use std::collections::BTreeMap;

/// Switches without anything to say that are listed one by one.
const ROWS_MAX: usize = 64;

/// A switch.
#[derive(Debug, Serialize)]
struct Row {
    switch: String,
    /// `ok`, `no answer`, `other rules` or `refuses`.
    state: &'static str,
    revision: Option<u64>,
    hash: Option<String>,
    version: String,
    level: Option<u8>,
    error: Option<String>,
}

pub(super) async fn run(access: &AccessArgs) -> Result<Answer, Failure> {
    let mut store = access.store().await?;
    let head = store.head().await?.value;
    let (network, _) = network_files::load(&store.network().await?)?;
    let (acks, seen) = (store.acks().await?, store.seen().await?);
    // While a rollout stands in a stage, a switch may have the rules of either end of it.
    let mut allowed: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let touched = head.rollout.as_ref().map(|rollout| rollout.revision);
    for revision in head.running.into_iter().chain(touched) {
        let manifest = store.manifest(revision).await?;
        for stage in manifest.stages.iter().filter(|_| Some(revision) == touched) {
            for (&switch, hash) in stage.switches.iter().zip(&stage.hashes) {
                let name = manifest.switches[switch as usize].0.clone();
                allowed.entry(name).or_default().push(hash.clone());
            }
        }
        for (name, hash) in manifest.switches {
            allowed.entry(name).or_default().push(hash);
        }
    }
    let rows = network.all_switches().map(|switch| {
        let name = network.switch_name(switch);
        row(name, acks.get(name), seen.get(name), allowed.get(name))
    });
    let rows: Vec<Row> = rows.collect();
    Ok(answer(&head, &network, rows, &seen))
}

fn row(name: &str, ack: Option<&Ack>, seen: Option<&Seen>, allowed: Option<&Vec<String>>) -> Row {
    let nothing = Ack::default();
    let (ack, is_there) = (ack.unwrap_or(&nothing), ack.is_some());
    let fits = |allowed: &Vec<String>| ack.hash.as_ref().is_some_and(|it| allowed.contains(it));
    let state = match () {
        () if !is_there => "no answer",
        () if ack.error.is_some() => "refuses",
        () if allowed.is_some_and(|allowed| !fits(allowed)) => "other rules",
        () => "ok",
    };
    Row {
        switch: name.to_owned(),
        state,
        revision: ack.revision,
        hash: ack.hash.clone(),
        version: ack.version.clone(),
        level: seen.and_then(|seen| seen.level),
        error: ack.error.clone(),
    }
}

fn answer(head: &Head, network: &Network, rows: Vec<Row>, seen: &BTreeMap<String, Seen>) -> Answer {
    let (miswired, waits) = (miswired(network, seen), waits(network, seen));
    let alarms: Vec<(&String, &String)> =
        seen.iter().flat_map(|(name, seen)| seen.alarms.iter().map(move |it| (name, it))).collect();
    let drops: u64 = seen.values().map(|seen| seen.lossless_drops).sum();
    let is_well = rows.iter().all(|row| row.state == "ok")
        && miswired.is_empty()
        && waits.ring.is_empty()
        && head.rollout.as_ref().is_none_or(|rollout| rollout.state != State::Stopped);
    let mut lines = vec![headline(head)];
    lines.push(switches(&rows));
    lines.extend(miswired.iter().map(|it: &Miswired| {
        format!("miswired: {} should lead to {}, and leads to {}", it.port, it.expected, it.found)
    }));
    lines.extend(waits.lines.iter().cloned());
    if !waits.ring.is_empty() {
        lines.push(format!("DEADLOCK: {} wait for each other in a ring", waits.ring.join(", ")));
    }
    lines.extend(alarms.iter().map(|(switch, alarm)| format!("{switch}: {alarm}")));
    if drops > 0 {
        lines.push(format!("{drops} lossless frames were dropped since the switches started"));
    }
    let Waits { lines: wait_lines, ring } = waits;
    let json = json!({
        "head": head, "switches": rows, "miswired": miswired, "waits": wait_lines, "ring": ring,
        "alarms": alarms, "lossless_drops": drops, "well": is_well,
    });
    Answer { text: lines.join("\n"), json, is_well }
}

fn headline(head: &Head) -> String {
    let running =
        head.running.map_or_else(|| "no revision".to_owned(), |it| format!("revision {it}"));
    let Some(rollout) = &head.rollout else {
        return format!("{running} runs; the newest is {}", head.latest);
    };
    let state = match rollout.state {
        State::Running => "a rollout runs",
        State::Pausing => "a rollout is to pause",
        State::Paused => "a rollout is paused",
        State::Stopped => "a rollout has stopped",
    };
    let why = rollout.why.as_ref().map_or_else(String::new, |why| format!(": {why}"));
    format!("{running} ran before; {state}{why}; it stands {}", place(rollout))
}

/// A table of the switches: all of a small network, and of a large one those that are not well.
fn switches(rows: &[Row]) -> String {
    let is_small = rows.len() <= ROWS_MAX;
    let shown: Vec<&Row> = rows.iter().filter(|row| is_small || row.state != "ok").collect();
    let well = rows.iter().filter(|row| row.state == "ok").count();
    let mut lines = vec![format!("{well} of {} switches are as they should be", rows.len())];
    if !shown.is_empty() {
        let mut all = table(["switch", "state", "revision", "rules", "level", "version"]);
        for row in shown.iter().take(ROWS_MAX) {
            let dash = || "-".to_owned();
            let state = match &row.error {
                Some(error) => format!("{}: {error}", row.state),
                None => row.state.to_owned(),
            };
            all.add_row([
                row.switch.clone(),
                state,
                row.revision.map_or_else(dash, |it| it.to_string()),
                row.hash.as_ref().and_then(|it| it.get(..12)).map_or_else(dash, str::to_owned),
                row.level.map_or_else(dash, |it| it.to_string()),
                if row.version.is_empty() { dash() } else { row.version.clone() },
            ]);
        }
        lines.push(text(&all));
    }
    if shown.len() > ROWS_MAX {
        lines.push(format!("... and {} more", shown.len() - ROWS_MAX));
    }
    lines.join("\n")
}
