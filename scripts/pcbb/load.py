"""Overload of the servers: senders until it freezes or their time is up, then a look at what stays."""

import dataclasses
import time

from common import wire
from pair import DSCP, PRIORITY, Pair

# In any of these SONiC sends frames that were lossless.
LOSSLESS = (2, 3, 4, 6)
# Looks in a row, a second apart, between which no frame moves: only then it is frozen, not slow. A pause that runs
# out, or is not refreshed, would have let frames go by then.
STILL_LOOKS = 3
# How long it is watched when the sources have stopped, if it does not run empty before.
AFTER_S = 8
PATIENCE_S = 30.0


@dataclasses.dataclass
class Moment:
    """What the switches counted at a time. Only lossless frames: ARP goes on whatever happens."""

    stats: dict

    def at(self, name: str) -> float:
        """When, in seconds, on the clock of a switch: each is asked a little later than the last."""
        return self.stats[name]["uptime_ns"] / 1e9

    def port(self, name: str, port: str) -> dict:
        return next(row for row in self.stats[name]["ports"] if row["name"] == port)

    def sent(self, name: str, port: str, unit: str = "frames") -> int:
        """Lossless frames, or their bytes, that have left by a port."""
        values = self.port(name, port)[f"tx_{unit}"]
        return sum(values[priority] for priority in LOSSLESS)

    def moved(self) -> int:
        """The same, by all ports."""
        return sum(self.sent(name, row["name"]) for name in self.stats for row in self.stats[name]["ports"])

    def xoff(self, name: str, port: str) -> int:
        """XOFFs that a port has sent, refreshes included."""
        return sum(self.port(name, port)["pfc"]["tx_xoff"])

    def queued(self, name: str, port: str) -> int:
        """Lossless frames that wait to leave by a port."""
        queues = self.port(name, port)["queues"]
        return sum(queues[priority]["veq_frames"] for priority in LOSSLESS)

    def held(self) -> int:
        """The same, by all ports."""
        return sum(self.queued(name, row["name"]) for name in self.stats for row in self.stats[name]["ports"])

    def bounced(self, name: str, ports: list) -> int:
        """Frames that have left by ports in the priorities that only remapped frames have."""
        return sum(self.port(name, port)["tx_frames"][priority] for port in ports for priority in (2, 6))

    def total(self, what: str) -> int:
        return sum(stats["totals"][what] for stats in self.stats.values())

    def lossless_drops(self) -> int:
        """Beyond headroom, or in the kernel's rings below the switches."""
        rows = [row for stats in self.stats.values() for row in stats["ports"]]
        outside = sum(row["device_counters"]["rx_missed_frames"] for row in rows)
        return sum(sum(row["lossless_drops"]) for row in rows) + outside


@dataclasses.dataclass
class Load:
    """What came of an overload."""

    # Whether no frame moved any more while all senders were still at it.
    is_frozen: bool
    # From the first second to the last with senders.
    moments: list
    # When all senders had ended, and when the watch was over.
    stopped: Moment
    over: Moment
    # Who waited for whom then.
    waits: dict
    # By host: what it sent; by server: what it received, and what dumpcap saw come to it.
    sent: dict
    received: dict
    seen: dict
    # By server: what came in its last seconds.
    mbps: dict
    # By switch and port, what is at the other end of the links between switches.
    peers: dict

    def frames_sent(self) -> int:
        return sum(report["frames"] for report in self.sent.values())

    def frames_received(self) -> int:
        return sum(report["frames"] for report in self.received.values())

    def frames_seen(self) -> int:
        return sum(self.seen.values())


def mbps(first: Moment, last: Moment, name: str, port: str) -> float:
    sent = last.sent(name, port, "bytes") - first.sent(name, port, "bytes")
    return sent * 8 / (last.at(name) - first.at(name)) / 1e6


