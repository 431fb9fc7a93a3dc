//! `knotless apply` against four running switches: the reconfiguration paper's Fig. 6, carried out,
//! stopped on the way, gone on with, and undone.
#![cfg(feature = "dpdk")]

#[allow(dead_code, reason = "each test file uses a part of it")]
mod binary;

use binary::{Place, Switch};
use nix::sys::signal::Signal;
use serde_json::{Value, json};
use std::process::Output;

const NAMES: [&str; 4] = ["A", "B", "C", "D"];

/// Switch n of the ring: port 1 leads back, port 2 on, port 3 to a host in 10.1.n.0/24. The link
/// that begins at switch n is 10.0.n.0/24, with .1 at its beginning and .2 at its end.
fn switch_toml(number: usize, place: &Place, routes: &str) -> String {
    let (before, on) = ((number + 3) % 4, number);
    let port = |name: &str, device: usize, address: String| {
        format!(
            "[[port]]\nname = \"{name}\"\ndevice = \"net_null{device},no-rx=1\"\naddresses = [\"{address}/24\"]\n"
        )
    };
    format!(
        "name = \"{}\"\n[buffer]\nsize = \"4MB\"\n[control]\nsocket = {:?}\n[memory]\nhugepages = \"never\"\n\
         [workers]\nidle = \"sleep\"\n[[lossless]]\npriority = 3\n{}{}{}{routes}",
        NAMES[number],
        place.path("s.sock").display().to_string(),
        port("back", 0, format!("10.0.{before}.2")),
        port("on", 1, format!("10.0.{on}.1")),
        port("host", 2, format!("10.1.{number}.254")),
    )
}

/// What a switch's next hop around the ring is for a switch's hosts.
fn route(to: usize, at: usize) -> (String, String) {
    (format!("10.1.{to}.0/24"), format!("10.0.{at}.2"))
}

/// Routes by switch, of paths that each go from one switch on around the ring to another.
fn routes_of(paths: &[(usize, usize)]) -> [Vec<(String, String)>; 4] {
    let mut routes = [const { Vec::new() }; 4];
    for &(from, to) in paths {
        let mut at = from;
        while at != to {
            routes[at].push(route(to, at));
            at = (at + 1) % 4;
        }
    }
    routes.iter_mut().for_each(|of| {
        of.sort();
        of.dedup();
    });
    routes
}

/// p1: A to C, p3: C to A. Then p2: B to A, p4: D to B.
const OLD: [(usize, usize); 2] = [(0, 2), (2, 0)];
const NEW: [(usize, usize); 2] = [(1, 0), (3, 1)];

/// A folder for each switch, and one with the plan and all SWITCH.toml.
struct Ring {
    places: Vec<Place>,
    office: Place,
}

impl Ring {
    fn new() -> Self {
        let office = Place::new("");
        let places: Vec<Place> = NAMES.iter().map(|_| Place::new("")).collect();
        std::fs::create_dir(office.path("switches")).unwrap();
        for (number, (place, routes)) in places.iter().zip(routes_of(&OLD)).enumerate() {
            let tables = routes
                .iter()
                .map(|(to, via)| format!("[[route]]\nto = \"{to}\"\nvia = [\"{via}\"]\n"));
            let text = switch_toml(number, place, &tables.collect::<String>());
            place.write("SWITCH.toml", &text);
            office.write(&format!("switches/{}.toml", NAMES[number]), &text);
        }
        let ring = Self { places, office };
        let folder = format!("{}/../config/examples/plans/ring", env!("CARGO_MANIFEST_DIR"));
        let [network, old, new] = [".toml", "-old.txt", "-new.txt"].map(|end| folder.clone() + end);
        let words = ["plan", &network, "--old", &old, "--new", &new, "--json"];
        let planned = ring.office.knotless(&words);
        assert_eq!(planned.status.code(), Some(0), "{planned:?}");
        ring.office.write("plan.json", &String::from_utf8(planned.stdout).unwrap());
        ring
    }

    fn start(&self) -> Vec<Switch<'_>> {
        self.places.iter().map(|place| place.start(&[])).collect()
    }

    fn apply(&self, more: &[&str]) -> Output {
        let words = ["apply", "plan.json", "--switches", "switches", "--timeout", "2s"];
        self.office.knotless(&[&words[..], more].concat())
    }

    fn state(&self) -> Value {
        let text = std::fs::read_to_string(self.office.path("plan.json.state")).unwrap();
        serde_json::from_str(&text).unwrap()
    }
}

/// The static routes of a switch.
fn routes(switch: &Switch<'_>) -> Vec<(String, String)> {
    let rows = switch.json(&["routes"])["routes"].as_array().unwrap().clone();
    let fixed = rows.iter().filter(|row| row["kind"] == "via");
    let text = |value: &Value| value.as_str().unwrap().split('%').next().unwrap().to_owned();
    fixed.map(|row| (text(&row["prefix"]), text(&row["via"][0]))).collect()
}

