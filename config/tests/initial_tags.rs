//! Application classes: the initial tags of a rule file, and `[[initial_tag]]`, which selects them
//! by port and marking.

use config::SwitchConfig;
use dataplane::ids::Tag;
use dataplane::pipeline::classify::Classifier;
use std::fs;

/// Two classes with one bounce each: they start with tags 1 and 2.
const RULES: &str = r#"{"switch": "A", "ports": 3, "lossy_tag": 0, "initial_tag": 1, "initial_tags": [1, 2],
    "priorities": {"1": 1, "2": 2, "3": 3}, "entries": [
    {"tag": 1, "in": [1, 2, 3], "out": [1, 2, 3], "new_tag": 1}]}"#;

/// Port 1 is trusted, ports 2 and 3 are not; port 3 goes by PCP.
const SWITCH: &str = "name = 'A'
rules = 'A.json'
[[lossless]]
priority = 1
[[lossless]]
priority = 2
[[lossless]]
priority = 3
[[port]]
name = 'up'
device = 'net_null0'
trusted = true
vlan = 1
[[port]]
name = 'h1'
device = 'net_null1'
vlan = 1
[[port]]
name = 'h2'
device = 'net_null2'
vlan = 1
classify = 'pcp'
";

fn load(toml: &str, rules: &str) -> Result<SwitchConfig, String> {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("A.json"), rules).unwrap();
    let file = directory.path().join("A.toml");
    fs::write(&file, toml).unwrap();
    SwitchConfig::load(&file).map_err(|error| error.message)
}

/// The tag of an IP frame with this DSCP and PCP at a port.
fn tag(config: &SwitchConfig, port: usize, dscp: u8, pcp: Option<u8>) -> u8 {
    let classifier = Classifier::compile(&config.tag_map, &config.ports[port].trust);
    classifier.classify(Some(dscp), pcp).tag().value()
}

fn tags(config: &SwitchConfig, port: usize, dscps: &[u8]) -> Vec<u8> {
    dscps.iter().map(|&dscp| tag(config, port, dscp, None)).collect()
}

#[test]
fn at_an_untrusted_port_the_initial_tags_of_the_rules_select_the_class() {
    let config = load(SWITCH, RULES).unwrap();
    assert_eq!(config.tag_map.initial_tags, 0b110);
    assert_eq!(tags(&config, 0, &[1, 2, 3, 46]), [1, 2, 3, 46], "trusted");
    assert_eq!(tags(&config, 1, &[1, 2, 3, 46]), [1, 2, 1, 46], "no class starts with tag 3");
    let one_class = load(SWITCH, &RULES.replace("\"initial_tags\": [1, 2],", "")).unwrap();
    assert_eq!(one_class.tag_map.initial_tags, 0b10);
    assert_eq!(tags(&one_class, 1, &[1, 2, 3, 46]), [1, 1, 1, 46], "as before");
}

#[test]
fn an_entry_selects_a_class_by_port_and_marking_and_the_named_port_comes_first() {
    let toml = format!(
        "{SWITCH}[[initial_tag]]\ntag = 2\ndscp = [48, 26]\npcp = [6]\n\
         [[initial_tag]]\ntag = 1\ndscp = [26]\nports = ['h1']\n\
         [[initial_tag]]\ntag = 46\ndscp = [2]\nports = ['2']\n"
    );
    let config = load(&toml, RULES).unwrap();
    assert_eq!(tags(&config, 0, &[48, 26, 2]), [48, 26, 2], "a trusted port has no entries");
    assert_eq!(tags(&config, 1, &[48, 26, 2, 1]), [2, 1, 46, 1]);
    assert_eq!(tag(&config, 2, 0, Some(6)), 2, "by PCP");
    assert_eq!(tag(&config, 2, 0, Some(1)), 1);
}

#[test]
fn without_rules_any_lossless_tag_may_be_selected() {
    let toml = format!("{SWITCH}[[initial_tag]]\ntag = 3\ndscp = [26]\n");
    let config = load(&toml.replace("rules = 'A.json'\n", ""), RULES).unwrap();
    assert_eq!(tags(&config, 1, &[26, 2]), [3, 1]);
}

#[test]
fn what_has_no_effect_or_two_meanings_is_refused() {
    for (entry, message) in [
        ("tag = 2\n", "no marking selects this tag; add `dscp` or `pcp`"),
        (
            "tag = 3\ndscp = [26]\n",
            "no application class of the rules starts with tag 3, so its frames would have fewer \
             bounces than the rules provide for; use 1, 2, or compile with `classes`",
        ),
        ("tag = 2\ndscp = [26]\nports = ['up']\n", "port `up` is trusted"),
        ("tag = 2\ndscp = [26]\nports = ['h2']\n", "port `h2` goes by PCP; give the entry `pcp`"),
        ("tag = 2\ndscp = [26]\nports = ['h3']\n", "there is no port `h3`; did you mean `h"),
        ("tag = 2\ndscp = [26, 26]\n", "DSCP 26 has an initial tag at port `h1` already"),
        (
            "tag = 2\npcp = [1]\n[[initial_tag]]\ntag = 1\npcp = [1]\n",
            "PCP 1 has an initial tag at port `h1` already; one is enough",
        ),
    ] {
        let found = load(&format!("{SWITCH}[[initial_tag]]\n{entry}"), RULES).unwrap_err();
        assert!(found.starts_with(message), "{entry}\n{found}");
    }
    let trusted = SWITCH.replace("vlan = 1", "vlan = 1\ntrusted = true").replacen(
        "trusted = true\nvlan = 1\n",
        "vlan = 1\n",
        1,
    );
    let found = load(&format!("{trusted}[[initial_tag]]\ntag = 2\ndscp = [26]\n"), RULES);
    assert_eq!(found.unwrap_err(), "no untrusted port goes by these markings; remove this table");
    let hops = "name = 'A'\n[[lossless]]\npriority = 1\n[[lossless]]\npriority = 2\n\
                [ttl]\nclasses = [0, 1, 2]\n\
                [[port]]\ndevice = 'net_null0'\naddresses = ['10.0.0.1/24']\n";
    let found = load(&format!("{hops}[[initial_tag]]\ntag = 1\ndscp = [26]\n"), RULES);
    let found = found.unwrap_err();
    assert!(found.starts_with("lossless frames go by their hops ([ttl])"), "{found}");
}

#[test]
fn initial_tags_of_a_rule_file_are_lossless_and_each_is_there_once() {
    for (tags, message) in [
        ("[1, 0]", "`initial_tags` has 0: it has no priority; use tags of `priorities` (1, 2, 3)"),
        ("[2, 1]", "`initial_tags` has 2: the first class starts with `initial_tag`, which is 1"),
        ("[1, 2, 2]", "`initial_tags` has 2: it is there twice"),
        ("[1, 64]", "`initial_tags` has 64: it has no priority"),
    ] {
        let found = load(SWITCH, &RULES.replace("[1, 2],", &format!("{tags},"))).unwrap_err();
        assert!(found.starts_with(message), "{tags}: {found}");
    }
    let listed = config::rule_file::parse(std::path::Path::new("A.json"), RULES).unwrap();
    assert_eq!(listed.initial_tags, [1, 2].map(Tag::from_low_bits));
}
