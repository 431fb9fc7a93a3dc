//! What messages may not be: raw, long, in Rust's words, or at the wrong place. Whatever reads a
//! file of a user is asked.

#[allow(dead_code, reason = "each test file uses a part of it")]
mod damage;

use config::plan_file::PlanFile;
use config::rule_file;
use config::{ConfigError, NetworkConfig, ScenarioConfig, SwitchConfig};
use damage::assert_plain;
use fabric::Network;
use std::fs;
use std::path::Path;

const SWITCH: &str = "name = 'A'\n[[port]]\ndevice = 'net_null0'\naddresses = ['10.0.0.1/24']\n";
const NETWORK: &str = "[[switch]]\nname = 'A'\nports = 4\n[[host]]\nname = 'H'\n[[host]]\nname = 'I'\n\
    [[link]]\nends = ['A:1', 'H']\n[[link]]\nends = ['A:2', 'I']\n";

const RULES: &str = r#"{"switch": "A", "ports": 4, "lossy_tag": 0, "initial_tag": 1, "priorities": {"1": 1},
    "entries": [{"tag": 1, "in": [3], "out": [4], "new_tag": 1}]}"#;

fn network() -> Network {
    NetworkConfig::parse(Path::new("N.toml"), NETWORK).unwrap().network
}

/// What each reader says of `text`, in a file of that name.
fn said(file: &Path, text: &str) -> Vec<ConfigError> {
    let readers = [
        SwitchConfig::parse(file, text).err(),
        NetworkConfig::parse(file, text).err(),
        ScenarioConfig::parse(file, text).err(),
        rule_file::parse(file, text).err(),
        PlanFile::parse(file, text).err(),
        config::path_file::parse(file, text, &network()).err(),
    ];
    readers.into_iter().flatten().collect()
}

/// A name with everything in it that a terminal obeys, and one that fills a screen a hundred times.
fn names() -> [String; 3] {
    let long = "x".repeat(100_000);
    let spaced = "x ".repeat(50_000);
    ["a\u{1b}]0;t\u{7}\u{9b}2J\u{202e}\rb".to_owned(), long, spaced]
}

#[test]
fn no_name_is_echoed_raw_or_whole() {
    for name in names() {
        // As TOML and JSON write it; raw control characters are an error of TOML's own.
        let quoted = serde_json::to_string(&name).unwrap();
        let texts = [
            SWITCH.replace("'A'", &quoted),
            SWITCH.replace("'net_null0'", &quoted),
            SWITCH.replace("'10.0.0.1/24'", &quoted),
            SWITCH.replace("[[port]]", &format!("rules = {quoted}\n[[port]]")),
            SWITCH.replace("[[port]]", &format!("{quoted} = 1\n[[port]]")),
            SWITCH.replace("[[port]]", &format!("[[port]]\nname = {quoted}\nspeed = {quoted}")),
            SWITCH.replace("[[port]]", &format!("[workers]\nidle = {quoted}\n[[port]]")),
            SWITCH.replace("[[port]]", &format!("seed = {quoted}\n[[port]]")),
            SWITCH.replace(
                "[[port]]",
                &format!("[scheduler]\nweights = {{ {quoted} = 1 }}\n[[port]]"),
            ),
            NETWORK.replace("'H'", &quoted),
            NETWORK.replace("'A:2'", &quoted),
            format!("{NETWORK}[paths]\nkind = {quoted}\n"),
            format!("{NETWORK}[paths]\nkind = 'file'\nfile = {quoted}\n"),
            format!(
                "duration = '1ms'\nscheme = {{ kind = {quoted} }}\n{NETWORK}[[flow]]\nfrom = 'H'\nto = 'I'\n"
            ),
            format!("duration = '1ms'\n{NETWORK}[[flow]]\nfrom = {quoted}\nto = 'I'\n"),
            RULES.replace("\"A\"", &quoted).replacen('4', &quoted, 1),
            RULES.replace("\"A\"", &quoted).replace("[3]", "[9]"),
            RULES.replace("\"1\": 1", &format!("{quoted}: 1")),
            format!("{{{quoted}: 1}}"),
            format!("{{\"operations\": [{{\"id\": {quoted}}}], \"order\": []}}"),
            format!("{{\"operations\": [{{\"id\": 1, \"kind\": {quoted}}}], \"order\": []}}"),
            format!("{{\"operations\": [], \"order\": [], \"from\": {{\"routing\": {quoted}}}}}"),
            format!("p: H {name} I"),
            format!("{name}: H A"),
            name.clone(),
            quoted.clone(),
        ];
        for text in texts {
            let errors = said(Path::new("FILE"), &text);
            assert!(errors.len() >= 5, "each text is one kind of file at the most: {text:.200}");
            errors.iter().for_each(|error| assert_plain(&error.to_string(), ""));
        }
        let file = Path::new(&name);
        said(file, "").iter().for_each(|error| assert_plain(&error.to_string(), ""));
        assert_plain(&SwitchConfig::load(file).unwrap_err().to_string(), "");
    }
}

