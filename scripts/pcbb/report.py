"""What two overloads of the pair came to, side by side, and whether it was as it should be."""

import dataclasses

from common import show
from load import STILL_LOOKS, Load
from pair import TORS


@dataclasses.dataclass
class Run:
    """An overload, and the cycle of waiting switches that it ended with."""

    load: Load
    cycle: list


def print_table(plain: Run, remapped: Run):
    rows = []

    def row(text: str, value, form: str = ",") -> None:
        rows.append([text] + [f"{value(run.load):{form}}" for run in (plain, remapped)])

    for name in plain.load.mbps:
        row(f"to {name}, Mb/s in the last {STILL_LOOKS} s", lambda load, name=name: load.mbps[name], ".1f")
    row("frames sent", Load.frames_sent)
    row("frames delivered, as the receivers count", Load.frames_received)
    row("frames delivered, as dumpcap and tshark count", Load.frames_seen)
    row("bounced frames in priority 2", bounced)
    row("frames held when the sources had stopped", lambda load: load.stopped.held())
    row("frames held in the end", lambda load: load.over.held())
    row("lossless drops", lambda load: load.over.lossless_drops())
    print(show.table(["", "without", "with remapping"], rows))


def bounced(load: Load) -> int:
    """Frames that the ToRs sent up again in a priority of their own."""
    return sum(load.over.bounced(name, [port for switch, port in load.peers if switch == name]) for name in TORS)


def is_balanced(load: Load) -> bool:
    """Whether every frame that was sent was delivered, once, or is still held; and all counts say the same."""
    books = all(stats["totals"]["imbalance"] == 0 for stats in load.over.stats.values())
    repeated = sum(flow["duplicates"] for report in load.received.values() for flow in report["flows"])
    ends = load.frames_received() + load.over.held()
    return books and not repeated and load.frames_sent() == ends and load.frames_received() == load.frames_seen()


def is_whole(load: Load) -> bool:
    """Whether every frame of every flow arrived, once and in order."""
    flows = [flow for report in load.received.values() for flow in report["flows"]]
    faults = sum(flow[fault] for flow in flows for fault in ("lost", "reordered", "duplicates", "corrupt"))
    return 0 < load.frames_sent() == load.frames_received() == load.frames_seen() and not faults


def stays(load: Load) -> bool:
    """Whether frames stay, and none of them moved since the sources stopped."""
    held = load.over.held()
    return 0 < held == load.stopped.held() and load.over.moved() == load.stopped.moved()


def is_kept_paused(run: Run) -> bool:
    """Whether each link of the cycle is one whose receiver goes on sending XOFF when the sources have stopped."""
    ends = [run.load.peers[link] for link in run.cycle]
    return all(run.load.over.xoff(*end) > run.load.stopped.xoff(*end) for end in ends)


def is_overloaded(load: Load) -> bool:
    """Whether every host had more to send than it could, and switches paused switches."""
    paused = [sum(heard["pauses"] for heard in sent["priorities"]) for sent in load.sent.values()]
    return all(paused) and any(load.over.xoff(*link) for link in load.peers)


def print_books(load: Load):
    """What each end and each switch counted: where a frame went that the balance misses."""
    for name, sent in load.sent.items():
        print(f"  {name}: sent {sent['frames']}, refused {sent['refused']}, interface drops "
              f"{sent['interface_tx_dropped']}")
    for name, received in load.received.items():
        print(f"  {name}: received {received['frames']}, seen {load.seen[name]}, misdelivered "
              f"{received['misdelivered']}, others {received['other_frames']}, socket drops "
              f"{received['dropped_by_own_socket']}")
    for name, stats in load.over.stats.items():
        print(f"  {name}: " + ", ".join(f"{what} {frames}" for what, frames in stats["totals"].items()))
        for row in stats["ports"]:
            queues = [queue["veq_frames"] for queue in row["queues"]]
            device = {what: count for what, count in row["device_counters"].items() if count}
            drops = {why: count for why, count in row["drops"].items() if count}
            print(f"    {row['name']}: rx {row['rx_frames']}, tx {row['tx_frames']}, queued {queues}, "
                  f"drops {drops}, device {device}")


def print_verdict(plain: Run, remapped: Run) -> bool:
    """Answers whether all was as it should be, one line each."""
    knot, freed = plain.load, remapped.load
    answers = [
        (knot.is_frozen, f"without: it freezes; for {STILL_LOOKS} s of sending no frame moves"),
        (stays(knot), "without: it is frozen still when the sources have stopped"),
        (len(plain.cycle) >= 4, "without: ToRs and T1s wait for each other in a cycle, say the switches themselves"),
        (len(plain.cycle) >= 4 and is_kept_paused(plain),
         f"without: all {len(plain.cycle)} links of the cycle are kept paused, by XOFF again and again"),
        (bounced(knot) == 0, "without: bounced frames stay in priority 3"),
        (knot.over.lossless_drops() == 0 and is_balanced(knot),
         "without: 0 lossless drops; sent = delivered + held, to the frame"),
        (not freed.is_frozen and all(rate > 0 for rate in freed.mbps.values()),
         "with: every server gets its frames all the time"),
        (bounced(freed) > 0, "with: bounced frames go in priority 2"),
        (is_overloaded(freed), "with: it is overloaded as before; every host is paused, and switches pause switches"),
        (freed.over.total("held") == 0, "with: when the sources stop it runs empty"),
        (freed.over.lossless_drops() == 0 and is_whole(freed) and is_balanced(freed),
         "with: 0 lossless drops; each flow arrives whole and in order, in DSCP 3, also as tshark sees it"),
    ]
    for is_so, text in answers:
        show.result(is_so, text)
    for name, load in (("without remapping", knot), ("with remapping", freed)):
        if not is_balanced(load) or load.over.lossless_drops():
            show.heading(f"What was counted {name}: a frame is missing")
            print_books(load)
    return all(is_so for is_so, _ in answers)
