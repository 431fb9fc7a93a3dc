//! The metrics as Debian's Prometheus reads them, and the files for it in `packaging/`.
#![cfg(feature = "dpdk")]

#[allow(dead_code, reason = "each test file uses a part of it")]
mod binary;
#[allow(dead_code, reason = "each test file uses a part of it")]
mod http;

use binary::{Place, Switch};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

/// One port makes frames without end, and all of them are dropped.
const SWITCH: &str = r#"
name = "s1"
[buffer]
size = "4MB"
[control]
socket = "s.sock"
[metrics]
listen = "127.0.0.1:0"
[memory]
hugepages = "never"
[workers]
idle = "sleep"
[[lossless]]
priority = 3
[[port]]
name = "a"
device = "net_null0"
addresses = ["10.0.1.254/24"]
[[port]]
name = "b"
device = "net_ring0"
addresses = ["10.0.2.254/24"]
[lldp]
"#;

const OPEN_METRICS: &str = "Accept: application/openmetrics-text;version=1.0.0\r\n";

/// Every family that there is.
const RECORDED: &str = include_str!("../src/metrics/recorded.txt");

/// Whether this program can be run; if not, a line says that the test is skipped.
fn has(program: &str, arguments: &[&str]) -> bool {
    let mut command = Command::new(program);
    command.args(arguments).stdout(Stdio::null()).stderr(Stdio::null());
    let has = command.status().is_ok_and(|status| status.success());
    if !has {
        eprintln!("skipped: {program} {arguments:?} does not run; scripts/setup.sh installs it");
    }
    has
}

/// The address, `IP:PORT`, at which the switch says that it serves metrics.
fn address(switch: &Switch<'_>) -> String {
    let said = &switch.startup_output;
    let line = said.lines().find_map(|line| line.strip_prefix("metrics: http://"));
    line.unwrap_or_else(|| panic!("{said}")).split('/').next().unwrap().to_owned()
}

fn page(switch: &Switch<'_>, headers: &str) -> String {
    let mut stream = TcpStream::connect(address(switch)).unwrap();
    http::ask(&mut stream, "GET", "/metrics", headers).body
}

/// Runs a program that reads `input`.
fn feed(program: &str, arguments: &[&str], input: &str) -> Output {
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    child.wait_with_output().unwrap()
}

fn packaging(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../packaging").join(file)
}

fn read(file: &str) -> String {
    fs::read_to_string(packaging(file)).unwrap()
}

#[test]
fn promtool_and_a_strict_parser_accept_both_pages() {
    let place = Place::new(SWITCH);
    let switch = place.start(&[]);
    let (text, open_metrics) = (page(&switch, ""), page(&switch, OPEN_METRICS));
    switch.interrupt();
    if has("promtool", &["--version"]) {
        for text in [text.as_str(), RECORDED] {
            let linted = feed("promtool", &["check", "metrics"], text);
            assert!(linted.status.success() && linted.stderr.is_empty(), "{linted:?}");
        }
        let wrong = text.replace("_seconds", "_ms");
        let linted = feed("promtool", &["check", "metrics"], &wrong);
        assert!(!linted.status.success(), "a wrong unit is noticed");
        // It reads the text format alone, in which a counter's family has the name of its samples.
        let linted = feed("promtool", &["check", "metrics"], &open_metrics);
        let said = String::from_utf8([linted.stdout, linted.stderr].concat()).unwrap();
        let about_other = said.lines().find(|line| !line.ends_with("_total no help text"));
        assert_eq!(about_other, None, "{said}");
    }
    let parser = "import sys\nfrom prometheus_client.openmetrics import parser\n\
                  print(len(list(parser.text_string_to_metric_families(sys.stdin.read()))))";
    let python = "/usr/bin/python3";
    if has(python, &["-c", "import prometheus_client.openmetrics.parser"]) {
        let parsed = feed(python, &["-c", parser], &open_metrics);
        let families = text.lines().filter(|line| line.starts_with("# TYPE ")).count();
        let said = String::from_utf8(parsed.stdout).unwrap();
        let error = String::from_utf8(parsed.stderr).unwrap();
        assert_eq!(said.trim(), families.to_string(), "{error}");
        let without_end = open_metrics.replace("# EOF\n", "");
        assert!(!feed(python, &["-c", parser], &without_end).status.success());
    }
}

/// The names of all samples that a switch can have.
fn known_names() -> BTreeSet<String> {
    let samples = RECORDED.lines().filter(|line| !line.starts_with('#'));
    samples.map(|line| line.split('{').next().unwrap().to_owned()).collect()
}

