"""The forwarders that Knotless is measured beside: testpmd's modes, and OVS-DPDK with equivalent flows."""

import os
import re
import signal
import subprocess
import time

import frames
from bed import ANSWER_S, Bench
from interference import Threads
from rounds import Failed, Figure

TESTPMD_MODES = ("csum", "5tswap", "macswap", "io")
OVS = "/usr/lib/openvswitch-switch-dpdk/ovs-vswitchd-dpdk"
# Each flow is in OVS's caches long before it has received so many.
WARM_FRAMES = 1_000_000
OVS_SCHEMA = "/usr/share/openvswitch/vswitch.ovsschema"


def measure_testpmd(bench: Bench, mode: str) -> Figure:
    """What testpmd's forwarding core took in, both ports together."""
    core, other = bench.options.core, other_core(bench)
    command = ["dpdk-testpmd", "--in-memory", "--no-pci", "--file-prefix=line-bench",
               "-l", f"{other},{core}", "--main-lcore", str(other)]
    for device in bench.devices("infinite_rx=1"):
        command += ["--vdev", device]
    command += ["--", f"--forward-mode={mode}", "--nb-cores=1", "--auto-start",
                "--total-num-mbufs=65536"]
    log = bench.folder / "testpmd.log"
    with open(log, "w") as out:
        process = subprocess.Popen(command, stdout=out, stderr=out, stdin=subprocess.PIPE)
    try:
        # Its name differs between DPDK's versions.
        thread = Threads(process.pid, [(f"rte-worker-{core}", f"dpdk-worker{core}")], [core])
        wait_until(lambda: "packet forwarding" in log.read_text(),
                   "testpmd does not forward")
        before = thread.counts()
        time.sleep(bench.options.seconds + 1)
        meanwhile, on_core_s = thread.since(before), thread.counts().on_core_s
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=ANSWER_S)
    except (FileNotFoundError, LookupError, subprocess.TimeoutExpired) as why:
        raise Failed(f"testpmd {mode}: {why}") from None
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
    output = log.read_text()
    totals = re.findall(r"RX-packets:\s+(\d+)", output.split("Accumulated forward statistics")[-1])
    if not totals:
        raise Failed(f"testpmd {mode} printed no total: {output[-200:].strip()!r}")
    # It counts from its start to its end, and so does the thread, which does nothing else.
    return Figure(int(totals[0]) / on_core_s / 1e6, meanwhile.lost, tuple(meanwhile.reasons()))


def other_core(bench: Bench) -> int:
    """A core for what does not forward."""
    return min(os.sched_getaffinity(0) - {bench.options.core}, default=bench.options.core)


class Peer:
    """Programs that are there from when it is entered until it is left. `start` appends them to `processes`."""

    def __init__(self, bench: Bench):
        self.bench, self.processes = bench, []

    def __enter__(self):
        try:
            self.start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for process in reversed(self.processes):
            process.terminate()
            try:
                process.wait(timeout=15)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


