//! `[ttl]`, `[gfc]` and `[watchdog]`: what they come to, and what is refused and with which
//! figures.

use config::SwitchConfig;
use dataplane::ids::Priority;
use dataplane::pfc::watchdog::{Action, WatchdogSettings};
use dataplane::ttl_class::Parity;
use std::path::Path;

/// A port of a switch.
const PORT: &str = "
[[port]]
device = 'net_tap0'
addresses = ['10.0.1.1/24']
speed = '10G'
pace = false
";

fn load(text: &str) -> Result<SwitchConfig, String> {
    let text = format!("name = 'A'\n{text}{PORT}");
    SwitchConfig::parse(Path::new("A.toml"), &text).map_err(|error| error.to_string())
}

fn lossless(priorities: &[u8]) -> String {
    priorities.iter().map(|p| format!("[[lossless]]\npriority = {p}\n")).collect()
}

/// Each text is refused with this line.
fn refused(cases: &[(String, &str)]) {
    for (text, expected) in cases {
        assert_eq!(load(text).map(drop), Err(format!("A.toml:{expected}")), "{text}");
    }
}

#[test]
fn classes_by_hops_have_one_lossless_marking() {
    let text = format!("[ttl]\nclasses = [0, 3, 1, 4]\n{}", lossless(&[3, 1, 4]));
    let config = load(&text).unwrap();
    let ttl_classes = config.tag_map.ttl_classes.as_ref().unwrap();
    assert_eq!((ttl_classes.ttl0, ttl_classes.parity), (64, Parity::All));
    assert_eq!(config.tag_map.lossless_tags, 1 << 3, "DSCP 3, whatever the class");
    let port = &config.settings.ports[0];
    assert_eq!(port.upstream.map(Priority::value), [0, 3, 2, 0, 1, 5, 6, 7]);
    assert_eq!(port.lossless_bits(), 0b1_1010);
}

#[test]
fn on_a_tree_half_is_reserved() {
    let text = |tree: &str, held: &[u8]| {
        format!("[ttl]\nclasses = [0, 1, 2, 3, 4]\n{tree}\n{}", lossless(held))
    };
    let promised = |text: &str| {
        let config = load(text).unwrap();
        let viqs = config.settings.ports[0].lossless.into_iter().flatten();
        viqs.map(|viq| u64::from(viq.headroom_bytes + viq.reserved_bytes)).sum::<u64>()
    };
    let all = promised(&text("", &[1, 2, 3, 4]));
    assert_eq!(promised(&text("tree = 'odd'", &[1, 3])) * 2, all);
    let even = load(&text("tree = 'even'", &[2, 4])).unwrap();
    assert_eq!(even.tag_map.lossless_tags, 1 << 1, "the marking is the same in all switches");
    assert_eq!(even.tag_map.priority[1].value(), 2);
}

#[test]
fn pauses_are_translated_at_ports_of_hosts_only() {
    let text = format!("[ttl]\nclasses = [0, 1, 2]\nhost_priority = 5\n{}", lossless(&[1, 2]));
    let trunk = "[[port]]\ndevice = 'net_tap1'\naddresses = ['10.0.2.1/24']\ntrusted = true\n";
    let config = load(&(text.clone() + trunk)).unwrap();
    let host: Vec<_> = config.settings.ports.iter().map(|port| port.host_priority).collect();
    assert_eq!(host, [None, Priority::new(5)], "the trunk is the first port here");
    assert!(load(&text.replace("= 5", "= 8")).is_err());
}

