//! The client's end of the control socket.

use crate::control::protocol::{
    Failed, MacRow, MacTable, NeighborRow, Neighbors, Request, RouteRow, Routes,
};
use clap::Args;
use config::json::{self, JsonError};
use serde::de::DeserializeOwned;
use std::fs;
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The directory of the sockets unless SWITCH.toml sets another path.
pub(crate) const SOCKETS: &str = "/run/knotless";

/// Timeout of a reply, also of one for which a large file is read.
const REPLY_MAX: Duration = Duration::from_secs(150);

/// Why a request failed: one line.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CtlError {
    /// No switch listens on the socket.
    #[error("no switch listens on {}: {error}; start one with `knotless run`", socket.display())]
    NoSwitch {
        /// The socket.
        socket: PathBuf,
        /// What the system says.
        error: io::Error,
    },
    /// It belongs to another user.
    #[error(
        "{} belongs to another user: {error}; use that user's account, or root",
        socket.display()
    )]
    NotYours {
        /// The socket.
        socket: PathBuf,
        /// What the system says.
        error: io::Error,
    },
    /// The switch is ambiguous.
    #[error("{0}")]
    Which(String),
    /// The switch refused the request.
    #[error("{0}")]
    Refused(String),
    /// The changes of a switch were not written to its files: where, and why.
    #[error("not saved, nothing is changed: {0}")]
    NotSaved(String),
    /// The connection broke.
    #[error("the connection to the switch broke: {0}")]
    Broken(io::Error),
    /// The reply cannot be parsed; the switch may be of another version.
    #[error("invalid reply from the switch: {0}; it may be of another version")]
    Unclear(JsonError),
}

impl CtlError {
    /// 1 for a failure, 2 for a wrong request.
    pub(crate) const fn exit_code(&self) -> u8 {
        match self {
            Self::Broken(_) | Self::Unclear(_) | Self::NotSaved(_) => 1,
            Self::NoSwitch { .. } | Self::NotYours { .. } | Self::Which(_) | Self::Refused(_) => 2,
        }
    }
}

// Which switch. A doc comment would describe the commands that have these options.
#[derive(Debug, Args)]
pub(crate) struct SwitchArgs {
    /// The switch's control socket
    #[arg(long, value_name = "PATH", conflicts_with = "name")]
    socket: Option<PathBuf>,
    /// The switch's name: its socket is /run/knotless/NAME.sock
    #[arg(long)]
    name: Option<String>,
}

impl SwitchArgs {
    /// The socket of the switch.
    ///
    /// # Errors
    /// As [`find_socket`].
    pub(crate) fn socket(&self) -> Result<PathBuf, CtlError> {
        find_socket(self.socket.as_deref(), self.name.as_deref())
    }
}

/// The socket of the switch: given by path, by name, or the only one.
///
/// # Errors
/// Neither is given, and there is not exactly one.
pub(crate) fn find_socket(path: Option<&Path>, name: Option<&str>) -> Result<PathBuf, CtlError> {
    match (path, name) {
        (Some(path), _) => Ok(path.to_owned()),
        (None, Some(name)) => Ok(Path::new(SOCKETS).join(format!("{name}.sock"))),
        (None, None) => only_socket(Path::new(SOCKETS)),
    }
}

fn only_socket(directory: &Path) -> Result<PathBuf, CtlError> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten().map(|file| file.path());
    let mut sockets: Vec<PathBuf> =
        entries.filter(|path| path.extension().is_some_and(|end| end == "sock")).collect();
    sockets.sort();
    let which = |what: String| {
        CtlError::Which(format!("{what}; select one with --name NAME or --socket PATH"))
    };
    match sockets.as_slice() {
        [] => Err(which(format!("no switch has its socket in {}", directory.display()))),
        [only] => Ok(only.clone()),
        several => {
            let names = several.iter().filter_map(|path| path.file_stem());
            let names: Vec<_> = names.map(|name| name.to_string_lossy()).collect();
            Err(which(format!("there are several switches: {}", names.join(", "))))
        }
    }
}

/// A connection to a switch.
#[derive(Debug)]
pub(crate) struct Client {
    reader: BufReader<UnixStream>,
    writer: UnixStream,
}

impl Client {
    /// Connects to the switch behind `socket`.
    ///
    /// # Errors
    /// There is none.
    pub(crate) fn connect(socket: &Path) -> Result<Self, CtlError> {
        Self::connect_for(socket, REPLY_MAX)
    }

