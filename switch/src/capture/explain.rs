//! What became of a frame: in words, and as a list of names and values for programs.
//!
//! The list is what `packaging/wireshark/knotless.lua` reads. It is a comment of the packet and not
//! a custom option of pcapng: that takes an enterprise number, and dissectors in Lua see comments.

use super::stream::Captured;
use crate::control::protocol::{Capturing, RuleRow, Rules};
use dataplane::capture::record::{Ending, Kind, Record};
use dataplane::ids::{PortId, Priority, Tag};
use dataplane::wire::parse::{Kind as FrameKind, parse};
use std::fmt::{Display, Write};

/// What the comment for programs begins with.
const MARK: &str = "knotless:";
/// Room for a list.
const LIST_BYTES: usize = 320;

/// The names of a switch.
#[derive(Debug)]
pub(super) struct Explainer {
    pub(super) capturing: Capturing,
    rules: Rules,
}

impl Explainer {
    /// With the names that the switch told when the capture began.
    pub(super) const fn new(capturing: Capturing, rules: Rules) -> Self {
        Self { capturing, rules }
    }

    /// Nanoseconds of Unix time.
    pub(super) const fn unix_ns(&self, record: &Record) -> u64 {
        self.capturing.unix_ns.saturating_add(record.at_ns)
    }

    /// The name of a port.
    pub(super) fn port(&self, port: PortId) -> &str {
        self.capturing.ports.get(port.index()).map_or("?", |port| &port.name)
    }

