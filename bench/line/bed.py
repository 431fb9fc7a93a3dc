"""A switch under test: its folder, its process, and what it says of itself."""

import json
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import frames
import switch_toml
from rounds import Failed

ROOT = pathlib.Path(__file__).resolve().parents[2]
KNOTLESS = ROOT / "target" / "release" / "knotless"

HUGEPAGES = pathlib.Path("/proc/sys/vm/nr_hugepages")
# What testpmd or OVS takes, and what the switch takes, with room to spare, in pages of 2 MB.
HUGEPAGES_NEEDED = 512
# The depth of a VIQ above which upstream is paused where frames wait: less than what comes while the far end pauses.
CONGESTED_XOFF = "15KB"
# How long a process may take to start or to answer: the machine may have other work.
ANSWER_S = 60


class Hugepages:
    """Enough of them while the bench runs; as many as before when it ends."""

    def __init__(self, needed: int = HUGEPAGES_NEEDED):
        self.needed = needed

    def __enter__(self):
        self.before = int(HUGEPAGES.read_text())
        if self.before < self.needed:
            HUGEPAGES.write_text(str(self.needed))
            if int(HUGEPAGES.read_text()) < self.needed:
                HUGEPAGES.write_text(str(self.before))
                sys.exit(f"the kernel has not {self.needed} hugepages of 2 MB to give")

    def __exit__(self, *_):
        HUGEPAGES.write_text(str(self.before))


class Bench:
    """A folder with the frames and the switch's files, gone when the bench ends."""

    def __init__(self, options):
        self.options = options
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="knotless-line-"))
        self.pcaps, self.congested = {}, {}
        for port in (1, 2):
            lengths = frames.sizes(options.frames)
            made = [frames.udp(port, flow, size) for flow, size in enumerate(lengths)]
            self.pcaps[port] = self.folder / f"in-{port}.pcap"
            frames.write_pcap(self.pcaps[port], made)
            self.congested[port] = self.folder / f"congested-{port}.pcap"
            frames.write_pcap(self.congested[port], frames.congested(port))
        self.set_rules(64)
        self.set_kind("")
        self.socket = self.folder / "line.sock"

    def set_kind(self, kind: str):
        """The traffic that the switch which is started next is made for; IPv4 if empty."""
        self.kind = kind
        (self.folder / "routes.txt").write_text(switch_toml.routes(kind))

    def of_kind(self, kind: str) -> dict:
        """Files with frames of this kind, by port."""
        files = {port: self.folder / f"{kind}-{port}.pcap" for port in (1, 2)}
        for port, file in files.items():
            frames.write_pcap(file, [frames.KINDS[kind](port, flow) for flow in range(frames.FLOWS)])
        return files

    def set_rules(self, count: int):
        """Rules of the switch that is started next; 0 for none."""
        self.has_rules = count > 0
        (self.folder / "rules.json").write_text(switch_toml.rules(max(count, 1)))

    def devices(self, more: str, workers: int = 1, pcaps: dict | None = None) -> list[str]:
        """A device for each port. `net_pcap` has as many transmit queues as it is given files to read;
        only the first of those is read."""
        files = {n: ",".join([f"rx_pcap={(pcaps or self.pcaps)[n]}"] * workers) for n in (1, 2)}
        return [f"net_pcap{n - 1},{files[n]},{more.format(port=n)}" for n in (1, 2)]

    def one_way(self, queues: int) -> list[str]:
        """Devices of which only the first has frames that never end, in each of so many receive queues; the
        second has one frame, and as many transmit queues."""
        frame = self.folder / "one.pcap"
        frames.write_pcap(frame, frames.read_pcap(self.pcaps[2])[:1])
        files = {1: self.pcaps[1], 2: frame}
        device = lambda n: f"net_pcap{n - 1}," + ",".join([f"rx_pcap={files[n]}"] * queues)
        return [device(1) + ",infinite_rx=1", device(2)]

    def close(self):
        shutil.rmtree(self.folder, ignore_errors=True)


def start_switch(bench: Bench, devices: list[str], cores: list[int] | None = None,
                 xoff: str = "200KB", queues: int = 1, more: str = "") -> subprocess.Popen:
    """Starts the switch, with one worker if no cores are named and `more` in its file, and waits until it answers."""
    config = bench.folder / "switch.toml"
    cores = cores or [bench.options.core]
    text = switch_toml.switch(devices, cores, str(bench.socket), xoff, bench.has_rules, queues, bench.kind)
    config.write_text(text + more)
    log = open(bench.folder / "knotless.log", "w")
    process = subprocess.Popen([KNOTLESS, "run", config], stdout=log, stderr=log)
    deadline = time.monotonic() + ANSWER_S
    while time.monotonic() < deadline:
        if process.poll() is not None:
            sys.exit(f"knotless did not start:\n{(bench.folder / 'knotless.log').read_text()}")
        if bench.socket.exists() and ask(bench) is not None:
            return process
        time.sleep(0.05)
    process.kill()
    process.wait()
    raise Failed("knotless started and does not answer")


def ask(bench: Bench):
    """The switch's statistics; None if it does not answer."""
    command = [KNOTLESS, "ctl", "--socket", bench.socket, "stats", "--json"]
    done = subprocess.run(command, capture_output=True, text=True)
    return json.loads(done.stdout) if done.returncode == 0 else None


def ctl(bench: Bench):
    """The switch's statistics, however long a busy machine keeps it from answering."""
    deadline = time.monotonic() + ANSWER_S
    while (stats := ask(bench)) is None:
        if time.monotonic() > deadline:
            raise Failed(f"knotless has not answered for {ANSWER_S} s")
        time.sleep(0.05)
    return stats


def stop(process: subprocess.Popen):
    process.send_signal(signal.SIGINT)
    try:
        process.wait(timeout=60)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def sent_frames(stats) -> int:
    return sum(worker["totals"]["sent"] for worker in stats["workers"])

