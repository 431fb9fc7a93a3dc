#!/usr/bin/env python3
"""The emulator beside csg-htsim: the same RoCE flows in the same fat tree, which both read from the same
files.

htsim is not packaged: build its sources, and say where `htsim_roce` is. A permutation of 128 hosts at
40 Gb/s, a message from each, lossless switches. htsim's RoCE sends at line rate under PFC; here the flows do
the same, and once more with DCQCN. Rounds alternate. Both must deliver each message whole. Compared is the
processor time of the whole process.

Writes target/bench/htsim.json. Exits with 1 if a message is not delivered, with 2 without an htsim. Usage:
htsim.py HTSIM_ROCE [--rounds N] [--bytes N] [--seed N]
"""

import argparse
import json
import pathlib
import random
import re
import resource
import statistics
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scripts"))
from common import door, show  # noqa: E402

HOSTS = 128
MTU_BYTES = 1024
# A fat tree of switches with eight ports.
TOPOLOGY = """Nodes 128
Tiers 3
Podsize 16

Tier 0
Downlink_speed_Gbps 40
Radix_Down 4
Radix_Up 4
Downlink_Latency_ns 150

Tier 1
Downlink_speed_Gbps 40
Radix_Down 4
Radix_Up 4
Downlink_Latency_ns 150

Tier 2
Downlink_speed_Gbps 40
Radix_Down 8
Downlink_Latency_ns 150
"""
MARKS = "[switches]\necn = { kmin = '5KB', kmax = '200KB', pmax = 0.01 }\n"
KINDS = ["htsim", "none", "dcqcn"]


def permutation(seed: int, size_bytes: int) -> str:
    """Each host sends to another one, and no host receives from two."""
    to = list(range(HOSTS))
    while any(host == other for host, other in enumerate(to)):
        random.Random(seed).shuffle(to)
        seed += 1
    flows = [f"{host}->{other} id {host + 1} start 0 size {size_bytes}" for host, other in enumerate(to)]
    return "\n".join([f"Nodes {HOSTS}", f"Connections {HOSTS}", *flows]) + "\n"


def timed(command: list, **more) -> tuple[float, str]:
    """Processor seconds of a process, and what it wrote."""
    def used() -> float:
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        return usage.ru_utime + usage.ru_stime
    before = used()
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False, **more)
    if done.returncode != 0:
        raise SystemExit(f"{command[0]}: {(done.stderr or done.stdout).strip()[-300:]}")
    return used() - before, done.stdout


def theirs(binary, folder) -> tuple[float, int, float]:
    """Processor seconds, messages delivered, and when the last one was, us."""
    seconds, text = timed([
        binary, "-topo", "net.topo", "-tm", "flows.cm", "-nodes", HOSTS, "-linkspeed", 40000, "-mtu", MTU_BYTES,
        "-end", 1000000, "-q", 1000, "-strat", "ecmp_host", "-paths", 64, "-queue_type", "lossless_input",
        "-o", "htsim.out"], cwd=folder)
    ends = [float(end) for end in re.findall(r"finished at ([\d.]+)", text)]
    return seconds, len(ends), max(ends, default=0.0)


def ours(folder, kind: str) -> tuple[float, int, float]:
    seconds, text = timed([door.KNOTLESS, "simulate", folder / f"{kind}.toml", "--json"])
    ends = [flow["finished_us"] for flow in json.loads(text)["flows"] if flow["finished_us"] is not None]
    return seconds, len(ends), max(ends, default=0.0)


def prepare(folder, options):
    (folder / "net.topo").write_text(TOPOLOGY)
    (folder / "flows.cm").write_text(permutation(options.seed, options.bytes))
    for kind in KINDS[1:]:
        file = folder / f"{kind}.toml"
        timed([door.KNOTLESS, "import", "htsim", folder / "net.topo", folder / "flows.cm", "--congestion", kind,
               "--after", 1000000, "--out", file])
        text = file.read_text()
        assert "[switches]\n" in text
        file.write_text(text.replace("[switches]\n", MARKS) + "[routing]\nkind = 'ecmp'\n")


def main() -> int:
    parser = argparse.ArgumentParser(prog="htsim", description=__doc__.splitlines()[0])
    parser.add_argument("htsim", type=pathlib.Path, help="htsim_roce, as its Makefile builds it")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--bytes", type=int, default=8_000_000, help="of each message")
    parser.add_argument("--seed", type=int, default=1, help="of the permutation")
    options = parser.parse_args()
    if not options.htsim.exists():
        print(f"htsim: there is no {options.htsim}; build htsim and say where htsim_roce is", file=sys.stderr)
        return 2
    if not door.KNOTLESS.exists():
        print(f"htsim: there is no {door.KNOTLESS}; `make build` builds it", file=sys.stderr)
        return 2
    rounds = {kind: [] for kind in KINDS}
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        prepare(folder, options)
        for number in range(options.rounds):
            for kind in KINDS:
                done = theirs(options.htsim.resolve(), folder) if kind == "htsim" else ours(folder, kind)
                rounds[kind].append(done)
                print(f"  round {number + 1}: {kind:6} {done[0]:6.2f} s, {done[1]} messages, "
                      f"the last at {done[2]:.0f} us", flush=True)
    ratios = {kind: [theirs[0] / own[0] for theirs, own in zip(rounds["htsim"], rounds[kind])] for kind in KINDS}
    rows = [[kind, f"{statistics.median(it[0] for it in rounds[kind]):.2f}",
             f"{statistics.median(ratios[kind]):.2f}", f"{min(ratios[kind]):.2f} to {max(ratios[kind]):.2f}",
             f"{statistics.median(it[2] for it in rounds[kind]):.0f}"] for kind in KINDS]
    show.heading(f"{HOSTS} hosts, {options.bytes / 1e6:g} MB from each, medians of {options.rounds}")
    print(show.table(["congestion control", "processor s", "times as fast", "range", "last message at us"], rows))
    complete = all(count == HOSTS for of_kind in rounds.values() for _, count, _ in of_kind)
    show.result(complete, "each message was delivered in each round")
    file = door.TARGET / "bench" / "htsim.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps({"rounds": rounds, "ratios": ratios}, indent=1) + "\n")
    return 0 if complete else 1


if __name__ == "__main__":
    sys.exit(main())
