"""A fabric of routers: four leaves and two spines, each a Knotless that FRR drives, with BGP unnumbered and BFD.

Hosts send across while things fail: a spine is killed and comes back, a link goes, a leaf's own address is flooded,
FRR is killed and restarted gracefully. A table says how long the fabric took to converge and which frames were lost.
Ends by itself within two minutes: with status 0 if all of it is as it should be, 1 if not, 2 if it cannot run here.

Usage: python3 scripts/fabric. KNOTLESS names another program than target/release's, FABRIC_ROOT the root of another
Debian whose FRR is used (`make fabric DEBIAN=13`).
"""

import json
import pathlib
import signal
import sys
import time

# Before there is anything to clean up, Ctrl-C just ends it.
signal.signal(signal.SIGINT, signal.SIG_DFL)
sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import frr  # noqa: E402
from clos import LEAVES, MISSED, SPINES, Clos, leaf, spine  # noqa: E402
from common import door, show  # noqa: E402
from common.lab import Failed, Lab  # noqa: E402

START_S, BACK_S = 45.0, 30.0
# Flows of each host to the host two leaves further, frames per second of each.
FLOWS, RATE_FPS = 8, 250
# A gap longer than this at a receiver is an outage.
OUTAGE = "20ms"


class Traffic:
    """Every host sends to the one two leaves further, in several flows, so that both spines carry some."""

    def __init__(self, clos: Clos):
        self.lab = clos.lab
        hosts = range(1, LEAVES + 1)
        self.clos, self.drops = clos, clos.drops()
        self.receivers = [self.lab.traffic("recv", f"h{n}", f"kf{n}", "--outages", OUTAGE) for n in hosts]
        for receiver in self.receivers:
            self.lab.wait_for(receiver, "listening")
        self.senders = []
        for n in hosts:
            to = (n + 1) % LEAVES + 1
            flows = []
            for flow in range(FLOWS):
                flows += ["--flow", f"dst-ip=10.1.{to}.2,src-port={40_000 + 7 * flow},size=200,"
                                    f"fps={RATE_FPS}"]
            self.senders.append(self.lab.traffic("send", f"h{n}", f"kf{n}", *flows))

    def end(self) -> dict:
        """What was sent, what was lost between the hosts' and the switches' rings, what those rings missed because
        the machine was busy, and the longest time in which nothing came."""
        sent = self.reports(self.senders)
        time.sleep(0.3)
        received = self.reports(self.receivers)
        frames = sum(report["frames"] for report in sent)
        arrived = sum(report["frames"] for report in received)
        flows = [flow for report in received for flow in report["flows"]]
        outages = [ns for report in received for ns in report["outages_ns"]]
        drops = {cause: frames - self.drops.get(cause, 0) for cause, frames in self.clos.drops().items()
                 if frames > self.drops.get(cause, 0)}
        missed = sum(frames for cause, frames in drops.items() if cause.endswith(MISSED))
        missed += sum(report["dropped_by_own_socket"] for report in received)
        return {"sent": frames, "lost": max(frames - arrived - missed, 0), "missed": missed,
                "all_lost": frames - arrived,
                "reordered": sum(flow["reordered"] for flow in flows),
                "outage_ms": max(outages, default=0) / 1e6,
                "drops": {cause: count for cause, count in drops.items() if not cause.endswith(MISSED)}}

    def reports(self, processes: list) -> list:
        for process in processes:
            process.send_signal(signal.SIGINT)
        return [json.loads(self.lab.finish(process)) for process in processes]


