"""A campaign of a thousand runs as a Slurm array on this machine, killed in the middle and resumed.

Starts a Slurm of one node in a temporary folder, submits packaging/slurm/campaign.sbatch, kills a
task with SIGKILL, cancels the array, submits one task again and then all of them, and compares the
summary with that of one process, byte for byte. Ends with status 0 if no run is missing or double
and the summaries are the same, 1 if not, 2 if it cannot run here. Leaves no process and no file.

Usage: python3 scripts/campaign_slurm [--runs N] [--shards N] [--keep DIR]. KNOTLESS names another
program than target/release's.
"""

import argparse
import collections
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from cluster import Cluster, Failed, wait_for  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "packaging" / "slurm" / "campaign.sbatch"
SUMMARY = ("summary.json", "summary.csv", "summary.html")
# 2 schemes and 5 values, each with a tenth of the runs as seeds.
CAMPAIGN = """\
scenarios = ["torn-clos.toml"]
schemes = ["pfc", "tagger"]
seeds = {seeds}
[[parameter]]
key = "routing.failed_share"
values = [0.0, 0.1, 0.2, 0.3, 0.4]
[[parameter]]
key = "duration"
values = ["{duration}"]
"""
GROUPS = 10
PATIENCE_S = 600


def numbers(folder):
    """The runs whose lines are whole, by how often they are there."""
    found = collections.Counter()
    for file in folder.glob("runs-*.jsonl"):
        for line in file.read_bytes().splitlines(keepends=True):
            if line.endswith(b"\n"):
                found[json.loads(line)["run"]] += 1
    return found


