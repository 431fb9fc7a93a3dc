//! What a switch did against what it must do, in words.

use super::case::{Case, Frames};
use super::counters::Counters;
use super::file::Bytes;
use super::kinds::{Identity, Kind};
use super::run::Seen;
use std::collections::BTreeSet;
use std::fmt;

/// Bytes shown on each side of the first one that differs.
const SHOWN_AROUND: usize = 24;

/// One difference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mismatch {
    /// Another frame than expected, or none, or one too many.
    Frame {
        /// The port where it leaves.
        port: usize,
        /// Its kind.
        kind: Kind,
        /// Its place among the frames of this kind, from 1.
        number: usize,
        /// What must leave.
        expected: Option<Bytes>,
        /// What left.
        got: Option<Bytes>,
    },
    /// Another value than expected.
    Counter {
        /// Its name.
        name: String,
        /// What it must be.
        expected: i64,
        /// What it is.
        got: i64,
    },
    /// What is expected was never recorded.
    NoCounters,
}

impl Mismatch {
    pub(super) const fn is_of_port(&self, number: usize) -> bool {
        matches!(self, Self::Frame { port, .. } if *port == number)
    }
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoCounters => {
                write!(f, "counters.txt is missing; `make record-pcap` writes it, for review")
            }
            Self::Counter { name, expected, got } => {
                write!(f, "{name:<44} expected {expected:>8}   got {got:>8}")
            }
            Self::Frame { port, kind, number, expected, got } => {
                write!(f, "out-{port}.pcap, {} frame {number}: ", kind.name())?;
                match (expected, got) {
                    (Some(expected), Some(got)) => both(f, expected, got),
                    (Some(expected), None) => {
                        write!(f, "missing\n    expected {}", hex(expected, 0))
                    }
                    (None, Some(got)) => write!(f, "one too many\n    got      {}", hex(got, 0)),
                    (None, None) => Ok(()),
                }
            }
        }
    }
}

/// Two frames that are not the same.
fn both(f: &mut fmt::Formatter<'_>, expected: &[u8], got: &[u8]) -> fmt::Result {
    let shared = expected.iter().zip(got).take_while(|(one, other)| one == other).count();
    write!(
        f,
        "differs from byte {shared} on; {} bytes expected, got {}",
        expected.len(),
        got.len()
    )?;
    write!(f, "\n    expected {}\n    got      {}", hex(expected, shared), hex(got, shared))
}

/// A frame around byte `at`, with that byte marked.
fn hex(frame: &[u8], at: usize) -> String {
    let start = at.saturating_sub(SHOWN_AROUND);
    let end = (at + SHOWN_AROUND).min(frame.len());
    let mut text = String::new();
    if start > 0 {
        text += &format!("[{start}] ");
    }
    for (place, byte) in frame.iter().enumerate().take(end).skip(start) {
        text +=
            &if place == at && at > 0 { format!(">{byte:02x}<") } else { format!("{byte:02x}") };
    }
    if end < frame.len() {
        text += &format!(" ... {} more", frame.len() - end);
    }
    text
}

/// Everything that differs.
pub(super) fn compare(case: &Case, seen: &Seen) -> Vec<Mismatch> {
    let mut mismatches = Vec::new();
    for &port in &case.ports {
        let of = |frames: &Frames| frames.get(&port).cloned().unwrap_or_default();
        frames(&case.identity, port, &of(&case.leaving), &of(&seen.leaving), &mut mismatches);
    }
    match &case.counters {
        Some(expected) => counters(expected, &seen.counters, &mut mismatches),
        None => mismatches.push(Mismatch::NoCounters),
    }
    mismatches
}

