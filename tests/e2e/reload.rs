//! New rules and routes for a switch under full load: not a frame lost or out of order.

use crate::account::Load;
use crate::host::{Receiver, Sender};
use crate::lab::{Lab, Setup};
use crate::process::LOOK;
use nix::sys::signal::Signal;
use serde_json::{Value, json};
use std::path::Path;
use std::time::{Duration, Instant};
use switch::control::stats::Stats;

/// The lab's rules. Frames to h3 leave with `tag`: as they came, with tag 1 in DSCP 26, or raised
/// to tag 5 in DSCP 5. Both have priority 3, so one queue, and the order of frames must survive;
/// which rules a frame met shows on the wire.
fn rules(tag: u8) -> Value {
    json!({
        "switch": "lab", "ports": 3, "lossy_tag": 0, "initial_tag": 1,
        "priorities": { "1": 3, "2": 4, "5": 3 },
        "entries": [
            { "tag": 1, "in": [1, 2], "out": [3], "new_tag": tag },
            { "tag": 1, "in": [1, 2, 3], "out": [1, 2, 3], "new_tag": 1 },
        ],
    })
}

const ROUTES: &str = "10.20.0.0/16 via 10.1.3.2\n";

fn lab() -> Option<Lab> {
    let setup = Setup::new().file("rules", "a.json", &rules(1).to_string());
    setup.file("routes", "a.routes", ROUTES).start()
}

/// A load that goes on until it is ended.
struct Begun {
    before: Stats,
    receiver: Receiver,
    senders: Vec<Sender>,
}

impl Begun {
    /// h1 and h2 overload h3: its queue is never empty, and their pauses never end.
    fn begin(lab: &mut Lab) -> Self {
        lab.switch.await_gateways();
        lab.host(1).ping("10.1.3.2");
        lab.host(2).ping("10.1.3.2");
        let before = lab.switch.settled();
        let receiver = lab.host(3).recv("");
        let flows = [
            "--flow name=one,dst-ip=10.1.3.2,dscp=26,size=1000,rate=90M \
             --flow name=routed,dst-ip=10.20.1.1,dscp=26,size=500,rate=5M",
            "--flow name=two,dst-ip=10.1.3.2,dscp=26,size=700,rate=90M",
        ];
        let send = |(host, flows): (usize, &str)| {
            lab.host(host).send(&format!("--speed 1G --duration 120s {flows}"))
        };
        let senders = (1..).zip(flows).map(send).collect();
        let paused = |stats: &Stats| stats.ports[..2].iter().all(|port| port.pfc.tx_xoff[3] > 0);
        let asked = Instant::now();
        while !paused(&lab.switch.stats()) {
            assert!(asked.elapsed() < Duration::from_secs(60), "h3 is not overloaded");
            std::thread::sleep(LOOK);
        }
        Self { before, receiver, senders }
    }

    fn finish(self, lab: &mut Lab) -> Load {
        let Self { before, receiver, senders } = self;
        let sent = senders.into_iter().map(Sender::stop).collect();
        let received = receiver.report();
        Load { sent, received, before, after: lab.switch.settled() }
    }
}

/// Installs tables `swaps` times, by turns from `one` and `other`, on one connection. Returns how
/// often a second.
fn swap(lab: &Lab, swaps: u64, request: &str, one: &Path, other: &Path) -> u64 {
    let mut client = lab.switch.client();
    let began = Instant::now();
    let mut epoch = 0;
    for turn in 0..swaps {
        let file = if turn % 2 == 0 { one } else { other };
        let answer = client.ask(&json!({ "request": request, "file": file }));
        assert_eq!(answer["read"], json!([file]), "{answer}");
        let now = answer["epoch"].as_u64().expect("a number");
        assert!(now > epoch, "table version {now} after {epoch}");
        epoch = now;
    }
    let elapsed_ms = u64::try_from(began.elapsed().as_millis()).expect("not that long");
    swaps * 1_000 / elapsed_ms.max(1)
}

