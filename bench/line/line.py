#!/usr/bin/env python3
"""Line rate of one worker beside testpmd, OVS-DPDK and, where it is installed, grout, on the same ports, core and
frames, in turn, in one run; and of Knotless beside itself: two workers against one, congested against not.

Every peer reads the same two pcap files from memory (net_pcap, infinite_rx) and throws away what it sends.
Rounds alternate between peers, so that a machine that slows down slows all of them; a rate is frames by the
time that the polling threads really had a core; a ratio is the median of the rounds' ratios. What was
measured while the machine interfered is measured again; see `rounds.py`.
Before anything is timed, the switch, OVS and grout forward the same frames into files, and each one that comes
out is compared with what an independent computation says it must be.

Writes target/bench/line.json. Exits with 1 if a ratio is below what it must be, or a frame is wrong. Usage:
line.py [--rounds N] [--seconds S] [--core C] [--frames 64|imix]
"""

import argparse
import dataclasses
import json
import os
import sys
import time

import bed
import frames
import grout
import peers
import rounds
from bed import CONGESTED_XOFF, Bench, Hugepages, ROOT, ctl, sent_frames, start_switch, stop
from interference import Threads
from rounds import Failed, Figure


# How often OVS is given each frame, and how often it is started if not one of them came out.
OVS_LAPS = 400
OVS_TRIES = 3


def measure_switch(bench: Bench, devices: list[str], cores: list[int], xoff: str = "200KB", queues: int = 1):
    """What the switch sent, by the time that one worker had its core; and its statistics."""
    process = start_switch(bench, devices, cores, xoff, queues)
    try:
        threads = Threads(process.pid, [(f"worker-{number}",) for number in range(len(cores))], cores)
        time.sleep(0.5)
        first, before = ctl(bench), threads.counts()
        time.sleep(bench.options.seconds)
        last, meanwhile = ctl(bench), threads.since(before)
    except LookupError as why:
        raise Failed(str(why)) from None
    finally:
        stop(process)
    log = (bench.folder / "knotless.log").read_text()
    if "imbalance 0" not in log:
        sys.exit(f"the books do not balance:\n{log}")
    lost = lossless_drops(last) - lossless_drops(first)
    seconds = meanwhile.on_core_s / len(cores)
    mpps = (sent_frames(last) - sent_frames(first)) / seconds / 1e6
    return Figure(mpps, meanwhile.lost, tuple(meanwhile.reasons()), lost), last


def lossless_drops(stats) -> int:
    return sum(sum(port["lossless_drops"]) for port in stats["ports"])


def measure_one(bench: Bench) -> Figure:
    return measure_switch(bench, bench.devices("infinite_rx=1"), [bench.options.core])[0]


def measure_two(bench: Bench) -> Figure:
    """A worker for each port: every frame leaves by the other's."""
    cores = [peers.other_core(bench), bench.options.core]
    return measure_switch(bench, bench.devices("infinite_rx=1", workers=2), cores)[0]


def measure_queues(bench: Bench, queues: int) -> Figure:
    """One port receives, by so many queues, each of a worker of its own; all frames leave by the other port."""
    cores = [bench.options.core, peers.other_core(bench)][:queues]
    return measure_switch(bench, bench.one_way(queues), cores, queues=queues)[0]


def measure_kind(bench: Bench, kind: str) -> Figure:
    """Other traffic than IPv4."""
    bench.set_kind(kind)
    try:
        return measure_switch(bench, bench.devices("infinite_rx=1", pcaps=bench.of_kind(kind)), [bench.options.core])[0]
    finally:
        bench.set_kind("")


def measure_congested(bench: Bench) -> Figure:
    """Every frame waits in a queue, and upstream is paused and resumed all the time."""
    devices = bench.devices("infinite_rx=1", pcaps=bench.congested)
    figure, stats = measure_switch(bench, devices, [bench.options.core], xoff=CONGESTED_XOFF)
    waited = sum(port["pfc"]["tx_xoff"][3] for port in stats["ports"])
    if waited == 0:
        sys.exit("congested, but upstream was never paused")
    return figure


def check_switch(bench: Bench):
    """Forwards the frames once into files, and judges each of them."""
    process = start_switch(bench, bench.devices(f"tx_pcap={bench.folder}/out-{{port}}.pcap"))
    try:
        peers.wait_until(lambda: sent_frames(ctl(bench)) >= 2 * frames.FLOWS, "knotless does not forward")
    finally:
        stop(process)
    judge(bench, "knotless")


