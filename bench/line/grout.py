"""grout, a router on DPDK's graph library, with the same routes: it forwards IPv4 and does nothing else. It is measured
where `grout` and `grcli` are found, built with DPDK's driver net_pcap."""

import json
import shutil
import subprocess
import time

import frames
from bed import ANSWER_S, Bench
from interference import Threads
from peers import WARM_FRAMES, Peer, other_core, text, wait_until
from rounds import Failed, Figure

# What its routing tables and buffers take, in pages of 2 MB.
HUGEPAGES_NEEDED = 1_100
# As many are written to a file and judged, and more.
JUDGED_FRAMES = 100_000


def is_here() -> bool:
    return all(shutil.which(program) for program in ("grout", "grcli"))


def port_mac(port: int) -> bytes:
    """That of the net_pcap device which is made as the first or the second one. It takes no other."""
    return bytes([2, *b"pcap", port - 1])


def received_by(port: int, bench: Bench) -> list[bytes]:
    """The frames that Knotless gets at this port, for this port's address."""
    return [port_mac(port) + frame[6:] for frame in frames.read_pcap(bench.pcaps[port])]


def must_send(port: int, bench: Bench) -> list[bytes]:
    """What must leave by this port: the DSCP stays."""
    sent = [frames.routed(frame, port, keeps_dscp=True) for frame in received_by(3 - port, bench)]
    return [frame[:6] + port_mac(port) + frame[12:] for frame in sent]


class Grout(Peer):
    """Both ports with their routes, forwarding. `more` are arguments of the devices."""

    def __init__(self, bench: Bench, more: str):
        super().__init__(bench)
        self.more, self.socket = more, bench.folder / "grout.sock"

    def start(self):
        self.socket.unlink(missing_ok=True)
        command = ("grout", "--poll-mode", "--socket", self.socket, "--metrics", ":0", "--", "--no-pci")
        with open(self.bench.folder / "grout.log", "w") as log:
            self.processes.append(subprocess.Popen(command, stdout=log, stderr=log))
        wait_until(self.socket.exists, "grout does not come up")
        core, other = self.bench.options.core, other_core(self.bench)
        self.ask("affinity", "cpus", "set", "control", str(other), "datapath", str(core))
        pcaps = {port: self.bench.folder / f"grout-{port}.pcap" for port in (1, 2)}
        for port, file in pcaps.items():
            frames.write_pcap(file, received_by(port, self.bench))
        for port, device in enumerate(self.bench.devices(self.more, pcaps=pcaps), 1):
            self.ask("interface", "add", "port", f"p{port}", "devargs", device, "down", "rxqs", "1")
        lines = []
        for port in (1, 2):
            mac = text(frames.host_mac(port))
            lines += [f"address add 10.0.{port}.254/24 iface p{port}",
                      f"nexthop add l3 iface p{port} address 10.0.{port}.2 mac {mac}"]
        lines += [f"route add {line}" for line in (self.bench.folder / "routes.txt").read_text().splitlines()]
        file = self.bench.folder / "grout.init"
        file.write_text("\n".join(lines) + "\n")
        self.ask("--err-exit", "--file", str(file))
        for port in (1, 2):
            self.set_state(port, "up")

    def set_state(self, port: int, state: str):
        self.ask("interface", "set", "port", f"p{port}", state)

    def ask(self, *words) -> str:
        command = ("grcli", "--socket", str(self.socket), *words)
        done = subprocess.run(command, capture_output=True, text=True, timeout=2 * ANSWER_S)
        if done.returncode != 0:
            raise Failed(f"grcli {' '.join(words)}: {done.stderr.strip()}")
        return done.stdout

    def sent(self) -> int:
        """Frames that left by both ports."""
        return sum(entry["tx_packets"] for entry in json.loads(self.ask("--json", "interface", "stats")))


def forward_into_files(bench: Bench):
    """Forwards frames into files, from when both ports are up until there are enough to be judged."""
    with Grout(bench, f"infinite_rx=1,tx_pcap={bench.folder}/out-{{port}}.pcap") as grout:
        wait_until(lambda: grout.sent() >= JUDGED_FRAMES, "grout does not forward")
        for port in (1, 2):
            grout.set_state(port, "down")


def measure(bench: Bench) -> Figure:
    """What its forwarding thread sent."""
    core = bench.options.core
    with Grout(bench, "infinite_rx=1") as grout:
        thread = Threads(grout.processes[0].pid, [(f"grout:w{core}",)], [core])
        wait_until(lambda: grout.sent() > WARM_FRAMES, "grout does not forward")
        sent, before = grout.sent(), thread.counts()
        time.sleep(bench.options.seconds)
        sent, meanwhile = grout.sent() - sent, thread.since(before)
    return Figure(sent / meanwhile.on_core_s / 1e6, meanwhile.lost, tuple(meanwhile.reasons()))
