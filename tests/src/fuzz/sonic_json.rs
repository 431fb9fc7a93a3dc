//! Any JSON as SONiC's `config_db.json`: an import ends, and says what is wrong in printable lines
//! of bounded length. What it accepts is a switch; what an export of that switch says is imported
//! exactly, and is exported to the same text.

use config::SwitchConfig;
use config::sonic::{ImportOptions, SonicError, export, import_text};
use std::path::Path;

/// Reads `data`.
pub fn run(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    // The device tree of a fuzzer's machine is none of its business.
    if text.contains("/dev") || text.contains("/proc") {
        return;
    }
    let lookup = "# speed cable size xon xoff threshold xon_offset\n\
                  40000 5m 1248 2288 53248 -3 2288\n100000 40m 19456 19456 90000 0\n";
    for approximate in [false, true] {
        let options = ImportOptions { approximate, ..ImportOptions::default() };
        match import_text(file(), &text, Some(lookup), Some(&text), &options) {
            Ok(_) | Err(SonicError::File(_)) => {}
            Err(SonicError::Refused(lines)) => check_lines(&lines),
        }
        match import_text(file(), &text, Some(lookup), None, &options) {
            Ok(imported) => round_trip(&imported.text),
            Err(SonicError::File(error)) => check_lines(&[error.to_string()]),
            Err(SonicError::Refused(lines)) => check_lines(&lines),
        }
    }
}

fn file() -> &'static Path {
    Path::new("no-such-directory/config_db.json")
}

fn check_lines(lines: &[String]) {
    assert!(!lines.is_empty());
    for line in lines {
        assert!(!line.contains(char::is_control), "{line:?}");
        assert!(line.chars().count() <= 1_050, "{line}");
    }
}

fn round_trip(text: &str) {
    let switch = SwitchConfig::parse(file(), text);
    let switch = switch.unwrap_or_else(|error| panic!("{error}, in an import:\n{text}"));
    let Ok(exported) = export(&switch) else { return };
    let again = import_text(file(), &exported.text, None, None, &ImportOptions::default());
    let again = again.unwrap_or_else(|error| panic!("{error}\nof {}\nof {text}", exported.text));
    let again = SwitchConfig::parse(file(), &again.text).expect("an import is a switch");
    let twice = export(&again).expect("an export of an export");
    assert_eq!(twice.text, exported.text);
}
