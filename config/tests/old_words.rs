//! Words of SWITCH.toml and SCENARIO.toml that have been renamed: the old one means the same, and a
//! warning says the new one.

use config::{ConfigError, ScenarioConfig, SwitchConfig};
use std::path::Path;

/// Every renamed word, as it is now.
const NEW: &str = r#"name = "A"
[headroom]
poll = "20us"
peer_tx_byte_limit = "4KB"
[[lossless]]
priority = 3
static_th = "900KB"
[[lossless]]
priority = 4
static_th = "800KB"
[[port]]
device = "net_null0"
speed = "1G"
vlan = 10
trusted = true
cable_length = "100m"
rx_desc = 512
tx_desc = 256
tx_byte_limit = "32KB"
peer = "switch"
[[port]]
device = "net_null1"
speed = "1G"
vlan = 10
cable_length = "20m"
[gfc]
b1 = "300KB"
[lldp]
[workers]
idle = "poll"
"#;

/// New word, old word, and the line of [`NEW`] where it stands first.
const WORDS: [(&str, &str, usize); 9] = [
    ("peer_tx_byte_limit =", "peer_tx_limit =", 4),
    ("static_th =", "xoff =", 7),
    ("cable_length =", "length =", 16),
    ("rx_desc =", "rx_ring =", 17),
    ("tx_desc =", "tx_ring =", 18),
    ("\ntx_byte_limit =", "\ntx_limit =", 19),
    ("peer =", "faces =", 20),
    ("b1 =", "start =", 27),
    ("idle = \"poll\"", "idle = \"busy\"", 30),
];

fn parse(text: &str) -> Result<SwitchConfig, ConfigError> {
    SwitchConfig::parse(Path::new("A.toml"), text)
}

/// Everything that a file comes to.
fn meaning(config: &SwitchConfig) -> String {
    let SwitchConfig { name, settings, ports, tag_map, memory, workers, lldp, socket, .. } = config;
    let runs_on = (memory, workers, lldp, socket);
    let tables = (&config.routes, &config.neighbors, &config.rules, &config.rules_file);
    format!("{name} {settings:?} {ports:?} {tag_map:?} {runs_on:?} {tables:?}")
}

#[test]
fn a_file_of_old_words_means_the_same_as_one_of_new_words() {
    let new = parse(NEW).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(new.warnings, []);
    let mut text = NEW.to_owned();
    for (new, old, _) in WORDS {
        assert!(text.contains(new), "{new}");
        text = text.replace(new, old);
    }
    let old = parse(&text).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(meaning(&old), meaning(&new));
    let warnings: Vec<String> = old.warnings.iter().map(ToString::to_string).collect();
    assert_eq!(
        warnings,
        [
            "A.toml:4:1: `peer_tx_limit` is the old word for `peer_tx_byte_limit`; write \
             `peer_tx_byte_limit`",
            "A.toml:7:1: `xoff` is the old word for `static_th`; write `static_th` (and in another \
             table); what SONiC calls `xoff` is `headroom` here",
            "A.toml:16:1: `length` is the old word for `cable_length`; write `cable_length` (and in \
             another table)",
            "A.toml:17:1: `rx_ring` is the old word for `rx_desc`; write `rx_desc`",
            "A.toml:18:1: `tx_ring` is the old word for `tx_desc`; write `tx_desc`",
            "A.toml:19:1: `tx_limit` is the old word for `tx_byte_limit`; write `tx_byte_limit`",
            "A.toml:20:1: `faces` is the old word for `peer`; write `peer`",
            "A.toml:27:1: `start` is the old word for `b1`; write `b1`",
            "A.toml:30:8: `idle = \"busy\"` is the old word for `idle = \"poll\"`; write \
             `idle = \"poll\"`",
        ]
    );
}