#[test]
fn partitions_divide_what_is_shared_among_the_lossless_priorities() {
    let text = |more: &str| format!("[ttl]\nclasses = [0, 1, 2]\n{more}{}", lossless(&[1, 2]));
    assert_eq!(load(&text("")).unwrap().settings.buffer.partition_bytes, None);
    let settings = load(&text("partitions = true\n")).unwrap().settings;
    let pool = dataplane::buffer::lossless_shared_bytes(&settings);
    let sizes = settings.buffer.partition_bytes.unwrap();
    assert_eq!(sizes, [0, pool / 2, pool / 2, 0, 0, 0, 0, 0]);
    // A threshold that one pool could reach lies beyond its partition.
    let high = format!("static_th = '{}'\n", pool * 3 / 4);
    let text = |more: &str| text(more).replace("priority = 1\n", &format!("priority = 1\n{high}"));
    assert!(load(&text("")).is_ok());
    let refused = load(&text("partitions = true\n")).map(drop).unwrap_err();
    assert!(refused.contains("`static_th` of priority 1 is never reached"), "{refused}");
}

#[test]
fn hops_that_cannot_be_counted_are_refused() {
    let classes = |more: &str| format!("[ttl]\nclasses = [0, 1, 2]\n{more}{}", lossless(&[1, 2]));
    refused(&[
        (classes("hops = 4\n"), "4:8: paths of 4 links need 4 classes; `classes` has 3"),
        (
            classes("hops = 9\n"),
            "4:8: paths of 9 links need as many classes, and PFC has 8; use a scheme that does not count \
             hops, such as `rules`",
        ),
        (
            classes("start = 3\n"),
            "4:9: a TTL of 3; frames start with 8 to 255, and hosts mostly with 64",
        ),
        (classes("tree = 'evn'\n"), "4:8: unknown word `evn`; did you mean `even`?"),
        (
            format!("[ttl]\nclasses = [0, 1, 1]\n{}", lossless(&[1])),
            "3:18: priority 1 is a class already; each has its own",
        ),
        (
            format!("[ttl]\nclasses = [0]\n{}", lossless(&[1])),
            "3:11: a class for the hosts and one for the first switch are the least; name the priorities \
             of class 0, 1, ...",
        ),
        (
            format!("[ttl]\nclasses = [0, 1, 2]\n{}", lossless(&[1, 5])),
            "7:12: priority 5 is no class that comes to this switch, so nothing would use it; take this \
             table out or name it in `classes`",
        ),
        (
            format!("[ttl]\nclasses = [0, 1, 2]\n{}", lossless(&[1])),
            "3:11: class 2 is priority 2; add [[lossless]] with priority = 2",
        ),
        (
            format!("rules = 'x.json'\n{}", classes("")),
            "2:9: classes go by hops ([ttl]) or by rules, not both; remove one of them",
        ),
        (
            format!("{}[[port]]\nname = 'l2'\ndevice = 'net_tap1'\nvlan = 4\n", classes("")),
            "8:1: port `l2` switches, and only routing lowers the TTL by which [ttl] counts; give it \
             `addresses` or pfc = false",
        ),
        (
            format!("{}[[tag]]\ntag = 1\npriority = 2\n", classes("")),
            "10:12: frames become priority 2 by their hops ([ttl]); a lossless tag has the priority 1 here",
        ),
    ]);
}

#[test]
fn more_classes_than_headroom_are_refused_with_the_size_that_would_do() {
    let held = [1, 2, 3, 4, 5, 6, 7];
    let text = format!(
        "[buffer]\nsize = '600KB'\n[ttl]\nclasses = [0, 1, 2, 3, 4, 5, 6, 7]\n{}",
        lossless(&held)
    );
    let error = load(&text).unwrap_err();
    assert!(error.contains("promises") && error.contains("give `size`"), "{error}");
}

#[test]
fn stages_begin_where_the_file_says_or_as_late_as_the_bound_allows() {
    let rate_map = |more: &str| {
        let text = format!("[gfc]\n{more}[[lossless]]\npriority = 3\nstatic_th = '2MB'\n");
        let config = load(&text).unwrap();
        let port = &config.settings.ports[0];
        assert!(port.gfc.is_some());
        port.lossless[3].unwrap().rate_map.unwrap()
    };
    let given = rate_map("b1 = '1MB'\n");
    // XOFF is at 2 MB. A frame of 1,522 B, 1 sender, and twice 20 us of 10G at half the speed, as
    // frames of 84 B on the wire that cost 256 B: 298 x 256.
    let full_bytes = 2_000_000 - 1_522 - 1 - 298 * 256;
    let half = (full_bytes - 1_000_000) / 2;
    assert_eq!(
        (given.full_bytes, given.stage_bytes(1), given.stage_bytes(2)),
        (full_bytes, 1_000_000, full_bytes - half)
    );
    let late = rate_map("");
    assert!(late.stage_bytes(1) > 1_000_000, "{late:?}");
    // The last stage is at most a byte long, and the one before it was longer.
    assert!(late.span_bytes <= 1 << late.stages && late.span_bytes > 1 << (late.stages - 1));
}

