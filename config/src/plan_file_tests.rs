//! Plans that are read, written, refused.

use super::*;

fn error(text: &str) -> String {
    PlanFile::parse(Path::new("PLAN.json"), text).unwrap_err().to_string()
}

#[test]
fn a_plan_survives_its_own_writing_and_readers_keys_are_ignored() {
    let text = r#"{"operations": [{"id": 7, "kind": "add", "path": "p"}], "order": [],
        "makespan": {"parallel": 1}}"#;
    let plan = PlanFile::parse(Path::new("PLAN.json"), text).unwrap();
    assert_eq!((plan.operations[0].id, plan.operations[0].kind), (7, Kind::Add));
    let again = serde_json::to_string(&plan).unwrap();
    assert_eq!(PlanFile::parse(Path::new("PLAN.json"), &again), Ok(plan));
}

#[test]
fn what_is_no_plan_is_refused_at_its_place() {
    for (text, message) in [
        ("", "PLAN.json:1:1: the text ends where a value belongs; it is empty or cut short"),
        ("{\n \"order\": []}", "PLAN.json:1:1: `operations` is missing here; it has no default"),
        (
            "{\"operations\": [{\"id\": 1, \"kind\": \"swap\", \"path\": \"p\"}], \"order\": []}",
            "PLAN.json:1:35: unknown word `swap`; known here: remove, add",
        ),
        (
            "{\"operations\": [{\"id\": 1, \"kind\": \"add\", \"path\": \"p\"},
            {\"id\": 1, \"kind\": \"add\", \"path\": \"q\"}], \"order\": []}",
            "PLAN.json:2:20: two operations have the id 1; each needs its own",
        ),
        (
            "{\"operations\": [{\"id\": 1, \"kind\": \"add\", \"path\": \"p\"}],
            \"barriers\": [2, 1], \"order\": []}",
            "PLAN.json:2:29: the id 1 is taken; each barrier needs its own",
        ),
        ("[]", "PLAN.json:1:1: found a list of 0, expected an object in braces"),
        (
            "{\"operations\": [], \"order\": [], \"from\":\n{\"routing\": \"x\"}}",
            "PLAN.json:2:13: `x` is no routing; use up-down or shortest",
        ),
        ("{\"operations\": 7}", "PLAN.json:1:16: found the number 7, expected a list in brackets"),
        (
            "{\"operations\": [],\n \"order\": [[1, 2], [3, -4]]}",
            "PLAN.json:2:24: found the number -4, expected a whole number that is not negative",
        ),
    ] {
        assert_eq!(error(text), message);
    }
}

#[test]
fn a_file_that_is_not_there_is_refused_where_the_plan_names_it() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("PLAN.json");
    let text = "{\"operations\": [], \"order\": [], \"from\": {\n\"network\": \"/dev/null\",\n\"old\": \"/no\"}}";
    std::fs::write(&file, text).unwrap();
    let plan = PlanFile::load(&file).unwrap();
    let error = |keys: &[&str]| plan.check_named(&file, keys).unwrap_err();
    let network = error(&["network", "old", "new"]);
    assert_eq!((network.line, network.column), (2, 12));
    assert!(network.message.starts_with("/dev/null cannot be read: it is a device"), "{network}");
    let old = error(&["old", "new"]);
    assert_eq!((old.line, old.column), (3, 8));
    assert_eq!(plan.check_named(&file, &["new"]), Ok(()));
}

#[test]
fn what_does_not_fit_the_change_is_refused_at_its_place() {
    let network = "switch = [{name = 'A', ports = 2}, {name = 'B', ports = 2}]
        host = [{name = 'H'}]
        link = [{ends = ['A:1', 'B:1']}, {ends = ['A:2', 'H']}]";
    let network = crate::NetworkConfig::parse(Path::new("N.toml"), network).unwrap().network;
    let paths = |text| crate::path_file::parse(Path::new("P.txt"), text, &network).unwrap();
    let change = Change::between(&network, paths("p: A B"), paths("q: B A"));
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("PLAN.json");
    let refused = |operations: &str, order: &str| {
        let text = format!("{{\"operations\": [\n{operations}],\n\"order\": [{order}]}}");
        std::fs::write(&file, &text).unwrap();
        let error = PlanFile::load(&file).unwrap().order(&change).unwrap_err().in_file(&file);
        assert_eq!(error.file, file);
        let line = text.lines().nth(error.line - 1).unwrap();
        (line[error.column - 1..].to_owned(), error.message)
    };
    let p = "{\"id\": 1, \"kind\": \"remove\", \"path\": \"p\"}";
    let q = "{\"id\": 2, \"kind\": \"add\", \"path\": \"q\"}";
    let (at, message) = refused(&p.replace("\"p\"", "\"r\""), "");
    assert_eq!((at.as_str(), message.contains("remove `r`")), ("\"r\"}],", true), "{message}");
    let (at, message) = refused(&format!("{p},\n{}", p.replace('1', "3")), "");
    assert_eq!((at.as_str(), message.contains("twice")), ("\"p\"}],", true), "{message}");
    let (at, message) = refused(p, "");
    assert_eq!((at.as_str(), message.contains("to add `q`")), ("[", true), "{message}");
    let (at, message) = refused(&format!("{p},{q}"), "[1, 2], [1, 7]");
    assert_eq!((at.as_str(), message.contains("1 before 7")), ("[1, 7]]}", true), "{message}");
}

/// A network of two switches, and a change in it.
fn removes_and_adds(each: usize) -> Change {
    let network = "switch = [{name = 'A', ports = 3}, {name = 'B', ports = 3}]
        host = [{name = 'H'}, {name = 'K'}]
        link = [{ends = ['A:1', 'B:1']}, {ends = ['A:2', 'H']}, {ends = ['A:3', 'B:3']},
                {ends = ['B:2', 'K']}]";
    let network = crate::NetworkConfig::parse(Path::new("N.toml"), network).unwrap().network;
    let paths = |name: char, hops: &str| {
        let text: String = (0..each).map(|at| format!("{name}{at}: {hops}\n")).collect();
        crate::path_file::parse(Path::new("P.txt"), &text, &network).unwrap()
    };
    Change::between(&network, paths('p', "H A B:1 K"), paths('q', "H A B:3 K"))
}

/// All removes, a barrier, all adds.
fn one_barrier(each: u32) -> Order {
    let barrier = 2 * each;
    let removes = (0..each).map(|remove| (remove, barrier));
    let adds = (each..barrier).map(|add| (barrier, add));
    Order::with_barriers(barrier as usize, 1, removes.chain(adds).collect())
}

#[test]
fn barriers_are_written_only_where_the_pairs_would_be_too_many_and_read_back() {
    for (each, barriers) in [(300, 0), (320, 1)] {
        let change = removes_and_adds(each);
        let order = one_barrier(u32::try_from(each).unwrap());
        let plan = PlanFile::new(&change, &order, Origin::default());
        assert_eq!(plan.barriers.len(), barriers);
        let pairs = if barriers == 0 { each * each } else { 2 * each };
        assert_eq!(plan.order.len(), pairs, "{each}");
        let text = serde_json::to_string(&plan).unwrap();
        assert_eq!(text.contains("barriers"), barriers == 1);
        let read = PlanFile::parse(Path::new("PLAN.json"), &text).unwrap().order(&change).unwrap();
        let pairs = |order: &Order| order.pairwise(2 * each * each).map(|pairs| pairs.len());
        assert_eq!((pairs(&read), pairs(&order)), (Some(each * each), Some(each * each)));
    }
}
