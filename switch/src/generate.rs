//! `knotless generate`: man pages and shell completions, from the tree of commands itself.

use crate::output;
use clap::{Args, Command};
use clap_complete::Shell;
use clap_mangen::Man;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// `knotless generate`
#[derive(Debug, Args)]
pub struct GenerateArgs {
    /// Folder for `man/knotless*.1` and `completions/`; it is made if it is not there
    #[arg(value_name = "DIR")]
    directory: PathBuf,
    /// Date on the man pages, such as 2026-01-31
    #[arg(long, value_name = "DATE", value_parser = date)]
    date: Option<String>,
}

/// The shells that get a completion.
const SHELLS: [Shell; 3] = [Shell::Bash, Shell::Zsh, Shell::Fish];

/// A date as YYYY-MM-DD, which is what a man page has in its footer.
fn date(text: &str) -> Result<String, String> {
    let is_right = |(place, byte): (usize, u8)| match place {
        4 | 7 => byte == b'-',
        _ => byte.is_ascii_digit(),
    };
    if text.len() == 10 && text.bytes().enumerate().all(is_right) {
        Ok(text.to_owned())
    } else {
        Err("it takes a date as YYYY-MM-DD".to_owned())
    }
}

/// Writes the man pages and completions of `program`.
#[must_use]
pub fn run(arguments: &GenerateArgs, program: Command) -> ExitCode {
    let date = arguments.date.as_deref().unwrap_or_default();
    match write(&arguments.directory, date, program) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let directory = arguments.directory.display();
            output::error(format_args!("{directory}: cannot write man pages: {error}"));
            ExitCode::FAILURE
        }
    }
}

fn write(directory: &Path, date: &str, mut program: Command) -> io::Result<()> {
    let completions = directory.join("completions");
    fs::create_dir_all(&completions)?;
    for shell in SHELLS {
        clap_complete::generate_to(shell, &mut program.clone(), "knotless", &completions)?;
    }
    let man = directory.join("man");
    fs::create_dir_all(&man)?;
    program = program.disable_help_subcommand(true);
    program.build();
    write_pages(&program, date, &man)
}

/// Writes the page of `command` and of each command below it that the help lists.
fn write_pages(command: &Command, date: &str, directory: &Path) -> io::Result<()> {
    let source = concat!("knotless ", env!("CARGO_PKG_VERSION"));
    let page = Man::new(command.clone()).date(date).source(source).manual("Knotless");
    page.generate_to(directory)?;
    let mut listed = command.get_subcommands().filter(|below| !below.is_hide_set());
    listed.try_for_each(|below| write_pages(below, date, directory))
}
