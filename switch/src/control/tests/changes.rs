//! Changes on top of the files: they outlive a reload, are told, and can be dropped.

use super::{ROUTED, Rig};
use crate::control::difference::{Difference, RouteChange};
use crate::control::protocol::{Reply, Request};

/// Routes of a file, and two that `ctl` changes.
const FILE_ROUTES: &str = "[[route]]\nto = '10.9.0.0/16'\nvia = ['10.0.2.1']\n\
                           [[route]]\nto = '10.8.0.0/16'\nblackhole = true\n";

fn rig() -> Rig {
    let mut rig = Rig::new(&format!("{ROUTED}{FILE_ROUTES}"));
    rig.turns(5);
    rig
}

fn done(reply: Reply) {
    assert!(matches!(reply, Reply::Reloaded(_)), "{reply:?}");
}

fn refused(reply: Reply) -> String {
    match reply {
        Reply::Failed(failed) => failed.error,
        other => panic!("{other:?}"),
    }
}

fn difference(rig: &mut Rig) -> Difference {
    match rig.ask(Request::Diff) {
        Reply::Difference(difference) => *difference,
        other => panic!("{other:?}"),
    }
}

fn add(to: &str, via: &str) -> Request {
    Request::AddRoute { to: to.to_owned(), via: vec![via.to_owned()] }
}

fn delete(to: &str) -> Request {
    Request::DelRoute { to: to.to_owned() }
}

fn change(prefix: &str, before: &[&str], now: &[&str]) -> RouteChange {
    let own = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect();
    RouteChange { prefix: prefix.to_owned(), before: own(before), now: own(now) }
}

#[test]
fn changed_routes_outlive_a_reload_and_are_told_until_they_are_dropped() {
    let mut rig = rig();
    assert_eq!(difference(&mut rig).routes, []);
    done(rig.ask(add("10.7.0.0/16", "10.0.2.1")));
    done(rig.ask(add("10.9.0.0/16", "10.0.1.7")));
    done(rig.ask(delete("10.8.0.0/16")));
    let changes = [
        change("10.7.0.0/16", &[], &["10.0.2.1"]),
        change("10.8.0.0/16", &["blackhole"], &[]),
        change("10.9.0.0/16", &["10.0.2.1"], &["10.0.1.7"]),
    ];
    assert_eq!(difference(&mut rig).routes, changes);

    rig.write(&format!("{ROUTED}{FILE_ROUTES}[[route]]\nto = '10.6.0.0/16'\nblackhole = true\n"));
    done(rig.ask(Request::Reload));
    assert_eq!(rig.stats().routes, 3, "7, 9 and the new one");
    assert_eq!(difference(&mut rig).routes, changes);

    // What was undone by hand is no difference.
    done(rig.ask(delete("10.7.0.0/16")));
    assert_eq!(difference(&mut rig).routes, changes[1..]);

    done(rig.ask(Request::Rollback));
    assert_eq!(rig.stats().routes, 3, "6, 8 and 9");
    assert_eq!(difference(&mut rig).routes, []);
    assert!(!rig.folder().join("changes.json").exists());
}

#[test]
fn files_that_the_changes_do_not_fit_are_refused_with_the_way_out() {
    let mut rig = rig();
    done(rig.ask(add("10.7.0.0/16", "10.0.2.1")));
    let before = rig.stats();
    rig.write(&ROUTED.replace("10.0.2.254/24", "10.0.3.254/24"));
    let error = refused(rig.ask(Request::Reload));
    assert!(error.contains("10.0.2.1") && error.contains("`ctl rollback` drops them"), "{error}");
    assert_eq!((rig.stats().epoch, rig.stats().routes), (before.epoch, before.routes));
    done(rig.ask(Request::Rollback));
    assert_eq!(rig.stats().routes, 0);
}

#[test]
fn a_change_that_cannot_be_kept_is_not_made() {
    let mut rig = rig();
    let before = rig.stats();
    // A folder in the place of the file.
    std::fs::create_dir_all(rig.folder().join("changes.json/in-the-way")).unwrap();
    let error = refused(rig.ask(add("10.7.0.0/16", "10.0.2.1")));
    assert!(error.contains("cannot be kept in") && error.contains("[control] changes"), "{error}");
    let after = rig.stats();
    assert_eq!((after.epoch, after.routes), (before.epoch, before.routes));
    std::fs::remove_dir_all(rig.folder().join("changes.json")).unwrap();
    done(rig.ask(add("10.7.0.0/16", "10.0.2.1")));
    assert_eq!(rig.stats().routes, 3);
}

#[test]
fn a_route_file_replaces_changes_of_single_routes() {
    let mut rig = rig();
    done(rig.ask(add("10.7.0.0/16", "10.0.2.1")));
    let file = rig.folder().join("all.routes");
    std::fs::write(&file, "10.5.0.0/16 via 10.0.2.1\n").unwrap();
    done(rig.ask(Request::SetRoutes { file: file.clone() }));
    assert_eq!(rig.stats().routes, 3, "two tables and one line");
    let told = difference(&mut rig);
    assert_eq!(told.routes, [], "the file in use says it");
    assert_eq!(told.routes_file.unwrap().now, file);
    std::fs::write(&file, "10.5.0.0/16 via 10.0.2.1\n10.4.0.0/16 via 10.0.2.1\n").unwrap();
    done(rig.ask(Request::Reload));
    assert_eq!(rig.stats().routes, 4, "a reload reads the file in use");
}

/// The ways to write a prefix of IPv6 are many.
#[test]
fn a_route_is_one_change_however_its_prefix_is_written() {
    let mut rig = rig();
    rig.write(&format!("{ROUTED}[[route]]\nto = 'fd00:9::/32'\nblackhole = true\n"));
    done(rig.ask(Request::Reload));
    done(rig.ask(add("FD00:9:0::/32", "fd00:2::1")));
    done(rig.ask(add("fd00:9::/32", "fd00:2::2")));
    let changes = [change("fd00:9::/32", &["blackhole"], &["fd00:2::2"])];
    assert_eq!(difference(&mut rig).routes, changes);
    done(rig.ask(Request::Reload));
    assert_eq!(difference(&mut rig).routes, changes);
    done(rig.ask(delete("fd00:0009::/32")));
    done(rig.ask(Request::Reload));
    assert_eq!(difference(&mut rig).routes, [change("fd00:9::/32", &["blackhole"], &[])]);
}