class Story:
    """What was tried, and whether each came out as it should."""

    def __init__(self, clos: Clos):
        self.clos, self.rows = clos, []

    def row(self, what: str, seconds: float | None, traffic: dict, is_so: bool, found: str = ""):
        took = "" if seconds is None else f"{seconds:.2f} s"
        sent, lost = traffic.get("sent", 0), traffic.get("lost", 0)
        if traffic.get("missed"):
            found += f" ({traffic['missed']} more missed by a busy machine)"
        self.rows.append((what, took, f"{sent:,}", f"{lost:,}", found, "yes" if is_so else "NO"))
        show.result(is_so, f"{what}: {took} {lost} of {sent} frames lost {found}")
        if not is_so:
            print(f"       the switches dropped {traffic.get('drops')}")

    def spine_dies(self):
        """Traffic over the dead spine is lost until BFD has found that it is dead: 900 ms."""
        node = self.clos.nodes[spine(1)]
        traffic = Traffic(self.clos)
        time.sleep(2)
        began = time.monotonic()
        node.kill_switch()
        self.clos.until("the others notice", lambda: self.clos_without(spine(1)), BACK_S)
        took = time.monotonic() - began
        time.sleep(1)
        found = traffic.end()
        # Lost is what was on its way to the dead spine until the leaves knew, and nothing that a living switch had.
        share = FLOWS * LEAVES * RATE_FPS / 2
        self.row("a spine is killed", took, found, 0 < found["lost"] < 4 * share and not found["drops"],
                 f"{found['lost'] / share:.2f} s of its half, none by a living switch")

    def clos_without(self, name: str) -> bool:
        port = f"up{name[-1]}"
        leaves = [self.clos.nodes[leaf(n)] for n in range(1, LEAVES + 1)]
        return not any(node.frr.sessions().get(port, (False, 0))[0] for node in leaves)

    def spine_is_back(self):
        node = self.clos.nodes[spine(1)]
        traffic = Traffic(self.clos)
        time.sleep(0.5)
        began = time.monotonic()
        node.frr.kill(*list(node.frr.processes))
        node.start_switch()
        node.switch.wait()
        node.frr.start("zebra", "bfdd", "bgpd")
        self.clos.until("the spine is back", lambda: self.clos.all_up() and self.clos.have_routes(), START_S)
        took = time.monotonic() - began
        time.sleep(2)
        found = traffic.end()
        self.row("it comes back", took, found, found["lost"] == 0)

    def link_goes(self):
        """A cable between leaf 3 and spine 2: the carrier of both TAPs falls, and the routers need no BFD."""
        traffic = Traffic(self.clos)
        time.sleep(1)
        began = time.monotonic()
        self.clos.lab.ip(leaf(3), "link set wire2 down")
        gone = ("up2", self.clos.nodes[leaf(3)]), ("down3", self.clos.nodes[spine(2)])
        self.clos.until("both ends notice", lambda: not any(
            node.frr.sessions().get(port, (False, 0))[0] for port, node in gone), BACK_S)
        took = time.monotonic() - began
        time.sleep(1)
        found = traffic.end()
        self.clos.lab.ip(leaf(3), "link set wire2 up")
        self.clos.until("the link is back", lambda: self.clos.all_up() and self.clos.have_routes(), BACK_S)
        # Half of what leaf 3 sends and receives passed there.
        share = FLOWS * RATE_FPS
        self.row("a link goes", took, found, found["lost"] < share, f"{found['lost'] / share:.2f} s of it")

    def switch_restarts(self):
        """Knotless of a spine is restarted, after BGP has asked the leaves to take the other one."""
        node = self.clos.nodes[spine(2)]
        bgp = ["configure", f"router bgp {frr.AS_BASE + node.number}"]
        traffic = Traffic(self.clos)
        time.sleep(1)
        node.frr.vtysh("bgpd", *bgp, "bgp graceful-shutdown")
        self.clos.until("the leaves take the other spine", lambda: not self.clos.is_used(spine(2)), BACK_S)
        began = time.monotonic()
        node.switch.interrupt()
        node.switch.end()
        node.start_switch()
        node.switch.wait()
        # zebra of FRR 10.3 crashes when the interfaces of its routes go.
        ended = node.frr.revive()
        self.clos.until("its sessions are back", lambda: self.clos.all_up() and len([
            row for row in self.clos.routes(spine(2)) if row["prefix"].startswith("10.1.")]) == LEAVES, START_S)
        took = time.monotonic() - began
        node.frr.vtysh("bgpd", *bgp, "no bgp graceful-shutdown")
        self.clos.until("the leaves take both spines", self.clos.have_routes, BACK_S)
        time.sleep(1)
        found = traffic.end()
        self.row("Knotless of a spine is restarted", took, found, found["lost"] == 0, ended)

    def flood(self):
        """A host sends to the address of its own leaf as fast as it can, while the others' traffic flows."""
        lost_before = self.clos.lost_sessions()
        traffic = Traffic(self.clos)
        flood = self.clos.lab.traffic("send", "h1", "kf1", "--speed", "1G", "--flow",
                                      "dst-ip=10.1.1.1,size=64,rate=1G,port=9")
        time.sleep(6)
        flood.send_signal(signal.SIGINT)
        sent = json.loads(self.clos.lab.finish(flood))["frames"]
        found = traffic.end()
        # What the ring of the flooded port missed is of the flood.
        found |= {"lost": found["all_lost"], "missed": 0}
        lost = self.clos.lost_sessions() - lost_before
        stats = self.clos.nodes[leaf(1)].switch.stats()
        classes = next(port for port in stats["ports"] if port["name"] == "host")["host_classes"]
        policed = classes.get("local", {}).get("dropped_frames", 0)
        others = [port["host_classes"].get(name, {}).get("dropped_frames", 0)
                  for port in stats["ports"] for name in ("bgp", "bfd", "arp_nd")]
        is_so = lost == 0 and found["lost"] == 0 and policed > 0 and not any(others)
        self.row("a flood at a leaf's address", None, found, is_so,
                 f"{sent:,} frames of it, {policed:,} policed; {lost} sessions lost")

    def frr_restarts(self):
        """The routers of a leaf are killed and started again; the neighbors and the switch keep its routes."""
        node = self.clos.nodes[leaf(2)]
        traffic = Traffic(self.clos)
        time.sleep(1)
        began = time.monotonic()
        node.frr.kill("bgpd", "zebra")
        time.sleep(1)
        node.frr.start("zebra", "bgpd")
        self.clos.until("its sessions are back", self.clos.all_up, BACK_S)
        took = time.monotonic() - began
        time.sleep(2)
        found = traffic.end()
        self.row("FRR of a leaf is killed and restarted", took, found, found["lost"] == 0)


