"""Overload of the ring: senders until it freezes or their time is up, then a look at what stays."""

import dataclasses
import json
import signal
import time

from common import wire
from common.ring import LOSSLESS
from ring import NAMES, Ring, after, before

# Looks in a row, a second apart, between which no frame moves: only then the ring is frozen, not
# slow. A pause that runs out, or is not refreshed, would have let frames go by then.
STILL_LOOKS = 3
# How long the ring is watched when the sources have stopped, if it does not run empty before.
AFTER_S = 6
PATIENCE_S = 30.0


@dataclasses.dataclass
class Moment:
    """What the switches counted at a time. Only lossless frames: ARP goes on whatever happens."""

    stats: dict

    def at(self, name: str = NAMES[0]) -> float:
        """When, in seconds, on the clock of a switch: each is asked a little later than the last."""
        return self.stats[name]["uptime_ns"] / 1e9

    def unix_ms(self, name: str = NAMES[0]) -> int:
        """When, in milliseconds since 1970."""
        return self.stats[name]["time_unix_ms"]

    def port(self, name: str, port: str) -> dict:
        return next(row for row in self.stats[name]["ports"] if row["name"] == port)

    def sent(self, name: str, port: str, unit: str = "frames") -> int:
        """Lossless frames, or their bytes, that have left by a port."""
        values = self.port(name, port)[f"tx_{unit}"]
        return sum(values[priority] for priority in LOSSLESS)

    def moved(self) -> int:
        """The same, by all ports."""
        return sum(self.sent(name, row["name"]) for name in NAMES
                   for row in self.stats[name]["ports"])

    def xoff(self, name: str) -> int:
        """XOFFs that a switch has sent to the one before, refreshes included."""
        pfc = self.port(name, f"from-{before(name)}")["pfc"]
        return sum(pfc["tx_xoff"][priority] for priority in LOSSLESS)

    def total(self, what: str) -> int:
        return sum(stats["totals"][what] for stats in self.stats.values())

    def raised(self) -> int:
        """Frames that a rule moved to another lossless tag."""
        return sum(row["raised_frames"] for stats in self.stats.values() for row in stats["ports"])

    def frames_held(self) -> int:
        """Lossless frames in queues."""
        return sum(row["queues"][priority]["veq_frames"] for stats in self.stats.values()
                   for row in stats["ports"] for priority in LOSSLESS)

    def lossless_drops(self) -> int:
        """Beyond headroom, or in the kernel's rings below the switches."""
        rows = [row for stats in self.stats.values() for row in stats["ports"]]
        outside = sum(row["device_counters"]["rx_missed_frames"] for row in rows)
        return sum(sum(row["lossless_drops"]) for row in rows) + outside


@dataclasses.dataclass
class Why:
    """What `knotless why` says of a frozen ring, and what flight recorders have of it."""

    text: str
    # The cycle, as buffers; and when it closed, in milliseconds since 1970, at which queue.
    cycle: list
    closed_ms: int
    closed_by: dict
    # The pauses that the switch of that queue has recorded, in memory and in its file.
    recorded: list
    written: list

    def has_moment(self, events: list) -> bool:
        """Whether the pause that closed the cycle is among events."""
        return any(event.get("event") == "paused" and event["port"] == self.closed_by["port"]
                   and event["priority"] == self.closed_by["priority"]
                   and event["time_unix_ms"] == self.closed_ms for event in events)


def ask_why(ring: Ring) -> Why:
    """Asks the first switch, which asks the others."""
    said = json.loads(ring.why(NAMES[0], "--json"))
    chain = said["chain"]
    closed = chain["queues"][chain["closed_by"]] if chain["cycle"] else {}
    events, lines = ring.recorded(closed.get("switch", NAMES[0]))
    return Why(ring.why(NAMES[0]), chain["cycle"], closed.get("since_unix_ms", 0), closed, events, lines)


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
    # What tshark saw meanwhile on the ring's wires, if it was frozen.
    wires: list
    # By switch: what its host sent, and what it received.
    sent: dict
    received: dict
    # What `knotless why` says, if frames were held in the end.
    why: Why | None = None

    def mbps(self, name: str, port: str) -> float:
        """What left by a port in the last seconds with senders."""
        first, last = self.moments[-1 - STILL_LOOKS], self.moments[-1]
        return mbps(first, last, name, port)

    def frames_sent(self) -> int:
        """Frames that the hosts' interfaces took: no other drop of theirs is part of it."""
        return sum(report["frames"] for report in self.sent.values())

    def frames_received(self) -> int:
        return sum(report["frames"] for report in self.received.values())


