//! `knotless campaign`: shards, processes that are killed, folders that are merged, mistakes.

use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

const PROGRAM: &str = env!("CARGO_BIN_EXE_knotless");
/// Files of a summary, which are the same to the byte whoever did the runs.
const SUMMARY: [&str; 3] = ["summary.json", "summary.csv", "summary.html"];
const PATIENCE: Duration = Duration::from_secs(120);

const SCENARIO: &str = "duration = '20us'\n\
    generate = { kind = 'clos', leaves = 3, spines = 2, hosts = 2 }\n\
    [routing]\nfailed_share = 0.2\n[[traffic]]\nkind = 'permutation'\n";
/// 2 values, 2 schemes, 5 seeds.
const CAMPAIGN: &str = "scenarios = ['small.toml']\nschemes = ['pfc', 'tagger']\nseeds = 5\n\
    [[parameter]]\nkey = 'routing.failed_share'\nvalues = [0.0, 0.4]\n";
const RUNS: usize = 20;

/// A folder with a campaign.
struct Place(tempfile::TempDir);

impl Place {
    fn new() -> Self {
        let place = Self(tempfile::tempdir().unwrap());
        place.write("small.toml", SCENARIO);
        place.write("c.toml", CAMPAIGN);
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).unwrap();
    }

    /// `knotless campaign` with these words and no shard by the environment.
    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(PROGRAM);
        command.arg("campaign").args(words).current_dir(self.0.path());
        for (name, _) in std::env::vars_os() {
            let name = name.to_string_lossy().into_owned();
            if ["SLURM_", "JOB_", "KNOTLESS_"].iter().any(|start| name.starts_with(start)) {
                command.env_remove(name);
            }
        }
        command
    }

    fn campaign(&self, words: &[&str]) -> Said {
        Said::of(self.command(words).output().unwrap())
    }

    fn summary(&self, out: &str) -> Vec<Vec<u8>> {
        SUMMARY.iter().map(|name| fs::read(self.path(out).join(name)).unwrap()).collect()
    }

    /// The numbers of the runs whose lines are in a folder, whole lines only.
    fn runs(&self, out: &str) -> Vec<u64> {
        let mut runs = Vec::new();
        for entry in fs::read_dir(self.path(out)).into_iter().flatten() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|end| end == "jsonl") {
                let text = fs::read_to_string(path).unwrap();
                let lines = text.split_inclusive('\n').filter(|line| line.ends_with('\n'));
                let run = |line: &str| serde_json::from_str::<Value>(line).unwrap()["run"].as_u64();
                runs.extend(lines.map(|line| run(line).unwrap()));
            }
        }
        runs.sort_unstable();
        runs
    }
}

struct Said {
    code: Option<i32>,
    out: String,
    err: String,
}