def check_kind(bench: Bench, kind: str):
    """Forwards the frames of this kind once into files, and judges each of them."""
    files = bench.of_kind(kind)
    bench.set_kind(kind)
    process = start_switch(bench, bench.devices(f"tx_pcap={bench.folder}/out-{{port}}.pcap", pcaps=files))
    try:
        peers.wait_until(lambda: sent_frames(ctl(bench)) >= 2 * frames.FLOWS, f"knotless does not forward {kind}")
    finally:
        stop(process)
        bench.set_kind("")
    for port in (1, 2):
        expected = [frames.sent_of_kind(kind, frame, port) for frame in frames.read_pcap(files[3 - port])]
        sent = [frame for frame in frames.read_pcap(bench.folder / f"out-{port}.pcap")
                if is_traffic(kind, frame)]
        if sent != expected:
            wrong = next((n for n, (a, b) in enumerate(zip(sent, expected)) if a != b), len(sent))
            sys.exit(f"knotless, {kind}: port {port} sent {len(sent)} of {len(expected)} frames, and frame {wrong} "
                     "is not what it must be")
        print(f"checked: {len(sent)} frames of knotless, {kind}, port {port}: every octet")


def is_traffic(kind: str, frame: bytes) -> bool:
    """Whether it is a frame that was forwarded, and no announcement of the switch's own addresses."""
    if kind == "ipv6":
        return frame[12:14] == b"\x86\xdd" and frame[20] == 17
    at = 16 if kind == "vlan" else 12
    return frame[at:at + 2] == b"\x08\x00"


def check_ovs(bench: Bench):
    """Twice: the port that opens first has sent all its frames before there is another to send them at. OVS
    drops what comes until it knows both ports, and what is too much for its slow way: so the frames come
    many times, and those that come out are judged."""
    long = {port: bench.folder / f"long-{port}.pcap" for port in (1, 2)}
    for port, file in long.items():
        frames.write_pcap(file, frames.read_pcap(bench.pcaps[port]) * OVS_LAPS)
    for last in (1, 2):
        for _ in range(OVS_TRIES):
            devices = bench.devices(f"tx_pcap={bench.folder}/out-{{port}}.pcap", pcaps=long)
            with peers.Ovs(bench, devices, last) as ovs:
                peers.wait_until(lambda: ovs.received() >= 2 * OVS_LAPS * frames.FLOWS, "OVS does not forward")
            if sent_by(bench, 3 - last):
                break
        judge(bench, "OVS", [3 - last], may_miss=True)


def sent_by(bench: Bench, port: int) -> list[bytes]:
    """What came out of `port`, but for the announcements of a switch's own addresses."""
    return [frame for frame in frames.read_pcap(bench.folder / f"out-{port}.pcap")
            if frame[12:14] == b"\x08\x00"]


def must_send(port: int, bench: Bench) -> list[bytes]:
    """What must leave by this port."""
    return [frames.routed(frame, port) for frame in frames.read_pcap(bench.pcaps[3 - port])]


def judge(bench: Bench, who: str, ports: list[int] = (1, 2), may_miss: bool = False, must_send=must_send):
    """Whether each of `ports` sent what it must, in order, and nothing else."""
    for port in ports:
        expected = must_send(port, bench)
        sent = sent_by(bench, port)
        if may_miss:
            # Which are missing, and in what order the slow way lets them go, is the machine's doing.
            known = set(expected)
            is_right = bool(sent) and all(frame in known for frame in sent)
            wrong = next((n for n, frame in enumerate(sent) if frame not in known), len(sent))
        else:
            is_right = sent == expected
            wrong = next((n for n, (a, b) in enumerate(zip(sent, expected)) if a != b), len(sent))
        if not is_right:
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
        with Hugepages(grout.HUGEPAGES_NEEDED if grout.is_here() else bed.HUGEPAGES_NEEDED):
            is_well = run(bench)
    except Failed as why:
        sys.exit(f"line: {why}")
    finally:
        bench.close()
    sys.exit(0 if is_well else 1)


def run(bench: Bench) -> bool:
    """All rounds; whether every ratio is what it must be."""
    check_switch(bench)
    for kind in frames.KINDS:
        check_kind(bench, kind)
    check_ovs(bench)
    if grout.is_here():
        grout.forward_into_files(bench)
        judge(bench, "grout", may_miss=True, must_send=grout.must_send)
    measures = {f"testpmd {mode}": lambda mode=mode: peers.measure_testpmd(bench, mode)
                for mode in peers.TESTPMD_MODES}
    measures["OVS-DPDK"] = lambda: peers.measure_ovs(bench)
    if grout.is_here():
        measures["grout"] = lambda: grout.measure(bench)
    measures["knotless"] = lambda: measure_one(bench)
    measures["knotless congested"] = lambda: measure_congested(bench)
    measures["knotless two workers"] = lambda: measure_two(bench)
    measures["knotless one queue"] = lambda: measure_queues(bench, 1)
    measures["knotless two queues"] = lambda: measure_queues(bench, 2)
    for kind in frames.KINDS:
        measures[f"knotless {kind}"] = lambda kind=kind: measure_kind(bench, kind)
    figures, repeats = {name: [] for name in measures}, []
    for number in range(1, bench.options.rounds + 1):
        for name, measure in measures.items():
            known = len(repeats)
            figure = rounds.take(measure, name, number, repeats)
            figures[name].append(figure)
            for repeat in repeats[known:]:
                print(f"round {number}: {name:22} again: {repeat.why}", flush=True)
            still = f"  disturbed: {figure.why}" if figure.is_disturbed else ""
            print(f"round {number}: {name:22} {figure.mpps:7.2f} Mpps{still}", flush=True)
    return report(bench, figures, repeats)


