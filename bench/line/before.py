#!/usr/bin/env python3
"""This version of the switch beside another one, and how much faster it forwards.

Both read the same frames from memory (net_pcap, infinite_rx) on the same core, and are stopped and continued in turn:
the speed of a machine changes from second to second, so a ratio compares two windows that follow each other. After each
start a program's memory lies elsewhere, which alone changes its rate by one to three per cent. So both are started anew
again and again, each first as often as the other; the result is the median of the starts' medians. A program beside
itself (`before.py target/release/knotless`) shows what is left of that.

Prints a ratio for each start, writes target/bench/before.json, and exits with 1 if the median is below 0.98. Usage:
before.py PROGRAM [--kind KIND] [--starts N] [--pairs N] [--window S] [--core C] [--program PROGRAM]
"""

import argparse
import json
import os
import pathlib
import signal
import statistics
import subprocess
import sys
import time

import bed
import frames
from bed import CONGESTED_XOFF, Bench, Hugepages, ROOT, ctl, sent_frames, start_switch, stop
from interference import Threads
from rounds import Failed
from scrape import summary

# The least ratio of this program's rate to the other one's.
LEAST = 0.98


def window(bench: Bench, threads: Threads) -> tuple[float, float]:
    """Millions of frames a second of its core, and the seconds of the window."""
    time.sleep(0.2)
    first, begin, before = ctl(bench), time.monotonic(), threads.counts()
    time.sleep(bench.options.window)
    last, end, meanwhile = ctl(bench), time.monotonic(), threads.since(before)
    return (sent_frames(last) - sent_frames(first)) / 1e6 / meanwhile.on_core_s, end - begin


def start_kind(bench: Bench, kind: str) -> subprocess.Popen:
    """Starts a switch that forwards frames of this kind without end."""
    if kind == "congested":
        return start_switch(bench, bench.devices("infinite_rx=1", pcaps=bench.congested), xoff=CONGESTED_XOFF)
    pcaps = None
    if kind != "ipv4":
        bench.set_kind(kind)
        pcaps = bench.of_kind(kind)
    return start_switch(bench, bench.devices("infinite_rx=1", pcaps=pcaps))


class Turns:
    """A switch that runs only while it is measured, so that another one can have the same core."""

    def __init__(self, options, program: pathlib.Path, kind: str):
        self.program = bed.KNOTLESS = program
        self.bench = Bench(argparse.Namespace(core=options.core, window=options.window, frames="64"))
        self.process = start_kind(self.bench, kind)
        self.threads = Threads(self.process.pid, [("worker-0",)], [options.core])
        self.process.send_signal(signal.SIGSTOP)

    def rate(self) -> float:
        bed.KNOTLESS = self.program
        self.process.send_signal(signal.SIGCONT)
        try:
            return window(self.bench, self.threads)[0]
        finally:
            self.process.send_signal(signal.SIGSTOP)

    def close(self):
        self.process.send_signal(signal.SIGCONT)
        stop(self.process)
        self.bench.close()


def one_start(options, programs: list[pathlib.Path], kind: str) -> float:
    """Starts both programs, in this order. The median ratio of the first one's rate to the second one's."""
    ratios, pair = [], []
    try:
        for program in programs:
            pair.append(Turns(options, program, kind))
        for number in range(options.pairs):
            order = pair if number % 2 else pair[::-1]
            rates = {id(turns): turns.rate() for turns in order}
            ratios.append(rates[id(pair[0])] / rates[id(pair[1])])
    finally:
        for turns in pair:
            turns.close()
    return statistics.median(ratios)


def against(options, ours: pathlib.Path, other: pathlib.Path, kind: str = "ipv4") -> list[float]:
    """By start: the rate of `ours` to that of `other`, with frames of this kind."""
    kept, ratios = bed.KNOTLESS, []
    try:
        for number in range(options.starts):
            is_first = number % 2 == 0
            ratio = one_start(options, [ours, other] if is_first else [other, ours], kind)
            ratios.append(ratio if is_first else 1 / ratio)
            print(f"start {number + 1}: {ratios[-1]:.4f}, median so far {statistics.median(ratios):.4f}", flush=True)
    finally:
        bed.KNOTLESS = kept
    return ratios


def add_options(parser: argparse.ArgumentParser):
    parser.add_argument("--starts", type=int, default=14, help="how often both programs are started")
    parser.add_argument("--pairs", type=int, default=10, help="pairs of windows of a start")
    parser.add_argument("--window", type=float, default=0.3, help="seconds of a window")
    parser.add_argument("--core", type=int, default=max(os.sched_getaffinity(0)))
    parser.add_argument("--program", type=pathlib.Path, default=bed.KNOTLESS)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("other", type=pathlib.Path, help="the other version's program")
    parser.add_argument("--kind", choices=["ipv4", *frames.KINDS, "congested"], default="ipv4", help="of the frames")
    add_options(parser)
    options = parser.parse_args()
    try:
        with Hugepages():
            ratios = against(options, options.program.resolve(), options.other.resolve(), options.kind)
    except Failed as why:
        sys.exit(f"before: {why}")
    found = summary(ratios)
    is_well = found["median"] >= LEAST
    print(f"\n{len(ratios)} starts of {options.pairs} pairs: median {found['median']:.4f} (quartiles "
          f"{found['lower_quartile']:.4f} to {found['upper_quartile']:.4f}, range {found['least']:.4f} to "
          f"{found['most']:.4f}), must be {LEAST} or more")
    out = ROOT / "target" / "bench"
    out.mkdir(parents=True, exist_ok=True)
    body = {"kind": options.kind, "starts": ratios, "ratio": found, "least": LEAST, "holds": is_well}
    (out / "before.json").write_text(json.dumps(body, indent=2) + "\n")
    sys.exit(0 if is_well else 1)


if __name__ == "__main__":
    main()
