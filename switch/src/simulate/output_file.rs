//! Files that a simulation writes: opened before it begins, so that one that cannot be written is
//! noticed then, and never one that it reads or another one that it writes.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// The files of one command, by device and number.
#[derive(Debug, Default)]
pub(super) struct OutputFiles {
    taken: Vec<(u64, u64)>,
}

impl OutputFiles {
    /// Those of a command that reads `inputs`.
    pub(super) fn beside(inputs: &[&Path]) -> Self {
        let taken = inputs.iter().filter_map(|input| std::fs::metadata(input).ok());
        Self { taken: taken.map(|input| (input.dev(), input.ino())).collect() }
    }

    /// Opens `file`, whose text stays until something is written.
    ///
    /// # Errors
    /// It cannot be written, or is one of the command's other files.
    pub(super) fn open(&mut self, file: &Path) -> io::Result<File> {
        let opened = OpenOptions::new().write(true).create(true).truncate(false).open(file)?;
        let found = opened.metadata()?;
        let identity = (found.dev(), found.ino());
        // Something like /dev/null may be named twice.
        if found.is_file() && self.taken.contains(&identity) {
            let message = "this command reads or writes it already; name another file";
            return Err(io::Error::other(message));
        }
        self.taken.push(identity);
        Ok(opened)
    }
}