# By the name of what is measured: the key of its ratio. All but the last two are ours / theirs.
RATIO_KEYS = {f"testpmd {mode}": mode for mode in peers.TESTPMD_MODES} | {
    "OVS-DPDK": "ovs", "grout": "grout", "knotless two workers": "two_workers", "knotless congested": "congested"}


def ratios_of(figures: dict[str, list[Figure]]) -> dict[str, rounds.Median]:
    own = figures["knotless"]
    ratios = {key: rounds.ratio(figures[name], own) if name.startswith("knotless") else
              rounds.ratio(own, figures[name]) for name, key in RATIO_KEYS.items() if name in figures}
    for kind in frames.KINDS:
        # Time for a frame beside that for one with IPv4.
        ratios[kind] = rounds.ratio(own, figures[f"knotless {kind}"])
    ratios["two_queues"] = rounds.ratio(figures["knotless two queues"], figures["knotless one queue"])
    return ratios


def report(bench: Bench, figures: dict[str, list[Figure]], repeats: list[rounds.Repeat]) -> bool:
    """Prints and writes what came of it; whether every ratio is what it must be."""
    ratios = ratios_of(figures)
    rates = {name: rounds.rate(of) for name, of in figures.items()}
    again = {name: sum(repeat.name == name for repeat in repeats) for name in figures}
    print(f"\n{bench.options.frames}-byte frames, one core, median of the undisturbed of "
          f"{bench.options.rounds} rounds")
    print(f"{'':22}{'Mpps':>8}{'min':>8}{'max':>8}{'rounds':>8}{'again':>7}  ratio")
    for name, rate in rates.items():
        key, versus = RATIO_KEYS.get(name), ""
        if key:
            what = "of one worker, uncongested" if "knotless" in name else "ours / theirs"
            versus = f"{ratios[key].value:5.2f} x  {what}"
        elif name.removeprefix("knotless ") in frames.KINDS:
            kind = name.removeprefix("knotless ")
            versus = f"{ratios[kind].value:5.2f} x  the time of a frame with IPv4"
        elif name == "knotless two queues":
            versus = f"{ratios['two_queues'].value:5.2f} x  of one queue, one worker"
        print(f"{name:22}{rate.value:8.2f}{rate.least:8.2f}{rate.most:8.2f}"
              f"{f'{rate.undisturbed}/{rate.of}':>8}{again[name]:7}  {versus}")
    # They are promised for the shortest frames.
    verdicts = rounds.judge(ratios, rounds.MUSTS if bench.options.frames == "64" else {})
    if verdicts:
        print("\nAs it must be?")
    for verdict in verdicts:
        print(f"  {verdict}")
    drops = rounds.drops_unexplained([figure for of in figures.values() for figure in of])
    if drops:
        print(f"  NO   {drops} lossless frames dropped, time and again, by a switch that had its cores")
    write(bench, rates, ratios, repeats, verdicts)
    return not drops and all(verdict.is_met for verdict in verdicts)


def write(bench: Bench, rates, ratios, repeats, verdicts):
    """target/bench/line.json."""
    def basis(of: rounds.Median) -> dict:
        return {"undisturbed_rounds": of.undisturbed, "rounds": of.of}

    body = {
        "frames": bench.options.frames,
        "rows": [{"name": name, "mpps": round(rate.value, 3)} | basis(rate) for name, rate in rates.items()],
        "ratios": {key: round(ratio.value, 3) for key, ratio in ratios.items()},
        "repeated": [dataclasses.asdict(repeat) for repeat in repeats],
        "musts": [{"name": verdict.name, "ratio": round(verdict.ratio.value, 3), "least": verdict.least,
                   "met": verdict.is_met} | basis(verdict.ratio) for verdict in verdicts],
    }
    out = ROOT / "target" / "bench"
    out.mkdir(parents=True, exist_ok=True)
    (out / "line.json").write_text(json.dumps(body, indent=2) + "\n")


if __name__ == "__main__":
    main()