/// The metrics of ours in an expression.
fn metrics_of(expression: &str) -> impl Iterator<Item = &str> {
    let words = expression.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
    words.filter(|word| word.starts_with("knotless_"))
}

/// Asserts that promtool reads each expression, and that each of our metrics in it exists.
fn assert_expressions(expressions: &[String]) {
    let known = known_names();
    for expression in expressions {
        let unknown: Vec<_> =
            metrics_of(expression).filter(|name| !known.contains(*name)).collect();
        assert!(unknown.is_empty(), "{expression}: no metric {unknown:?}");
    }
    if !has("promtool", &["--version"]) {
        return;
    }
    let check = |expressions: &[String]| {
        let rule = |(at, expr)| serde_json::json!({ "record": format!("r:{at}"), "expr": expr });
        let rules: Vec<Value> = expressions.iter().enumerate().map(rule).collect();
        // JSON is YAML.
        let file = serde_json::json!({ "groups": [{ "name": "all", "rules": rules }] });
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("rules.yml");
        fs::write(&path, file.to_string()).unwrap();
        Command::new("promtool").args(["check", "rules"]).arg(&path).output().unwrap()
    };
    let checked = check(expressions);
    assert!(checked.status.success(), "{checked:?}");
    let broken = [expressions[0].clone() + ")"];
    assert!(!check(&broken).status.success(), "a wrong expression is noticed");
}

/// All texts under a key of this name.
fn texts_of<'a>(value: &'a Value, key: &str, into: &mut Vec<&'a str>) {
    match value {
        Value::Object(fields) => {
            for (name, field) in fields {
                if name == key {
                    into.extend(field.as_str());
                }
                texts_of(field, key, into);
            }
        }
        Value::Array(elements) => elements.iter().for_each(|it| texts_of(it, key, into)),
        _ => {}
    }
}

#[test]
fn every_expression_of_the_dashboard_is_one_and_names_metrics_that_exist() {
    let dashboard: Value = serde_json::from_str(&read("grafana/knotless.json")).unwrap();
    let mut expressions = Vec::new();
    texts_of(&dashboard["panels"], "expr", &mut expressions);
    assert!(expressions.len() > 25, "{}", expressions.len());
    let filled = |expression: &&str| {
        // What Grafana puts in.
        let filled = expression.replace("$__rate_interval", "1m").replace("$__range", "1h");
        filled.replace("$switch", ".*").replace("$port", ".*")
    };
    let filled: Vec<String> = expressions.iter().map(filled).collect();
    assert!(filled.iter().all(|expression| !expression.contains('$')), "{filled:#?}");
    assert_expressions(&filled);

    let known = known_names();
    let mut queries = Vec::new();
    texts_of(&dashboard["templating"], "definition", &mut queries);
    assert_eq!(queries.len(), 2, "switch and port");
    for query in queries {
        assert!(metrics_of(query).all(|name| known.contains(name)), "{query}");
    }
    let ids: Vec<_> = dashboard["panels"].as_array().unwrap().iter().map(|it| &it["id"]).collect();
    let distinct: BTreeSet<String> = ids.iter().map(ToString::to_string).collect();
    assert_eq!(distinct.len(), ids.len(), "each panel has an id of its own");
}

#[test]
fn the_alert_rules_fire_in_trouble_and_not_without() {
    let rules = read("prometheus/knotless.rules.yml");
    let known = known_names();
    let unknown: Vec<_> = rules
        .lines()
        .filter_map(|line| line.trim().strip_prefix("expr: "))
        .flat_map(metrics_of)
        .filter(|name| !known.contains(*name))
        .collect();
    assert!(unknown.is_empty(), "{unknown:?}");
    let tests = read("prometheus/knotless.rules.test.yml");
    for alert in rules.lines().filter_map(|line| line.trim().strip_prefix("- alert: ")) {
        let fires = format!("alertname: {alert}\n        exp_alerts:\n          - exp_labels");
        assert!(tests.contains(&fires), "no test in which {alert} fires");
    }
    if !has("promtool", &["--version"]) {
        return;
    }
    for (what, file) in [("check", "knotless.rules.yml"), ("test", "knotless.rules.test.yml")] {
        let mut command = Command::new("promtool");
        command.args([what, "rules", file]).current_dir(packaging("prometheus"));
        let output = command.output().unwrap();
        assert!(output.status.success(), "{output:?}");
    }
}

/// A running Prometheus.
struct Prometheus {
    child: Child,
    address: String,
    _folder: tempfile::TempDir,
}