#[test]
fn a_buffer_too_small_for_gentle_flow_control_is_refused_by_how_much() {
    let with = |more: &str, xoff: &str| {
        format!(
            "[gfc]\n{more}[headroom]\npoll = '1us'\npeer_tx_byte_limit = 0\n[[lossless]]\npriority = 3\n{xoff}"
        )
    };
    for (text, place) in [
        (with("", "static_th = '20KB'\n"), "A.toml:8:13: "),
        (with("b1 = '1999KB'\n", "static_th = '2MB'\n"), "A.toml:3:6: "),
    ] {
        let error = load(&text).unwrap_err();
        assert!(error.starts_with(place), "{error}");
        let words = [
            "2 C tau and",
            "for 1 senders",
            "more than there is",
            "raise `static_th` or lower `b1`",
        ];
        assert!(words.iter().all(|word| error.contains(word)), "{error}");
    }
    // What the message asks for does.
    let error = load(&with("", "static_th = '20KB'\n")).unwrap_err();
    let needed = error.split("must be slowed down ").nth(1).unwrap();
    let needed: String =
        needed.chars().take_while(|c| *c != ' ').filter(char::is_ascii_digit).collect();
    assert!(load(&with("", &format!("static_th = {needed}\n"))).is_ok(), "{error}");
    let less: u64 = needed.parse::<u64>().unwrap() - 1;
    assert!(load(&with("", &format!("static_th = {less}\n"))).is_err());
    let dynamic = load(&with("", "")).unwrap_err();
    assert!(dynamic.contains("give priority 3 a `static_th`"), "{dynamic}");
}

/// The shared pool must hold what the queues of all senders take up to their XOFF.
#[test]
fn more_senders_than_the_buffer_covers_are_refused_and_those_it_covers_are_not() {
    let switch = |senders: &str, size: &str| {
        let ports: String = (1..8)
            .map(|n| {
                format!(
                    "[[port]]\ndevice = 'net_tap{n}'\naddresses = ['10.0.{}.1/24']\nspeed = '10G'\n\
                     pace = false\n",
                    n + 1
                )
            })
            .collect();
        load(&format!(
            "[gfc]\n{senders}[buffer]\n{size}[headroom]\npoll = '1us'\npeer_tx_byte_limit = 0\n\
             [[lossless]]\npriority = 3\nstatic_th = '300KB'\n{ports}"
        ))
        .map(drop)
    };
    let size = "size = '2MB'\n";
    let error = switch("", size).unwrap_err();
    assert!(error.starts_with("A.toml:2:1: the shared pool of "), "{error}");
    let words = ["senders up to their `static_th`, not of 8", "are missing", "or set `senders = "];
    assert!(words.iter().all(|word| error.contains(word)), "{error}");
    let covered: u64 = error.rsplit(" = ").next().unwrap().trim_end_matches('`').parse().unwrap();
    assert!((2..8).contains(&covered), "{error}");
    assert_eq!(switch(&format!("senders = {covered}\n"), size), Ok(()));
    let one_more = switch(&format!("senders = {}\n", covered + 1), size).unwrap_err();
    assert!(one_more.starts_with("A.toml:3:11: the shared pool"), "{one_more}");
    assert_eq!(switch("", "size = '8MB'\n"), Ok(()));
    let missing = error.split("not of 8: ").nth(1).unwrap();
    let digits = |c: &char| c.is_ascii_digit();
    let missing: u64 = missing
        .split(" B")
        .next()
        .unwrap()
        .chars()
        .filter(digits)
        .collect::<String>()
        .parse()
        .unwrap();
    // A quarter of the buffer is for lossy traffic.
    let enough = 2_000_000 + missing.div_ceil(3) * 4;
    assert_eq!(switch("", &format!("size = {enough}\n")), Ok(()));
    assert!(switch("", &format!("size = {}\n", enough - 8)).is_err());
    assert_eq!(
        switch("senders = 5000\n", size),
        Err("A.toml:3:11: `senders` is 5000; it is 1 to 4096".to_owned())
    );
}

