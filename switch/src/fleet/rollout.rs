//! `fleet rollout`, `pause`, `resume`, `rollback`: from one revision to another, stage by stage.
//!
//! Before each stage the head says that its switches may have changed, after it that they have. So
//! whoever goes on from there, with what went wrong in between, knows in which proven state the
//! switches are. While the store does not answer, the rollout waits for it.

use super::access::AccessArgs;
use super::proof::{Texts, World};
use super::{Answer, Failure, network_files};
use clap::Args;
use config::units::parse_duration_ns;
use fleet::head::{Direction, Head, Next, Rollout, State};
use fleet::manifest::Manifest;
use fleet::store::Versioned;
use fleet::{StageError, Store, StoreError};
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::json;
use std::collections::BTreeMap;
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// How often a store that does not answer is tried.
const RETRY: Duration = Duration::from_millis(300);

/// `knotless fleet rollout`
#[derive(Debug, Args)]
pub(super) struct RolloutArgs {
    /// The revision [default: the newest]
    revision: Option<u64>,
    #[command(flatten)]
    drive: DriveArgs,
}

/// How a rollout is driven.
#[derive(Debug, Args)]
pub(super) struct DriveArgs {
    /// The rollout stops if no further switch of a stage answers for this time
    #[arg(long, value_name = "TIME", default_value = "20s", value_parser = time)]
    timeout: Duration,
    /// Wait after each stage, in which frames of the rules before leave the network
    #[arg(long, value_name = "TIME", default_value = "100ms", value_parser = time)]
    settle: Duration,
}

fn time(word: &str) -> Result<Duration, String> {
    parse_duration_ns(word).map(Duration::from_nanos).map_err(|error| error.to_string())
}

/// Begins a rollout.
pub(super) async fn begin(
    access: &AccessArgs,
    arguments: &RolloutArgs,
    is_json: bool,
) -> Result<Answer, Failure> {
    let mut store = access.store_within(arguments.drive.timeout).await?;
    let head = store.head().await?;
    let revision = arguments.revision.unwrap_or(head.value.latest);
    if revision == 0 {
        return Err(Failure::Wrong("there is no revision; `fleet push` makes one".to_owned()));
    }
    let course = Course::load(&mut store, revision).await?;
    let begun = head.value.begin(revision, course.manifest.parent, course.manifest.stages.len())?;
    drive(access, store, &arguments.drive, head, begun, course, is_json).await
}

/// Goes on with a rollout, or back.
pub(super) async fn resume(
    access: &AccessArgs,
    arguments: &DriveArgs,
    direction: Option<Direction>,
    is_json: bool,
) -> Result<Answer, Failure> {
    let mut store = access.store_within(arguments.timeout).await?;
    let head = store.head().await?;
    let revision = match (&head.value.rollout, head.value.running) {
        (Some(rollout), _) => rollout.revision,
        (None, Some(running)) if direction.is_some() => running,
        _ => {
            return Err(head.value.resume(direction).err().map_or_else(
                || Failure::Wrong("no rollout has stopped".to_owned()),
                Failure::NotNow,
            ));
        }
    };
    let course = Course::load(&mut store, revision).await?;
    let Manifest { parent, stages, .. } = &course.manifest;
    let next = match &head.value.rollout {
        Some(_) => head.value.resume(direction)?,
        None => head.value.begin_back(*parent, stages.len())?,
    };
    drive(access, store, arguments, head, next, course, is_json).await
}

/// Asks the one who works on the rollout to stop.
pub(super) async fn pause(access: &AccessArgs) -> Result<Answer, Failure> {
    let mut store = access.store().await?;
    let head = store.head().await?;
    let paused = head.value.pause()?;
    store.replace_head(&head, paused, Vec::new()).await?;
    let text = "the rollout stops after its current stage; `fleet resume` goes on";
    Ok(Answer::of(text, json!({ "state": "pausing" })))
}

/// A revision, and the hashes of all switches at each point of its stages.
struct Course {
    manifest: Manifest,
    /// By stages that are done.
    hashes: Vec<Vec<Option<String>>>,
}

impl Course {
    /// Reads it from the store and proves it as it stands there.
    async fn load(store: &mut Store, revision: u64) -> Result<Self, Failure> {
        let manifest = store.manifest(revision).await?;
        let parent = match manifest.parent {
            Some(parent) => Some(store.manifest(parent).await?),
            None => None,
        };
        let (network, paths) = network_files::load(&store.network().await?)?;
        let mut world = World { network, paths, texts: Texts::new() };
        for one in parent.iter().chain([&manifest]) {
            world.texts.extend(store.rules(&one.all_hashes()).await?);
        }
        world.prove_manifest(&manifest, parent.as_ref())?;
        let start = parent.as_ref().map_or_else(Vec::new, Manifest::hashes);
        let stages = manifest.stages.len();
        let hashes = (0..=stages).map(|done| manifest.hashes_after(&start, done)).collect();
        Ok(Self { manifest, hashes })
    }

