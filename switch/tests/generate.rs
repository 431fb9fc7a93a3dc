//! `knotless generate`: a man page for each command, and completions that the shells can read.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

fn knotless(words: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_knotless")).args(words).output().unwrap()
}

fn generate(directory: &Path, more: &[&str]) -> Output {
    knotless(&[&["generate", directory.to_str().unwrap()], more].concat())
}

/// The commands below `words`, as the help lists them.
fn commands(words: &[String]) -> Vec<String> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_knotless"));
    let help = command.args(words).arg("-h").output().unwrap();
    let help = String::from_utf8(help.stdout).unwrap();
    let listed = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    listed
        .take_while(|line| !line.is_empty())
        .filter(|line| line.starts_with("  ") && !line.starts_with("   "))
        .filter_map(|line| line.split_whitespace().next())
        .filter(|name| *name != "help")
        .map(str::to_owned)
        .collect()
}

/// The names of the pages of the commands below `words`, at any depth, and of `words` itself.
fn pages_of(words: &[String]) -> Vec<String> {
    let below = commands(words).into_iter().map(|name| [words, &[name]].concat());
    let own = [&["knotless".to_owned()], words].concat().join("-") + ".1";
    below.flat_map(|words| pages_of(&words)).chain([own]).collect()
}

#[test]
fn each_command_has_a_man_page() {
    let directory = tempfile::tempdir().unwrap();
    let output = generate(directory.path(), &["--date", "2026-01-31"]);
    assert!(output.status.success() && output.stdout.is_empty(), "{output:?}");
    let man = directory.path().join("man");
    let written = fs::read_dir(&man).unwrap().map(|file| file.unwrap().file_name());
    let mut written: Vec<String> = written.map(|name| name.into_string().unwrap()).collect();
    let mut expected = pages_of(&[]);
    written.sort();
    expected.sort();
    assert_eq!(written, expected);
    for name in ["knotless.1", "knotless-run.1", "knotless-ctl-route-add.1"] {
        let page = fs::read_to_string(man.join(name)).unwrap();
        let title = format!(".TH {} 1 2026-01-31 ", name.trim_end_matches(".1"));
        assert!(page.contains(&title), "{title:?}: {page}");
        assert!(page.contains(".SH SYNOPSIS"), "{page}");
    }
}

#[test]
fn the_shells_can_read_the_completions() {
    let directory = tempfile::tempdir().unwrap();
    assert!(generate(directory.path(), &[]).status.success());
    let completions = directory.path().join("completions");
    for (shell, file) in
        [("bash", "knotless.bash"), ("zsh", "_knotless"), ("fish", "knotless.fish")]
    {
        let file = completions.join(file);
        assert!(fs::metadata(&file).unwrap().len() > 1_000, "{file:?}");
        match Command::new(shell).arg("-n").arg(&file).output() {
            Ok(output) => assert!(output.status.success(), "{shell}: {output:?}"),
            Err(_) => println!("{shell} is not installed: {file:?} is not read"),
        }
    }
    let script = "source \"$0\"; COMP_WORDS=(knotless ctl rel); COMP_CWORD=2; \
                  _knotless knotless rel ctl; echo \"${COMPREPLY[@]}\"";
    let file = completions.join("knotless.bash");
    let output = Command::new("bash").args(["-c", script]).arg(file).output().unwrap();
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "reload\n");
}

#[test]
fn what_cannot_be_written_is_one_line() {
    let directory = tempfile::tempdir().unwrap();
    let taken = directory.path().join("taken");
    fs::write(&taken, "a file").unwrap();
    let output = generate(&taken, &[]);
    let message = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{message}");
    assert!(message.starts_with(&format!("{}: cannot write ", taken.display())), "{message}");
    assert_eq!(message.lines().count(), 1, "{message}");
    let output = generate(directory.path(), &["--date", "31.1.2026"]);
    let message = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{message}");
    assert_eq!(
        message,
        "knotless: `31.1.2026` is wrong for `--date <DATE>`; it takes a date as YYYY-MM-DD\n"
    );
}
