#!/usr/bin/env python3
"""Line rate of one worker beside testpmd and OVS-DPDK, on the same ports, core and frames, in turn, in one
run; and of Knotless beside itself: two workers against one, congested against not.

Every peer reads the same two pcap files from memory (net_pcap, infinite_rx) and throws away what it sends.
Rounds alternate between peers, so that a machine that slows down slows all of them; a rate is frames by the
time that the polling thread really had a core; a ratio is the median of the rounds' ratios.
Before anything is timed, the switch and OVS forward the same frames once into files, and each one that comes
out is compared with what an independent computation says it must be.

Writes target/bench/line.json. Usage: line.py [--rounds N] [--seconds S] [--core C] [--frames 64|imix]
"""

import argparse
import json
import os
import statistics
import sys
import time

import frames
import peers
from bed import Bench, Hugepages, ROOT, ctl, on_core_seconds, sent_frames, start_switch, stop


def measure_switch(bench: Bench, devices: list[str], cores: list[int], xoff: str = "200KB"):
    """Millions of frames a second sent, by the time that one worker had its core; and the statistics."""
    process = start_switch(bench, devices, cores, xoff)
    threads = [f"worker-{number}" for number in range(len(cores))]
    try:
        time.sleep(0.5)
        before, start = ctl(bench), [on_core_seconds(process.pid, thread) for thread in threads]
        time.sleep(bench.options.seconds)
        after, end = ctl(bench), [on_core_seconds(process.pid, thread) for thread in threads]
    finally:
        stop(process)
    log = (bench.folder / "knotless.log").read_text()
    if lossless_drops(before) != lossless_drops(after) or "imbalance 0" not in log:
        sys.exit(f"a lossless frame was dropped or the books do not balance:\n{log}")
    seconds = sum(b - a for a, b in zip(start, end)) / len(cores)
    return (sent_frames(after) - sent_frames(before)) / seconds / 1e6, after


def lossless_drops(stats) -> int:
    """None while it is measured. (A pcap file obeys no pause, so workers that have not got their cores yet
    when it starts can lose some of it.)"""
    return sum(sum(port["lossless_drops"]) for port in stats["ports"])


def measure_one(bench: Bench) -> float:
    return measure_switch(bench, bench.devices("infinite_rx=1"), [bench.options.core])[0]


def measure_two(bench: Bench) -> float:
    """A worker for each port: every frame leaves by the other's."""
    cores = [peers.other_core(bench), bench.options.core]
    return measure_switch(bench, bench.devices("infinite_rx=1", workers=2), cores)[0]


def measure_congested(bench: Bench) -> float:
    """Every frame waits in a queue, and upstream is paused and resumed all the time."""
    devices = bench.devices("infinite_rx=1", pcaps=bench.congested)
    mpps, stats = measure_switch(bench, devices, [bench.options.core], xoff="15KB")
    waited = sum(port["pfc"]["tx_xoff"][3] for port in stats["ports"])
    if waited == 0:
        sys.exit("congested, but upstream was never paused")
    return mpps


def check_switch(bench: Bench):
    """Forwards the frames once into files, and judges each of them."""
    process = start_switch(bench, bench.devices(f"tx_pcap={bench.folder}/out-{{port}}.pcap"))
    for _ in range(100):
        if sent_frames(ctl(bench)) >= 2 * frames.FLOWS:
            break
        time.sleep(0.05)
    stop(process)
    judge(bench, "knotless")


def check_ovs(bench: Bench):
    """Twice: the port that opens first has sent all its frames before there is another to send them at."""
    for last in (1, 2):
        with peers.Ovs(bench, bench.devices(f"tx_pcap={bench.folder}/out-{{port}}.pcap"), last):
            time.sleep(2)
        # Until its caches are warm OVS drops and reorders what takes the slow way.
        judge(bench, "OVS", [3 - last], may_miss=True)