    /// What the switches of a stage are to have at its far end, and the revision that is said.
    fn targets(&self, rollout: &Rollout, stage: usize) -> (u64, BTreeMap<String, String>) {
        let (revision, done) = match rollout.direction {
            Direction::Forward => (rollout.revision, stage + 1),
            Direction::Back => (self.manifest.parent.unwrap_or(0), stage),
        };
        let switches = self.manifest.stages[stage].switches.iter().map(|&switch| switch as usize);
        let target = |switch: usize| {
            let (name, _) = self.manifest.switches.get(switch)?;
            Some((name.clone(), self.hashes[done].get(switch)?.clone()?))
        };
        (revision, switches.filter_map(target).collect())
    }
}

/// The state of the command that drives a rollout.
struct Drive<'a> {
    access: &'a AccessArgs,
    arguments: &'a DriveArgs,
    store: Store,
    head: Versioned<Head>,
    course: Course,
    is_json: bool,
}

async fn drive(
    access: &AccessArgs,
    mut store: Store,
    arguments: &DriveArgs,
    head: Versioned<Head>,
    next: Head,
    course: Course,
    is_json: bool,
) -> Result<Answer, Failure> {
    let who = format!("process {} on {}", std::process::id(), host_name());
    let driver = store.drive(&who).await?;
    let mut drive = Drive { access, arguments, store, head, course, is_json };
    let driven = drive.begin_and_run(next).await;
    driver.release(&mut drive.store).await;
    let why = match driven {
        Ok(()) => None,
        Err(Failure::NotNow(error)) => return Err(Failure::NotNow(error)),
        Err(error) => Some(error.to_string()),
    };
    Ok(drive.answer(why))
}

fn host_name() -> String {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname");
    name.map_or_else(|_| "this machine".to_owned(), |name| name.trim().to_owned())
}

