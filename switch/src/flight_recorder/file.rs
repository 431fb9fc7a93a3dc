//! The file of the flight recorder: JSON lines, appended by a thread that ends with its work, so
//! that a slow disk delays nobody.

use super::event::FlightEvent;
use crate::log;
use crate::side_files::with_suffix;
use config::switch::Trigger;
use nix::libc;
use serde_json::json;
use std::collections::VecDeque;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::thread::{self, JoinHandle};

/// At this length the file becomes `FILE.1`.
const FILE_BYTES_MAX: u64 = 16 << 20;
/// Who may read it: frames' ports and neighbors are in it.
const MODE: u32 = 0o640;

/// See the module's head.
#[derive(Debug)]
pub(super) struct EventFile {
    path: PathBuf,
    /// Number of the last event in it.
    written: u64,
    writing: Option<JoinHandle<()>>,
}

impl EventFile {
    pub(super) const fn new(path: PathBuf) -> Self {
        Self { path, written: 0, writing: None }
    }

    /// Appends a line that says why, and those of `events` that are not in the file. Returns
    /// whether that has begun; the last time may still last.
    pub(super) fn append(
        &mut self,
        switch: &str,
        trigger: Trigger,
        events: &VecDeque<FlightEvent>,
    ) -> bool {
        if self.writing.as_ref().is_some_and(|thread| !thread.is_finished()) {
            return false;
        }
        let new: Vec<FlightEvent> =
            events.iter().filter(|event| event.seq > self.written).cloned().collect();
        self.written = new.last().map_or(self.written, |event| event.seq);
        let head = json!({ "switch": switch, "trigger": trigger.name(), "events": new.len() });
        let path = self.path.clone();
        let write = move || {
            let mut text = format!("{head}\n");
            for event in &new {
                text += &format!("{}\n", json!(event));
            }
            match append(&path, text.as_bytes()) {
                Ok(()) => log::info(
                    "flight_recorder",
                    format!("{} events written to {}", new.len(), path.display()),
                ),
                Err(error) => {
                    log::error("flight_recorder", format!("{}: {error}", path.display()));
                }
            }
        };
        self.writing = thread::Builder::new().name("recorder".into()).spawn(write).ok();
        self.writing.is_some()
    }
}

fn append(path: &Path, text: &[u8]) -> io::Result<()> {
    if fs::metadata(path).is_ok_and(|file| file.len() >= FILE_BYTES_MAX) {
        fs::rename(path, with_suffix(path, ".1"))?;
    }
    let mut options = OpenOptions::new();
    options.append(true).create(true).mode(MODE);
    let mut file = options.custom_flags(libc::O_NOFOLLOW).open(path)?;
    file.write_all(text)
}