fn assert_paths(switches: &[Switch<'_>], paths: &[(usize, usize)]) {
    let found: Vec<_> = switches.iter().map(routes).collect();
    assert_eq!(found, routes_of(paths));
}

fn stderr_of(output: &Output) -> String {
    let [text, error] = [&output.stdout, &output.stderr].map(|of| String::from_utf8_lossy(of));
    format!("{text}{error}")
}

#[test]
fn a_plan_is_carried_out_on_running_switches_stopped_gone_on_with_and_undone() {
    let ring = Ring::new();
    let switches = ring.start();
    assert_paths(&switches, &OLD);

    // B hangs: p1 cannot go and p2 cannot come, so p4, which waits for p1, must not.
    switches[1].signal(Signal::SIGSTOP);
    let stopped = ring.apply(&[]);
    switches[1].signal(Signal::SIGCONT);
    let stderr = stderr_of(&stopped);
    assert_eq!(stopped.status.code(), Some(1), "{stderr}");
    assert!(stderr.contains("switch B does not answer"), "{stderr}");
    assert!(stderr.contains("in a state that cannot deadlock; continue with --resume"), "{stderr}");
    assert!(!stderr.contains("add p4"), "{stderr}");
    let stages = ring.state()["stages"].clone();
    assert_eq!((&stages["1"], &stages["4"]), (&json!("begun"), &Value::Null), "{stages}");

    // It was begun: that must be said. Back, all is as it was.
    let again = ring.apply(&[]);
    assert_eq!(again.status.code(), Some(2), "{again:?}");
    assert!(
        stderr_of(&again).contains("this plan was started; continue with --resume"),
        "{again:?}"
    );
    let back = ring.apply(&["--rollback"]);
    assert_eq!(back.status.code(), Some(0), "{}", stderr_of(&back));
    assert_paths(&switches, &OLD);

    // Once more, stopped again, and on to the end.
    switches[1].signal(Signal::SIGSTOP);
    assert_eq!(ring.apply(&[]).status.code(), Some(1));
    switches[1].signal(Signal::SIGCONT);
    let resumed = ring.apply(&["--resume"]);
    let stderr = stderr_of(&resumed);
    assert_eq!(resumed.status.code(), Some(0), "{stderr}");
    assert!(stderr.contains("4 of 4: "), "{stderr}");
    let place = |what: &str| stderr.find(what).unwrap_or_else(|| panic!("{what}: {stderr}"));
    assert!(place("remove p1") < place("add p4"), "{stderr}");
    assert_paths(&switches, &NEW);

    // From the end all the way back, too.
    let back = ring.apply(&["--rollback"]);
    assert_eq!(back.status.code(), Some(0), "{}", stderr_of(&back));
    assert_paths(&switches, &OLD);
    switches.into_iter().for_each(|switch| drop(switch.interrupt()));
}

#[test]
fn a_plan_that_is_not_safe_or_not_of_this_change_is_refused_before_anything_is_done() {
    let ring = Ring::new();
    let plan: Value =
        serde_json::from_slice(&std::fs::read(ring.office.path("plan.json")).unwrap()).unwrap();
    let write = |change: &dyn Fn(&mut Value)| {
        let mut plan = plan.clone();
        change(&mut plan);
        ring.office.write("plan.json", &plan.to_string());
        ring.apply(&[])
    };
    // The reconfiguration paper's second order for its Fig. 6: p3 before p4.
    let paper = write(&|plan| plan["order"] = json!([[2, 4]]));
    assert_eq!(paper.status.code(), Some(1), "{paper:?}");
    let stderr = stderr_of(&paper);
    assert!(stderr.contains("p2") && stderr.contains("nothing was done"), "{stderr}");
    for (change, why) in [
        (
            &(|plan: &mut Value| plan["operations"][0]["path"] = json!("p9"))
                as &dyn Fn(&mut Value),
            "to remove `p9`, which the change does not",
        ),
        (
            &|plan| drop(plan["operations"].as_array_mut().unwrap().pop()),
            "nothing is planned to add `p4`",
        ),
        (&|plan| plan["order"] = json!([[1, 4], [4, 1]]), "wait for each other"),
        (&|plan| plan["order"] = json!([[1, 77]]), "are not both operations"),
        (&|plan| plan["order"] = json!("none"), "plan.json:1:"),
    ] {
        let refused = write(change);
        let stderr = stderr_of(&refused);
        assert_eq!(refused.status.code(), Some(2), "{stderr}");
        assert!(stderr.contains(why) && stderr.lines().count() == 1, "{stderr}");
    }
    assert!(!ring.office.path("plan.json.state").exists(), "nothing was begun");
}