#[test]
fn the_remedy_outlives_a_long_name() {
    let [_, long, spaced] = names();
    for name in [long, spaced] {
        let said =
            SwitchConfig::parse(Path::new("S"), &SWITCH.replace("'A'", &format!("'{name}'")));
        let said = said.unwrap_err().to_string();
        assert!(said.ends_with("use letters, digits, `-`, `_` and `.`"), "{said}");
        let speed = SWITCH.replace("[[port]]", &format!("[[port]]\nspeed = '{name}'"));
        let said = SwitchConfig::parse(Path::new("S"), &speed).unwrap_err().to_string();
        assert!(said.ends_with("or \"40G\""), "{said}");
    }
}

#[test]
fn what_is_no_regular_file_is_refused_where_it_is_named() {
    let place = tempfile::tempdir().unwrap();
    let pipe = place.path().join("pipe");
    nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRWXU).unwrap();
    let sparse = place.path().join("sparse");
    fs::File::create(&sparse).unwrap().set_len(5_000_000_000).unwrap();
    for (named, why) in [
        (Path::new("/dev/zero"), "it is a device; name a regular file"),
        (&pipe, "it is a pipe; name a regular file"),
        (place.path(), "it is a directory; name a regular file"),
        (&sparse, "it is longer than 256 MB; name a shorter one"),
    ] {
        let show = named.display();
        let flow = "[[flow]]\nfrom = 'H'\nto = 'I'\n";
        for (file, text, line, column) in [
            ("S.toml", SWITCH.replace("[[port]]", &format!("rules = '{show}'\n[[port]]")), 2, 9),
            ("S.toml", SWITCH.replace("[[port]]", &format!("routes = '{show}'\n[[port]]")), 2, 10),
            ("N.toml", format!("[paths]\nkind = 'file'\nfile = '{show}'\n{NETWORK}"), 3, 8),
            ("C.toml", format!("duration = '1ms'\nnetwork = '{show}'\n{flow}"), 2, 11),
        ] {
            let file = place.path().join(file);
            let errors = said(&file, &text);
            let ours = errors.iter().find(|error| error.message.contains("cannot be read"));
            let ours = ours.unwrap_or_else(|| panic!("{text}: {errors:?}"));
            assert_eq!((ours.line, ours.column), (line, column), "{ours}");
            assert!(ours.message.ends_with(why), "{ours}");
        }
        for error in [
            SwitchConfig::load(named).unwrap_err(),
            NetworkConfig::load(named).unwrap_err(),
            ScenarioConfig::load(named).unwrap_err(),
            rule_file::load(named).unwrap_err(),
            PlanFile::load(named).unwrap_err(),
            config::path_file::load(named, &network()).unwrap_err(),
            config::read_text(named).unwrap_err(),
        ] {
            assert_eq!(error.to_string(), format!("{show}:1:1: cannot be read: {why}"));
        }
    }
}

/// One value of the wrong kind for each field that the texts have, one after the other.
#[test]
fn a_value_of_the_wrong_kind_is_refused_in_plain_words() {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples");
    let text = |name: &str| fs::read_to_string(examples.join(name)).unwrap();
    let mut tried = 0;
    for name in [
        "leaf.toml",
        "spine.toml",
        "vlan.toml",
        "scenarios/every-key.toml",
        "networks/triangle.toml",
        "networks/pods.toml",
    ] {
        let lines: Vec<String> = text(name).lines().map(str::to_owned).collect();
        for (at, line) in lines.iter().enumerate() {
            let Some((key, _)) =
                line.split_once(" = ").filter(|(key, _)| !key.contains(['#', ' ']))
            else {
                continue;
            };
            for value in [
                "{}",
                "{ a = 1 }",
                "[]",
                "[[1]]",
                "true",
                "-1",
                "1.5",
                "'?'",
                "1979-05-27",
                "[{}]",
                "99999999999999999999",
            ] {
                let mut wrong = lines.clone();
                wrong[at] = format!("{key} = {value}");
                let errors = said(&examples.join(name), &wrong.join("\n"));
                errors.iter().for_each(|error| assert_plain(&error.to_string(), ""));
                tried += errors.len();
            }
        }
    }
    assert!(tried > 3_000, "{tried}");
    let values = [
        "{}",
        "[]",
        "true",
        "-1",
        "1.5",
        "\"?\"",
        "null",
        "[[1]]",
        "{\"a\": {}}",
        "99999999999999999999",
    ];
    let [rules, plan] = [text("rules/spine1.json"), text("plans/ring.json")];
    for (whole, keys) in [
        (
            rules,
            &[
                "switch",
                "ports",
                "lossy_tag",
                "initial_tag",
                "priorities",
                "entries",
                "tag",
                "in",
                "out",
                "new_tag",
            ][..],
        ),
        (plan, &["operations", "order", "id", "kind", "path"][..]),
    ] {
        for key in keys {
            let start = format!("\"{key}\":");
            let at =
                whole.find(&start).unwrap_or_else(|| panic!("{key} in {whole:.300}")) + start.len();
            for value in values {
                // Before the right value, which is no JSON, and instead of all that follows.
                for wrong in [
                    format!("{}{value}{}", &whole[..at], &whole[at..]),
                    format!("{}{value}}}", &whole[..at]),
                ] {
                    said(Path::new("FILE"), &wrong)
                        .iter()
                        .for_each(|error| assert_plain(&error.to_string(), ""));
                }
            }
        }
    }
}
