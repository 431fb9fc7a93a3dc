//! `knotless ctl waits`: queues that the peer has paused or that wait for their own peak rate, and
//! the ingress ports of their frames.

use crate::control::stats::{Origin, Wait};

/// Each queue that the peer has paused or its rate holds, and the ingress ports of its frames.
pub(super) fn text(waits: &[Wait]) -> String {
    if waits.is_empty() {
        return "no queue is paused by its peer or waits for its own rate".to_owned();
    }
    waits.iter().map(wait).collect::<Vec<_>>().join("\n")
}

fn wait(wait: &Wait) -> String {
    let Wait { name, priority, frames, bytes, paused_for_ns, .. } = wait;
    let why = if wait.own_rate {
        "waits for its own peak rate, for no peer".to_owned()
    } else {
        format!("paused by the peer for {}", seconds(*paused_for_ns))
    };
    let mut lines = vec![format!(
        "port {name} priority {priority}: {why}, {frames} frames ({bytes} bytes) queued; their ingress:"
    )];
    lines.extend(wait.origins.iter().map(origin));
    if wait.origins.is_empty() {
        lines.push("  none: frames of the switch itself".to_owned());
    }
    if wait.has_more_origins {
        lines.push("  perhaps more ports: only the first frames were examined".to_owned());
    }
    lines.join("\n")
}

fn origin(origin: &Origin) -> String {
    let pauses = if origin.paused {
        format!("which pauses its peer for {}", seconds(origin.paused_for_ns))
    } else {
        "which does not pause its peer".to_owned()
    };
    format!("  port {} priority {}, {pauses}", origin.name, origin.priority)
}

/// Seconds, to a tenth.
fn seconds(ns: u64) -> String {
    format!("{}.{} s", ns / 1_000_000_000, ns / 100_000_000 % 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn came_in(name: &str, paused_for_ns: Option<u64>) -> Origin {
        Origin {
            name: name.to_owned(),
            priority: 1,
            paused: paused_for_ns.is_some(),
            paused_for_ns: paused_for_ns.unwrap_or_default(),
            ..Origin::default()
        }
    }

    #[test]
    fn each_paused_queue_is_shown_with_its_ingress_ports() {
        let mut wait = Wait {
            name: "to-B".to_owned(),
            priority: 2,
            frames: 131,
            bytes: 131_000,
            paused_for_ns: 3_290_000_000,
            origins: vec![came_in("from-C", Some(3_100_000_000)), came_in("HA", None)],
            ..Wait::default()
        };
        let expected = "\
port to-B priority 2: paused by the peer for 3.2 s, 131 frames (131000 bytes) queued; their ingress:
  port from-C priority 1, which pauses its peer for 3.1 s
  port HA priority 1, which does not pause its peer";
        assert_eq!(text(std::slice::from_ref(&wait)), expected);

        wait.has_more_origins = true;
        let more = format!("{expected}\n  perhaps more ports: only the first frames were examined");
        assert_eq!(text(&[wait.clone(), wait.clone()]), format!("{more}\n{more}"));
        let own = Wait { own_rate: true, paused_for_ns: 0, ..wait };
        let first = "port to-B priority 2: waits for its own peak rate, for no peer, 131 frames (131000 bytes) queued; \
                     their ingress:\n";
        assert!(text(&[own]).starts_with(first));
        assert_eq!(text(&[]), "no queue is paused by its peer or waits for its own rate");
        assert!(
            text(&[Wait::default()]).ends_with("ingress:\n  none: frames of the switch itself")
        );
    }
}