impl Drive<'_> {
    async fn begin_and_run(&mut self, next: Head) -> Result<(), Failure> {
        self.check_switches(&next).await?;
        self.replace(|_| next.clone()).await?;
        match self.run().await {
            Ok(()) => Ok(()),
            Err(failure) => {
                let why = failure.to_string();
                // If the store does not take it, the head says that the rollout runs, and
                // `resume` finds that nobody works on it.
                let _lost = self.replace(|head| head.stop(&why)).await;
                Err(failure)
            }
        }
    }

    /// That each switch which is to change has what the rollout begins with.
    async fn check_switches(&mut self, next: &Head) -> Result<(), Failure> {
        let Some(rollout) = &next.rollout else { return Ok(()) };
        if rollout.touched || self.head.value.rollout.is_some() {
            return Ok(());
        }
        let acks = self.store.acks().await?;
        let stages = self.course.manifest.stages.iter();
        let changing: std::collections::BTreeSet<u32> =
            stages.flat_map(|stage| stage.switches.iter().copied()).collect();
        for switch in changing {
            let name = &self.course.manifest.switches[switch as usize].0;
            let Some(ack) = acks.get(name) else {
                return Err(Failure::Unsafe(format!(
                    "switch {name} does not answer; nothing was begun"
                )));
            };
            let expected = &self.course.hashes[rollout.stage][switch as usize];
            if expected.is_some() && ack.hash != *expected {
                return Err(Failure::Unsafe(format!(
                    "switch {name} has other rules than its revision; `ctl rules` there shows \
                     which; nothing was begun"
                )));
            }
        }
        Ok(())
    }

    async fn run(&mut self) -> Result<(), Failure> {
        loop {
            let Some(rollout) = self.head.value.rollout.clone() else { return Ok(()) };
            if rollout.state == State::Paused {
                return Ok(());
            }
            let Next::Stage(stage) = self.head.value.next() else {
                let parent = self.course.manifest.parent;
                return self.replace(|head| head.complete(parent)).await;
            };
            if !rollout.touched {
                self.replace(Head::touch).await?;
            }
            self.change(&rollout, stage).await?;
            // Frames with tags of the rules before leave the network before the stage counts as
            // done, so that nobody goes on too soon.
            sleep(self.arguments.settle).await;
            self.replace(Head::stage_done).await?;
        }
    }

    /// One stage, with as many attempts as it takes until the store answers.
    async fn change(&mut self, rollout: &Rollout, stage: usize) -> Result<(), Failure> {
        let (revision, targets) = self.course.targets(rollout, stage);
        let bar = self.bar(rollout, stage, targets.len());
        let until = Instant::now() + self.arguments.timeout;
        loop {
            let report = |done: usize, _: usize| bar.set_position(done as u64);
            let changed =
                self.store.change(&self.head, revision, &targets, self.arguments.timeout, &report);
            match changed.await {
                Ok(()) => {
                    bar.finish_and_clear();
                    self.say(rollout, stage, targets.len());
                    return Ok(());
                }
                Err(StageError::Store(StoreError::Conflict)) => self.follow().await?,
                Err(StageError::Store(StoreError::Silent)) if Instant::now() < until => {
                    self.reconnect().await;
                }
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Replaces the head by what `next` makes of it. Somebody may have asked for a pause meanwhile.
    async fn replace(&mut self, next: impl Fn(&Head) -> Head) -> Result<(), Failure> {
        let until = Instant::now() + self.arguments.timeout;
        loop {
            let head = next(&self.head.value);
            match self.store.replace_head(&self.head, head.clone(), Vec::new()).await {
                Ok(replaced) => {
                    self.head = replaced;
                    return Ok(());
                }
                Err(StoreError::Conflict) => {
                    self.follow().await?;
                    // It was replaced, and the answer was lost.
                    if self.head.value == head {
                        return Ok(());
                    }
                }
                Err(StoreError::Silent) if Instant::now() < until => self.reconnect().await,
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Takes the head of the store, if it differs from ours in what may change while we work.
    async fn follow(&mut self) -> Result<(), Failure> {
        let found = self.store.head().await?;
        let place = |head: &Head| {
            let rollout = head.rollout.as_ref();
            rollout.map(|it| (it.revision, it.direction, it.stages))
        };
        let ours = self.head.value.rollout.as_ref().map(|rollout| rollout.state);
        if ours.is_some() && place(&found.value) != place(&self.head.value) {
            return Err(StoreError::Conflict.into());
        }
        if ours.is_none() && found.version != self.head.version {
            return Err(StoreError::Conflict.into());
        }
        self.head = found;
        Ok(())
    }

    async fn reconnect(&mut self) {
        sleep(RETRY).await;
        if let Ok(store) = self.access.store_within(Duration::ZERO).await {
            self.store = store;
        }
    }

    fn bar(&self, rollout: &Rollout, stage: usize, switches: usize) -> ProgressBar {
        let bar = ProgressBar::new(switches as u64);
        let style = "{elapsed} {msg} {wide_bar} {pos} of {len} switches";
        if let Ok(style) = ProgressStyle::with_template(style) {
            bar.set_style(style);
        }
        let back = if rollout.direction == Direction::Back { ", back" } else { "" };
        bar.set_message(format!("stage {} of {}{back}", stage + 1, rollout.stages));
        bar.enable_steady_tick(Duration::from_millis(200));
        bar
    }

    fn say(&self, rollout: &Rollout, stage: usize, switches: usize) {
        if !self.is_json {
            let back = if rollout.direction == Direction::Back { ", back" } else { "" };
            crate::output::print(format_args!(
                "stage {} of {}{back}: {switches} switches have acknowledged",
                stage + 1,
                rollout.stages
            ));
        }
    }

    fn answer(&self, why: Option<String>) -> Answer {
        let head = &self.head.value;
        let (text, is_well) = match (&why, &head.rollout) {
            (None, None) => {
                let running = head.running.map_or_else(|| "none".to_owned(), |it| it.to_string());
                (format!("complete: revision {running} runs on all switches"), true)
            }
            (None, Some(rollout)) => (format!("paused {}", place(rollout)), true),
            (Some(why), Some(rollout)) => (
                format!(
                    "stopped: {why}\nthe rollout stands {}; `fleet resume` goes on, `fleet rollback` \
                     goes back",
                    place(rollout)
                ),
                false,
            ),
            (Some(why), None) => (why.clone(), false),
        };
        Answer { text, json: json!({ "head": head, "stopped": why }), is_well }
    }
}

/// Where a rollout stands, in words.
pub(super) fn place(rollout: &Rollout) -> String {
    let Rollout { revision, stage, stages, touched, .. } = rollout;
    if *touched {
        format!(
            "in stage {} of {stages} of revision {revision}: each of its switches has old or new \
             rules, and every such mixture was proven",
            stage + 1
        )
    } else {
        format!("after stage {stage} of {stages} of revision {revision}, which was proven")
    }
}
