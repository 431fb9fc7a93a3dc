//! The agent of the fleet in a running switch: takes the switch's rules from etcd, and says there
//! what the switch runs and sees.
//!
//! It is a thread of its own with the least share of a CPU that others want, and no capability.
//! Rules take the way of `ctl rules FILE`: all or none, and kept over a restart.
//!
//! | file | idea |
//! |---|---|
//! | `files` | rules on the disk, and the revision that they came with |
//! | `client` | what the control thread is asked |
//! | `seen` | what the switch sees, from its statistics |
//! | `start` | the rules of a switch that starts |

mod client;
mod files;
mod seen;
mod start;

pub(crate) use start::rules_at_start;

use crate::control::Call;
use crate::control::fleet_status::FleetStatus;
use crate::log;
use crate::security::{Rights, ThreadKind};
use client::SwitchClient;
use config::SwitchConfig;
use config::switch::Fleet;
use crossbeam::channel::Sender;
use files::RuleFiles;
use fleet::Access;
use fleet::agent::Agent;
use fleet::session::{self, Connect};
use std::io;
use std::thread::{self, JoinHandle};
use tokio::runtime::Builder;
use tokio::sync::oneshot;

/// The lowest priority of a thread.
const NICENESS: i32 = 19;

/// The agent, for as long as the switch runs.
#[derive(Debug)]
pub(crate) struct FleetAgent {
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl FleetAgent {
    /// Starts the agent of the switch of `config`, whose control thread takes `calls`. It has what
    /// `rights` leaves it, and says to `status` where it stands.
    ///
    /// # Errors
    /// The system has no thread or no file descriptor left.
    pub(crate) fn start(
        config: &SwitchConfig,
        calls: Sender<Call>,
        rights: Rights,
        status: FleetStatus,
    ) -> io::Result<Option<Self>> {
        let Some(fleet) = &config.fleet else { return Ok(None) };
        let runtime = Builder::new_current_thread().enable_io().enable_time().build()?;
        let files = RuleFiles::of(config);
        let hash = config.rules.as_ref().map(files::hash);
        let revision = files.revision_of(hash.as_deref());
        let agent = Agent::new(&config.name, env!("CARGO_PKG_VERSION"), hash, revision);
        let connect = Connect::Own(access(fleet));
        let (network, name) = (fleet.network.clone(), config.name.clone());
        let client = SwitchClient::new(&network, calls, files, status);
        let (stop, stopped) = oneshot::channel();
        let run = move || {
            let _niceness = rustix::process::nice(NICENESS);
            if let Err(error) = rights.restrict_thread(ThreadKind::Agent) {
                log::warning("fleet", format!("the fleet's agent does not run: {error}"));
                return;
            }
            runtime.block_on(async {
                tokio::select! {
                    () = session::run(&connect, &network, &name, agent, client) => {}
                    _ = stopped => {}
                }
            });
            // A name that is being resolved is not waited for.
            runtime.shutdown_background();
        };
        let thread = thread::Builder::new().name("fleet".into()).spawn(run)?;
        Ok(Some(Self { stop: Some(stop), thread: Some(thread) }))
    }
}

impl Drop for FleetAgent {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _fault_of_the_thread = thread.join();
        }
    }
}

fn access(fleet: &Fleet) -> Access {
    Access {
        endpoints: fleet.endpoints.clone(),
        ca: fleet.ca.clone(),
        identity: fleet.identity.clone(),
        user: fleet.user.clone(),
    }
}