def mbps(first: Moment, last: Moment, name: str, port: str) -> float:
    sent = last.sent(name, port, "bytes") - first.sent(name, port, "bytes")
    return sent * 8 / (last.at(name) - first.at(name)) / 1e6


class Watch:
    """Looks at the ring once a second, and says a line each time."""

    def __init__(self, ring: Ring):
        self.ring = ring
        self.moments = []
        self.due = time.monotonic()
        links = "".join(f"{f'{name} to {after(name)}':>9}" for name in NAMES)
        print(f"  {'Mb/s':<9}{links}{'frames held':>14}{'moved':>9}", flush=True)

    def look(self, when: str) -> Moment:
        """The next moment, a second after the last. The first is not shown: nothing is before."""
        time.sleep(max(self.due - time.monotonic(), 0))
        self.due = time.monotonic() + 1
        self.moments.append(Moment(self.ring.stats()))
        if len(self.moments) > 1:
            self.show(when, *self.moments[-2:])
        return self.moments[-1]

    @staticmethod
    def show(when: str, first: Moment, last: Moment):
        rates = "".join(f"{mbps(first, last, name, f'to-{after(name)}'):>9.1f}" for name in NAMES)
        moved = last.moved() - first.moved()
        print(f"  {when:<9}{rates}{last.total('held'):>14,}{moved:>9,}", flush=True)

    def is_still(self) -> bool:
        """Whether frames are there and none has moved for a while."""
        last = self.moments[-1 - STILL_LOOKS:]
        return (len(last) > STILL_LOOKS and last[-1].total("held") > 0
                and last[0].moved() == last[-1].moved())


@dataclasses.dataclass
class Wire:
    """What was seen between two switches of a frozen ring."""

    pfc: list
    # Frames that carry anything of the hosts.
    ip_frames: int

    def is_silenced(self) -> bool:
        """Whether there was nothing but the same XOFF, again and again."""
        def is_xoff(frame: wire.Decoded) -> bool:
            return any(frame.quanta[p] == wire.XOFF for p in frame.named() if p in LOSSLESS)
        return len(self.pfc) > 1 and all(is_xoff(frame) for frame in self.pfc) and not self.ip_frames


def run(ring: Ring, seconds: int) -> Load:
    """Has all hosts send for `seconds`, or until the ring is frozen."""
    receivers = ring.start_receivers()
    watch = Watch(ring)
    watch.look("")
    senders = ring.start_senders()
    for second in range(1, max(seconds, STILL_LOOKS) + 1):
        watch.look(f"{second} s")
        if watch.is_still():
            break
    moments, is_frozen = watch.moments, watch.is_still()
    sent = reports(ring, senders)
    print("  the sources have stopped", flush=True)
    captures = start_captures(ring) if is_frozen else []
    watch.moments, watch.due = [], time.monotonic()
    stopped = watch.look("")
    for second in range(1, AFTER_S + 1):
        if watch.look(f"+{second} s").total("held") == 0:
            break
    over, waits = watch.moments[-1], ring.waits()
    wires = [decode(ring, capture) for capture in captures]
    return Load(is_frozen, moments, stopped, over, waits, wires, sent, reports(ring, receivers))


def start_captures(ring: Ring) -> list:
    """Records what passes between each two switches."""
    captures = [
        wire.Capture(ring.lab, ring.space(name), f"to-{after(name)}", f"{ring.phase}-wire-{name}")
        for name in NAMES
    ]
    for capture in captures:
        capture.wait()
    return captures


def decode(ring: Ring, capture: wire.Capture) -> Wire:
    file = capture.stop()
    ip_frames = wire.fields(ring.lab, file, ["frame.number"], "ip")
    return Wire(wire.pfc_frames(ring.lab, file), len(ip_frames))


def reports(ring: Ring, processes: dict) -> dict:
    """Ends senders or receivers; what they have to report."""
    for process in processes.values():
        process.send_signal(signal.SIGINT)
    return {name: json.loads(ring.lab.finish(process, PATIENCE_S))
            for name, process in processes.items()}
