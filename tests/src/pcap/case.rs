//! One folder of `tests/pcap/`, read and checked.

use super::compare::Mismatch;
use super::counters::{self, Counters};
use super::file::{self, Bytes, FileError};
use super::kinds::{Identity, Kind};
use super::run::Seen;
use crate::tree;
use std::collections::BTreeMap;
use std::fs;
use std::net::IpAddr;
use std::path::{Path, PathBuf};

/// Where the expected counters stand.
const COUNTERS: &str = "counters.txt";
/// What a switch is given; everything else in a folder is about it.
const GIVEN: [&str; 2] = ["switch.toml", "rules.json"];

/// Frames by port number.
pub(super) type Frames = BTreeMap<usize, Vec<Bytes>>;

/// A case.
#[derive(Clone, Debug)]
pub struct Case {
    /// Its folder.
    pub folder: PathBuf,
    /// The folder's name.
    pub name: String,
    /// What it is for, in one line.
    pub about: String,
    /// Ports that write a file.
    pub(super) ports: Vec<usize>,
    pub(super) identity: Identity,
    pub(super) arriving: Frames,
    pub(super) leaving: Frames,
    /// `None` before it was ever recorded.
    pub(super) counters: Option<Counters>,
}

/// Why a folder is no case.
#[derive(Debug, thiserror::Error)]
pub enum CaseError {
    /// A file cannot be read or written.
    #[error("{}: {error}", path.display())]
    Io {
        /// Which file.
        path: PathBuf,
        /// What the system says.
        error: std::io::Error,
    },
    /// A pcap file is none.
    #[error(transparent)]
    File(#[from] FileError),
    /// A file does not say what it must.
    #[error("{}: {wrong}", path.display())]
    Unsound {
        /// Which file.
        path: PathBuf,
        /// What is wrong.
        wrong: String,
    },
}

/// The folder that holds the cases.
pub(super) fn folder() -> PathBuf {
    tree::root().join("tests/pcap")
}

/// A folder's name, and the case in it.
pub type Named = (String, Result<Case, CaseError>);

/// Every case, in the order of their names. A folder that is no case is an error, not nothing.
///
/// # Errors
/// The folders cannot be listed.
pub fn cases() -> Result<Vec<Named>, CaseError> {
    let all = folder();
    let io = |error| CaseError::Io { path: all.clone(), error };
    let mut cases = Vec::new();
    for entry in fs::read_dir(&all).map_err(io)? {
        let path = entry.map_err(io)?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_dir() && name != "__pycache__" {
            cases.push((name, Case::load(&path)));
        }
    }
    cases.sort_by(|(one, _), (other, _)| one.cmp(other));
    Ok(cases)
}

impl Case {
    /// Reads the case in `folder`.
    ///
    /// # Errors
    /// A file is missing or unsound, or there is one that nothing names.
    pub fn load(folder: &Path) -> Result<Self, CaseError> {
        let about = read_text(&folder.join("about"))?;
        if about.trim().is_empty() || about.trim().lines().count() != 1 {
            return Err(unsound(folder.join("about"), "one line says what the case is for"));
        }
        let toml_path = folder.join("switch.toml");
        let table: toml::Table = read_text(&toml_path)?
            .parse()
            .map_err(|error: toml::de::Error| unsound(&toml_path, error.message()))?;
        let switch = SwitchFile::read(&table).map_err(|wrong| unsound(&toml_path, wrong))?;
        let counters_path = folder.join(COUNTERS);
        let counters = match counters_path.exists() {
            true => Some(counters::parse(&read_text(&counters_path)?).map_err(|line| {
                unsound(&counters_path, format!("`{line}` is no counter; write `name = value`"))
            })?),
            false => None,
        };
        let case = Self {
            folder: folder.to_owned(),
            name: folder.file_name().unwrap_or_default().to_string_lossy().into_owned(),
            about: about.trim().to_owned(),
            arriving: read_frames(folder, "in", &switch.reads, true)?,
            leaving: read_frames(folder, "out", &switch.writes, false)?,
            ports: switch.writes,
            identity: switch.identity,
            counters,
        };
        case.check_nothing_else()?;
        Ok(case)
    }

    /// The files to be given to the switch.
    pub(super) fn given(&self) -> Vec<PathBuf> {
        let inputs = self.arriving.keys().map(|port| format!("in-{port}.pcap"));
        let fixed = GIVEN.iter().map(|&name| name.to_owned());
        let files = fixed.chain(inputs).map(|name| self.folder.join(name));
        files.filter(|file| file.exists()).collect()
    }

    /// How many frames arrive, at all ports together.
    pub fn frames_in(&self) -> usize {
        self.arriving.values().map(Vec::len).sum()
    }

    /// The frames that arrive, of all ports.
    pub fn frames(&self) -> Vec<Bytes> {
        self.arriving.values().flatten().cloned().collect()
    }