#[test]
fn each_old_word_by_itself_is_accepted_with_one_warning_at_its_place() {
    let meant = meaning(&parse(NEW).unwrap());
    for (new, old, line) in WORDS {
        let config = parse(&NEW.replacen(new, old, 1)).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(meaning(&config), meant, "{old}");
        let [warning] = &config.warnings[..] else { panic!("{old}: {:?}", config.warnings) };
        assert_eq!(warning.line, line, "{warning}");
        let [old, new] = [old, new].map(|word| word.trim().trim_end_matches(" ="));
        assert!(warning.message.starts_with(&format!("`{old}` is the old word for `{new}`;")));
    }
}

#[test]
fn an_old_word_beside_its_new_one_is_refused_at_its_place() {
    for (new, old, line) in &WORDS[..8] {
        let (new, old) = (new.trim(), old.trim());
        let whole = NEW.lines().nth(line - 1).unwrap();
        let both = format!("{whole}\n{}\n", whole.replace(new, old));
        let error = parse(&NEW.replacen(&format!("{whole}\n"), &both, 1)).unwrap_err();
        assert_eq!((error.line, error.column), (line + 1, 1), "{error}");
        let [old, new] = [old, new].map(|word| word.trim_end_matches(" ="));
        let note = if old == "xoff" { "; what SONiC calls `xoff` is `headroom` here" } else { "" };
        assert_eq!(
            error.message,
            format!(
                "`{old}` is the old word for `{new}`, which stands here too; remove `{old}`{note}"
            )
        );
    }
}

#[test]
fn a_buffer_profile_of_sonic_is_refused_where_its_words_mean_something_else() {
    let profile = "dynamic_th = 0\nxoff = \"18KB\"\nxon_offset = \"18KB\"";
    let text = NEW.replacen("static_th = \"900KB\"", profile, 1);
    let error = parse(&text).unwrap_err().to_string();
    let message = "`xoff` beside `dynamic_th` is SONiC's word for the headroom; write `headroom`";
    assert_eq!(error, format!("A.toml:8:1: {message}"));
}

#[test]
fn a_scenario_of_old_words_means_the_same_as_one_of_new_words() {
    let head = "duration = '1ms'\ngenerate = { kind = 'clos', leaves = 2, spines = 1 }\n\
        [[traffic]]\nkind = 'permutation'\n[scheme]\nkind = 'gfc'\n";
    let parse = |text: &str| {
        let text = format!("{head}{text}");
        ScenarioConfig::parse(Path::new("S.toml"), &text).unwrap_or_else(|error| panic!("{error}"))
    };
    let meaning = |config: &ScenarioConfig| format!("{:?} {:?}", config.scheme, config.buffers);
    let new = parse("bm = '300KB'\nb1 = '100KB'\n[switches]\nstatic_th = '310KB'\n");
    let old = parse("full = '300KB'\nstart = '100KB'\n[switches]\nxoff = '310KB'\n");
    assert_eq!(meaning(&old), meaning(&new));
    assert_eq!(new.warnings, []);
    let warnings: Vec<String> = old.warnings.iter().map(ToString::to_string).collect();
    assert_eq!(
        warnings,
        [
            "S.toml:7:1: `full` is the old word for `bm`; write `bm`",
            "S.toml:8:1: `start` is the old word for `b1`; write `b1`",
            "S.toml:10:1: `xoff` is the old word for `static_th`; write `static_th`",
        ]
    );
}

#[test]
fn a_wrong_value_of_an_old_word_is_refused_at_the_value() {
    let error = parse(&NEW.replacen("static_th = \"900KB\"", "xoff = \"900XB\"", 1)).unwrap_err();
    assert_eq!((error.line, error.column), (7, 8), "{error}");
    assert!(error.message.contains("write bytes as 9216"), "{error}");
}

#[test]
fn inline_tables_have_old_words_too() {
    let text = NEW.replace("[workers]\nidle = \"poll\"\n", "");
    let text = format!("workers = {{ idle = \"busy\" }}\n{text}");
    let config = parse(&text).unwrap_or_else(|error| panic!("{error}"));
    let [warning] = &config.warnings[..] else { panic!("{:?}", config.warnings) };
    assert_eq!((warning.line, warning.column), (1, 20));
}
