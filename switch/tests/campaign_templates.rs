//! The templates of a campaign for Slurm and Kubernetes: what they say is what those know, and what
//! they start is a shard.

use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const PROGRAM: &str = env!("CARGO_BIN_EXE_knotless");

fn packaging(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../packaging").join(name)
}

/// A folder with a campaign of four runs.
fn place() -> tempfile::TempDir {
    let place = tempfile::tempdir().unwrap();
    let scenario = "duration = '10us'\n\
        generate = { kind = 'clos', leaves = 2, spines = 1, hosts = 2 }\n\
        [[traffic]]\nkind = 'permutation'\n";
    fs::write(place.path().join("s.toml"), scenario).unwrap();
    let campaign = "scenarios = ['s.toml']\nschemes = ['pfc']\nseeds = 16\n";
    fs::write(place.path().join("CAMPAIGN.toml"), campaign).unwrap();
    place
}

/// `command` in a place, with `knotless` on its path and no shard by the test's own environment.
fn run(mut command: Command, place: &Path, variables: &[(&str, &str)]) -> Output {
    let bin = Path::new(PROGRAM).parent().unwrap().display();
    let path = format!("{bin}:{}", std::env::var("PATH").unwrap_or_default());
    for name in ["SLURM_ARRAY_TASK_ID", "JOB_COMPLETION_INDEX", "KNOTLESS_SHARDS"] {
        command.env_remove(name);
    }
    command.current_dir(place).env("PATH", path).envs(variables.iter().copied()).output().unwrap()
}

fn merged(place: &Path, out: &str) -> bool {
    let mut command = Command::new(PROGRAM);
    command.args(["campaign", "merge", out]);
    run(command, place, &[]).status.success()
}

#[test]
fn tasks_of_the_array_are_the_shards() {
    let place = place();
    let script = packaging("slurm/campaign.sbatch");
    let text = fs::read_to_string(&script).unwrap();
    let range = text.lines().find_map(|line| line.strip_prefix("#SBATCH --array=0-")).unwrap();
    let last: u32 = range.parse().unwrap();
    let count = (last + 1).to_string();
    for task in 0..=last {
        let mut command = Command::new("bash");
        command.arg(&script).args(["CAMPAIGN.toml", "results"]);
        let task = task.to_string();
        let variables = [
            ("SLURM_ARRAY_TASK_ID", &task[..]),
            ("SLURM_ARRAY_TASK_COUNT", &count),
            ("SLURM_ARRAY_TASK_MIN", "0"),
            ("SLURM_ARRAY_TASK_MAX", range),
            ("SLURM_CPUS_PER_TASK", "1"),
        ];
        let output = run(command, place.path(), &variables);
        assert!(output.status.success(), "{output:?}");
    }
    assert!(merged(place.path(), "results"));
}

/// The documents of the template.
fn documents() -> Vec<Value> {
    let text = fs::read_to_string(packaging("kubernetes/campaign.yaml")).unwrap();
    text.split("\n---\n").map(|one| serde_saphyr::from_str(one).unwrap()).collect()
}

#[test]
fn the_job_is_an_indexed_one_as_kubernetes_documents_it() {
    let [job, claim] = &documents()[..] else { panic!("a Job and a claim") };
    assert_eq!((&job["apiVersion"], &job["kind"]), (&json!("batch/v1"), &json!("Job")));
    let spec = &job["spec"];
    let known = [
        "completionMode",
        "completions",
        "parallelism",
        "backoffLimitPerIndex",
        "podFailurePolicy",
        "template",
    ];
    for key in spec.as_object().unwrap().keys() {
        assert!(known.contains(&&key[..]), "{key}");
    }
    assert_eq!(spec["completionMode"], "Indexed");
    let completions = spec["completions"].as_u64().unwrap();
    assert!(spec["parallelism"].as_u64().unwrap() <= completions);
    // Both backoffLimitPerIndex and podFailurePolicy need this.
    let pod = &spec["template"]["spec"];
    assert_eq!(pod["restartPolicy"], "Never");
    assert!(spec["backoffLimitPerIndex"].as_u64().is_some());

    let [container] = &pod["containers"].as_array().unwrap()[..] else { panic!("one container") };
    let shards = json!([{ "name": "KNOTLESS_SHARDS", "value": completions.to_string() }]);
    assert_eq!(container["env"], shards, "as many shards as completions");
    for rule in spec["podFailurePolicy"]["rules"].as_array().unwrap() {
        let action = rule["action"].as_str().unwrap();
        assert!(["FailJob", "FailIndex", "Ignore", "Count"].contains(&action), "{action}");
        let codes = &rule["onExitCodes"];
        if codes.is_null() {
            assert_eq!(rule["onPodConditions"][0]["type"], "DisruptionTarget");
            continue;
        }
        assert_eq!(
            (&codes["containerName"], &codes["operator"]),
            (&container["name"], &json!("In"))
        );
        let expected = if action == "FailJob" { 2 } else { 1 };
        assert_eq!(codes["values"], json!([expected]), "{action}");
    }
    let mounted = &container["volumeMounts"][0];
    assert_eq!(mounted["name"], pod["volumes"][0]["name"]);
    assert_eq!(pod["volumes"][0]["persistentVolumeClaim"]["claimName"], claim["metadata"]["name"]);
    assert_eq!(claim["kind"], "PersistentVolumeClaim");
    assert_eq!(claim["spec"]["accessModes"], json!(["ReadWriteMany"]), "all pods write");
}

#[test]
fn pods_of_the_job_are_the_shards() {
    let place = place();
    let job = &documents()[0];
    let container = &job["spec"]["template"]["spec"]["containers"][0];
    let mount = format!("{}/", container["volumeMounts"][0]["mountPath"].as_str().unwrap());
    let words = container["args"].as_array().unwrap().iter().map(|word| word.as_str().unwrap());
    // The volume is the folder here.
    let words: Vec<String> = words.map(|word| word.replace(&mount, "")).collect();
    let shards = container["env"][0]["value"].as_str().unwrap();
    for index in 0..job["spec"]["completions"].as_u64().unwrap() {
        let mut command = Command::new(PROGRAM);
        command.args(&words);
        let index = index.to_string();
        let variables = [("JOB_COMPLETION_INDEX", &index[..]), ("KNOTLESS_SHARDS", shards)];
        let output = run(command, place.path(), &variables);
        assert!(output.status.success(), "{output:?}");
    }
    assert!(merged(place.path(), "results"));
}
