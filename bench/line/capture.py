#!/usr/bin/env python3
"""What a capture costs the data path, and whether it loses anything.

One switch reads frames from memory (net_pcap, infinite_rx) on one core and runs to the end: 1,024 flows a port. Its
time is cut into windows, five a round: nobody captures (`quiet`), again nobody (`again`), sFlow samples one frame in
1,000 (`sampled`), a capture of one flow by its address (`address`), and of one flow by its UDP port (`port`), which no
compare of a fixed field can tell. Their order changes from round to round. Windows are short, as the speed of a machine
changes from second to second. A ratio compares two windows of one round: `again` to `quiet` is what the machine alone
does to a ratio. The rate is frames for each second that the worker had its core.

Then a capture of more than 100,000 frames a second as they leave: no event may be missed.

With --before PROGRAM, a program without captures: its rate and that of this one without a capture are compared as
`before.py` does.

Prints a table, writes target/bench/capture.json, and exits with 1 if a median is below what it must be, or if an
event was missed. Usage: capture.py [--minutes M] [--before PROGRAM] [--starts N] [--pairs N] [--window S] [--core C]
[--program PROGRAM]
"""

import argparse
import itertools
import json
import os
import pathlib
import re
import signal
import statistics
import subprocess
import sys
import time

import bed
from bed import Bench, Hugepages, ROOT, start_switch, stop
from before import add_options, against, window
from interference import Threads
from rounds import Failed
from scrape import summary

# Ratios to `quiet` that must be reached; of `before`, the new program to the old one.
MUSTS = {"address": 0.95, "port": 0.95, "sampled": None, "before": 0.995}
# Flow 500 of each port.
FILTERS = {"address": "dst host 40.1.244.1 or dst host 20.1.244.1", "port": "udp src port 49652"}
KINDS = ("quiet", "again", "sampled", *FILTERS)
# Nobody listens there: what a collector does is not the question.
SFLOW = """
[sflow]
collectors = ["127.0.0.1"]
agent_id = "127.0.0.1"
sample_rate = 1000
"""
# Sixteen of 2,048 flows: at 35 million frames a second, some 270,000.
MANY = "dst net 40.0.0.0/21 or dst net 20.0.0.0/21"
MANY_LEAST = 100_000


class Capture:
    """A `knotless capture` on the other CPUs, while it is open."""

    def __init__(self, bench: Bench, filter: str, *more: str):
        others = os.sched_getaffinity(0) - {bench.options.core} or os.sched_getaffinity(0)
        command = [bed.KNOTLESS, "capture", "--socket", bench.socket, "--filter", filter, "-w", "/dev/null", *more]
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True,
                                        preexec_fn=lambda: os.sched_setaffinity(0, others))
        if (line := self.process.stderr.readline()) != "knotless: capturing\n":
            raise Failed(f"the capture did not begin: {line}")

    def close(self) -> tuple[int, int]:
        """Events captured, and missed."""
        self.process.send_signal(signal.SIGINT)
        line = self.process.communicate(timeout=60)[1]
        found = re.search(r"(\d+) events captured; (?:none was|(\d+) were)", line)
        if not found:
            raise Failed(f"the capture ended with: {line}")
        return int(found[1]), int(found[2] or 0)


def sampled(bench: Bench, threads: Threads) -> float:
    """The rate while sFlow samples one frame in 1,000."""
    file = bench.folder / "switch.toml"
    text = file.read_text()
    reload = [bed.KNOTLESS, "ctl", "--socket", bench.socket, "reload"]
    file.write_text(text + SFLOW)
    try:
        subprocess.run(reload, check=True, stdout=subprocess.DEVNULL)
        return window(bench, threads)[0]
    finally:
        file.write_text(text)
        subprocess.run(reload, check=True, stdout=subprocess.DEVNULL)


def measure(bench: Bench, threads: Threads, kind: str, events: dict) -> float:
    if kind == "sampled":
        return sampled(bench, threads)
    if kind not in FILTERS:
        return window(bench, threads)[0]
    capture = Capture(bench, FILTERS[kind])
    try:
        return window(bench, threads)[0]
    finally:
        captured, missed = capture.close()
        events[kind] = [events[kind][0] + captured, events[kind][1] + missed]


