#!/usr/bin/env python3
"""Tagger, Fig. 15: throughput and latency of the switch with 0 to 4,096 rules, through its devices.

The switch reads frames from memory (net_pcap, infinite_rx) on one core at full load. Of the rules the last one
matches, so a switch that looks at them one after the other looks at all of them. In each round every number of
rules is measured once, one after the other, so a machine that slows down slows all of them; a ratio is the
median of the rounds' ratios to one rule. Throughput is by the time that the polling thread had its core.
Latency is from a frame's arrival to its hand-over to the device, by the switch's own histogram.
Before anything is timed, the switch with the most rules forwards the frames once into files, and each one is
compared with what an independent computation says it must be.

Writes target/bench/rule-count.json. Exits with 1 if a ratio is not flat (`judge`), or a frame is wrong. Usage:
rule_count.py [--rounds N] [--seconds S] [--core C]
"""

import argparse
import json
import os
import statistics
import sys

from bed import Bench, Hugepages, ROOT
from line import check_switch, measure_switch
from rounds import Failed

COUNTS = (0, 1, 4, 16, 64, 256, 1_024, 4_096)
# What a ratio to one rule may be at the most, either way, if the rounds agree with each other better.
FLAT = 0.05
# By key: what is measured.
MEASURES = {"mpps": "Mpps", "p50_ns": "latency, median, ns", "p99_ns": "latency, 99 %, ns"}
# The tail of the latency is what else ran on the core; it is shown.
JUDGED = ("mpps", "p50_ns")


def measure(bench: Bench, count: int) -> dict[str, float]:
    bench.set_rules(count)
    figure, stats = measure_switch(bench, bench.devices("infinite_rx=1"), [bench.options.core])
    latency = stats["latency_ns"]
    return {"mpps": figure.mpps, "p50_ns": latency["p50"], "p99_ns": latency["p99"]}


def ratios(rounds: list[dict[int, dict[str, float]]], key: str, count: int) -> list[float]:
    """Of each round: what `count` rules gave to what one rule gave."""
    return [of[count][key] / of[1][key] for of in rounds]


def spread(values: list[float]) -> float:
    """What rounds of one thing differ by: their standard deviation."""
    return statistics.stdev(values)


def judge(rounds: list[dict[int, dict[str, float]]]) -> list[str]:
    """What is not flat: a ratio farther from 1 than FLAT, and than the spread of its rounds, which may
    excuse a quarter at the most. One rule and more are compared: without rules no frame is rewritten."""
    wrong = []
    for key in JUDGED:
        for count in COUNTS[2:]:
            of = ratios(rounds, key, count)
            limit = min(max(FLAT, spread(of)), 0.25)
            ratio = statistics.median(of)
            if abs(ratio - 1) > limit:
                wrong.append(f"{MEASURES[key]}: {count} rules {ratio:.3f} of one rule, limit {limit:.3f}")
    return wrong


def report(rounds: list[dict[int, dict[str, float]]], wrong: list[str]):
    print(f"\n{'rules':>6}" + "".join(f"{name:>22}{'to 1':>8}" for name in MEASURES.values()))
    rows = []
    for count in COUNTS:
        row = {"rules": count}
        line = f"{count:6}"
        for key in MEASURES:
            row[key] = round(statistics.median(of[count][key] for of in rounds), 3)
            row[f"{key}_ratio"] = round(statistics.median(ratios(rounds, key, count)), 4)
            row[f"{key}_spread"] = round(spread(ratios(rounds, key, count)), 4)
            line += f"{row[key]:22.2f}{row[f'{key}_ratio']:8.3f}"
        rows.append(row)
        print(line)
    for what in wrong:
        print(f"NOT FLAT  {what}")
    out = ROOT / "target" / "bench"
    out.mkdir(parents=True, exist_ok=True)
    body = {"rows": rows, "rounds": len(rounds), "wrong": wrong, "holds": not wrong}
    (out / "rule-count.json").write_text(json.dumps(body, indent=2) + "\n")


def run(bench: Bench) -> bool:
    bench.set_rules(COUNTS[-1])
    check_switch(bench)
    rounds = []
    for number in range(1, bench.options.rounds + 1):
        rounds.append({count: measure(bench, count) for count in COUNTS})
        mpps = ", ".join(f"{of['mpps']:.1f}" for of in rounds[-1].values())
        print(f"round {number}: {mpps} Mpps", flush=True)
    wrong = judge(rounds)
    report(rounds, wrong)
    return not wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=2)
    parser.add_argument("--core", type=int, default=max(os.sched_getaffinity(0)))
    options = parser.parse_args()
    if options.rounds < 3:
        parser.error("fewer than 3 rounds have no spread")
    bench = Bench(argparse.Namespace(**vars(options), frames="64"))
    try:
        with Hugepages():
            is_well = run(bench)
    except Failed as why:
        sys.exit(f"rule_count: {why}")
    finally:
        bench.close()
    sys.exit(0 if is_well else 1)


if __name__ == "__main__":
    main()