fn frames(
    identity: &Identity,
    port: usize,
    expected: &[Bytes],
    got: &[Bytes],
    mismatches: &mut Vec<Mismatch>,
) {
    for kind in Kind::ALL {
        let expected = identity.of_kind(expected, kind);
        let got = identity.of_kind(got, kind);
        for at in 0..expected.len().max(got.len()) {
            let (expected, got) = (expected.get(at), got.get(at));
            if expected != got {
                mismatches.push(Mismatch::Frame {
                    port,
                    kind,
                    number: at + 1,
                    expected: expected.cloned(),
                    got: got.cloned(),
                });
            }
        }
    }
}

fn counters(expected: &Counters, got: &Counters, mismatches: &mut Vec<Mismatch>) {
    let names: BTreeSet<&String> = expected.keys().chain(got.keys()).collect();
    for name in names {
        let value = |counters: &Counters| counters.get(name).copied().unwrap_or_default();
        let (expected, got) = (value(expected), value(got));
        if expected != got {
            mismatches.push(Mismatch::Counter { name: name.clone(), expected, got });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pfc(class: u8) -> Bytes {
        let mut frame = vec![1; 60];
        frame[12..14].copy_from_slice(&[0x88, 0x08]);
        frame[17] = 1 << class;
        frame
    }

    #[test]
    fn order_matters_within_a_kind_and_not_between_kinds() {
        let found = |expected: &[Bytes], got: &[Bytes]| {
            let mut mismatches = Vec::new();
            frames(&Identity::default(), 2, expected, got, &mut mismatches);
            mismatches
        };
        let (one, two) = (vec![1; 60], vec![2; 60]);
        assert_eq!(
            found(&[one.clone(), two.clone(), pfc(3)], &[pfc(3), one.clone(), two.clone()]),
            []
        );
        let swapped = found(&[one.clone(), two.clone()], &[two.clone(), one.clone()]);
        assert_eq!(swapped.len(), 2);
        assert!(swapped[0].is_of_port(2) && !swapped[0].is_of_port(1));
        let lost = found(&[one.clone(), two.clone()], std::slice::from_ref(&one));
        let kind = Kind::Forwarded;
        let (expected, got) = (Some(two.clone()), None);
        assert_eq!(lost, [Mismatch::Frame { port: 2, kind, number: 2, expected, got }]);
        let (expected, got) = (None, Some(pfc(4)));
        let kind = Kind::FlowControl;
        assert_eq!(
            found(std::slice::from_ref(&one), &[one.clone(), pfc(4)]),
            [Mismatch::Frame { port: 2, kind, number: 1, expected, got }]
        );
    }

    #[test]
    fn a_counter_that_should_not_have_moved_is_a_mismatch_as_is_one_that_should() {
        let counters_of = |list: &[(&str, i64)]| {
            list.iter().map(|&(name, value)| (name.to_owned(), value)).collect::<Counters>()
        };
        let mut found = Vec::new();
        let expected = counters_of(&[("a", 1), ("b", 2), ("c", 3)]);
        counters(&expected, &counters_of(&[("a", 1), ("c", 4), ("d", 5)]), &mut found);
        let lines: Vec<String> = found
            .iter()
            .map(|mismatch| mismatch.to_string().split_whitespace().collect::<Vec<_>>().join(" "))
            .collect();
        assert_eq!(lines, ["b expected 2 got 0", "c expected 3 got 4", "d expected 0 got 5"]);
    }

    #[test]
    fn a_difference_is_shown_where_it_is() {
        let mut got = vec![0xAA; 100];
        got[40] = 0xBB;
        let mismatch = Mismatch::Frame {
            port: 1,
            kind: Kind::Forwarded,
            number: 3,
            expected: Some(vec![0xAA; 100]),
            got: Some(got),
        };
        let text = mismatch.to_string();
        assert!(
            text.starts_with("out-1.pcap, forwarded frame 3: differs from byte 40 on"),
            "{text}"
        );
        assert!(text.contains(">aa<") && text.contains(">bb<"), "{text}");
        assert!(text.contains("[16] ") && text.contains("... 36 more"), "{text}");
    }
}
