//! Any text as NETWORK.toml: an error says where and what in one line, and in what is read every
//! link is seen from both of its ends.

use super::rules_json::check_error;
use config::NetworkConfig;
use fabric::network::{End, Peer};
use std::path::Path;

/// Digits of a number in a row: larger networks differ in nothing but the time they take.
const DIGITS_MAX: usize = 2;

/// Reads `data`.
pub fn run(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    if names_endless_file(&text) || is_large(&text) {
        return;
    }
    let file = Path::new("no-such-directory/NETWORK.toml");
    let network = match NetworkConfig::parse(file, &text) {
        Ok(config) => config.network,
        Err(error) if error.file == file => return check_error(&error, &text),
        Err(error) => panic!("the error is about {}: {error}", error.file.display()),
    };
    for link in network.links() {
        let [one, other] = link.ends;
        for (end, far) in [(one, other), (other, one)] {
            match (end, far) {
                (End::Slot(slot), End::Slot(far)) => {
                    assert_eq!(network.peer(slot), Peer::Slot(far));
                }
                (End::Slot(slot), End::Host(host)) => {
                    assert_eq!(network.peer(slot), Peer::Host(host));
                }
                (End::Host(host), End::Slot(slot)) => {
                    assert_eq!(network.host_slot(host), Some(slot));
                }
                (End::Host(_), End::Host(_)) => panic!("{link:?}"),
            }
        }
    }
}

/// Whether `text` may name a file that a fuzzer might find and that never ends.
pub(super) fn names_endless_file(text: &str) -> bool {
    ["/dev", "/proc", "\\u", "\\U", "\\x"].iter().any(|part| text.contains(part))
}

/// Whether a topology is generated, by numbers of which one may be large.
pub(super) fn is_large(text: &str) -> bool {
    let digits = |word: &str| word.chars().filter(char::is_ascii_digit).count();
    let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    text.contains("generate") && words.map(digits).any(|count| count > DIGITS_MAX)
}
