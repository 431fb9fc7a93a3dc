//! The switches that answer, for what goes beyond one of them.

use super::chain::{SwitchView, World};
use crate::control::protocol::{LldpTable, Request};
use crate::control::stats::Stats;
use crate::ctl::client::{Client, CtlError};
use crate::flight_recorder::Recording;
use crate::flight_recorder::event::FlightEvent;
use clap::Args;
use config::{ConfigError, NetworkConfig};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long a switch may take to answer: one that hangs must not hide the others.
const ANSWER_MAX: Duration = Duration::from_secs(5);

/// Why the switches are not known: one line.
#[derive(Debug, thiserror::Error)]
pub(crate) enum WorldError {
    /// The network's file.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The directory of the sockets.
    #[error("{}: {error}; give the directory of the switches' control sockets", path.display())]
    Sockets {
        /// Which.
        path: PathBuf,
        /// What the system says.
        error: std::io::Error,
    },
    /// The switch itself.
    #[error(transparent)]
    Ctl(#[from] CtlError),
}

impl WorldError {
    /// 1 for a failure, 2 for a wrong request.
    pub(crate) const fn exit_code(&self) -> u8 {
        match self {
            Self::Ctl(error) => error.exit_code(),
            Self::Config(_) | Self::Sockets { .. } => 2,
        }
    }
}

/// Everything that a switch's flight recorder has.
///
/// # Errors
/// The connection breaks.
pub(crate) fn recording(client: &mut Client) -> Result<Vec<FlightEvent>, CtlError> {
    let mut events: Vec<FlightEvent> = Vec::new();
    loop {
        let after = events.last().map_or(0, |event| event.seq);
        let page: Recording = client.ask(&Request::Recorder { after })?;
        let is_last = page.events.is_empty();
        events.extend(page.events);
        if is_last || events.last().is_some_and(|event| event.seq >= page.last) {
            return Ok(events);
        }
    }
}

/// What the switch behind `socket` says.
///
/// # Errors
/// It does not answer.
fn view(socket: &Path) -> Result<SwitchView, CtlError> {
    let mut client = Client::connect_for(socket, ANSWER_MAX)?;
    let stats: Stats = client.ask(&Request::Stats)?;
    let lldp: LldpTable = client.ask(&Request::Lldp)?;
    let rows = lldp.neighbors.into_iter();
    let lldp = rows.filter_map(|row| Some((row.port, row.system_name?, row.port_id))).collect();
    Ok(SwitchView { stats, events: recording(&mut client)?, lldp })
}

// Those beside it. A doc comment would describe the commands that have these options.
#[derive(Debug, Args)]
pub(crate) struct OtherSwitches {
    /// Directory of the sockets of the other switches, to follow who waits for whom
    #[arg(long, value_name = "DIR")]
    sockets: Option<PathBuf>,
    /// NETWORK.toml with the links between the switches; otherwise LLDP says them
    #[arg(long, value_name = "NETWORK.toml")]
    network: Option<PathBuf>,
}

impl OtherSwitches {
    /// The switch behind `own`, and those of the sockets in the directory that answer.
    ///
    /// # Errors
    /// A file is wrong, the directory cannot be read, or the first switch does not answer.
    pub(crate) fn world(&self, own: &Path) -> Result<World, WorldError> {
        let mut world = World::default();
        if let Some(file) = &self.network {
            world.network = Some(NetworkConfig::load(file)?.network);
        }
        let first = view(own)?;
        world.switches.insert(first.stats.name.clone(), first);
        let mut sockets = BTreeSet::new();
        if let Some(path) = &self.sockets {
            let wrong = |error| WorldError::Sockets { path: path.clone(), error };
            for entry in fs::read_dir(path).map_err(wrong)? {
                let socket = entry.map_err(wrong)?.path();
                if socket.extension().is_some_and(|end| end == "sock") && socket != own {
                    sockets.insert(socket);
                }
            }
        }
        // A switch that does not answer is where the chain ends.
        for view in sockets.iter().filter_map(|socket| view(socket).ok()) {
            world.switches.entry(view.stats.name.clone()).or_insert(view);
        }
        Ok(world)
    }
}
