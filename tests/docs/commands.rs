//! The commands in the documents, run as they stand.
//!
//! A fence with the info `sh` has one command a line. Each runs at the project's root, with
//! `knotless` on the path, and must end by itself with status 0, or N where `# exit N` ends the
//! line. In a fence `sh live` a switch runs meanwhile. Of a fence `sh manual`, whose commands do
//! not end by themselves or change the machine, only the words are checked: `make` targets exist,
//! and `knotless` knows the subcommand and its options.

use super::page::{Fence, Page};
use nix::unistd::geteuid;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};
use tempfile::TempDir;
use tests::{program, tree};

/// The longest that a command in the documents may take.
const COMMAND_MAX: Duration = Duration::from_secs(120);
const START_MAX: Duration = Duration::from_secs(60);

/// A switch without wires, for `sh live`.
const LIVE: &str = r#"
name = "leaf1"
[memory]
hugepages = "never"
[[lossless]]
priority = 3
static_th = "64KB"
[[port]]
name = "p1"
device = "net_ring0"
mac = "02:00:00:00:00:01"
addresses = ["10.0.1.1/24"]
[[port]]
name = "p2"
device = "net_ring1"
mac = "02:00:00:00:00:02"
addresses = ["10.0.2.1/24"]
"#;

/// Runs the commands of all pages.
pub(super) fn run_all(pages: &[Page]) {
    let place = Place::new();
    let mut wrong = Vec::new();
    let fences: Vec<(&str, Fence)> = pages
        .iter()
        .flat_map(|page| page.fences().into_iter().map(|fence| (page.path.as_str(), fence)))
        .collect();
    let of = |info: &'static str| fences.iter().filter(move |(_, fence)| fence.info == info);
    for (path, line) in of("sh").flat_map(lines) {
        wrong.extend(place.run(line).map(|why| format!("{path}: {line}\n{why}")));
    }
    for (path, line) in of("sh manual").flat_map(lines) {
        wrong.extend(place.check_words(line).map(|why| format!("{path}: {line}\n{why}")));
    }
    if geteuid().is_root() {
        let _switch = Live::start(&place);
        for (path, line) in of("sh live").flat_map(lines) {
            wrong.extend(place.run(line).map(|why| format!("{path}: {line}\n{why}")));
        }
    } else {
        println!("the commands that need a running switch were not run: not root");
    }
    assert!(wrong.is_empty(), "commands that do not work:\n\n{}", wrong.join("\n\n"));
}

fn lines<'a>((path, fence): &'a (&'a str, Fence)) -> impl Iterator<Item = (&'a str, &'a str)> {
    let lines = fence.text.lines().map(str::trim);
    lines.filter(|line| !line.is_empty() && !line.starts_with('#')).map(move |line| (*path, line))
}

/// A folder that looks like the project's root, in which commands may write.
struct Place {
    folder: TempDir,
    path: String,
}

impl Place {
    fn new() -> Self {
        let folder = TempDir::with_prefix("knotless-docs-").unwrap();
        for entry in fs::read_dir(tree::root()).unwrap() {
            let entry = entry.unwrap();
            symlink(entry.path(), folder.path().join(entry.file_name())).unwrap();
        }
        let program = program::build().unwrap();
        let bin = program.parent().unwrap_or_else(|| Path::new("/")).display().to_string();
        let path = format!("{bin}:{}", std::env::var("PATH").unwrap_or_default());
        Self { folder, path }
    }

    fn command(&self, line: &str) -> Command {
        let mut command = Command::new("timeout");
        let seconds = COMMAND_MAX.as_secs().to_string();
        command.args([&seconds, "bash", "-c", line]).current_dir(self.folder.path());
        command.env("PATH", &self.path).stdin(Stdio::null());
        command
    }

    /// Runs one line; what is wrong with it, if anything.
    fn run(&self, line: &str) -> Option<String> {
        let (command, status) = match line.rsplit_once("# exit ") {
            Some((command, status)) => (command, status.trim().parse().ok()?),
            None => (line, 0),
        };
        let output = self.command(command).output().unwrap();
        (output.status.code() != Some(status)).then(|| said(&output))
    }

    /// Checks the words of one line that is not run.
    fn check_words(&self, line: &str) -> Option<String> {
        let line = line.split('#').next().unwrap_or_default();
        let words: Vec<&str> = line.split_whitespace().collect();
        let at = words.iter().position(|word| *word == "make" || word.ends_with("knotless"))?;
        let rest = &words[at + 1..];
        if words[at] == "make" {
            let target = rest.iter().find(|word| !word.contains('='))?;
            let makefile = fs::read_to_string(tree::root().join("Makefile")).unwrap();
            let exists = makefile.lines().any(|line| line.starts_with(&format!("{target}:")));
            return (!exists).then(|| format!("no target {target}"));
        }
        let subcommands = rest.iter().take_while(|word| {
            word.chars().all(|it| it.is_ascii_lowercase() || it == '-') && !word.starts_with('-')
        });
        let subcommands: Vec<&str> = subcommands.copied().collect();
        let help = (1..=subcommands.len()).rev().find_map(|count| {
            let line = format!("knotless {} --help", subcommands[..count].join(" "));
            let output = self.command(&line).output().unwrap();
            output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
        });
        let Some(help) = help else { return Some("no such subcommand".to_owned()) };
        let options = rest.iter().filter(|word| word.starts_with("--"));
        let options = options.map(|word| word.split('=').next().unwrap_or_default());
        let unknown: Vec<&str> = options.filter(|option| !help.contains(option)).collect();
        (!unknown.is_empty()).then(|| format!("unknown options {unknown:?}"))
    }
}

fn said(output: &Output) -> String {
    let (out, err) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    let tail = |text: &str| {
        text.chars().rev().take(800).collect::<Vec<_>>().into_iter().rev().collect::<String>()
    };
    format!("ended with {}\n{}\n{}", output.status, tail(&out), tail(&err))
}

/// The switch of `sh live`.
struct Live(Child);

impl Live {
    fn start(place: &Place) -> Self {
        let config: PathBuf = place.folder.path().join("live.toml");
        fs::write(&config, LIVE).unwrap();
        let mut command = Command::new("knotless");
        command
            .args(["run", "live.toml"])
            .current_dir(place.folder.path())
            .env("PATH", &place.path);
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).spawn().unwrap();
        let live = Self(child);
        let begin = Instant::now();
        while let Some(why) = place.run("knotless ctl ports") {
            assert!(begin.elapsed() < START_MAX, "the switch does not answer: {why}");
            thread::sleep(Duration::from_millis(50));
        }
        live
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        let _ended_already = self.0.kill();
        let _ended_already = self.0.wait();
    }
}
