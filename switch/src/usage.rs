//! A mistake on the command line as one line: what is wrong and what to do.
//!
//! clap reports a mistake in three to seven lines, in terms of its own types. This takes clap's
//! findings and words them as all other errors.

use clap::error::{ContextKind, ContextValue, ErrorKind};
use std::error::Error;

/// The line, without the program's name.
pub fn line(error: &clap::Error) -> String {
    let help = format!("see `{} --help`", command(error));
    let text = |kind| text_of(error.get(kind));
    let argument = text(ContextKind::InvalidArg);
    let value = text(ContextKind::InvalidValue);
    match error.kind() {
        ErrorKind::InvalidSubcommand => {
            let what = format!("there is no command `{}`", text(ContextKind::InvalidSubcommand));
            match near(error, ContextKind::SuggestedSubcommand) {
                Some(near) => format!("{what}; did you mean `{near}`?"),
                None => format!("{what}; {help}"),
            }
        }
        ErrorKind::UnknownArgument => {
            let kind = if argument.starts_with('-') { "option" } else { "argument" };
            let what = format!("there is no {kind} `{argument}` here");
            match near(error, ContextKind::SuggestedArg) {
                Some(near) => format!("{what}; did you mean `{near}`?"),
                None => format!("{what}; {help}"),
            }
        }
        ErrorKind::MissingRequiredArgument => format!("missing: {argument}; {help}"),
        ErrorKind::MissingSubcommand => format!("a command is missing; {help}"),
        ErrorKind::InvalidValue if value.is_empty() => {
            format!("`{argument}` needs a value; {}", known(error).unwrap_or(help))
        }
        ErrorKind::InvalidValue | ErrorKind::ValueValidation => {
            let why = error.source().map(ToString::to_string);
            let right = known(error).or_else(|| why.map(|why| reason(&why, &value)));
            format!("`{value}` is wrong for `{argument}`; {}", right.unwrap_or(help))
        }
        ErrorKind::ArgumentConflict => {
            let prior = text(ContextKind::PriorArg);
            if prior.is_empty() || prior == argument {
                format!("`{argument}` is given twice; keep one")
            } else {
                format!(
                    "`{argument}` and `{}` exclude each other; keep one",
                    prior.trim_matches('`')
                )
            }
        }
        ErrorKind::InvalidUtf8 => format!("an argument is not UTF-8; {help}"),
        // The rest is rare: clap's own first line.
        _ => {
            let rendered = error.render().to_string();
            let first = rendered.lines().next().unwrap_or_default();
            format!("{}; {help}", first.trim_start_matches("error: "))
        }
    }
}

/// The text of one context value; several are joined by commas.
fn text_of(value: Option<&ContextValue>) -> String {
    match value {
        Some(ContextValue::String(text)) => text.clone(),
        Some(ContextValue::Strings(texts)) => {
            let quoted: Vec<String> = texts.iter().map(|text| format!("`{text}`")).collect();
            quoted.join(", ")
        }
        _ => String::new(),
    }
}

/// The suggested word.
fn near(error: &clap::Error, kind: ContextKind) -> Option<String> {
    match error.get(kind)? {
        ContextValue::String(near) => Some(near.clone()),
        ContextValue::Strings(near) => near.first().cloned(),
        _ => None,
    }
}

/// The values that an argument takes, if they are few words.
fn known(error: &clap::Error) -> Option<String> {
    let ContextValue::Strings(values) = error.get(ContextKind::ValidValue)? else { return None };
    let last = values.last().filter(|_| !values.is_empty())?;
    Some(match values.len() {
        1 => format!("it takes {last}"),
        count => format!("it takes {} or {last}", values[..count - 1].join(", ")),
    })
}

/// The end of an open range.
const U64_MAX: &str = "18446744073709551615";

/// The advice, from a parser's message. Messages of Rust's own number parsers are reworded.
fn reason(why: &str, value: &str) -> String {
    let range = why.rsplit_once(" is not in ").map(|(_, range)| range);
    if let Some((least, most)) = range.and_then(|range| range.split_once("..")) {
        return match most.trim_start_matches('=') {
            "" | U64_MAX => format!("it takes a whole number from {least} on"),
            most => format!("it takes a whole number, {least} to {most}"),
        };
    }
    let number = [
        "invalid digit",
        "number too",
        "cannot parse integer",
        "invalid float",
        "cannot parse float",
    ];
    if number.iter().any(|start| why.starts_with(start)) {
        return "it takes a number that fits".to_owned();
    }
    // Most parsers of this project quote the value, which the line already has.
    let quoted = why.strip_prefix(&format!("`{value}` "));
    quoted.map_or_else(|| why.to_owned(), |rest| format!("it {rest}"))
}

/// The command that the mistake is in: the words before the first argument of its usage.
fn command(error: &clap::Error) -> String {
    let usage = match error.get(ContextKind::Usage) {
        Some(ContextValue::StyledStr(usage)) => usage.to_string(),
        _ => String::new(),
    };
    let words = usage.split_whitespace().skip_while(|&word| word == "Usage:");
    let words = words.take_while(|word| word.starts_with(|c: char| c.is_ascii_alphabetic()));
    let words: Vec<&str> = words.collect();
    if words.is_empty() { "knotless".to_owned() } else { words.join(" ") }
}