class Ovs(Peer):
    """OVS-DPDK with a database of its own in the bench's folder."""

    def __init__(self, bench: Bench, devices: list[str], last: int = 2):
        """Port `last` opens when the other is there."""
        super().__init__(bench)
        self.devices, self.last = devices, last
        self.folder = bench.folder / "ovs"
        names = ("OVS_RUNDIR", "OVS_LOGDIR", "OVS_DBDIR", "OVS_SYSCONFDIR")
        self.env = os.environ | {name: str(self.folder) for name in names}
        self.database = f"unix:{self.folder}/db.sock"

    def start(self):
        self.folder.mkdir(exist_ok=True)
        file = self.folder / "conf.db"
        file.unlink(missing_ok=True)
        self.run("ovsdb-tool", "create", file, OVS_SCHEMA)
        self.spawn("ovsdb-server", file, f"--remote=p{self.database}", f"--unixctl={self.folder}/db.ctl")
        wait_until((self.folder / "db.sock").exists, "ovsdb-server does not come up")
        self.vsctl("--no-wait", "init")
        self.vsctl("--no-wait", "set", "Open_vSwitch", ".", "other_config:dpdk-init=true",
                   "other_config:dpdk-extra=--no-pci --in-memory", "other_config:dpdk-socket-mem=512",
                   f"other_config:pmd-cpu-mask={1 << self.bench.options.core:#x}",
                   f"other_config:dpdk-lcore-mask={1 << other_core(self.bench):#x}")
        self.spawn(OVS, self.database, f"--unixctl={self.folder}/vs.ctl", f"--log-file={self.folder}/vs.log")
        self.vsctl("add-br", "br0", "--", "set", "bridge", "br0", "datapath_type=netdev",
                   "fail-mode=secure")
        for flow in flows():
            self.run("ovs-ofctl", "add-flow", f"unix:{self.folder}/br0.mgmt", flow)
        for port in (3 - self.last, self.last):
            device = self.devices[port - 1]
            self.vsctl("add-port", "br0", f"p{port}", "--", "set", "Interface", f"p{port}", "type=dpdk",
                       f"ofport_request={port}", f"options:dpdk-devargs={device.rstrip(',')}")

    def spawn(self, *command):
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        self.processes.append(subprocess.Popen(command, env=self.env, **quiet))

    def run(self, *command) -> str:
        done = subprocess.run(command, env=self.env, capture_output=True, text=True, timeout=2 * ANSWER_S)
        if done.returncode != 0:
            raise Failed(f"{command[0]}: {done.stderr.strip()}")
        return done.stdout

    def vsctl(self, *words) -> str:
        return self.run("ovs-vsctl", "--timeout=30", f"--db={self.database}", *words)

    def received(self) -> int:
        """Frames that the forwarding thread has taken in."""
        command = ("ovs-appctl", "-t", f"{self.folder}/vs.ctl", "dpif-netdev/pmd-stats-show")
        return sum(int(count) for count in re.findall(r"packets received: (\d+)", self.run(*command)))

    def missed(self) -> int:
        """Frames that no flow matched."""
        command = ("ovs-appctl", "-t", f"{self.folder}/vs.ctl", "dpif-netdev/pmd-stats-show")
        return sum(int(n) for n in re.findall(r"miss with failed upcall: (\d+)", self.run(*command)))


def wait_until(is_so, otherwise: str):
    """Waits until `is_so()`: as long as a busy machine may take."""
    deadline = time.monotonic() + ANSWER_S
    while not is_so():
        if time.monotonic() > deadline:
            raise Failed(otherwise)
        time.sleep(0.05)


def flows() -> list[str]:
    """For each way and class: match prefix and DSCP, decrement TTL, set DSCP and addresses, output."""
    made = []
    for port, other in ((1, 2), (2, 1)):
        prefix = ".".join(map(str, frames.destination(port, 0)[:1])) + ".0.0.0/8"
        macs = f"mod_dl_src:{text(frames.port_mac(other))},mod_dl_dst:{text(frames.host_mac(other))}"
        for dscp in (0, frames.LOSSLESS_DSCP):
            change = f"mod_nw_tos:{frames.new_dscp(dscp) << 2}," if frames.new_dscp(dscp) != dscp else ""
            made.append(f"in_port={port},ip,nw_dst={prefix},nw_tos={dscp << 2},"
                        f"actions=dec_ttl,{change}{macs},output:{other}")
    return made


def text(mac: bytes) -> str:
    return ":".join(f"{octet:02x}" for octet in mac)


def measure_ovs(bench: Bench) -> Figure:
    """What OVS's forwarding thread took in."""
    core = bench.options.core
    with Ovs(bench, bench.devices("infinite_rx=1")) as ovs:
        thread = Threads(ovs.processes[1].pid, [(f"pmd-c{core:02d}",)], [core])
        wait_until(lambda: ovs.received() > WARM_FRAMES, "OVS does not forward")
        missed, received, before = ovs.missed(), ovs.received(), thread.counts()
        time.sleep(bench.options.seconds)
        received, meanwhile = ovs.received() - received, thread.since(before)
        if ovs.missed() != missed:
            raise Failed("OVS dropped frames whose flow was not in its caches yet")
    return Figure(received / meanwhile.on_core_s / 1e6, meanwhile.lost, tuple(meanwhile.reasons()))
