//! `ctl bounces`: how often lossless frames bounced, by switch and tag, and how many bounces the
//! rules must provide for (Tagger, Table I).

use super::client::{Client, CtlError, SOCKETS};
use super::tables::{numbers, text};
use crate::bounces::BounceCounts;
use crate::control::protocol::{Request, Rules};
use crate::control::stats::{Stats, TagChange};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// What one switch counted.
#[derive(Debug)]
pub(super) struct SwitchBounces {
    stats: Stats,
    rules: Rules,
}

impl SwitchBounces {
    /// Asks a switch.
    ///
    /// # Errors
    /// It does not answer.
    pub(super) fn ask(client: &mut Client) -> Result<Self, CtlError> {
        Ok(Self { stats: client.ask(&Request::Stats)?, rules: client.ask(&Request::Rules)? })
    }

    /// Lossless frames that hosts sent: those of the ports that are not trusted.
    fn entered_frames(&self) -> u64 {
        let ports = self.stats.ports.iter().filter(|port| !port.trusted);
        let queues = ports.flat_map(|port| port.rx_frames.iter().zip(&port.queues));
        queues.filter(|(_, queue)| queue.lossless).map(|(frames, _)| frames).sum()
    }

    /// Adds the tag changes to `at_least`, by how often the frames had bounced.
    fn add_to(&self, at_least: &mut Vec<u64>) {
        let tags: Vec<u8> = self.rules.tags.iter().map(|row| row.tag).collect();
        let place =
            |tag: u8| tags.iter().filter(|&&t| t >= self.rules.initial_tag && t < tag).count();
        let listed = place(u8::MAX);
        at_least.resize(at_least.len().max(listed), 0);
        for change in self.stats.tag_changes.iter().filter(|change| tags.contains(&change.tag)) {
            let from = place(change.tag);
            let to = if tags.contains(&change.new_tag) { place(change.new_tag) } else { from + 1 };
            for count in &mut at_least[from.min(listed)..to.min(listed)] {
                *count += change.frames;
            }
        }
    }
}

/// The sockets of switches that are given by name or by path.
pub(super) fn sockets(switches: &[String]) -> Vec<PathBuf> {
    let socket = |switch: &String| {
        if switch.contains('/') {
            PathBuf::from(switch)
        } else {
            Path::new(SOCKETS).join(format!("{switch}.sock"))
        }
    };
    switches.iter().map(socket).collect()
}

/// The counts of a whole network; `None` where several application classes share the tags, so that
/// a tag does not say how often its frame has bounced.
fn counts(switches: &[SwitchBounces]) -> Option<BounceCounts> {
    if switches.iter().any(|switch| switch.rules.initial_tags.len() > 1) {
        return None;
    }
    let mut counts = BounceCounts::default();
    for switch in switches {
        counts.frames += switch.entered_frames();
        switch.add_to(&mut counts.at_least);
    }
    Some(counts)
}

pub(super) fn as_text(switches: &[SwitchBounces], share: f64) -> String {
    let entered: u64 = switches.iter().map(SwitchBounces::entered_frames).sum();
    let share_of = |frames: u64| {
        if entered == 0 {
            "-".to_owned()
        } else {
            format!("{:.1e}", frames as f64 / entered as f64)
        }
    };
    let mut rows = numbers(["switch", "tag", "new tag", "frames", "of those from hosts"], 1);
    for switch in switches {
        for TagChange { tag, new_tag, frames } in &switch.stats.tag_changes {
            let new_tag = if *new_tag == switch.rules.lossy_tag {
                format!("{new_tag} (lossy)")
            } else {
                new_tag.to_string()
            };
            let name = switch.stats.name.clone();
            let share = share_of(*frames);
            rows.add_row([name, tag.to_string(), new_tag, frames.to_string(), share]);
        }
    }
    let mut lines = vec![text(&rows), format!("lossless frames from hosts: {entered}")];
    match counts(switches) {
        Some(counts) => {
            for (bounces, frames) in (1..).zip(&counts.at_least) {
                lines.push(format!(
                    "bounced {bounces} times or more often: {frames} ({})",
                    share_of(*frames)
                ));
            }
            lines.push(counts.describe(share));
        }
        None => lines.push(
            "bounces to provision: not known where application classes share tags; compile each \
             class with one bounce more than its raises show"
                .to_owned(),
        ),
    }
    lines.join("\n")
}

pub(super) fn as_json(switches: &[SwitchBounces], share: f64) -> Value {
    let counts = counts(switches);
    let provision = counts.as_ref().map(|counts| counts.provision(share));
    let switches = switches.iter().map(|switch| {
        json!({
            "switch": switch.stats.name,
            "frames": switch.entered_frames(),
            "tag_changes": switch.stats.tag_changes,
        })
    });
    json!({
        "switches": switches.collect::<Vec<_>>(),
        "share": share,
        "bounces": counts,
        "provision": provision,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bounces::Provision;
    use crate::control::protocol::TagRow;
    use crate::control::stats::PortStats;

    /// A switch with tags 1 to 3, of which one host port received `entered` lossless frames.
    fn switch(entered: u64, changes: &[(u8, u8, u64)]) -> SwitchBounces {
        let port = |trusted| {
            let mut port = PortStats { trusted, ..PortStats::default() };
            port.counters.rx_frames = [7, entered, 0, 0, 0, 0, 0, 0];
            port.queues[1].lossless = true;
            port
        };
        let tag_changes =
            changes.iter().map(|&(tag, new_tag, frames)| TagChange { tag, new_tag, frames });
        let stats = Stats {
            ports: vec![port(false), port(true)],
            tag_changes: tag_changes.collect(),
            ..Stats::default()
        };
        let tags = (1..=3).map(|tag| TagRow { tag, priority: tag }).collect();
        SwitchBounces { stats, rules: Rules { tags, initial_tag: 1, ..Rules::default() } }
    }

    #[test]
    fn the_changes_of_all_switches_say_how_often_frames_bounced() {
        let switches = [
            switch(4_000_000, &[(1, 2, 50), (2, 3, 4), (3, 0, 1)]),
            switch(6_000_000, &[(1, 2, 30), (1, 3, 2), (2, 0, 1)]),
        ];
        let counts = counts(&switches).unwrap();
        let at_least = vec![50 + 30 + 2, 4 + 2 + 1, 1];
        assert_eq!(counts, BounceCounts { frames: 10_000_000, at_least, sees_all: false });
        assert_eq!(counts.provision(1e-5), Provision::Bounces(0));
        assert_eq!(counts.provision(2e-6), Provision::Bounces(1));
        assert_eq!(counts.provision(1e-6), Provision::Bounces(2));
    }

    #[test]
    fn with_several_classes_a_tag_does_not_say_how_often_its_frame_bounced() {
        let mut classes = switch(10, &[(1, 2, 1)]);
        classes.rules.initial_tags = vec![1, 2];
        assert!(counts(&[classes]).is_none());
    }

    #[test]
    fn a_switch_is_named_or_given_by_its_socket() {
        let found = sockets(&["spine1".to_owned(), "./s.sock".to_owned()]);
        assert_eq!(found, ["/run/knotless/spine1.sock", "./s.sock"].map(PathBuf::from));
    }
}