def judge(bench: Bench, who: str, ports: list[int] = (1, 2), may_miss: bool = False):
    """Whether each of `ports` sent what it must, in order, and nothing else."""
    for port in ports:
        expected = [frames.routed(frame, port) for frame in frames.read_pcap(bench.pcaps[3 - port])]
        # A switch also announces its own addresses by ARP and neighbour discovery.
        sent = [frame for frame in frames.read_pcap(bench.folder / f"out-{port}.pcap")
                if frame[12:14] == b"\x08\x00"]
        if may_miss and sent:
            came = set(sent)
            sent, expected = sorted(sent), sorted(frame for frame in expected if frame in came)
        if sent != expected:
            wrong = next((n for n, (a, b) in enumerate(zip(sent, expected)) if a != b), len(sent))
            sys.exit(f"{who}: port {port} sent {len(sent)} of {len(expected)} frames, and frame {wrong} is "
                     "not what it must be")
        print(f"checked: {len(sent)} frames of {who}, port {port}: port, MACs, TTL, DSCP, checksum")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=2)
    parser.add_argument("--core", type=int, default=max(os.sched_getaffinity(0)))
    parser.add_argument("--frames", choices=("64", "imix"), default="64")
    options = parser.parse_args()
    bench = Bench(options)
    try:
        with Hugepages():
            run(bench)
    finally:
        bench.close()


def run(bench: Bench):
    check_switch(bench)
    check_ovs(bench)
    measures = {f"testpmd {mode}": lambda mode=mode: peers.measure_testpmd(bench, mode)
                for mode in peers.TESTPMD_MODES}
    measures["OVS-DPDK"] = lambda: peers.measure_ovs(bench)
    measures["knotless"] = lambda: measure_one(bench)
    measures["knotless congested"] = lambda: measure_congested(bench)
    measures["knotless two workers"] = lambda: measure_two(bench)
    rates = {name: [] for name in measures}
    for number in range(bench.options.rounds):
        for name, measure in measures.items():
            rates[name].append(measure())
            print(f"round {number + 1}: {name:22} {rates[name][-1]:7.2f} Mpps", flush=True)
    report(bench, rates)


def ratio(ours: list[float], theirs: list[float]) -> float:
    """Median of the rounds' ratios: each round compares two figures of the same minute."""
    return statistics.median(a / b for a, b in zip(ours, theirs))


def report(bench: Bench, rates: dict[str, list[float]]):
    own = rates["knotless"]
    ratios = {mode: ratio(own, rates[f"testpmd {mode}"]) for mode in peers.TESTPMD_MODES}
    ratios["ovs"] = ratio(own, rates["OVS-DPDK"])
    ratios["two_workers"] = ratio(rates["knotless two workers"], own)
    ratios["congested"] = ratio(rates["knotless congested"], own)
    keys = {"OVS-DPDK": "ovs", "knotless two workers": "two_workers", "knotless congested": "congested"}
    print(f"\n{bench.options.frames}-byte frames, one core, median of {bench.options.rounds} rounds")
    print(f"{'':22}{'Mpps':>8}{'min':>8}{'max':>8}  ratio")
    for name, values in rates.items():
        key = keys.get(name, name.removeprefix("testpmd "))
        versus = ""
        if key in ratios:
            what = "of one worker, uncongested" if "knotless" in name else "ours / theirs"
            versus = f"{ratios[key]:5.2f} x  {what}"
        print(f"{name:22}{statistics.median(values):8.2f}{min(values):8.2f}{max(values):8.2f}  {versus}")
    rows = [{"name": name, "mpps": round(statistics.median(values), 3)} for name, values in rates.items()]
    out = ROOT / "target" / "bench"
    out.mkdir(parents=True, exist_ok=True)
    body = {"frames": bench.options.frames, "rows": rows,
            "ratios": {key: round(value, 3) for key, value in ratios.items()}}
    (out / "line.json").write_text(json.dumps(body, indent=2) + "\n")


if __name__ == "__main__":
    main()