def story(lab: Lab) -> bool:
    if not frr.is_installed():
        raise Failed("FRR is not installed; `scripts/setup.sh frr` installs it")
    began = time.monotonic()
    show.heading(f"Knotless: a fabric of {LEAVES} leaves and {SPINES} spines, with FRR {frr.version()}")
    clos = Clos(lab)
    tried = Story(clos)
    took = clos.until("BGP", clos.all_up, START_S)
    clos.until("BFD", clos.bfd_up, START_S)
    clos.until("routes in the switches", clos.have_routes, START_S)
    pings = [lab.start(["ping", "-n", "-c", "2", "-i", "0.2", "-W", "5", f"{net}{to}{end}"], f"h{n}")
             for n in range(1, LEAVES + 1) for to in range(1, LEAVES + 1) if to != n
             for net, end in [("10.1.", ".2"), ("fd00:1:", "::2")]]
    for ping in pings:
        lab.finish(ping)
    traffic = Traffic(clos)
    time.sleep(3)
    steady = traffic.end()
    tried.row("all sessions are up, all hosts reach each other", took, steady, steady["lost"] == 0)
    for step in (tried.flood, tried.link_goes, tried.spine_dies, tried.spine_is_back, tried.frr_restarts,
                 tried.switch_restarts):
        step()
    clos.stop()
    show.heading("As it should be?")
    print(show.table(["", "took", "sent", "lost", "", ""], tried.rows, left=1))
    print(f"  It took {time.monotonic() - began:.0f} s.")
    return all(row[-1] == "yes" for row in tried.rows)


if __name__ == "__main__":
    sys.exit(door.run("fabric", ["setpriv"], story))
