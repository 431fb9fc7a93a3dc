//! The switch, as the agent has it: questions to the control thread, and rules for it.

use super::files::RuleFiles;
use super::seen::seen;
use crate::control::fleet_status::FleetStatus;
use crate::control::protocol::{Reply, Request};
use crate::control::stats::FleetStats;
use crate::control::{Call, ReplyTo};
use crate::log::{Event, Level};
use crossbeam::channel::Sender;
use fleet::agent::Agent;
use fleet::records::{Seen, Want};
use fleet::session::Switch;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::time::timeout;

/// How long the control thread may take to answer.
const ANSWER_MAX: Duration = Duration::from_secs(5);
/// How long rules may take until all workers go by them; less than a lease lasts.
const APPLY_MAX: Duration = Duration::from_secs(10);

/// The switch.
#[derive(Debug)]
pub(super) struct SwitchClient {
    network: String,
    calls: Sender<Call>,
    files: RuleFiles,
    status: FleetStatus,
    /// What was said last.
    said: Option<String>,
}

impl SwitchClient {
    pub(super) fn new(
        network: &str,
        calls: Sender<Call>,
        files: RuleFiles,
        status: FleetStatus,
    ) -> Self {
        Self { network: network.to_owned(), calls, files, status, said: None }
    }

    async fn ask(&self, request: Request, patience: Duration) -> Result<Reply, String> {
        let (reply, mut answer) = mpsc::channel(1);
        let call = Call { request, reply: ReplyTo::Task(reply) };
        if self.calls.try_send(call).is_err() {
            return Err("the switch is too busy to answer or is stopping".to_owned());
        }
        match timeout(patience, answer.recv()).await {
            Ok(Some(Reply::Failed(failed))) => Err(failed.error),
            Ok(Some(reply)) => Ok(reply),
            Ok(None) => Err("the switch is stopping".to_owned()),
            Err(_) => Err(format!("the switch does not answer within {patience:?}")),
        }
    }

    /// Says a line once, until another one is due.
    fn say(&mut self, level: Level, line: String) {
        if self.said.as_ref() != Some(&line) {
            Event::new(level, "fleet", line.as_str()).log();
            self.said = Some(line);
        }
    }
}

impl Switch for SwitchClient {
    async fn apply(&mut self, want: &Want, text: &str) -> Result<(), String> {
        let unwritable =
            |error| format!("the rules cannot be kept on the disk: {error}; see [control] changes");
        let file = self.files.write(want, text).map_err(unwritable)?;
        self.ask(Request::SetRules { file: file.clone() }, APPLY_MAX).await?;
        // What was asked is answered by what the data path has, not by what was sent.
        match self.runs().await {
            Some(Some(hash)) if hash == want.hash => {}
            Some(_) => return Err("the switch has other rules by now".to_owned()),
            None => return Err("the switch does not say which rules it has".to_owned()),
        }
        self.files.keep(want, &file).map_err(unwritable)
    }

    async fn runs(&mut self) -> Option<Option<String>> {
        match self.ask(Request::Rules, ANSWER_MAX).await {
            Ok(Reply::Rules(rules)) => Some(rules.hash),
            _ => None,
        }
    }

    async fn sees(&mut self) -> Option<Seen> {
        let Ok(Reply::Stats(stats)) = self.ask(Request::Stats, ANSWER_MAX).await else {
            return None;
        };
        match self.ask(Request::Lldp, ANSWER_MAX).await {
            Ok(Reply::Lldp(lldp)) => Some(seen(&stats, &lldp)),
            _ => None,
        }
    }

    fn report(&mut self, agent: &Agent, why: Option<&str>) {
        let ack = agent.ack();
        let wanted = agent.want().map(|want| want.revision);
        let network = self.network.clone();
        let running = ack.revision.map_or_else(
            || "rules of no revision".to_owned(),
            |revision| format!("revision {revision}"),
        );
        match (agent.is_connected(), why) {
            (true, None) => {
                self.say(Level::Info, format!("fleet {network}: the switch has {running}"))
            }
            (true, Some(why)) => {
                self.say(
                    Level::Error,
                    format!("fleet {network}: the switch stays with {running}: {why}"),
                );
            }
            (false, Some(why)) => {
                self.say(
                    Level::Warning,
                    format!("fleet {network}: {why}; the switch goes on with {running}"),
                );
            }
            (false, None) => {}
        }
        self.status.set(FleetStats {
            network,
            connected: agent.is_connected(),
            revision: ack.revision,
            wanted,
            hash: ack.hash,
            losses: ack.losses,
            error: why.map(str::to_owned),
        });
    }
}
