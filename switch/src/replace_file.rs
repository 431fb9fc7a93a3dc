//! Replaces a file as a whole: whoever reads it, after whatever crash, finds the old text or the
//! new one.

use crate::side_files::with_suffix;
use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt, fchown};
use std::path::{Path, PathBuf};

/// Mode of a file that was not there before.
const MODE_NEW: u32 = 0o600;
/// The same of a file that others may read, before the process's umask.
const MODE_SHARED: u32 = 0o666;

/// Replaces `file`, or makes it: `text` is written beside it, brought to the disk, and renamed. A
/// file that was there keeps its owner and mode. A symbolic link is replaced, not followed.
///
/// # Errors
/// The folder or the file cannot be written; the file is as it was.
pub(crate) fn replace(file: &Path, text: &str) -> io::Result<()> {
    replace_by_mode(file, text, MODE_NEW)
}

/// As [`replace`], of a file that others may read if the process's umask lets them.
///
/// # Errors
/// As [`replace`].
pub(crate) fn replace_shared(file: &Path, text: &str) -> io::Result<()> {
    replace_by_mode(file, text, MODE_SHARED)
}

fn replace_by_mode(file: &Path, text: &str, mode: u32) -> io::Result<()> {
    let folder = folder_of(file);
    let beside = beside(file);
    remove(&beside)?;
    // A link that another user leaves there meanwhile is not followed either.
    let mut new = OpenOptions::new().write(true).create_new(true).mode(mode).open(&beside)?;
    let written = keep_owner(file, &new)
        .and_then(|()| new.write_all(text.as_bytes()))
        .and_then(|()| new.sync_all())
        .and_then(|()| fs::rename(&beside, file));
    if written.is_err() {
        remove(&beside)?;
    }
    written?;
    File::open(folder)?.sync_all()
}

/// Removes `file`, if it is there.
///
/// # Errors
/// It is there and stays.
pub(crate) fn remove(file: &Path) -> io::Result<()> {
    match fs::remove_file(file) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}

/// The folder that a file is in.
pub(crate) fn folder_of(file: &Path) -> &Path {
    let folder = file.parent().filter(|path| !path.as_os_str().is_empty());
    folder.unwrap_or_else(|| Path::new("."))
}

/// `FILE.writing`
fn beside(file: &Path) -> PathBuf {
    with_suffix(file, ".writing")
}

fn keep_owner(file: &Path, new: &File) -> io::Result<()> {
    let Ok(old) = fs::symlink_metadata(file) else { return Ok(()) };
    if !old.is_file() {
        return Ok(());
    }
    let own = new.metadata()?;
    if (own.uid(), own.gid()) != (old.uid(), old.gid()) {
        fchown(new, Some(old.uid()), Some(old.gid()))?;
    }
    new.set_permissions(Permissions::from_mode(old.mode() & 0o7777))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_keeps_its_mode_and_nothing_is_left_beside_it() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("f");
        replace(&file, "first").unwrap();
        assert_eq!(fs::metadata(&file).unwrap().mode() & 0o777, 0o600);
        fs::set_permissions(&file, Permissions::from_mode(0o644)).unwrap();
        replace(&file, "second").unwrap();
        assert_eq!(fs::metadata(&file).unwrap().mode() & 0o777, 0o644);
        assert_eq!(fs::read_to_string(&file).unwrap(), "second");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn others_may_read_a_shared_file() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("f");
        replace_shared(&file, "text").unwrap();
        let plain = folder.path().join("plain");
        fs::write(&plain, "text").unwrap();
        let mode = |file: &Path| fs::metadata(file).unwrap().mode();
        assert_eq!(mode(&file), mode(&plain), "what the umask leaves");
    }

    #[test]
    fn links_are_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let (precious, file) = (folder.path().join("precious"), folder.path().join("f"));
        fs::write(&precious, "as it was").unwrap();
        std::os::unix::fs::symlink(&precious, &file).unwrap();
        std::os::unix::fs::symlink(&precious, beside(&file)).unwrap();
        replace(&file, "new").unwrap();
        assert_eq!(fs::read_to_string(&precious).unwrap(), "as it was");
        assert_eq!(fs::read_to_string(&file).unwrap(), "new");
        assert!(fs::symlink_metadata(&file).unwrap().is_file());
    }

    #[test]
    fn what_cannot_be_written_stays_as_it_was() {
        let error = replace(Path::new("/proc/no/such"), "text").unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
        let folder = tempfile::tempdir().unwrap();
        let directory = folder.path().join("d");
        fs::create_dir(&directory).unwrap();
        assert!(replace(&directory, "text").is_err());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "nothing beside it");
    }
}
