#!/usr/bin/env python3
"""A long run at full rate, everything on: nothing may grow, and every frame and buffer must come back.

Usage: soak.py [--minutes M] [--core C]. Exits 1 and says why if memory grew, the books do not balance, a
lossless frame was dropped or a buffer is missing at the end.
"""

import argparse
import os
import pathlib
import re
import sys
import time

from bed import Bench, ctl, sent_frames, start_switch, stop
from rounds import Failed

# The first minute fills what is filled on first use: histograms, caches, the allocator's arenas.
WARM_UP_SECONDS = 60
LOOK_EVERY_SECONDS = 10
GROWTH_MAX_KB = 64


def resident_kb(pid: int) -> int:
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    return int(re.search(r"VmRSS:\s+(\d+)", status).group(1))


def watch(process, bench: Bench, seconds: float) -> tuple[list[int], int, float]:
    """Memory as it was over time; frames and seconds of the whole."""
    start, memory_kb = time.monotonic(), []
    while (gone := time.monotonic() - start) < seconds:
        time.sleep(min(LOOK_EVERY_SECONDS, seconds - gone + 0.01))
        gone, sent = time.monotonic() - start, sent_frames(ctl(bench))
        memory_kb.append((gone, resident_kb(process.pid)))
        print(f"\r{gone / 60:6.1f} of {seconds / 60:.0f} min  {sent:>16,} frames  "
              f"{memory_kb[-1][1]:,} kB resident", end="", flush=True)
    print()
    return memory_kb, sent, gone


def judge(log: str, memory_kb: list, code: int) -> list[str]:
    """What is wrong, a line each."""
    wrong = [] if code == 0 else [f"the switch ended with {code}"]
    for promise in ("lossless drops: 0", "imbalance 0"):
        if promise not in log:
            wrong.append(f"`{promise}` is not in the switch's last words")
    if not re.search(r"all [\d,]+ buffers are back", log):
        wrong.append("not every buffer came back")
    warm_up = min(WARM_UP_SECONDS, memory_kb[-1][0] / 2)
    settled = [kb for at, kb in memory_kb if at >= warm_up]
    if max(settled) - settled[0] > GROWTH_MAX_KB:
        wrong.append(f"memory grew from {settled[0]} kB to {max(settled)} kB")
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--core", type=int, default=max(os.sched_getaffinity(0)))
    parser.set_defaults(frames="64")
    options = parser.parse_args()
    bench = Bench(options)
    try:
        process = start_switch(bench, bench.devices("infinite_rx=1"))
        try:
            memory_kb, sent, seconds = watch(process, bench, options.minutes * 60)
        finally:
            stop(process)
        log = (bench.folder / "knotless.log").read_text()
        wrong = judge(log, memory_kb, process.returncode)
    except Failed as why:
        sys.exit(f"soak: {why}")
    finally:
        bench.close()
    print(f"{sent:,} frames in {seconds / 60:.1f} min, {sent / seconds / 1e6:.1f} Mpps; resident "
          f"{memory_kb[0][1]:,} kB after {memory_kb[0][0]:.0f} s, {memory_kb[-1][1]:,} kB at the end")
    print("\n".join(line for line in log.splitlines() if "buffers" in line or "drops" in line or "imbalance" in line))
    for line in wrong:
        print(f"soak: {line}", file=sys.stderr)
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