class Watch:
    """Looks at the switches once a second, and says a line each time."""

    def __init__(self, pair: Pair):
        self.pair = pair
        self.moments = []
        self.due = time.monotonic()
        servers = "".join(f"{name:>10}" for name in pair.servers)
        print(f"  {'Mb/s':<9}{servers}{'frames held':>14}{'moved':>9}{'paused links':>15}", flush=True)

    def look(self, when: str) -> Moment:
        """The next moment, a second after the last. The first is not shown: nothing is before."""
        time.sleep(max(self.due - time.monotonic(), 0))
        self.due = time.monotonic() + 1
        self.moments.append(Moment(self.pair.stats()))
        if len(self.moments) > 1:
            self.show(when, *self.moments[-2:])
        return self.moments[-1]

    def show(self, when: str, first: Moment, last: Moment):
        rates = "".join(f"{mbps(first, last, switch, port):>10.1f}" for _, switch, port in self.pair.servers.values())
        moved = last.moved() - first.moved()
        paused = sum(last.xoff(*link) > first.xoff(*link) for link in self.pair.peers)
        links = f"{paused} of {len(self.pair.peers)}"
        print(f"  {when:<9}{rates}{last.held():>14,}{moved:>9,}{links:>15}", flush=True)

    def is_still(self) -> bool:
        """Whether frames are there and none has moved for a while."""
        last = self.moments[-1 - STILL_LOOKS:]
        return len(last) > STILL_LOOKS and last[-1].held() > 0 and last[0].moved() == last[-1].moved()


def run(pair: Pair, seconds: int) -> Load:
    """Has all hosts send for `seconds`, or until nothing moves."""
    captures = {name: wire.Capture(pair.lab, pair.space(name), "eth0", f"{pair.phase}-{name}", "udp")
                for name in pair.servers}
    for capture in captures.values():
        capture.wait()
    receivers = pair.start_receivers()
    flows = pair.flows()
    watch = Watch(pair)
    watch.look("")
    senders = pair.start_senders(flows)
    for second in range(1, max(seconds, STILL_LOOKS) + 1):
        watch.look(f"{second} s")
        if watch.is_still():
            break
    moments, is_frozen = watch.moments, watch.is_still()
    sent = pair.reports(senders, PATIENCE_S)
    print("  the sources have stopped", flush=True)
    watch.moments, watch.due = [], time.monotonic()
    stopped = watch.look("")
    for second in range(1, AFTER_S + 1):
        if watch.look(f"+{second} s").held() == 0:
            break
    over, waits = watch.moments[-1], pair.waits()
    first, last = moments[-1 - STILL_LOOKS], moments[-1]
    rates = {name: mbps(first, last, switch, port) for name, (_, switch, port) in pair.servers.items()}
    received = pair.reports(receivers, PATIENCE_S)
    seen = {name: seen_frames(pair, capture) for name, capture in captures.items()}
    return Load(is_frozen, moments, stopped, over, waits, sent, received, seen, rates, pair.peers)


def seen_frames(pair: Pair, capture: wire.Capture) -> int:
    """Frames of the flows in a capture, as tshark decodes them: with their DSCP as it was, and in no tunnel."""
    only = f"udp && ip.dsfield.dscp == {DSCP} && ip.proto == 17"
    return len(wire.fields(pair.lab, capture.stop(), ["frame.number"], only))


def cycle(pair: Pair, waits: dict) -> list:
    """Ports from switch to switch that wait for each other in a cycle; empty if there are none."""
    def next_ports(link: tuple) -> list:
        """Where at the other end frames wait that came by this link, which is paused because of them."""
        peer, port = pair.peers[link]
        found = []
        for wait in waits[peer]:
            is_held = any(origin["name"] == port and origin["paused"] for origin in wait["origins"])
            if is_held and (peer, wait["name"]) in pair.peers:
                found.append((peer, wait["name"]))
        return found

    def walk(path: list) -> list:
        for link in next_ports(path[-1]):
            if link in path:
                return path[path.index(link):]
            if found := walk(path + [link]):
                return found
        return []

    for link in pair.peers:
        if any(wait["name"] == link[1] for wait in waits[link[0]]) and (found := walk([link])):
            return found
    return []


def sentence(pair: Pair, waits: dict, link: tuple) -> str:
    """What a switch of the cycle waits for."""
    name, port = link
    wait = next(wait for wait in waits[name] if wait["name"] == port)
    return (f"{name} waits for {pair.peers[link][0]}: {wait['frames']} frames in priority {PRIORITY}, for "
            f"{wait['paused_for_ns'] / 1e9:.1f} s")
