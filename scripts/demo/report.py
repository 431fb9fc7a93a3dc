"""What came of the overload: every frame accounted for, and what flow control did meanwhile."""

import collections
import dataclasses

from common import show
from common.wire import PRIORITIES, XOFF

# Priorities that are lossless in this demo.
LOSSLESS = (3,)


@dataclasses.dataclass
class Load:
    """The streams and the switch, from before the first frame to after the last."""

    sent: list
    received: dict
    before: dict
    after: dict
    # Host: the PFC frames on its wire.
    wire: dict

    def flows(self) -> list:
        """Each flow as it was sent and as it was received."""
        received = {flow["name"]: flow for flow in self.received["flows"]}
        return [
            (flow, received.get(flow["name"]))
            for sender in self.sent for flow in sender["flows"]
        ]

    def dropped(self) -> collections.Counter:
        """Frames that the switch dropped meanwhile, by port and cause."""
        drops = collections.Counter()
        for port, before in zip(self.after["ports"], self.before["ports"]):
            for cause, frames in port["drops"].items():
                drops[port["name"], cause] += frames - before["drops"].get(cause, 0)
        return +drops

    def pfc(self, port: int, what: str) -> list:
        """A counter of flow control on a port: how far it rose, by priority."""
        after, before = self.after["ports"][port]["pfc"], self.before["ports"][port]["pfc"]
        return [a - b for a, b in zip(after[what], before[what])]

    def lossless_drops(self) -> int:
        return sum(sum(port["lossless_drops"]) for port in self.after["ports"])


def count(frames: int) -> str:
    return f"{frames:,}"


def on_wire(load: Load, host: str, source: str, is_wanted) -> list:
    """Frames from `source` on a host's wire with a wanted time, by priority."""
    seen = [0] * len(PRIORITIES)
    for frame in load.wire[host]:
        if frame.source == source:
            for priority in frame.named():
                seen[priority] += is_wanted(frame.quanta[priority])
    return seen


def ports(load: Load) -> list:
    return [(index, port["name"], port["mac"]) for index, port in enumerate(load.after["ports"])]


def print_wire(lab, load: Load):
    """The first XOFF in full, and the next few frames in short."""
    _, host, mac = ports(load)[0]
    file = lab.folder / f"{host}.pcapng"
    command = ["tshark", "-r", file, "-O", "macc", "-c", "1", "-Y", f"eth.src == {mac}"]
    for line in lab.run(command).splitlines():
        if line.strip() and not line.startswith("Frame") and " = C" not in line:
            print(f"  {line}")
    rows = []
    for frame in [frame for frame in load.wire[host] if frame.source == mac][:6]:
        for priority in frame.named():
            quanta = frame.quanta[priority]
            rows.append([f"{frame.time:.6f}", priority, quanta, "XOFF" if quanta else "XON"])
    print(f"  The first of {len(load.wire[host])} on the wire of {host}:")
    print(show.table(["seconds", "class", "quanta", "which is"], rows, 0))


def print_frames(load: Load):
    """Each stream, what ended where, and the balance."""
    rows, total = [], collections.Counter()
    for sent, received in load.flows():
        frames = received["frames"] if received else 0
        kind = "lossless" if sent["priority"] in LOSSLESS else "lossy"
        rate = received["goodput_bps"] / 1e6 if received else 0
        delay = received["latency_ns"]["p50"] / 1e6 if received else 0
        rows.append([
            sent["name"].split("-")[0] + " to h3", f"{sent['priority']} {kind}",
            count(sent["frames"]), count(frames),
            count(sent["frames"] - frames),
            count(received["reordered"] if received else 0),
            f"{rate:.1f}", f"{delay:.0f}",
        ])
        total["sent"] += sent["frames"]
        total["delivered"] += frames
    rows.append(["all", "", count(total["sent"]), count(total["delivered"]),
                 count(total["sent"] - total["delivered"]), "", "", ""])
    head = ["stream", "class", "sent", "delivered", "dropped", "reordered", "Mb/s", "median ms"]
    print(show.table(head, rows, 2))
    print("\n  Lossless senders share the port evenly. A lossy frame that finds its queue full is dropped,"
          "\n  whoever sent it, so lossy shares are what chance makes them.")
    causes = [[cause, port, count(n)] for (port, cause), n in load.dropped().items()]
    causes.append(["lossless, beyond headroom", "any", count(load.lossless_drops())])
    print()
    print(show.table(["dropped by cause", "port", "frames"], causes, 2))


def print_pfc(load: Load):
    """What the switch says it sent and heard."""
    rows = []
    for index, name, _ in ports(load):
        for what, text in (("tx_xoff", "XOFF to"), ("tx_xon", "XON to"),
                           ("rx_xoff", "XOFF from"), ("rx_xon", "XON from")):
            frames = load.pfc(index, what)
            if any(frames):
                rows.append([f"{text} {name}"] + [count(n) if n else "-" for n in frames])
    print(show.table(["switch"] + [f"class {priority}" for priority in PRIORITIES], rows))
    for index, name, _ in ports(load):
        told, heard = load.pfc(index, "tx_paused_ns"), load.pfc(index, "rx_paused_ns")
        if any(told):
            print(f"  {name} was told to be silent in class 3 for {told[3] / 1e9:.2f} s in all")
        if any(heard):
            print(f"  {name} had the switch be silent in class 3 for {heard[3] / 1e9:.2f} s in all")


def is_wire_right(load: Load) -> bool:
    """Whether tshark saw each PFC frame that the switch says it sent, and no other."""
    same = all(
        on_wire(load, name, mac, lambda quanta: quanta == XOFF) == load.pfc(index, "tx_xoff")
        and on_wire(load, name, mac, lambda quanta: quanta == 0) == load.pfc(index, "tx_xon")
        for index, name, mac in ports(load)
    )
    seen = sum(len(load.wire[name]) for _, name, _ in ports(load))
    return same and seen > 0


def print_verdict(load: Load) -> bool:
    """Answers whether all was as promised, one line each."""
    lossless = [pair for pair in load.flows() if pair[0]["priority"] in LOSSLESS]
    delivered = all(
        received and received["frames"] == sent["frames"] and received["lost"] == 0
        and received["reordered"] == 0 and received["corrupt"] == 0
        for sent, received in lossless
    )
    sent = sum(flow["frames"] for flow, _ in load.flows())
    ends = load.received["frames"] + load.dropped().total()
    is_paused = all(any(load.pfc(port, "tx_xoff")) for port in (0, 1))
    answers = [
        (load.lossless_drops() == 0, "0 lossless drops, says the switch"),
        (delivered, "every lossless frame arrived, whole and in order, says the receiver"),
        (sent == ends, f"{sent:,} frames sent = {load.received['frames']:,} delivered + "
                       f"{load.dropped().total():,} dropped under a name"),
        (load.after["totals"]["imbalance"] == 0, "the switch's books balance to the frame"),
        (is_paused and is_wire_right(load),
         "PFC held both senders back, and tshark saw each frame of it"),
    ]
    for is_so, text in answers:
        show.result(is_so, text)
    return all(is_so for is_so, _ in answers)
