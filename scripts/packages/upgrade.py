"""An upgrade under load: from the package of the commit before to this one, with hosts that send all the time."""

import json
import os
import pathlib
import signal
import time

import install
from common import show
from common.lab import Failed
from machine import INSTALL_S, Machine

# Taps that stay when the switch is away, and stations that never have to be asked for.
SWITCH = """
name = "upgraded"
[[tag]]
tag = 1
dscp = 26
priority = 3
[[lossless]]
priority = 3
[workers]
idle = "sleep"
""" + "".join(f"""
[[port]]
name = "h{n}"
device = "net_tap{n},iface=ku{n}"
speed = "1G"
mac = "02:00:00:00:00:0{n}"
addresses = ["10.2.{n}.1/24"]
[[neighbor]]
address = "10.2.{n}.2"
mac = "02:00:00:00:01:0{n}"
port = "h{n}"
""" for n in (1, 2))
UNIT = "knotless@upgraded"


class Load:
    """Two hosts that send to each other until they are told to end; they hold while the link is down."""

    def __init__(self, machine: Machine):
        self.machine = machine
        self.receivers = [self.traffic("recv", n, "--any-mac", "--outages", "25ms") for n in (1, 2)]
        for receiver in self.receivers:
            machine.lab.wait_for(receiver, "listening", 30)
        self.senders = [self.traffic("send", n, "--speed", "1G", *flows(n, 3 - n)) for n in (1, 2)]

    def traffic(self, what: str, n: int, *more: str):
        command = ["knotless", "traffic", what, "--json", "--hold", "60s", "--dev", f"ku{n}", *more]
        return self.machine.start(command, f"load-{what}{n}-{len(self.machine.lab.processes)}")

    def end(self) -> tuple:
        """Ends the senders, then the receivers; returns what was sent and what the receivers saw."""
        sent = [self.report(sender) for sender in self.senders]
        time.sleep(1)
        received = [self.report(receiver) for receiver in self.receivers]
        return sent, received[::-1]

    def report(self, process) -> dict:
        os.kill(innermost(process.pid), signal.SIGTERM)
        return json.loads(self.machine.lab.finish(process, 60))


def flows(start: int, to: int) -> list:
    common = f"src-ip=10.2.{start}.2,dst-ip=10.2.{to}.2,dst-mac=02:00:00:00:00:0{start},size=1000"
    return [
        "--flow", f"name=lossless,dscp=26,priority=3,rate=80M,{common}",
        "--flow", f"name=lossy,dscp=0,priority=0,rate=20M,{common}",
    ]


def innermost(process: int) -> int:
    """The last process of a line of children: nsenter starts the command as its child."""
    children = pathlib.Path(f"/proc/{process}/task/{process}/children").read_text().split()
    return innermost(int(children[0])) if children else process


def start(machine: Machine):
    """The switch on taps that were made before."""
    machine.shell(f"cat >/etc/knotless/upgraded.toml <<'END'\n{SWITCH}\nEND")
    machine.shell("""
        for n in 1 2; do
          ip tuntap add dev ku$n mode tap multi_queue
          sysctl -q -w net.ipv6.conf.ku$n.disable_ipv6=1 || echo 1 >/proc/sys/net/ipv6/conf/ku$n/disable_ipv6
          ip link set ku$n address 02:00:00:00:01:0$n up
        done
    """)
    machine.run(["systemctl", "start", UNIT])


def main_process(machine: Machine) -> tuple:
    """The unit's process, and the program that it runs."""
    pid = machine.run(["systemctl", "show", "--value", "--property=MainPID", UNIT]).strip()
    return pid, machine.run(["readlink", f"/proc/{pid}/exe"]).strip()


def loses_nothing(sent: list, received: list) -> tuple:
    """Every lossless frame arrived once and in order. Returns how many, and the longest outage in ms."""
    frames, outage_ns = 0, 0
    for start, end in zip(sent, received):
        flow = next(flow for flow in start["flows"] if flow["name"] == "lossless")
        seen = next(it for it in end["flows"] if it["name"] == "lossless")
        losses = [seen[key] for key in ("lost", "reordered", "duplicates")]
        if end["dropped_by_own_socket"] or losses != [0, 0, 0] or seen["frames"] != flow["frames"]:
            raise Failed(f"{flow['frames']} lossless frames sent, {seen['frames']} received; "
                         f"lost, reordered, duplicates: {losses}")
        if start["priorities"][3]["xoff"] == 0:
            raise Failed("no sender was paused, so nothing was tested")
        frames += seen["frames"]
        outage_ns = max([outage_ns, *end["outages_ns"]])
    return frames, outage_ns // 1_000_000


def upgrade(machine: Machine, package: str):
    """apt leaves the switch as it is and names it; the restart then loses no lossless frame."""
    load = Load(machine)
    time.sleep(1)
    before = main_process(machine)
    said = install.install(machine, package)
    after = main_process(machine)
    if after[0] != before[0] or not after[1].endswith("(deleted)"):
        raise Failed(f"the upgrade restarts the switch: {before}, {after}")
    if f"knotless: {UNIT}.service runs the program of before until: systemctl restart" not in said:
        raise Failed(f"the upgrade does not name the switch: {said}")
    time.sleep(1)
    machine.run(["systemctl", "restart", UNIT], INSTALL_S)
    restarted = main_process(machine)
    if restarted[0] == before[0] or restarted[1] != "/usr/bin/knotless":
        raise Failed(f"the restarted switch is {restarted}")
    time.sleep(1)
    frames, outage_ms = loses_nothing(*load.end())
    show.result(True, "the upgrade leaves the switch as it is, and says how to restart it")
    show.result(True, f"the restart: {frames} lossless frames sent and received, outage {outage_ms} ms")


def reinstall(machine: Machine, package: str):
    """With `restart_on_upgrade=yes` apt restarts the switch, and loses nothing either."""
    machine.run(["sed", "-i", "s/^restart_on_upgrade=no/restart_on_upgrade=yes/", "/etc/default/knotless"])
    load = Load(machine)
    time.sleep(1)
    before = main_process(machine)
    machine.run([*install.APT, "install", "--reinstall", f"/packages/{package}"], INSTALL_S)
    after = main_process(machine)
    if after[0] == before[0] or after[1] != "/usr/bin/knotless":
        raise Failed(f"the switch is not restarted: {before}, {after}")
    time.sleep(1)
    frames, outage_ms = loses_nothing(*load.end())
    show.result(True, f"with restart_on_upgrade=yes apt restarts it: {frames} lossless frames sent and received, "
                      f"outage {outage_ms} ms")