def processes(folder):
    """Processes of this user that have the folder's name in their command lines."""
    found = {}
    for entry in pathlib.Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            try:
                words = (entry / "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            if any(os.fsencode(folder) in word for word in words):
                found[int(entry.name)] = words
    return found


class Trial:
    """The campaign in a folder, and how its parts are run."""

    def __init__(self, folder, program, arguments):
        self.folder, self.program = folder, program
        self.runs, self.shards = arguments.runs, arguments.shards
        shutil.copy(ROOT / "config/examples/campaigns/torn-clos.toml", folder)
        text = CAMPAIGN.format(seeds=arguments.runs // GROUPS, duration=arguments.duration)
        (folder / "campaign.toml").write_text(text)
        self.one, self.many = folder / "one", folder / "many"
        self.failures = 0

    def campaign(self, *words):
        """Runs `knotless campaign` outside Slurm."""
        environment = {name: value for name, value in os.environ.items() if not name.startswith("SLURM_")}
        command = [self.program, "campaign", *map(str, words)]
        return subprocess.run(command, env=environment, cwd=self.folder, capture_output=True, text=True)

    def submit(self, cluster, array, **variables):
        """Submits tasks of the array; the job's number."""
        export = ",".join(["ALL", *(f"{name}={value}" for name, value in variables.items())])
        words = ["sbatch", "--parsable", f"--array={array}", f"--export={export}", f"--chdir={self.folder}"]
        done = cluster.run(*words, SCRIPT, "campaign.toml", self.many)
        if done.returncode != 0:
            raise Failed(f"sbatch: {done.stderr.strip()}")
        print(f"  sbatch --array={array} {' '.join(f'{k}={v}' for k, v in variables.items())}", flush=True)
        return done.stdout.strip()

    def check(self, what, holds):
        """Says whether something holds."""
        print(f"  {'yes' if holds else 'NO '}  {what}", flush=True)
        self.failures += not holds

    def done(self):
        """Runs that are there."""
        return sum(numbers(self.many).values())

    def wait_for_runs(self, count):
        """Waits until so many runs are there."""
        wait_for(f"{count} runs", lambda: self.done() >= count, PATIENCE_S)

    def finish(self, cluster, job):
        """Waits until no task of a job is left."""
        wait_for("the job's end", lambda: cluster.tasks(job) == 0, PATIENCE_S)

    def run(self, cluster):
        """The whole trial."""
        begun = time.monotonic()
        alone = self.campaign("campaign.toml", "--out", self.one)
        if alone.returncode != 0:
            raise Failed(f"one process: {alone.stderr.strip() or alone.stdout.strip()}")
        print(f"one process: {self.runs} runs in {time.monotonic() - begun:.1f} s", flush=True)

        begun = time.monotonic()
        every = f"0-{self.shards - 1}"
        print(f"Slurm array of {self.shards} shards on {cluster.cpus} CPUs", flush=True)
        job = self.submit(cluster, every)
        self.wait_for_runs(self.runs // 10)
        task = self.kill_a_task()
        print(f"  kill -9 {task} at {self.done()} runs", flush=True)
        self.wait_for_runs(self.runs * 3 // 10)
        cluster.run("scancel", job)
        self.finish(cluster, job)
        left = self.done()
        print(f"  scancel {job}: {left} runs are there", flush=True)
        self.check("it was killed in the middle", 0 < left < self.runs)
        merged = self.campaign("merge", self.many)
        missing = f"missing: {self.runs - left}: "
        self.check("merging names the missing runs, status 1", merged.returncode == 1 and missing in merged.stdout)

        last = self.shards - 1
        self.finish(cluster, self.submit(cluster, last, KNOTLESS_SHARDS=self.shards))
        own = {number for number in range(self.runs) if number % self.shards == last}
        self.check(f"task {last} alone ran shard {last + 1}/{self.shards}", own <= set(numbers(self.many)))
        self.finish(cluster, self.submit(cluster, every))
        print(f"  the array, killed and resumed: {time.monotonic() - begun:.1f} s", flush=True)
        self.verdict()

    def kill_a_task(self):
        """Kills one of the array's processes of knotless."""
        def find():
            found = processes(self.many)
            return next((pid for pid, words in found.items() if words[0].endswith(b"knotless")), None)
        task = wait_for("a task", find, PATIENCE_S)
        os.kill(task, signal.SIGKILL)
        return task

    def verdict(self):
        """What must hold in the end."""
        merged = self.campaign("merge", self.many)
        print(f"  {merged.stdout.strip().splitlines()[-1]}")
        found = numbers(self.many)
        self.check("no run is missing", set(found) == set(range(self.runs)))
        self.check("no run is double", set(found.values()) == {1})
        self.check("merging ends with status 0", merged.returncode == 0)
        for name in SUMMARY:
            same = (self.one / name).read_bytes() == (self.many / name).read_bytes()
            self.check(f"{name} is that of one process, byte for byte", same)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--shards", type=int, default=8)
    parser.add_argument("--duration", default="200us", help="of each simulation")
    parser.add_argument("--keep", type=pathlib.Path, help="copy the folder here in the end")
    arguments = parser.parse_args()
    program = os.path.abspath(os.environ.get("KNOTLESS", ROOT / "target/release/knotless"))
    if arguments.runs % GROUPS or arguments.runs <= 0:
        raise Failed(f"--runs is a multiple of {GROUPS}")
    if os.geteuid() != 0:
        raise Failed("only root can start slurmd")
    # Tasks find the program as users' do.
    os.environ["PATH"] = f"{os.path.dirname(program)}:{os.environ['PATH']}"
    with tempfile.TemporaryDirectory(prefix="knotless-campaign-") as name:
        folder = pathlib.Path(name)
        folder.chmod(0o755)
        trial = Trial(folder, program, arguments)
        try:
            (folder / "slurm").mkdir()
            with Cluster(folder / "slurm", len(os.sched_getaffinity(0))) as cluster:
                trial.run(cluster)
        finally:
            if arguments.keep:
                shutil.copytree(folder, arguments.keep, dirs_exist_ok=True,
                                ignore=lambda *_: ["munge"], copy_function=shutil.copyfile)
        trial.check("no process is left", not processes(folder))
    return 1 if trial.failures else 0


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        sys.exit(main())
    except Failed as error:
        print(f"campaign_slurm: {error}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        sys.exit(130)