#[test]
fn a_thousand_swaps_of_rules_and_more_of_routes_under_full_load_lose_and_reorder_nothing() {
    let Some(mut lab) = lab() else { return };
    let begun = Begun::begin(&mut lab);
    let (a, b) = (lab.path("a.json"), lab.write("b.json", &rules(5).to_string()));
    let rules_a_second = swap(&lab, 1_000, "set_rules", &b, &a);
    let during = lab.switch.stats();

    // The route in use in both, and a thousand others in one.
    let others = (0..1_000).map(|n| format!("10.{}.{}.0/24 via 10.1.2.2\n", 30 + n / 250, n % 250));
    let more = lab.write("b.routes", &(ROUTES.to_owned() + &others.collect::<String>()));
    let routes_a_second = swap(&lab, 200, "set_routes", &more, &lab.path("a.routes"));
    let load = begun.finish(&mut lab);
    println!("{rules_a_second} swaps of rules and {routes_a_second} of routes a second");

    load.check();
    assert!(load.dropped().is_empty(), "{:?}", load.dropped());
    assert!(load.after.epoch >= load.before.epoch + 1_200, "{} swaps", load.after.epoch);
    for name in ["one", "two", "routed"] {
        let (flow, sent) = load.flow(name);
        assert_eq!((flow.lost, flow.frames), (0, sent), "{name}");
        let (kept, raised) = (flow.dscp.get(&26), flow.dscp.get(&5));
        let both = kept.zip(raised).unwrap_or_else(|| panic!("{name}: {:?}", flow.dscp));
        assert_eq!(both.0 + both.1, flow.frames, "{name}: every frame met one of the two tables");
    }
    // The load was full still.
    assert!(during.ports[2].queues[3].veq_bytes > 0, "{:?}", during.ports[2].queues[3]);
    lab.stop();
}

/// What must be refused, with some of the words that must say why.
fn wrong_files(lab: &Lab) -> Vec<(Value, &'static str)> {
    let mut other_switch = rules(1);
    other_switch["switch"] = json!("leaf7");
    let mut no_such_port = rules(1);
    no_such_port["entries"][0]["out"] = json!([9]);
    let mut no_queue = rules(1);
    no_queue["priorities"]["5"] = json!(6);
    let rules = [
        ("cut.json", rules(1).to_string().replace(']', ""), "cut.json:1:"),
        ("other.json", other_switch.to_string(), "leaf7"),
        ("port.json", no_such_port.to_string(), "9"),
        ("queue.json", no_queue.to_string(), "not lossless"),
    ];
    let mut wrong: Vec<(Value, &str)> = rules
        .map(|(name, text, why)| {
            (json!({ "request": "set_rules", "file": lab.write(name, &text) }), why)
        })
        .into();
    let nowhere = lab.write("nowhere.routes", "10.20.0.0/16 via 192.0.2.1\n");
    wrong.push((json!({ "request": "set_routes", "file": nowhere }), "nowhere.routes:1:"));
    let missing = lab.path("missing.json");
    wrong.push((json!({ "request": "set_rules", "file": missing }), "missing.json"));
    wrong
}

#[test]
fn a_bad_reload_is_refused_and_the_switch_goes_on_with_what_it_has() {
    let Some(mut lab) = lab() else { return };
    let begun = Begun::begin(&mut lab);
    let ask_rules = json!({ "request": "rules" });
    let (epoch, in_use) = (lab.switch.stats().epoch, lab.switch.ask(&ask_rules));
    let mut client = lab.switch.client();
    for (request, why) in wrong_files(&lab) {
        let refusal = client.refusal(&request);
        assert!(refusal.starts_with("refused: ") && refusal.contains(why), "{refusal}");
        assert_eq!(refusal.lines().count(), 1, "{refusal}");
    }
    let toml = std::fs::read_to_string(lab.path("lab.toml")).expect("it was written");
    lab.write("lab.toml", &toml.replace("100M", "200M"));
    let refusal = client.refusal(&json!({ "request": "reload" }));
    assert!(refusal.contains("needs a restart: port h3: speed"), "{refusal}");
    lab.write("lab.toml", "name = ");
    lab.switch.signal(Signal::SIGHUP);
    lab.switch.wait_for("lab.toml:1:");
    assert_eq!((lab.switch.stats().epoch, lab.switch.ask(&ask_rules)), (epoch, in_use));

    // And a good one still works.
    lab.write("lab.toml", &toml);
    lab.write("a.routes", &format!("{ROUTES}10.21.0.0/16 via 10.1.2.2\n"));
    lab.switch.signal(Signal::SIGHUP);
    let asked = Instant::now();
    while lab.switch.stats().epoch == epoch {
        assert!(asked.elapsed() < Duration::from_secs(60), "{}", lab.switch.told());
    }
    let routes = lab.switch.ask(&json!({ "request": "routes" }));
    assert!(routes.to_string().contains("10.21.0.0/16"), "{routes}");

    let load = begun.finish(&mut lab);
    load.check();
    assert_eq!(load.flow("one").0.dscp.keys().collect::<Vec<_>>(), [&26], "always the same rules");
    lab.stop();
}
