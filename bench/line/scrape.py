#!/usr/bin/env python3
"""What reading the metrics by HTTP costs the data path: a switch at full rate, read a hundred times a second.

One switch reads frames from memory (net_pcap, infinite_rx) on one core and runs to the end. Its time is cut
into windows, three a round: without a reader (`quiet`), without a reader again (`again`), and with one
(`scraped`). Their order changes from round to round, so that a machine that slows down slows all of them
alike. A ratio compares two windows of one round: `again` to `quiet` is what the machine alone does to a
ratio, `scraped` to `quiet` is what the reader adds. The reader is a process of its own, on the other CPUs if
there are any; what it takes from the worker's core by sharing it is part of the figure.

Two rates are compared: frames a second, and frames for each second that the worker had its core. The must is on
the second: on a machine with other work the first one is mostly that work.

Prints a table, writes target/bench/scrape.json, and exits with 1 if the median of scraped to quiet is below
LEAST, if fewer pages were read than due, or if the frame balance is not 0. Lossless drops are shown: a file obeys
no pause, so a worker that is off its core for some milliseconds drops with or without a reader. Usage:
scrape.py [--minutes M] [--window S] [--hz N] [--core C]
"""

import argparse
import dataclasses
import itertools
import json
import multiprocessing
import os
import re
import socket
import statistics
import sys
import time

from bed import Bench, Hugepages, ROOT, ctl, sent_frames, start_switch, stop
from interference import Threads
from line import lossless_drops
from rounds import Failed

LEAST = 0.98
# The share of the pages that must have been read in time.
PAGES_LEAST = 0.95
KINDS = ("quiet", "again", "scraped")
RATES = {"had": "by the time that the worker had its core", "wall": "by the clock"}
REQUEST = (b"GET /metrics HTTP/1.1\r\nHost: bench\r\n"
           b"Accept: application/openmetrics-text;version=1.0.0\r\n\r\n")


@dataclasses.dataclass(frozen=True)
class Window:
    """Millions of frames a second, by each of RATES; the share of its core that the worker did not get; pages that
    were read, and lossless frames dropped."""

    had: float
    wall: float
    lost: float
    pages: int = 0
    drops: int = 0


class Page:
    """A connection that is kept, as Prometheus keeps one, and opened again when the switch has closed it."""

    def __init__(self, path: str):
        self.path, self.stream = path, None

    def read(self) -> int:
        """Reads the page; returns its length in bytes."""
        try:
            return self.ask()
        except OSError:
            self.stream = None
            return self.ask()

    def ask(self) -> int:
        if self.stream is None:
            self.stream = socket.socket(socket.AF_UNIX)
            self.stream.settimeout(10)
            self.stream.connect(self.path)
        self.stream.sendall(REQUEST)
        octets = b""
        while b"\r\n\r\n" not in octets:
            octets += self.more()
        head, body = octets.split(b"\r\n\r\n", 1)
        if not head.startswith(b"HTTP/1.1 200 "):
            raise Failed(f"the switch answered {head[:80]!r}")
        due = int(re.search(rb"(?i)content-length: (\d+)", head).group(1))
        while len(body) < due:
            body += self.more()
        if not body.endswith(b"# EOF\n"):
            raise Failed("a page is not complete")
        return due

    def more(self) -> bytes:
        octets = self.stream.recv(1 << 16)
        if not octets:
            raise ConnectionResetError("the switch has closed the connection")
        return octets


def reader(path: str, hz: float, core: int, reads, pages):
    """Reads the page `hz` times a second while `reads` is set; counts in `pages`."""
    if others := os.sched_getaffinity(0) - {core}:
        os.sched_setaffinity(0, others)
    page = Page(path)
    while True:
        reads.wait()
        due = time.monotonic()
        while reads.is_set():
            page.read()
            pages.value += 1
            due = max(due + 1 / hz, time.monotonic() - 1)
            time.sleep(max(0, due - time.monotonic()))


def measure(bench: Bench, threads: Threads, kind: str, reads, pages) -> Window:
    if kind == "scraped":
        reads.set()
    time.sleep(0.2)
    first, begin, before, page = ctl(bench), time.monotonic(), threads.counts(), pages.value
    time.sleep(bench.options.window)
    last, end, meanwhile, read = ctl(bench), time.monotonic(), threads.since(before), pages.value
    reads.clear()
    frames = (sent_frames(last) - sent_frames(first)) / 1e6
    drops = lossless_drops(last) - lossless_drops(first)
    return Window(frames / meanwhile.on_core_s, frames / (end - begin), meanwhile.lost, read - page, drops)


def ratios(rounds: list[dict[str, Window]], kind: str, rate: str) -> list[float]:
    """Of each round: what the window of this kind had, to what the quiet one had."""
    return [getattr(of[kind], rate) / getattr(of["quiet"], rate) for of in rounds]


