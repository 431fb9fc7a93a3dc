#!/usr/bin/env python3
"""BGP's routes in the switch by FPM, beside the kernel's of the same zebra.

FRR and a switch are in one namespace, on taps; a speaker of our own (speaker.py) announces 200,000 prefixes
to bgpd. Measured is the time from the last UPDATE to the last route in the switch's table, and to the last one in
the kernel. Then the next hops of 5,000 prefixes change, 5,000 a second: the switch keeps up, and no route is away
at the end.

Writes target/bench/fpm.json. Exits with 1 if a target is missed; with 2 if it cannot run here.
Usage: bgp.py [--routes N] [--rate N] [--seconds S] [--knotless PROGRAM]
"""

import argparse
import ctypes
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
ROOT = pathlib.Path(__file__).resolve().parents[2]
NS = "kfpmbench"
# The speaker's.
PEER_NS = "kfpmpeer"
FRR = pathlib.Path("/usr/lib/frr")
CLONE_NEWNET = 0x40000000
SWITCH = """
name = "fpmbench"
[workers]
idle = "sleep"
[memory]
hugepages = "never"
[buffer]
size = "64MB"
[control]
socket = "{dir}/s.sock"
[routing]
fpm = "127.0.0.1:2620"
"""
PORT = """
[[port]]
name = "kp{n}"
device = "net_tap{n},iface=kp{n}"
addresses = ["10.0.{n}.254/24"]
speed = "1G"
"""
NEIGHBOR = """
[[neighbor]]
address = "10.0.{n}.{host}"
mac = "02:00:00:00:0{n}:{host:02x}"
"""
# Prefixes whose next hops change.
CHURNED = 5_000
# The switch may be behind the kernel by this much.
BEHIND_S_MAX = 1.0


class Bed:
    """The namespace, the switch and FRR in it."""

    def __init__(self, knotless: pathlib.Path) -> None:
        self.knotless = knotless
        self.folder = tempfile.TemporaryDirectory()
        self.dir = pathlib.Path(self.folder.name)
        self.processes: list[subprocess.Popen] = []
        # FRR's daemons become a user of their own, who makes sockets there.
        self.dir.chmod(0o777)
        run("ip", "netns", "add", NS)
        self.inside("ip", "link", "set", "lo", "up")

    def inside(self, *command: str) -> None:
        run("ip", "netns", "exec", NS, *command)

    def start(self, *command: str) -> subprocess.Popen:
        log = open(self.dir / f"{len(self.processes)}.log", "w", encoding="utf-8")
        process = subprocess.Popen(["ip", "netns", "exec", NS, *command], stdout=log, stderr=log)
        self.processes.append(process)
        return process

    def start_switch(self) -> None:
        ports = "".join(PORT.format(n=n) for n in (1, 2, 3))
        neighbors = "".join(NEIGHBOR.format(n=2, host=host) for host in (2, 3))
        (self.dir / "s.toml").write_text(SWITCH.format(dir=self.dir) + ports + neighbors)
        self.start(str(self.knotless), "run", str(self.dir / "s.toml"))
        wait_for("the switch", lambda: (self.dir / "s.sock").exists())
        for n in (1, 2, 3):
            self.inside("ip", "addr", "add", f"10.0.{n}.1/24", "dev", f"kp{n}")
            self.inside("ip", "link", "set", f"kp{n}", "up")
        for host in (2, 3):
            mac = f"02:00:00:00:02:{host:02x}"
            self.inside("ip", "neigh", "replace", f"10.0.2.{host}", "lladdr", mac, "dev", "kp2")
        run("ip", "netns", "add", PEER_NS)
        self.inside("ip", "link", "add", "kbgp", "type", "veth", "peer", "name", "kspeak", "netns", PEER_NS)
        self.inside("ip", "addr", "add", "10.9.0.1/24", "dev", "kbgp")
        self.inside("ip", "link", "set", "kbgp", "up")
        run("ip", "-n", PEER_NS, "addr", "add", "10.9.0.2/24", "dev", "kspeak")
        run("ip", "-n", PEER_NS, "link", "set", "kspeak", "up")

    def start_frr(self) -> None:
        config = {
            "zebra": "fpm address 127.0.0.1 port 2620\n",
            "bgpd": "router bgp 65001\n bgp router-id 10.0.1.1\n no bgp ebgp-requires-policy\n"
            " no bgp network import-check\n neighbor 10.9.0.2 remote-as 65002\n"
            " neighbor 10.9.0.2 passive\n neighbor 10.9.0.2 timers connect 1\n",
        }
        for name, text in config.items():
            (self.dir / f"{name}.conf").write_text(text)
            more = ["-M", "dplane_fpm_nl"] if name == "zebra" else []
            common = ["-P", "0", "-z", str(self.dir / "zserv.api")]
            common += ["--vty_socket", str(self.dir), "-i", str(self.dir / f"{name}.pid")]
            self.start(str(FRR / name), *common, "-f", str(self.dir / f"{name}.conf"), *more)
            wait_for(name, lambda name=name: (self.dir / f"{name}.vty").exists())

    def ctl(self, *command: str) -> dict:
        socket = str(self.dir / "s.sock")
        text = output(str(self.knotless), "ctl", "--socket", socket, "--json", *command)
        return json.loads(text)

    def fpm(self) -> dict:
        return self.ctl("stats")["fpm"]

    def kernel_routes(self) -> int:
        """What the trie's statistics say: cheaper than to list them."""
        text = output("ip", "netns", "exec", NS, "cat", "/proc/net/fib_triestat")
        return max(int(line.split()[1]) for line in text.splitlines() if "Prefixes:" in line)

    def close(self) -> None:
        for process in reversed(self.processes):
            process.terminate()
        for process in self.processes:
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
        for name in (NS, PEER_NS):
            subprocess.run(["ip", "netns", "del", name], check=False, stderr=subprocess.DEVNULL)
        self.folder.cleanup()


