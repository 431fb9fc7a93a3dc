//! The folder of a campaign's results, which any number of processes write at the same time.
//!
//! | file | what it is |
//! |---|---|
//! | `campaign.json` | the plan, written whole by the first process |
//! | `runs-I-of-N.jsonl` | a line for each run that shard I of N has done; locked while written |
//! | `summary.json`, `.csv`, `.html` | of all runs, when all are there |
//!
//! A line is written whole and brought to the disk before the next. Whatever ends the process, all
//! lines but the last are whole, and the last is whole if it ends with a newline.

use super::plan::Plan;
use super::record::Record;
use crate::network::InputError;
use crate::replace_file;
use config::Shard;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::process;
use std::time::SystemTime;

const PLAN: &str = "campaign.json";

/// Makes the folder, or joins the processes that did.
///
/// # Errors
/// It cannot be written, or has results of another plan.
pub(super) fn join(folder: &Path, plan: &Plan) -> Result<(), InputError> {
    let file = folder.join(PLAN);
    let failed = |error: io::Error| cannot(&file, &error);
    fs::create_dir_all(folder).map_err(|error| cannot(folder, &error))?;
    // Written aside and then linked: a link is made by one process only, and always to the whole.
    // Processes of other machines may have this one's number.
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let aside = folder.join(format!(".{PLAN}.{}.{}", process::id(), now.as_nanos()));
    let text = serde_json::to_string_pretty(plan).map_err(io::Error::from).map_err(failed)?;
    replace_file::replace_shared(&aside, &(text + "\n")).map_err(failed)?;
    let linked = fs::hard_link(&aside, &file);
    replace_file::remove(&aside).map_err(failed)?;
    match linked {
        Ok(()) => File::open(folder).and_then(|folder| folder.sync_all()).map_err(failed),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => is_joined(folder, plan).map(drop),
        Err(error) => Err(failed(error)),
    }
}

/// Whether the folder has been begun, with this plan.
///
/// # Errors
/// It has results of another plan.
pub(super) fn is_joined(folder: &Path, plan: &Plan) -> Result<bool, InputError> {
    let file = folder.join(PLAN);
    if !file.exists() {
        return Ok(false);
    }
    match self::plan(folder)?.differs_from(plan) {
        None => Ok(true),
        Some(why) => Err(InputError::at(&file, format_args!("{why}; name another --out"))),
    }
}

/// The plan of a folder.
///
/// # Errors
/// It is no campaign's folder.
pub(super) fn plan(folder: &Path) -> Result<Plan, InputError> {
    let file = folder.join(PLAN);
    if !file.exists() {
        let message = format!("this is no folder of a campaign: it has no {PLAN}");
        return Err(InputError::at(folder, message));
    }
    let plan: Plan = config::read_json(&file)?;
    plan.check().map_err(|why| InputError::at(&file, format_args!("this is no plan: {why}")))?;
    Ok(plan)
}

/// The results of a folder, in the order of the files' names.
///
/// # Errors
/// A file cannot be read, or a line that is not its last is no result of this plan.
pub(super) fn records(folder: &Path, plan: &Plan) -> Result<Vec<Record>, InputError> {
    let failed = |error: io::Error| InputError::at(folder, format_args!("cannot be read: {error}"));
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).map_err(failed)? {
        let name = entry.map_err(failed)?.file_name().to_string_lossy().into_owned();
        if name.starts_with("runs-") && name.ends_with(".jsonl") {
            files.push(folder.join(name));
        }
    }
    files.sort();
    let mut records = Vec::new();
    for file in files {
        let unreadable = |error| InputError::at(&file, format_args!("cannot be read: {error}"));
        let bytes = fs::read(&file).map_err(unreadable)?;
        records.extend(lines(&file, plan, &bytes)?.0);
    }
    Ok(records)
}

/// The results in the text of `file`, and how many bytes of it they are: what is behind them is a
/// line that was not written whole.
fn lines(file: &Path, plan: &Plan, bytes: &[u8]) -> Result<(Vec<Record>, usize), InputError> {
    let (mut records, mut whole) = (Vec::new(), 0);
    for (number, line) in bytes.split_inclusive(|&byte| byte == b'\n').enumerate() {
        let is_last = whole + line.len() == bytes.len();
        let Some(text) = line.strip_suffix(b"\n") else { break };
        match Record::parse(plan, text) {
            Ok(record) => records.push(record),
            // A disk may keep the length of what it lost.
            Err(_) if is_last => break,
            Err(why) => {
                let why = format!("line {} is no result of this campaign: {why}", number + 1);
                return Err(InputError::at(file, why));
            }
        }
        whole += line.len();
    }
    Ok((records, whole))
}

/// The file of one shard, which this process alone writes.
#[derive(Debug)]
pub(super) struct ShardFile {
    file: File,
    path: PathBuf,
}

impl ShardFile {
    /// Opens the file, without a line that was not written whole.
    ///
    /// # Errors
    /// Another process writes it, or it is no file of this campaign.
    pub(super) fn open(folder: &Path, plan: &Plan, shard: Shard) -> Result<Self, InputError> {
        let name = shard.to_string().replace('/', "-of-");
        let path = folder.join(format!("runs-{name}.jsonl"));
        let failed = |error: io::Error| cannot(&path, &error);
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        let mut file = options.open(&path).map_err(failed)?;
        file.try_lock().map_err(|error| match error {
            TryLockError::WouldBlock => {
                InputError::at(&path, "another process runs this shard; wait for it, or end it")
            }
            TryLockError::Error(error) => failed(error),
        })?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map_err(failed)?;
        let (_, whole) = lines(&path, plan, &bytes)?;
        if whole < bytes.len() {
            file.set_len(whole as u64).map_err(failed)?;
        }
        file.seek(SeekFrom::Start(whole as u64)).map_err(failed)?;
        file.sync_all().map_err(failed)?;
        File::open(folder).and_then(|folder| folder.sync_all()).map_err(failed)?;
        Ok(Self { file, path })
    }