def summary(values: list[float]) -> dict[str, float]:
    quartiles = statistics.quantiles(values, n=4)
    numbers = {"median": statistics.median(values), "lower_quartile": quartiles[0], "upper_quartile": quartiles[2],
               "least": min(values), "most": max(values)}
    return {name: round(number, 4) for name, number in numbers.items()}


def judge(rounds: list[dict[str, Window]], pages_due: float, log: str) -> list[str]:
    """What is wrong, a line each."""
    wrong = []
    ratio = statistics.median(ratios(rounds, "scraped", "had"))
    if ratio < LEAST:
        wrong.append(f"the median of scraped to quiet is {ratio:.4f}, must be {LEAST} or more")
    pages = sum(of["scraped"].pages for of in rounds)
    if pages < PAGES_LEAST * pages_due:
        wrong.append(f"{pages} pages were read, {pages_due:.0f} were due")
    if "imbalance 0" not in log:
        wrong.append("the frame balance of the switch is not 0")
    return wrong


def report(rounds: list[dict[str, Window]], wrong: list[str], bytes_of_page: int, options):
    body = {"rounds": len(rounds), "window_s": options.window, "hz": options.hz, "least": LEAST,
            "page_bytes": bytes_of_page, "pages": sum(of["scraped"].pages for of in rounds),
            "mpps": {}, "ratios": {}, "wrong": wrong, "holds": not wrong}
    print(f"\n{'ratio to quiet':24}{'median':>9}{'quartiles':>18}{'range':>18}")
    for rate, words in RATES.items():
        body["mpps"][rate] = {kind: round(statistics.median(getattr(of[kind], rate) for of in rounds), 3)
                              for kind in KINDS}
        body["ratios"][rate] = {}
        print(words)
        for kind in KINDS[1:]:
            of = body["ratios"][rate][kind] = summary(ratios(rounds, kind, rate))
            print(f"  {kind:22}{of['median']:9.4f}{of['lower_quartile']:10.4f} {of['upper_quartile']:.4f}"
                  f"{of['least']:11.4f} {of['most']:.4f}")
    lost = {kind: statistics.median(of[kind].lost for of in rounds) for kind in KINDS}
    body["off_core"] = {kind: round(share, 4) for kind, share in lost.items()}
    print("the worker was off its core: " + ", ".join(f"{kind} {share:.1%}" for kind, share in lost.items()))
    body["lossless_drops"] = {kind: sum(of[kind].drops for of in rounds) for kind in KINDS}
    print("lossless frames dropped: " + ", ".join(f"{kind} {n}" for kind, n in body["lossless_drops"].items()))
    print(f"{body['pages']} pages of {bytes_of_page} bytes in {len(rounds)} rounds; quiet "
          f"{body['mpps']['had']['quiet']} Mpps, scraped {body['mpps']['had']['scraped']} Mpps")
    for what in wrong:
        print(f"NO   {what}")
    out = ROOT / "target" / "bench"
    out.mkdir(parents=True, exist_ok=True)
    (out / "scrape.json").write_text(json.dumps(body, indent=2) + "\n")


def run(bench: Bench, metrics: str) -> bool:
    options = bench.options
    process = start_switch(bench, bench.devices("infinite_rx=1"), more=f'[metrics]\nlisten = "unix:{metrics}"\n')
    reads, pages = multiprocessing.Event(), multiprocessing.Value("Q", 0)
    child = multiprocessing.Process(target=reader, args=(metrics, options.hz, options.core, reads, pages), daemon=True)
    rounds, end = [], time.monotonic() + options.minutes * 60
    try:
        bytes_of_page = Page(metrics).read()
        child.start()
        threads = Threads(process.pid, [("worker-0",)], [options.core])
        for order in itertools.cycle(itertools.permutations(KINDS)):
            if time.monotonic() > end and len(rounds) >= 6:
                break
            rounds.append({kind: measure(bench, threads, kind, reads, pages) for kind in order})
            shown = ", ".join(f"{kind} {rounds[-1][kind].had:.2f}" for kind in KINDS)
            print(f"round {len(rounds)}: {shown} Mpps", flush=True)
            if not child.is_alive():
                raise Failed("the reader has ended")
    finally:
        child.kill()
        stop(process)
    log = (bench.folder / "knotless.log").read_text()
    wrong = judge(rounds, len(rounds) * options.window * options.hz, log)
    report(rounds, wrong, bytes_of_page, options)
    return not wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--window", type=float, default=3, help="seconds of a window")
    parser.add_argument("--hz", type=float, default=100)
    parser.add_argument("--core", type=int, default=max(os.sched_getaffinity(0)))
    options = parser.parse_args()
    bench = Bench(argparse.Namespace(**vars(options), frames="64"))
    try:
        with Hugepages():
            is_well = run(bench, str(bench.folder / "line.metrics"))
    except Failed as why:
        sys.exit(f"scrape: {why}")
    finally:
        bench.close()
    sys.exit(0 if is_well else 1)


if __name__ == "__main__":
    main()
