//! `fleet push`: a new revision, proven as it stands in the store before it is offered.

use super::access::AccessArgs;
use super::proof::{Texts, World, describe, text_of};
use super::{Answer, Failure, network_files};
use crate::network::verify::read_rules;
use clap::Args;
use fabric::verify::NetworkRules;
use fleet::Store;
use fleet::manifest::Manifest;
use serde_json::json;
use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

/// `knotless fleet push`
#[derive(Debug, Args)]
pub(super) struct PushArgs {
    /// Directory of the rules: DIR/SWITCH.json for each switch, as `knotless compile` writes them
    rules: PathBuf,
    /// Prove and plan, and write nothing
    #[arg(long)]
    dry_run: bool,
    /// What the revision is for
    #[arg(long, value_name = "TEXT", default_value = "")]
    message: String,
}

pub(super) async fn run(access: &AccessArgs, arguments: &PushArgs) -> Result<Answer, Failure> {
    let mut store = access.store().await?;
    let head = store.head().await?;
    if let Some(rollout) = &head.value.rollout {
        let revision = rollout.revision;
        return Err(Failure::Wrong(format!(
            "the rollout of revision {revision} is not complete; `fleet resume` or `fleet rollback`"
        )));
    }
    let (network, paths) = network_files::load(&store.network().await?)?;
    let mut world = World { network, paths, texts: Texts::new() };
    let given = read_rules(&world.network, &arguments.rules)?;
    let rows = given.sets().iter().map(|set| (set.switch.clone(), text_of(set)));
    let rows: Vec<_> = rows.collect();
    let switches: Vec<(String, String)> =
        rows.iter().map(|(name, (hash, _))| (name.clone(), hash.clone())).collect();
    let texts: Texts = rows.into_iter().map(|(_, hash_and_text)| hash_and_text).collect();
    offer(&mut store, &mut world.texts, texts, arguments.dry_run).await?;
    let hashes: Vec<&str> = switches.iter().map(|(_, hash)| hash.as_str()).collect();
    let new = world.rules(&hashes)?;
    let proof = world.prove(&new)?;
    let parent = head.value.running;
    let (old, changed) = before(&mut store, &mut world, parent, &switches).await?;
    if changed == 0 && parent.is_some() {
        return Err(Failure::Wrong(
            "no switch's rules differ from those of the revision that runs".into(),
        ));
    }
    let (stages, between) = world.stages(old.as_ref(), &new)?;
    offer(&mut store, &mut world.texts, between, arguments.dry_run).await?;
    let manifest = Manifest {
        revision: head.value.latest + 1,
        parent,
        switches,
        stages,
        proof,
        message: arguments.message.clone(),
        time_unix_s: time_unix_s(),
    };
    let parent_manifest = match parent {
        Some(parent) => Some(store.manifest(parent).await?),
        None => None,
    };
    world.prove_manifest(&manifest, parent_manifest.as_ref())?;
    if !arguments.dry_run {
        store.add_manifest(&head, &manifest).await?;
    }
    Ok(answer(&manifest, changed, arguments.dry_run))
}

/// Puts rules in the store, and reads them back: what is proven is what is there.
async fn offer(
    store: &mut Store,
    known: &mut Texts,
    texts: Texts,
    dry_run: bool,
) -> Result<(), Failure> {
    if dry_run {
        known.extend(texts);
        return Ok(());
    }
    store.put_rules(&texts).await?;
    let hashes: Vec<&str> = texts.keys().map(String::as_str).collect();
    known.extend(store.rules(&hashes).await?);
    Ok(())
}

/// The rules of the revision that runs, and how many switches' differ from them.
async fn before(
    store: &mut Store,
    world: &mut World,
    parent: Option<u64>,
    switches: &[(String, String)],
) -> Result<(Option<NetworkRules>, usize), Failure> {
    let Some(parent) = parent else { return Ok((None, switches.len())) };
    let manifest = store.manifest(parent).await?;
    world.texts.extend(store.rules(&manifest.all_hashes()).await?);
    let old = world.rules(&manifest.own_hashes())?;
    let changed = switches.iter().zip(&manifest.switches).filter(|(one, other)| one != other);
    Ok((Some(old), changed.count()))
}

fn answer(manifest: &Manifest, changed: usize, dry_run: bool) -> Answer {
    let Manifest { revision, parent, proof, stages, .. } = manifest;
    let all = manifest.switches.len();
    let from = parent.map_or_else(|| "nothing known".to_owned(), |it| format!("revision {it}"));
    let mut lines = vec![
        format!("revision {revision}, from {from}: {changed} of {all} switches change"),
        format!(
            "deadlock-free; expected paths: {}, lossless: {}",
            proof.paths, proof.lossless_paths
        ),
    ];
    for (number, stage) in (1..).zip(stages) {
        lines.push(format!("stage {number}: {}", describe(stage)));
    }
    lines.push(if dry_run {
        "dry run: nothing was written".to_owned()
    } else {
        format!("revision {revision} is in the store; `fleet rollout` brings it to the switches")
    });
    let json = json!({
        "revision": revision, "parent": parent, "changed": changed, "switches": all,
        "proof": proof, "stages": stages, "dry_run": dry_run,
    });
    Answer::of(lines.join("\n"), json)
}

pub(super) fn time_unix_s() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}