def run(*command: str) -> None:
    subprocess.run(command, check=True)


def output(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def wait_for(what: str, is_so, seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not is_so():
        if time.monotonic() > end:
            raise RuntimeError(f"{what} does not come")
        time.sleep(0.05)


def enter_namespace() -> None:
    """This process moves into the namespace, for the speaker's connection."""
    with open(f"/run/netns/{PEER_NS}", encoding="ascii") as file:
        if ctypes.CDLL(None, use_errno=True).setns(file.fileno(), CLONE_NEWNET) != 0:
            raise OSError(ctypes.get_errno(), "setns")


def open_session(speaker_class):
    """bgpd refuses sessions until it knows the way to its neighbor."""
    for _ in range(30):
        try:
            return speaker_class("10.9.0.1", "10.9.0.2", 65002)
        except (OSError, RuntimeError) as error:
            last = error
            time.sleep(1)
    raise RuntimeError(f"no session with bgpd: {last}")


def converge(bed: Bed, speaker, routes: int) -> dict:
    before = bed.fpm()["routes"]
    kernel_before = bed.kernel_routes()
    start = time.monotonic()
    speaker.announce("10.0.2.2", range(routes))
    last = time.monotonic()
    times: dict[str, float] = {}
    while len(times) < 2 and time.monotonic() < last + 600:
        if "switch" not in times and bed.fpm()["routes"] >= before + routes:
            times["switch"] = time.monotonic() - last
        if "kernel" not in times and bed.kernel_routes() >= kernel_before + routes:
            times["kernel"] = time.monotonic() - last
        time.sleep(0.02)
    return {"sent_s": last - start, **times}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--routes", type=int, default=200_000)
    parser.add_argument("--rate", type=int, default=5_000)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--knotless", type=pathlib.Path, default=ROOT / "target/release/knotless")
    arguments = parser.parse_args()
    if os.geteuid() != 0 or not (FRR / "bgpd").exists():
        print("bench-fpm: needs root, and FRR (make setup)", file=sys.stderr)
        return 2
    sys.path.insert(0, str(pathlib.Path(__file__).parent))
    from speaker import Speaker

    bed = Bed(arguments.knotless)
    try:
        bed.start_switch()
        bed.start_frr()
        enter_namespace()
        wait_for("zebra at the switch", lambda: bed.fpm()["connected"])
        speaker = open_session(Speaker)
        result = converge(bed, speaker, arguments.routes)
        print(f"{arguments.routes} routes: {json.dumps(result)}")
        before = bed.ctl("stats")
        start = time.monotonic()
        changes = speaker.churn(["10.0.2.2", "10.0.2.3"], range(CHURNED), arguments.rate, arguments.seconds)
        took = time.monotonic() - start
        after = bed.ctl("stats")
        result["churn"] = {
            "updates_a_second": changes / took,
            "messages": after["fpm"]["messages"] - before["fpm"]["messages"],
            "tables": after["epoch"] - before["epoch"],
            "routes": after["fpm"]["routes"] - before["fpm"]["routes"],
        }
        print(json.dumps(result["churn"]))
        keeps_up = changes / took >= 0.95 * arguments.rate and after["fpm"]["connected"]
        is_behind = result.get("switch", 1e9) > result.get("kernel", 0) + BEHIND_S_MAX
        is_met = keeps_up and not is_behind and result["churn"]["routes"] == 0
        print("targets: " + ("met" if is_met else "MISSED"))
        out = ROOT / "target/bench/fpm.json"
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_text(json.dumps(result, indent=2) + "\n")
    finally:
        bed.close()
    return 0 if is_met else 1


if __name__ == "__main__":
    sys.exit(main())