    /// Writes `seen` over what is expected, where they differ.
    pub(super) fn write(&self, seen: &Seen, mismatches: &[Mismatch]) -> Result<(), CaseError> {
        for &port in &self.ports {
            if !mismatches.iter().any(|mismatch| mismatch.is_of_port(port)) {
                continue;
            }
            let frames = seen.leaving.get(&port).map_or(&[][..], Vec::as_slice);
            let by_kind = Kind::ALL.map(|kind| self.identity.of_kind(frames, kind)).concat();
            let path = self.folder.join(format!("out-{port}.pcap"));
            match by_kind.is_empty() {
                true => fs::remove_file(&path).map_err(|error| CaseError::Io { path, error })?,
                false => file::write(&path, &by_kind)?,
            }
        }
        if self.counters.as_ref() != Some(&seen.counters) {
            let path = self.folder.join(COUNTERS);
            fs::write(&path, counters::emit(&seen.counters))
                .map_err(|error| CaseError::Io { path, error })?;
        }
        Ok(())
    }

    /// A file that no test reads was meant to be read.
    fn check_nothing_else(&self) -> Result<(), CaseError> {
        let io = |error| CaseError::Io { path: self.folder.clone(), error };
        let ports = self.ports.iter().map(|port| format!("out-{port}.pcap"));
        let inputs = self.arriving.keys().map(|port| format!("in-{port}.pcap"));
        let fixed = ["about", "frames.py", COUNTERS].into_iter().chain(GIVEN).map(str::to_owned);
        let known: Vec<String> = ports.chain(inputs).chain(fixed).collect();
        for entry in fs::read_dir(&self.folder).map_err(io)? {
            let entry = entry.map_err(io)?;
            let name = entry.file_name().to_string_lossy().into_owned();
            if !known.contains(&name) {
                return Err(unsound(entry.path(), "no port of switch.toml has to do with it"));
            }
        }
        Ok(())
    }
}

/// What frames depend on in switch.toml.
#[derive(Debug, Default)]
struct SwitchFile {
    /// Ports with an `rx_pcap`.
    reads: Vec<usize>,
    /// Ports with a `tx_pcap`.
    writes: Vec<usize>,
    identity: Identity,
}

impl SwitchFile {
    fn read(table: &toml::Table) -> Result<Self, String> {
        let mut switch = Self::default();
        let ports = table.get("port").and_then(toml::Value::as_array);
        for (number, port) in (1..).zip(ports.into_iter().flatten()) {
            let text = |name: &str| port.get(name).and_then(toml::Value::as_str);
            let device = text("device").ok_or_else(|| format!("port {number} has no `device`"))?;
            let named = |argument: &str| device.split(',').any(|other| other == argument);
            if named(&format!("rx_pcap=in-{number}.pcap")) {
                switch.reads.push(number);
            }
            if !named(&format!("tx_pcap=out-{number}.pcap")) {
                return Err(format!("port {number} does not write `tx_pcap=out-{number}.pcap`"));
            }
            switch.writes.push(number);
            let addresses = port.get("addresses").and_then(toml::Value::as_array);
            let Some(addresses) = addresses else { continue };
            let mac = text("mac").and_then(parse_mac).ok_or_else(|| {
                format!("port {number} routes and has no `mac`; its own frames are known by it")
            })?;
            let addresses = addresses.iter().filter_map(toml::Value::as_str);
            switch.identity.add(mac, addresses.filter_map(host_of));
        }
        match switch.reads.is_empty() {
            true => Err("no port reads `rx_pcap=in-PORT.pcap`".to_owned()),
            false => Ok(switch),
        }
    }
}

/// The address in `10.0.1.254/24`.
fn host_of(network: &str) -> Option<IpAddr> {
    network.split('/').next()?.parse().ok()
}

fn parse_mac(text: &str) -> Option<[u8; 6]> {
    let octets: Vec<u8> = text
        .split(':')
        .map(|octet| u8::from_str_radix(octet, 16))
        .collect::<Result<_, _>>()
        .ok()?;
    octets.try_into().ok()
}

fn read_frames(
    folder: &Path,
    direction: &str,
    ports: &[usize],
    must_exist: bool,
) -> Result<Frames, CaseError> {
    let mut frames = Frames::new();
    for &port in ports {
        let path = folder.join(format!("{direction}-{port}.pcap"));
        if must_exist || path.exists() {
            frames.insert(port, file::read(&path)?);
        }
    }
    Ok(frames)
}

fn read_text(path: &Path) -> Result<String, CaseError> {
    fs::read_to_string(path).map_err(|error| CaseError::Io { path: path.to_owned(), error })
}

fn unsound(path: impl Into<PathBuf>, wrong: impl Into<String>) -> CaseError {
    CaseError::Unsound { path: path.into(), wrong: wrong.into() }
}