    /// Adds a line, and returns when it is on the disk.
    ///
    /// # Errors
    /// It could not be written; nothing may be added behind it.
    pub(super) fn add(&mut self, record: &Record) -> Result<(), InputError> {
        let line = serde_json::to_string(record).map_err(io::Error::from);
        let written = line.and_then(|line| {
            self.file.write_all((line + "\n").as_bytes())?;
            self.file.sync_data()
        });
        written.map_err(|error| cannot(&self.path, &error))
    }
}

fn cannot(file: &Path, error: &io::Error) -> InputError {
    InputError::at(file, format_args!("cannot be written: {error}"))
}

#[cfg(test)]
mod tests {
    use super::super::plan::tests::plan;
    use super::super::record::tests::record;
    use super::*;

    const WHOLE: &str = "runs-1-of-1.jsonl";

    fn numbers(folder: &Path) -> Vec<u64> {
        records(folder, &plan()).unwrap().iter().map(|record| record.run).collect()
    }

    /// A folder with three results, and the text of their file.
    fn three() -> (tempfile::TempDir, Vec<u8>) {
        let folder = tempfile::tempdir().unwrap();
        join(folder.path(), &plan()).unwrap();
        let mut file = ShardFile::open(folder.path(), &plan(), Shard::default()).unwrap();
        (0..3).for_each(|number| file.add(&record(number)).unwrap());
        let text = fs::read(folder.path().join(WHOLE)).unwrap();
        (folder, text)
    }

    #[test]
    fn a_file_that_ends_at_any_byte_is_read_and_goes_on() {
        let (folder, text) = three();
        let path = folder.path().join(WHOLE);
        // Every byte of the last line, and around the ends of the others.
        let ends = (0..text.len()).filter(|&at| text[at] == b'\n').collect::<Vec<_>>();
        let around = ends[..2].iter().flat_map(|&end| [end - 1, end, end + 1, end + 2]);
        for cut in around.chain([0]).chain(ends[1]..=text.len()) {
            fs::write(&path, &text[..cut]).unwrap();
            let whole = text[..cut].iter().filter(|&&byte| byte == b'\n').count() as u64;
            assert_eq!(numbers(folder.path()), (0..whole).collect::<Vec<_>>(), "{cut} bytes");
            let mut file = ShardFile::open(folder.path(), &plan(), Shard::default()).unwrap();
            (whole..3).for_each(|number| file.add(&record(number)).unwrap());
            assert_eq!(fs::read(&path).unwrap(), text, "{cut} bytes");
        }
    }

    #[test]
    fn a_last_line_that_is_nonsense_is_dropped_and_one_before_is_refused() {
        let (folder, text) = three();
        let path = folder.path().join(WHOLE);
        fs::write(&path, [&text[..], &[0; 40], b"\n"].concat()).unwrap();
        assert_eq!(numbers(folder.path()), [0, 1, 2]);
        drop(ShardFile::open(folder.path(), &plan(), Shard::default()).unwrap());
        assert_eq!(fs::read(&path).unwrap(), text);
        fs::write(&path, [b"nonsense\n", &text[..]].concat()).unwrap();
        let error = records(folder.path(), &plan()).unwrap_err().to_string();
        assert!(error.contains("line 1 is no result of this campaign"), "{error}");
        assert!(ShardFile::open(folder.path(), &plan(), Shard::default()).is_err());
    }

    #[test]
    fn one_process_writes_a_shard_and_others_write_others() {
        let (folder, _) = three();
        let first = ShardFile::open(folder.path(), &plan(), Shard::default()).unwrap();
        let error = ShardFile::open(folder.path(), &plan(), Shard::default()).unwrap_err();
        assert!(error.to_string().contains("another process runs this shard"), "{error}");
        let mut other = ShardFile::open(folder.path(), &plan(), "2/2".parse().unwrap()).unwrap();
        other.add(&record(9)).unwrap();
        assert_eq!(numbers(folder.path()), [0, 1, 2, 9]);
        drop(first);
        ShardFile::open(folder.path(), &plan(), Shard::default()).unwrap();
    }

    #[test]
    fn a_folder_belongs_to_one_plan() {
        let folder = tempfile::tempdir().unwrap();
        let begun = folder.path().join("a/b");
        assert!(!is_joined(&begun, &plan()).unwrap());
        join(&begun, &plan()).unwrap();
        join(&begun, &plan()).unwrap();
        assert!(is_joined(&begun, &plan()).unwrap());
        assert_eq!(plan_of(&begun), plan());
        let mut other = plan();
        other.digest = "f".repeat(20);
        let error = join(&begun, &other).unwrap_err().to_string();
        assert!(error.contains("campaign.json:1:1: the campaign, or a file"), "{error}");
        assert_eq!(fs::read_dir(&begun).unwrap().count(), 1, "nothing is left beside it");
        assert!(
            super::plan(folder.path()).unwrap_err().to_string().contains("has no campaign.json")
        );
    }

    fn plan_of(folder: &Path) -> Plan {
        super::plan(folder).unwrap()
    }
}