    /// Connects to a switch that must answer each request within `timeout`.
    ///
    /// # Errors
    /// There is none.
    pub(crate) fn connect_for(socket: &Path, timeout: Duration) -> Result<Self, CtlError> {
        let writer = UnixStream::connect(socket).map_err(|error| {
            let socket = socket.to_owned();
            match error.kind() {
                io::ErrorKind::PermissionDenied => CtlError::NotYours { socket, error },
                _ => CtlError::NoSwitch { socket, error },
            }
        })?;
        writer.set_read_timeout(Some(timeout)).map_err(CtlError::Broken)?;
        let reader = BufReader::new(writer.try_clone().map_err(CtlError::Broken)?);
        Ok(Self { reader, writer })
    }

    /// Sends a request and reads a reply of type `T`.
    ///
    /// # Errors
    /// The switch refuses, or the connection breaks.
    pub(crate) fn ask<T: DeserializeOwned>(&mut self, request: &Request) -> Result<T, CtlError> {
        let mut line =
            serde_json::to_vec(request).map_err(|error| CtlError::Broken(error.into()))?;
        line.push(b'\n');
        let written = self.writer.write_all(&line);
        line.clear();
        // A switch that refuses the connection says why and closes it, perhaps before the request.
        let read = self.reader.read_until(b'\n', &mut line);
        if line.is_empty() {
            written.and(read).map_err(CtlError::Broken)?;
            return Err(CtlError::Broken(io::ErrorKind::UnexpectedEof.into()));
        }
        if let Ok(Failed { error }) = serde_json::from_slice(&line) {
            return Err(CtlError::Refused(error));
        }
        json::read(&String::from_utf8_lossy(&line)).map_err(CtlError::Unclear)
    }

    /// The connection, and what was read of it after the last reply: for a request whose reply is
    /// followed by something else than lines.
    pub(crate) fn into_stream(self) -> (UnixStream, Vec<u8>) {
        (self.writer, self.reader.buffer().to_vec())
    }

    /// Asks for all neighbors.
    ///
    /// # Errors
    /// As [`Self::ask`].
    pub(crate) fn neighbors(&mut self) -> Result<Vec<NeighborRow>, CtlError> {
        self.all(
            |offset| Request::Neighbors { offset },
            |page: Neighbors| (page.total, page.neighbors),
        )
    }

    /// Asks for all routes.
    ///
    /// # Errors
    /// As [`Self::ask`].
    pub(crate) fn routes(&mut self) -> Result<Vec<RouteRow>, CtlError> {
        self.all(|offset| Request::Routes { offset }, |page: Routes| (page.total, page.routes))
    }

    /// Asks for all learned addresses.
    ///
    /// # Errors
    /// As [`Self::ask`].
    pub(crate) fn mac_table(&mut self) -> Result<Vec<MacRow>, CtlError> {
        let mut rows = self
            .all(|offset| Request::Mac { offset }, |page: MacTable| (page.total, page.addresses))?;
        rows.sort_by(|one, other| (one.vlan, &one.mac).cmp(&(other.vlan, &other.mac)));
        Ok(rows)
    }

    /// Requests page by page. A table that changes meanwhile may be inconsistent between pages.
    fn all<P: DeserializeOwned, R>(
        &mut self,
        request: impl Fn(usize) -> Request,
        open: impl Fn(P) -> (usize, Vec<R>),
    ) -> Result<Vec<R>, CtlError> {
        let mut rows = Vec::new();
        loop {
            let (total, page) = open(self.ask(&request(rows.len()))?);
            let is_last = page.is_empty();
            rows.extend(page);
            if is_last || rows.len() >= total {
                return Ok(rows);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_only_switch_need_not_be_named() {
        let directory = tempfile::tempdir().unwrap();
        let error = |result: Result<PathBuf, CtlError>| result.unwrap_err().to_string();
        let none = error(only_socket(directory.path()));
        assert!(
            none.starts_with("no switch has its socket in ") && none.contains("--name"),
            "{none}"
        );

        fs::write(directory.path().join("a.sock.lock"), "1").unwrap();
        fs::write(directory.path().join("a.sock"), "").unwrap();
        assert_eq!(only_socket(directory.path()).unwrap(), directory.path().join("a.sock"));

        fs::write(directory.path().join("b.sock"), "").unwrap();
        let several = error(only_socket(directory.path()));
        assert!(several.starts_with("there are several switches: a, b; "), "{several}");
    }

    #[test]
    fn a_socket_without_a_switch_is_an_error_with_advice() {
        let directory = tempfile::tempdir().unwrap();
        let error = Client::connect(&directory.path().join("x.sock")).unwrap_err();
        assert_eq!(error.exit_code(), 2);
        let error = error.to_string();
        assert!(error.contains("x.sock") && error.contains("knotless run"), "{error}");
    }
}