def orders():
    """The kinds of one round after the other. Each comes first as often as any other, and before each other as often as
    behind it: what a window costs depends on its place in the round.
    """
    for first in itertools.count():
        turned = KINDS[first % len(KINDS):] + KINDS[:first % len(KINDS)]
        yield turned
        yield turned[::-1]


def one_switch(bench: Bench) -> tuple[list[dict], dict, dict]:
    """The rounds, the events by kind, and the capture of many frames."""
    process = start_switch(bench, bench.devices("infinite_rx=1"))
    rounds, events = [], {kind: [0, 0] for kind in FILTERS}
    end = time.monotonic() + bench.options.minutes * 60
    try:
        threads = Threads(process.pid, [("worker-0",)], [bench.options.core])
        for order in orders():
            if time.monotonic() > end and len(rounds) >= 6:
                break
            rounds.append({kind: measure(bench, threads, kind, events) for kind in order})
            print(f"round {len(rounds)}: " + ", ".join(f"{kind} {rounds[-1][kind]:.2f}" for kind in KINDS), flush=True)
        begin, capture = time.monotonic(), Capture(bench, MANY, "--dir", "out")
        time.sleep(5)
        captured, missed = capture.close()
        a_second = round((captured + missed) / (time.monotonic() - begin))
        many = {"frames_a_second": a_second, "events": captured, "missed": missed}
    finally:
        stop(process)
    return rounds, events, many


def judge(medians: dict, many: dict, events: dict) -> list[str]:
    """What is wrong, a line each."""
    wrong = [f"the median of {kind} is {medians[kind]:.4f}, must be {least} or more"
             for kind, least in MUSTS.items() if least and kind in medians and medians[kind] < least]
    missed = many["missed"] + sum(count for _, count in events.values())
    if missed:
        wrong.append(f"{missed} events were missed")
    if many["frames_a_second"] < MANY_LEAST:
        wrong.append(f"{many['frames_a_second']} frames a second were captured, must be {MANY_LEAST} or more")
    return wrong


def run(bench: Bench) -> bool:
    rounds, events, many = one_switch(bench)
    ratios = {kind: [of[kind] / of["quiet"] for of in rounds] for kind in KINDS[1:]}
    if bench.options.before:
        ratios["before"] = against(bench.options, bed.KNOTLESS, bench.options.before.resolve())
    medians = {kind: statistics.median(of) for kind, of in ratios.items()}
    wrong = judge(medians, many, events)
    print(f"\n{'ratio':12}{'median':>9}{'quartiles':>18}{'range':>18}")
    for kind in ratios:
        of = summary(ratios[kind])
        print(f"{kind:12}{of['median']:9.4f}{of['lower_quartile']:10.4f} {of['upper_quartile']:.4f}"
              f"{of['least']:11.4f} {of['most']:.4f}")
    print(f"{many['frames_a_second']} frames a second captured on departure: {many['events']} events, "
          f"{many['missed']} missed")
    for what in wrong:
        print(f"NO   {what}")
    quiet = statistics.median(of["quiet"] for of in rounds)
    body = {"rounds": len(rounds), "quiet_mpps": round(quiet, 3), "musts": MUSTS, "many": many, "events": events,
            "ratios": {kind: summary(of) for kind, of in ratios.items()}, "wrong": wrong, "holds": not wrong}
    out = ROOT / "target" / "bench"
    out.mkdir(parents=True, exist_ok=True)
    (out / "capture.json").write_text(json.dumps(body, indent=2) + "\n")
    return not wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--before", type=pathlib.Path, help="a program without captures")
    add_options(parser)
    options = parser.parse_args()
    bed.KNOTLESS = options.program.resolve()
    bench = Bench(argparse.Namespace(**vars(options), frames="64"))
    try:
        with Hugepages():
            is_well = run(bench)
    except Failed as why:
        sys.exit(f"capture: {why}")
    finally:
        bench.close()
    sys.exit(0 if is_well else 1)


if __name__ == "__main__":
    main()
