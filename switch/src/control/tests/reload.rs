//! New tables for a running switch, and refusals.

use super::slow_path::introduction;
use super::{ROUTED, Rig, bridged};
use crate::control::protocol::{Reply, Request};
use dataplane::testing::wire::Udp;

/// Rules for a switch with this name and number of ports.
fn rules(switch: &str, ports: usize) -> String {
    format!(
        r#"{{"switch":"{switch}","ports":{ports},"lossy_tag":0,"initial_tag":1,
            "priorities":{{"1":3}},"entries":[{{"tag":1,"in":[1],"out":[2],"new_tag":1}}]}}"#
    )
}

fn error(reply: Reply) -> String {
    match reply {
        Reply::Failed(failed) => failed.error,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_reload_is_answered_when_all_workers_use_the_new_tables() {
    let mut rig = Rig::new(&format!("{ROUTED}[workers]\ncount = 2\n"));
    rig.turns(5);
    let before = rig.stats().epoch;
    rig.write(&format!(
        "{ROUTED}[workers]\ncount = 2\n[[route]]\nto = '10.9.0.0/16'\nblackhole = true\n"
    ));
    let answer = rig.call(Request::Reload);
    // The control thread reads and compiles; the second worker does not turn.
    for _ in 0..2_000 {
        rig.turn_control();
        rig.turn_worker(0);
        std::thread::sleep(std::time::Duration::from_micros(100));
    }
    assert!(answer.try_recv().is_err(), "one worker has the old tables still");
    rig.turns(3);
    let Ok(Reply::Reloaded(reloaded)) = answer.try_recv() else { panic!("no answer") };
    assert_eq!(reloaded.epoch, before + 1);
    assert_eq!(reloaded.read, [rig.file.clone()]);
    let stats = rig.stats();
    assert_eq!(stats.epoch, reloaded.epoch);
    assert_eq!(stats.routes, 1);
    rig.arrive(1, &Udp { dst: [10, 9, 1, 1], ..Udp::routed(1, 2, 0) }.bytes());
    rig.turns(2);
    assert_eq!(rig.stats().ports[0].drops["blackhole"], 1);
    rig.assert_balanced();
}

/// In the hour when a fabric stands still, nobody wants to restart a switch.
#[test]
fn the_big_red_switch_and_the_watchdog_come_and_go_by_reloads() {
    let text = bridged(3, "");
    let mut rig = Rig::new(&text);
    rig.turns(3);
    rig.arrive(2, &Udp::bridged(2, 1, 0).bytes());
    rig.turns(3);
    let load = |rig: &mut Rig| {
        rig.arrive(1, &Udp::bridged(1, 2, 3).bytes());
        rig.turns(3);
        let stats = rig.stats();
        let dropped = stats.ports[0].drops.get("watchdog").copied().unwrap_or_default();
        (stats.ports[1].tx_frames[3], dropped)
    };
    assert_eq!(load(&mut rig), (1, 0));
    for (table, expected) in [
        ("[watchdog]\naction = 'drop'\nbig_red_switch = true\n", (1, 1)),
        ("[watchdog]\naction = 'alert'\n", (2, 1)),
        ("[watchdog]\nbig_red_switch = true\n", (2, 2)),
        ("", (3, 2)),
    ] {
        rig.write(&format!("{text}{table}"));
        assert!(matches!(rig.ask(Request::Reload), Reply::Reloaded(_)), "{table}");
        rig.turns(2);
        assert_eq!(load(&mut rig), expected, "{table}");
    }
    rig.assert_balanced();
}

#[test]
fn what_is_wrong_or_needs_a_restart_is_refused_with_the_reason_and_changes_nothing() {
    let mut rig = Rig::new(ROUTED);
    rig.turns(5);
    let before = rig.stats();
    for (text, reason) in [
        (ROUTED.replace("name = \"s1\"", "name = \"s2\""), "needs a restart: name"),
        (ROUTED.replace("[[lossless]]", "[buffer]\nsize = '20MB'\n[[lossless]]"), "buffer.size"),
        (ROUTED.replace("net_null1", "net_null7"), "port b: device"),
        (format!("{ROUTED}[workers]\nidle = 'sleep'\n"), "workers"),
        (format!("{ROUTED}[wrokers]\n"), "SWITCH.toml:17:2: unknown field `wrokers`"),
        ("name = ".to_owned(), "SWITCH.toml:1:"),
    ] {
        rig.write(&text);
        let error = error(rig.ask(Request::Reload));
        assert!(error.starts_with("refused: ") && error.contains(reason), "{error}");
        assert_eq!(error.lines().count(), 1, "{error}");
    }
    std::fs::remove_file(&rig.file).unwrap();
    assert!(error(rig.ask(Request::Reload)).contains("cannot be read"));
    assert_eq!(rig.stats().epoch, before.epoch, "nothing was installed");
}

#[test]
fn rules_are_swapped_alone_and_only_if_they_are_for_this_switch() {
    let mut rig = Rig::new(ROUTED);
    rig.turns(5);
    let file = rig.folder().join("rules.json");
    std::fs::write(&file, rules("s1", 2)).unwrap();
    // SWITCH.toml is not read again, so what is wrong with it does not matter.
    rig.write("nonsense");
    let reply = rig.ask(Request::SetRules { file: file.clone() });
    assert!(matches!(reply, Reply::Reloaded(_)), "{reply:?}");
    let Reply::Rules(in_use) = rig.ask(Request::Rules) else { panic!() };
    assert_eq!(in_use.file.as_ref(), Some(&file));
    assert_eq!((in_use.entries.len(), in_use.tags[0].tag, in_use.tags[0].priority), (1, 1, 3));
    assert_eq!((&in_use.entries[0].input[..], &in_use.entries[0].output[..]), (&[1][..], &[2][..]));

    for (text, reason) in [
        (rules("other", 2), "is for switch `other`"),
        (rules("s1", 3), "3 ports"),
        (rules("s1", 2).replace("\"1\":3", "\"1\":9"), "there are eight, 0 to 7"),
        ("{".to_owned(), "rules.json:1:"),
    ] {
        std::fs::write(&file, text).unwrap();
        let error = error(rig.ask(Request::SetRules { file: file.clone() }));
        assert!(error.contains(reason), "{error}");
    }
    let missing = rig.folder().join("no.json");
    assert!(error(rig.ask(Request::SetRules { file: missing })).contains("no.json"));
    let Reply::Rules(still) = rig.ask(Request::Rules) else { panic!() };
    assert_eq!(still, in_use, "the old rules stay");
}

#[test]
fn routes_are_swapped_alone() {
    let mut rig = Rig::new(ROUTED);
    rig.turns(5);
    let file = rig.folder().join("all.routes");
    std::fs::write(&file, "10.9.0.0/16 via 10.0.2.1\n10.8.0.0/16 blackhole\n").unwrap();
    let reply = rig.ask(Request::SetRoutes { file: file.clone() });
    assert!(matches!(reply, Reply::Reloaded(_)), "{reply:?}");
    assert_eq!(rig.stats().routes, 2);
    std::fs::write(&file, "10.9.0.0/16 via 10.7.7.7\n").unwrap();
    let error = error(rig.ask(Request::SetRoutes { file }));
    assert!(error.contains("all.routes:1:"), "{error}");
    assert_eq!(rig.stats().routes, 2);
}

#[test]
fn neighbors_that_were_found_outlive_a_reload_and_static_ones_follow_the_file() {
    let fixed = |mac: &str| format!("{ROUTED}[[neighbor]]\naddress = '10.0.1.9'\nmac = '{mac}'\n");
    let mut rig = Rig::new(&fixed("02:00:00:00:09:01"));
    rig.turns(5);
    rig.arrive(2, &introduction(2));
    rig.turns(4);
    assert_eq!(rig.stats().neighbors, 2);

    rig.write(&fixed("02:00:00:00:09:02"));
    rig.ask(Request::Reload);
    let Reply::Neighbors(all) = rig.ask(Request::Neighbors { offset: 0 }) else { panic!() };
    let row = |address: &str| all.neighbors.iter().find(|row| row.address == address).unwrap();
    assert_eq!(row("10.0.1.9").mac.as_deref(), Some("02:00:00:00:09:02"));
    assert_eq!(row("10.0.1.9").state, "static");
    assert_eq!(row("10.0.2.1").port, "b");
    rig.sent(2);
    rig.arrive(1, &Udp::routed(1, 2, 0).bytes());
    rig.turns(2);
    assert_eq!(rig.sent(2).len(), 1, "the packet path knows it still");

    rig.write(ROUTED);
    rig.ask(Request::Reload);
    rig.turns(3);
    assert_eq!(rig.stats().neighbors, 1, "the static one is gone");
    rig.arrive(1, &Udp { dst: [10, 0, 1, 9], ..Udp::routed(1, 2, 0) }.bytes());
    rig.turns(3);
    assert_eq!(rig.stats().ports[0].punted_frames, 1, "and the packet path has forgotten it");
    rig.assert_balanced();
}