impl Said {
    fn of(output: Output) -> Self {
        let text = |bytes| String::from_utf8(bytes).unwrap();
        Self { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
    }

    /// Nothing but one line on stderr, and status 2.
    fn refused(&self) -> &str {
        assert_eq!(
            (self.code, &self.out[..], self.err.lines().count()),
            (Some(2), "", 1),
            "{}",
            self.err
        );
        self.err.trim_end()
    }
}

fn each_once() -> Vec<u64> {
    (0..RUNS as u64).collect()
}

#[test]
fn one_process_runs_all_and_sums_up() {
    let place = Place::new();
    let said = place.campaign(&["c.toml", "--out", "one"]);
    assert_eq!((said.code, &said.err[..]), (Some(0), ""), "{}", said.out);
    assert!(said.out.ends_with("c: 20 of 20 runs are there\n"), "{}", said.out);
    assert_eq!(
        said.out.lines().filter(|line| line.starts_with("small ")).count(),
        4,
        "{}",
        said.out
    );
    assert_eq!(place.runs("one"), each_once());

    let again = place.campaign(&["c.toml", "--out", "one", "--json"]);
    let printed: Value = serde_json::from_str(&again.out).unwrap();
    let written: Value = serde_json::from_slice(&place.summary("one")[0]).unwrap();
    assert_eq!(printed, written);
    assert_eq!(place.runs("one").len(), RUNS, "no run was run again");
    let groups = written["groups"].as_array().unwrap();
    assert!(groups.iter().all(|group| group["runs"] == 5), "{written}");
    // By the figures of each line, the mean is what it says.
    let text = fs::read_to_string(place.path("one/runs-1-of-1.jsonl")).unwrap();
    let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let own = lines.filter(|line| line["run"].as_u64().is_some_and(|run| run < 5));
    let sum: f64 = own.map(|line| line["figures"]["pfc_frames"].as_f64().unwrap()).sum();
    assert_eq!(groups[0]["figures"]["pfc_frames"]["mean"], sum / 5.0);
    let csv = String::from_utf8(place.summary("one")[1].clone()).unwrap();
    assert_eq!(csv.lines().count(), 5, "{csv}");
    assert!(csv.starts_with("scenario,routing.failed_share,scheme,runs,"), "{csv}");
}

#[test]
fn a_run_of_a_campaign_is_that_of_simulate() {
    let place = Place::new();
    place.write(
        "c.toml",
        "scenarios = ['small.toml']\nschemes = ['tagger']\nseeds = 1\nfirst_seed = 7\n",
    );
    assert_eq!(place.campaign(&["c.toml", "--out", "one"]).code, Some(0));
    let line = fs::read(place.path("one/runs-1-of-1.jsonl")).unwrap();
    let line: Value = serde_json::from_slice(&line).unwrap();
    let simulate = ["simulate", "small.toml", "--scheme", "tagger", "--seed", "7", "--json"];
    let output = Command::new(PROGRAM).args(simulate).current_dir(place.0.path()).output().unwrap();
    let simulated: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(line["figures"]["trace_hash"], simulated["trace_hash"]);
    assert_eq!(line["figures"]["pfc_frames"], simulated["pfc_frames"]);
}

#[test]
fn shards_in_any_partition_and_order_give_the_same_summary() {
    let place = Place::new();
    assert_eq!(place.campaign(&["c.toml", "--out", "one"]).code, Some(0));
    for count in [2, 3, 7, 25] {
        let out = format!("of-{count}");
        // The last first.
        for shard in (1..=count).rev() {
            let said =
                place.campaign(&["c.toml", "--out", &out, "--shard", &format!("{shard}/{count}")]);
            assert_eq!(said.code, Some(0), "{}", said.err);
            assert!(!place.path(&out).join("summary.json").exists(), "a shard does not sum up");
        }
        let merged = place.campaign(&["merge", &out]);
        assert_eq!((merged.code, &merged.err[..]), (Some(0), ""), "{}", merged.out);
        assert_eq!(place.runs(&out), each_once());
        assert_eq!(place.summary(&out), place.summary("one"), "{count} shards");
    }
}

#[test]
fn a_shard_comes_from_slurm_or_from_kubernetes() {
    let place = Place::new();
    assert_eq!(place.campaign(&["c.toml", "--out", "one"]).code, Some(0));
    let with = |out: &str, variables: &[(&str, String)]| {
        let mut command = place.command(&["c.toml", "--out", out]);
        command.envs(variables.iter().map(|(name, value)| (name, value)));
        Said::of(command.output().unwrap())
    };
    for task in 4..=6 {
        let set = |name: &'static str, value: u64| (name, value.to_string());
        let said = with(
            "slurm",
            &[
                set("SLURM_ARRAY_TASK_ID", task),
                set("SLURM_ARRAY_TASK_COUNT", 3),
                set("SLURM_ARRAY_TASK_MIN", 4),
                set("SLURM_ARRAY_TASK_MAX", 6),
            ],
        );
        assert!(said.out.contains(&format!("shard {}/3", task - 3)), "{}", said.out);
        let index = [set("JOB_COMPLETION_INDEX", task - 4), set("KNOTLESS_SHARDS", 3)];
        assert_eq!(with("kubernetes", &index).code, Some(0));
    }
    for out in ["slurm", "kubernetes"] {
        assert_eq!(place.campaign(&["merge", out]).code, Some(0));
        assert_eq!(place.summary(out), place.summary("one"));
    }
    let said = with("bad", &[("JOB_COMPLETION_INDEX", "0".to_owned())]);
    assert!(said.refused().contains("JOB_COMPLETION_INDEX is set"), "{}", said.err);
    assert!(!place.path("bad").exists());
}

#[test]
fn a_process_that_is_killed_is_resumed_and_no_run_is_missing_or_double() {
    let place = Place::new();
    // Long enough to be killed in.
    place.write("small.toml", &SCENARIO.replace("20us", "400us"));
    assert_eq!(place.campaign(&["c.toml", "--out", "one"]).code, Some(0));
    let mut least = 0;
    for round in 1..=4 {
        let mut command = place.command(&["c.toml", "--out", "killed", "--jobs", "2"]);
        let mut child = command.stdout(Stdio::null()).spawn().unwrap();
        let begun = Instant::now();
        while place.runs("killed").len() < least + 3 && child.try_wait().unwrap().is_none() {
            assert!(begun.elapsed() < PATIENCE, "no run ended");
            std::thread::sleep(Duration::from_millis(1));
        }
        let _ended_already = child.kill();
        child.wait().unwrap();
        let runs = place.runs("killed");
        assert!(runs.len() >= (least + 3).min(RUNS), "round {round}: {runs:?}");
        let distinct: BTreeSet<u64> = runs.iter().copied().collect();
        assert_eq!(distinct.len(), runs.len(), "round {round}: none is double");
        least = runs.len();
        // And a line that was cut, as if the kill had come within a write.
        let file = place.path("killed/runs-1-of-1.jsonl");
        let mut text = fs::read(&file).unwrap();
        let half = text.len() - text.len() / least / 2;
        text.truncate(half);
        fs::write(&file, &text).unwrap();
        least = place.runs("killed").len();
    }
    let merged = place.campaign(&["merge", "killed"]);
    assert_eq!(merged.code, Some(1), "{}", merged.out);
    let said = place.campaign(&["c.toml", "--out", "killed"]);
    assert_eq!(said.code, Some(0), "{}{}", said.out, said.err);
    assert_eq!(place.runs("killed"), each_once());
    assert_eq!(place.summary("killed"), place.summary("one"));
}

#[test]
fn merging_names_what_is_missing_and_what_is_double() {
    let place = Place::new();
    for shard in ["1/2", "2/2"] {
        assert_eq!(place.campaign(&["c.toml", "--out", "out", "--shard", shard]).code, Some(0));
    }
    let second = place.path("out/runs-2-of-2.jsonl");
    let whole = fs::read_to_string(&second).unwrap();
    let less: Vec<&str> =
        whole.split_inclusive('\n').filter(|line| !line.contains("\"run\":3,")).collect();
    fs::write(&second, less.concat()).unwrap();
    let said = place.campaign(&["merge", "out"]);
    assert_eq!(said.code, Some(1));
    let missing =
        "missing: 1: 3 (small, pfc, seed 4, routing.failed_share = 0.0); run the campaign again";
    assert!(said.out.contains(missing), "{}", said.out);
    assert!(!place.path("out/summary.json").exists(), "there is no summary of a part");

    // Shared otherwise: what another file has is not run again.
    assert_eq!(place.campaign(&["c.toml", "--out", "out", "--shard", "4/5"]).code, Some(0));
    assert_eq!(place.runs("out"), each_once());
    assert_eq!(place.campaign(&["merge", "out"]).code, Some(0));

    fs::write(&second, &whole).unwrap();
    let said = place.campaign(&["merge", "out"]);
    assert_eq!(said.code, Some(1));
    assert!(said.out.contains("double: 1: 3 (small, pfc, seed 4"), "{}", said.out);

    // Two folders of one campaign, as of two clusters.
    for (shard, out) in [("1/2", "here"), ("2/2", "there")] {
        assert_eq!(place.campaign(&["c.toml", "--out", out, "--shard", shard]).code, Some(0));
    }
    assert_eq!(place.campaign(&["merge", "here"]).code, Some(1));
    assert_eq!(place.campaign(&["merge", "here", "there"]).code, Some(0));
    assert_eq!(place.summary("here"), place.summary("out"));
}

#[test]
fn a_changed_campaign_or_program_is_refused() {
    let place = Place::new();
    assert_eq!(place.campaign(&["c.toml", "--out", "out", "--shard", "1/4"]).code, Some(0));
    for (name, text) in [
        ("c.toml", CAMPAIGN.replace("seeds = 5", "seeds = 6")),
        ("small.toml", SCENARIO.replace("20us", "21us")),
    ] {
        let before = fs::read_to_string(place.path(name)).unwrap();
        place.write(name, &text);
        let said = place.campaign(&["c.toml", "--out", "out"]);
        let why = "out/campaign.json:1:1: the campaign, or a file that it names, is another one";
        assert!(said.refused().starts_with(why), "{}", said.err);
        place.write(name, &before);
    }
    let plan = fs::read_to_string(place.path("out/campaign.json")).unwrap();
    let mut other: Value = serde_json::from_str(&plan).unwrap();
    other["program"] = "0".repeat(64).into();
    place.write("out/campaign.json", &other.to_string());
    let said = place.campaign(&["c.toml", "--out", "out"]);
    assert!(said.refused().contains("another build of knotless began it"), "{}", said.err);
    place.write("out/campaign.json", &plan);
    assert_eq!(place.campaign(&["c.toml", "--out", "out"]).code, Some(0));
}

#[test]
fn every_combination_is_checked_before_the_first_run() {
    let place = Place::new();
    let wrong = |text: &str| {
        place.write("c.toml", text);
        let said = place.campaign(&["c.toml", "--out", "out"]);
        assert!(!place.path("out").exists(), "nothing has begun");
        said.refused().to_owned()
    };
    let text = CAMPAIGN.replace("[0.0, 0.4]", "[0.0, 1.4]");
    let error = wrong(&text);
    assert!(
        error.starts_with("c.toml:6:16: with routing.failed_share = 1.4: small.toml:4:16: "),
        "{error}"
    );
    let error = wrong(&CAMPAIGN.replace("failed_share", "faild_share"));
    assert!(error.contains("did you mean `failed_share`?"), "{error}");
    let error = wrong(&CAMPAIGN.replace("'small.toml'", "'none.toml'"));
    assert!(error.starts_with("c.toml:1:14: none.toml cannot be read"), "{error}");
    // What is found only when it is built.
    let text =
        format!("{CAMPAIGN}[[parameter]]\nkey = 'switches.size'\nvalues = ['12MB', '100KB']\n");
    let error = wrong(&text);
    assert!(error.starts_with("c.toml:9:19: with "), "{error}");
    assert!(error.contains(" of a buffer of 100000; give it "), "{error}");
    assert!(wrong(SCENARIO).contains("this is a SCENARIO.toml; a CAMPAIGN.toml is needed here"));
}

#[test]
fn a_mistake_on_the_command_line_is_one_line() {
    let place = Place::new();
    for (words, why) in [
        (&["c.toml"][..], "--out"),
        (&["merge"], "DIR"),
        (&["c.toml", "--out", "o", "--shard", "0/3"], "write 1/3 to 3/3"),
        (&["c.toml", "--out", "o", "--shard", "1"], "such as 1/4"),
        (&["c.toml", "--out", "o", "--shards", "0"], "--shards"),
        (&["c.toml", "--out", "o", "--shards", "4"], "give --shard"),
        (&["c.toml", "--out", "o", "--jobs", "0"], "--jobs"),
        (&["merge", "nowhere"], "has no campaign.json"),
        (&["c.toml", "--out", "c.toml"], "cannot be written"),
    ] {
        let said = place.campaign(words);
        assert!(said.refused().contains(why), "{words:?}: {}", said.err);
    }
}

#[test]
fn lines_that_are_none_of_the_campaign_are_refused() {
    let place = Place::new();
    assert_eq!(place.campaign(&["c.toml", "--out", "out", "--shard", "1/2"]).code, Some(0));
    let file = place.path("out/runs-1-of-2.jsonl");
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, format!("{{}}\n{text}")).unwrap();
    for words in [&["merge", "out"][..], &["c.toml", "--out", "out"]] {
        let said = place.campaign(words);
        let why = "out/runs-1-of-2.jsonl:1:1: line 1 is no result of this campaign";
        assert!(said.refused().starts_with(why), "{}", said.err);
    }
}

#[test]
fn the_example_is_right() {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../config/examples/campaigns");
    let example = examples.join("torn-clos-campaign.toml");
    let output = Command::new(PROGRAM).args(["check", "--json"]).arg(example).output().unwrap();
    let json: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&json["kind"], &json["runs"]), (&"campaign".into(), &180.into()), "{json}");
}