impl Prometheus {
    /// Starts one that reads `target` and the alert rules.
    fn start(target: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let rules = packaging("prometheus/knotless.rules.yml");
        let config = format!(
            "global: {{scrape_interval: 1s, scrape_timeout: 1s, evaluation_interval: 1s}}\n\
             rule_files: ['{}']\n\
             scrape_configs: [{{job_name: knotless, static_configs: [{{targets: ['{target}']}}]}}]\n",
            rules.display()
        );
        fs::write(folder.path().join("prometheus.yml"), config).unwrap();
        // Free a moment ago.
        let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let log = fs::File::create(folder.path().join("log")).unwrap();
        let mut command = Command::new("prometheus");
        command
            .current_dir(folder.path())
            .args(["--config.file=prometheus.yml", "--storage.tsdb.path=data"])
            .arg(format!("--web.listen-address={free}"))
            .stdout(Stdio::null())
            .stderr(log);
        Self { child: command.spawn().unwrap(), address: free.to_string(), _folder: folder }
    }

    /// What it says to a request of its interface; `None` if it does not answer yet.
    fn api(&self, path: &str) -> Option<Value> {
        let mut stream = TcpStream::connect(&self.address).ok()?;
        let request = format!("GET /api/v1/{path} HTTP/1.0\r\n\r\n");
        let text = http::exchange(&mut stream, request.as_bytes());
        serde_json::from_str(text.split_once("\r\n\r\n")?.1).ok()
    }

    /// The values of a query.
    fn query(&self, expression: &str) -> Vec<f64> {
        let encoded: String = expression.bytes().map(|octet| format!("%{octet:02x}")).collect();
        let answer = self.api(&format!("query?query={encoded}"));
        let Some(Value::Array(results)) = answer.map(|mut it| it["data"]["result"].take()) else {
            return Vec::new();
        };
        results.iter().filter_map(|it| it["value"][1].as_str()?.parse().ok()).collect()
    }
}

impl Drop for Prometheus {
    fn drop(&mut self) {
        let _ended_already = self.child.kill();
        let _ended_already = self.child.wait();
    }
}

/// The health of each rule, and the error of the last evaluation.
fn rules(prometheus: &Prometheus) -> Vec<(String, String)> {
    let answer = prometheus.api("rules").unwrap_or_default();
    let rules = answer["data"]["groups"][0]["rules"].as_array().cloned().unwrap_or_default();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    rules.iter().map(|rule| (text(&rule["health"]), text(&rule["lastError"]))).collect()
}

#[test]
fn a_real_prometheus_reads_the_switch_answers_queries_and_evaluates_the_rules() {
    if !has("prometheus", &["--version"]) {
        return;
    }
    let place = Place::new(SWITCH);
    let switch = place.start(&[]);
    let prometheus = Prometheus::start(&address(&switch));
    switch.wait_for("a scrape", |_| prometheus.query("up{job=\"knotless\"}") == [1.0]);
    switch.wait_for("a sample", |_| prometheus.query("knotless_workers_answer") == [1.0]);
    assert_eq!(prometheus.query("knotless_port_up"), [1.0, 1.0]);
    assert_eq!(prometheus.query("knotless_frames_imbalance"), [0.0]);
    let build = format!("knotless_build_info{{version=\"{}\"}}", env!("CARGO_PKG_VERSION"));
    assert_eq!(prometheus.query(&build), [1.0]);
    let is_positive = |expression: &str| {
        let values = prometheus.query(expression);
        !values.is_empty() && values.iter().all(|value| *value > 0.0)
    };
    switch.wait_for("a rate", |_| {
        is_positive("rate(knotless_port_drops_total{port=\"a\"}[10s]) > 0")
            && is_positive("rate(knotless_worker_turns_total[10s])")
    });
    switch.wait_for("a quantile", |_| {
        is_positive("histogram_quantile(0.5, rate(knotless_burst_frames_bucket[10s]))")
    });
    switch.wait_for("the rules", |_| {
        let rules = rules(&prometheus);
        rules.len() == 14 && rules.iter().all(|(health, _)| health == "ok")
    });
    assert!(rules(&prometheus).iter().all(|(_, error)| error.is_empty()));
    let pending = |alert: &str| {
        let alerts = prometheus.api("alerts").unwrap_or_default();
        alerts.to_string().contains(&format!("\"alertname\":\"{alert}\""))
    };
    assert!(!pending("KnotlessNotScraped"));
    switch.signal(nix::sys::signal::Signal::SIGSTOP);
    switch.wait_for("the alert", |_| pending("KnotlessNotScraped"));
    switch.signal(nix::sys::signal::Signal::SIGCONT);
    switch.wait_for("the switch", |_| !pending("KnotlessNotScraped"));
    switch.interrupt();
}