    /// The name of an event.
    pub(super) const fn kind(record: &Record) -> &'static str {
        match record.kind {
            Kind::In => "in",
            Kind::Out => "out",
            Kind::Drop => "drop",
            Kind::Punt => "punt",
            Kind::Pause => "pause",
        }
    }

    /// The name of what became of the frame.
    const fn verdict(record: &Record) -> &'static str {
        match record.ending {
            Ending::Unknown => "unknown",
            Ending::Forwarded => "forward",
            Ending::Flooded => "flood",
            Ending::Punted => "punt",
            Ending::Dropped => "drop",
            Ending::Consumed => "consume",
            Ending::Waits => "wait",
            Ending::Sent => "sent",
        }
    }

    /// The name of why a frame was dropped or punted.
    fn cause(&self, record: &Record) -> Option<&str> {
        let names = match record.ending {
            Ending::Dropped => &self.capturing.drops,
            Ending::Punted => &self.capturing.punts,
            _ => return None,
        };
        names.get(usize::from(record.cause?)).map(String::as_str)
    }

    /// The tag that the frame leaves with: of an event that does not say it, by its DSCP.
    fn out_tag(&self, event: &Captured) -> Option<u8> {
        if let Some(tag) = event.record.out_tag {
            return Some(tag.value());
        }
        let parsed = parse(&event.bytes, event.record.frame_bytes as usize);
        let is_ip = matches!(parsed.kind, FrameKind::Ipv4 | FrameKind::Ipv6);
        let is_out = event.record.kind == Kind::Out && is_ip;
        is_out.then(|| self.capturing.dscp_tags.get(usize::from(parsed.tos >> 2)).copied())?
    }

    /// The number, from 1, of the rule that a frame with `tag` matches.
    fn rule(&self, record: &Record) -> Option<usize> {
        let (tag, input, output) = (record.in_tag?, record.in_port?, record.out_port?);
        let (input, output) = (input.number(), output.number());
        let matches = |rule: &RuleRow| {
            (tag.value() ^ rule.tag) & rule.mask == 0
                && rule.input.contains(&input)
                && rule.output.contains(&output)
        };
        Some(self.rules.entries.iter().position(matches)? + 1)
    }

    /// For programs: names and values, separated by blanks.
    pub(super) fn list(&self, event: &Captured) -> String {
        let record = &event.record;
        let depths = record.depths;
        let mut list = String::with_capacity(LIST_BYTES);
        list.push_str(MARK);
        add(&mut list, "dir", Some(Self::kind(record)));
        add(&mut list, "verdict", Some(Self::verdict(record)));
        let cause = self.cause(record);
        let is_drop = record.ending == Ending::Dropped;
        add(&mut list, "drop_cause", cause.filter(|_| is_drop));
        add(&mut list, "punt_cause", cause.filter(|_| !is_drop));
        add(&mut list, "in_port", record.in_port.map(|port| self.port(port)));
        add(&mut list, "out_port", record.out_port.map(|port| self.port(port)));
        add(&mut list, "in_class", record.in_class);
        add(&mut list, "out_class", record.out_class);
        add(&mut list, "in_tag", record.in_tag);
        add(&mut list, "out_tag", self.out_tag(event));
        add(&mut list, "rule", self.rule(record));
        add(&mut list, "viq_bytes", record.in_class.map(|_| depths.viq_bytes));
        add(&mut list, "headroom_bytes", record.in_class.map(|_| depths.headroom_bytes));
        add(&mut list, "veq_bytes", record.out_class.map(|_| depths.veq_bytes));
        add(&mut list, "veq_frames", record.out_class.map(|_| depths.veq_frames));
        add(&mut list, "rx_paused", Some(format_args!("{:#04x}", depths.rx_paused_bits)));
        add(&mut list, "tx_paused", Some(format_args!("{:#04x}", depths.tx_paused_bits)));
        let waited = matches!(record.kind, Kind::Out | Kind::Drop) && record.is_outbound;
        add(&mut list, "waited_ns", Some(record.waited_ns).filter(|_| waited));
        add(&mut list, "worker", Some(record.worker));
        add(&mut list, "missed", Some(record.missed).filter(|&missed| missed != 0));
        list
    }

    /// For people.
    pub(super) fn words(&self, event: &Captured) -> String {
        let record = &event.record;
        let cause = self.cause(record).unwrap_or("no cause given");
        let from =
            self.side("from", record.in_port, record.in_class, record.in_tag.map(Tag::value));
        let to = self.side("to", record.out_port, record.out_class, self.out_tag(event));
        let rule = self.rule(record).map_or_else(String::new, |rule| format!(" by rule {rule}"));
        let mut text = match (record.kind, record.ending) {
            (Kind::Drop, _) | (_, Ending::Dropped) => format!("dropped: {cause}{from}{to}{rule}"),
            (Kind::Punt, _) | (_, Ending::Punted) => format!("punted: {cause}{from}"),
            (Kind::Pause, Ending::Sent) => "pauses or resumes the peer".to_owned(),
            (Kind::Pause, _) => "from the peer, and obeyed".to_owned(),
            (Kind::Out, _) => format!("sent after {}{from}{to}", duration(record.waited_ns)),
            (_, Ending::Flooded) => format!("flooded{from}"),
            (_, Ending::Waits) => format!("waits for its next hop{from}"),
            (_, Ending::Forwarded) => format!("forwarded{from}{to}{rule}"),
            _ => format!("received{from}"),
        };
        let depths = record.depths;
        let mut add = |what: std::fmt::Arguments<'_>| {
            let _infallible = write!(text, "{what}");
        };
        if record.in_class.is_some() {
            add(format_args!("; VIQ {} bytes", depths.viq_bytes));
            if depths.headroom_bytes != 0 {
                add(format_args!(", {} of them headroom", depths.headroom_bytes));
            }
        }
        if record.out_class.is_some() {
            add(format_args!("; VEQ {} bytes in {} frames", depths.veq_bytes, depths.veq_frames));
        }
        if depths.rx_paused_bits != 0 {
            add(format_args!("; paused by the peer: {}", classes(depths.rx_paused_bits)));
        }
        if depths.tx_paused_bits != 0 {
            add(format_args!("; paused upstream: {}", classes(depths.tx_paused_bits)));
        }
        if record.missed != 0 {
            add(format_args!("; {} events before this one were missed", record.missed));
        }
        text
    }

    fn side(
        &self,
        word: &str,
        port: Option<PortId>,
        class: Option<Priority>,
        tag: Option<u8>,
    ) -> String {
        let Some(port) = port else { return String::new() };
        let class = class.map_or_else(String::new, |class| format!(" priority {class}"));
        let tag = tag.map_or_else(String::new, |tag| format!(" tag {tag}"));
        format!(" {word} {}{class}{tag}", self.port(port))
    }
}