/// A port that is much faster than another drains slowly through it.
#[test]
fn stages_that_end_above_what_a_slow_port_drains_are_refused() {
    let switch = |senders: u64| {
        load(&format!(
            "[gfc]\nsenders = {senders}\n[buffer]\nsize = '1GB'\n[headroom]\npoll = '1us'\n\
             peer_tx_byte_limit = 0\n[[lossless]]\npriority = 3\nstatic_th = '100MB'\n[[port]]\n\
             device = 'net_tap1'\naddresses = ['10.0.2.1/24']\nspeed = '1M'\npace = false\n"
        ))
        .map(drop)
    };
    let error = switch(4_096).unwrap_err();
    assert!(error.starts_with("A.toml:11:13: a queue of port `"), "{error}");
    // 10G to 1M.
    assert!(error.contains("can drain at 1/40960000 of its speed only"), "{error}");
    let last: u64 =
        error.split("stages end at 1/").nth(1).unwrap().split(';').next().unwrap().parse().unwrap();
    assert_eq!(switch(last / 10_000), Ok(()));
    assert!(switch(last / 10_000 + 1).is_err());
}

#[test]
fn the_watchdog_is_every_ports_unless_one_has_none() {
    let text = format!(
        "[watchdog]\naction = 'forward'\ndetection_time = '100ms'\n{}[[port]]\ndevice = 'net_tap1'\n\
         addresses = ['10.0.2.1/24']\nwatchdog = false\n",
        lossless(&[3])
    );
    let ports = load(&text).unwrap().settings.ports;
    let expected = WatchdogSettings {
        detection_ns: 100_000_000,
        restoration_ns: 400_000_000,
        action: Action::Forward,
    };
    assert_eq!((ports[0].watchdog, ports[1].watchdog), (None, Some(expected)));
}

#[test]
fn a_watchdog_that_cannot_be_is_refused() {
    let with = |more: &str| format!("[watchdog]\n{more}\n{}", lossless(&[3]));
    refused(&[
        (with("detection_time = '10us'"), "3:18: a `detection_time` of 10 us; it is 1 ms to 5 s"),
        (
            with("detection_time = '6s'"),
            "3:18: a `detection_time` of 6000000 us; it is 1 ms to 5 s",
        ),
        (
            with("restoration_time = '0us'"),
            "3:20: a `restoration_time` of 0 us; it is 1 ms to 60 s",
        ),
        (
            with("restoration_time = '61s'"),
            "3:20: a `restoration_time` of 61000000 us; it is 1 ms to 60 s",
        ),
        (with("action = 'dropp'"), "3:10: there is no action `dropp`; did you mean `drop`?"),
        (with("action = 'x'"), "3:10: there is no action `x`; use drop, forward or alert"),
        (
            with("detection_time = 'soon'"),
            "3:18: `soon` is not a time; write \"500ns\", \"20us\", \"5ms\", \"300s\" or \"5min\"",
        ),
        (
            "[watchdog]\n".to_owned(),
            "2:1: no priority is lossless, so there is nothing to watch; add a [[lossless]] table",
        ),
        (
            format!(
                "{}[[port]]\ndevice = 'net_tap1'\naddresses = ['10.0.2.1/24']\nwatchdog = true\n",
                lossless(&[3])
            ),
            "7:12: there is no [watchdog] that could look after this port; add one",
        ),
    ]);
}