/// Adds a value to a list, if there is one.
fn add(list: &mut String, name: &str, value: Option<impl Display>) {
    if let Some(value) = value {
        // Writing to a string cannot fail.
        let _infallible = write!(list, " {name}={value}");
    }
}

/// The priorities of a bit vector.
fn classes(bits: u8) -> String {
    let classes: Vec<String> = Priority::in_bits(bits).map(|class| class.to_string()).collect();
    classes.join(", ")
}

/// Nanoseconds in the unit that suits them.
fn duration(ns: u32) -> String {
    match ns {
        0 => "no wait".to_owned(),
        1..1_000 => format!("{ns} ns"),
        1_000..1_000_000 => format!("{}.{} us", ns / 1_000, ns / 100 % 10),
        _ => format!("{}.{:03} ms", ns / 1_000_000, ns / 1_000 % 1_000),
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::control::protocol::CapturedPort;
    use dataplane::capture::record::Depths;

    pub(in crate::capture) fn explainer() -> Explainer {
        let port = |name: &str| CapturedPort { name: name.to_owned(), speed_bps: 10_000_000_000 };
        let capturing = Capturing {
            ports: vec![port("h1"), port("up1")],
            unix_ns: 1_700_000_000_000_000_000,
            drops: vec!["truncated".to_owned(), "ingress_limit".to_owned()],
            punts: vec!["for_us".to_owned()],
            dscp_tags: (0..64).collect(),
        };
        let rule = RuleRow { tag: 1, mask: 63, input: vec![1], output: vec![2], new_tag: 2 };
        let other = RuleRow { tag: 2, ..rule.clone() };
        Explainer::new(capturing, Rules { entries: vec![other, rule], ..Rules::default() })
    }

    pub(in crate::capture) fn event(kind: Kind, ending: Ending) -> Captured {
        let record = Record {
            in_port: PortId::from_number(1),
            out_port: PortId::from_number(2),
            in_class: Priority::new(3),
            out_class: Priority::new(4),
            in_tag: Tag::new(1),
            out_tag: Tag::new(2),
            at_ns: 1_234_567_890,
            waited_ns: 120_456,
            frame_bytes: 60,
            depths: Depths {
                viq_bytes: 200_448,
                headroom_bytes: 448,
                veq_bytes: 3_000,
                veq_frames: 3,
                rx_paused_bits: 0x18,
                tx_paused_bits: 0x08,
            },
            ..Record::new(kind, ending, PortId::FIRST)
        };
        Captured { record, bytes: vec![0; 60] }
    }

    #[test]
    fn an_event_is_told_in_words_and_as_a_list() {
        let explainer = explainer();
        let mut event = event(Kind::Drop, Ending::Dropped);
        event.record.cause = Some(1);
        assert_eq!(
            explainer.words(&event),
            "dropped: ingress_limit from h1 priority 3 tag 1 to up1 priority 4 tag 2 by rule 2; \
             VIQ 200448 bytes, 448 of them headroom; VEQ 3000 bytes in 3 frames; \
             paused by the peer: 3, 4; paused upstream: 3"
        );
        assert_eq!(
            explainer.list(&event),
            "knotless: dir=drop verdict=drop drop_cause=ingress_limit in_port=h1 out_port=up1 \
             in_class=3 out_class=4 in_tag=1 out_tag=2 rule=2 viq_bytes=200448 headroom_bytes=448 \
             veq_bytes=3000 veq_frames=3 rx_paused=0x18 tx_paused=0x08 worker=0"
        );
    }

    #[test]
    fn what_left_says_how_long_it_waited() {
        let words = explainer().words(&event(Kind::Out, Ending::Sent));
        assert!(words.starts_with("sent after 120.4 us from h1 priority 3"), "{words}");
        assert_eq!(
            [0, 999, 1_500, 2_345_678].map(duration),
            ["no wait", "999 ns", "1.5 us", "2.345 ms"]
        );
    }
}
