"""Both runs beside each other, and whether each is as it should be."""

import dataclasses

from common import show
from load import STILL_LOOKS, Load
from common.ring import LOSSLESS
from ring import NAMES, destination, host
from waits import cycle


@dataclasses.dataclass
class Run:
    """A run of the ring under a set of rules."""

    # What `knotless verify` says of the rules, in its JSON.
    verified: dict
    load: Load


def hops(verified: dict) -> str:
    """The cycle that `knotless verify` found, as buffers: switch and in port."""
    buffers = [f"{hop['switch']}:{hop['in']}" for hop in verified["cycle"]]
    return " > ".join(buffers + buffers[:1]) or "deadlock-free"


def priorities(load: Load) -> int:
    """Lossless priorities that frames were sent in."""
    last = load.over
    return sum(
        any(row["tx_frames"][priority] for stats in last.stats.values() for row in stats["ports"])
        for priority in LOSSLESS
    )


def print_table(plain: Run, ruled: Run):
    def row(text: str, of, form: str = ","):
        return [text] + [format(of(run.load), form) for run in (plain, ruled)]

    rows = [["`knotless verify` says", hops(plain.verified), hops(ruled.verified)],
            row("lossless priorities in use", priorities)]
    for name in NAMES:
        to = destination(name)
        text = f"{host(name)} to {host(to)}, Mb/s in the last {STILL_LOOKS} s"
        rows.append(row(text, lambda load, to=to: load.mbps(to, host(to)), ".1f"))
    rows += [
        row("frames sent", Load.frames_sent),
        row("frames delivered", Load.frames_received),
        row("frames held when the sources had stopped", lambda load: load.stopped.frames_held()),
        row("frames held in the end", lambda load: load.over.frames_held()),
        row("lossless drops", lambda load: load.over.lossless_drops()),
    ]
    print(show.table(["", "plain PFC", "with the rules"], rows))


def is_whole(load: Load) -> bool:
    """Whether every frame of every flow arrived, once and in order."""
    for name in NAMES:
        received = load.received[destination(name)]
        flows = received["flows"]
        if len(flows) != 1 or received["frames"] != load.sent[name]["frames"] or not flows[0]["frames"]:
            return False
        if any(flows[0][fault] for fault in ("lost", "reordered", "duplicates", "corrupt")):
            return False
    return True


def is_balanced(load: Load) -> bool:
    """Whether every frame that was sent was delivered, once, or is still held."""
    books = all(stats["totals"]["imbalance"] == 0 for stats in load.over.stats.values())
    repeated = sum(flow["duplicates"] for report in load.received.values() for flow in report["flows"])
    ends = load.frames_received() + load.over.frames_held()
    return books and not repeated and load.frames_sent() == ends


def print_books(load: Load):
    """What each end and each switch counted: where a frame went that the balance misses."""
    rows = []
    for name in NAMES:
        sent, received = load.sent[name], load.received[name]
        repeated = sum(flow["duplicates"] for flow in received["flows"])
        rows.append([host(name), sent["frames"], sent["refused"], sent["interface_tx_dropped"],
                     received["frames"], repeated, received["misdelivered"], received["damaged_headers"],
                     received["other_frames"], received["dropped_by_own_socket"]])
    print(show.table(["host", "sent", "refused", "interface drops", "received", "repeated", "misdelivered",
                      "damaged", "others", "socket drops"], rows))
    for name in NAMES:
        totals = load.over.stats[name]["totals"]
        print(f"  {name}: " + ", ".join(f"{what} {frames}" for what, frames in totals.items()))
        for row in load.over.stats[name]["ports"]:
            queues = [queue["veq_frames"] for queue in row["queues"]]
            device = {what: count for what, count in row["device_counters"].items() if count}
            print(f"    {row['name']}: rx {row['rx_frames']}, tx {row['tx_frames']}, queued {queues}, "
                  f"drops {row['drops']}, device {device}")


def is_overloaded(load: Load) -> bool:
    """Whether every host had more to send than it could, and some switch too."""
    paused = [sum(heard["pauses"] for heard in load.sent[name]["priorities"]) for name in NAMES]
    return all(paused) and any(load.over.xoff(name) for name in NAMES)


def is_refreshed(load: Load) -> bool:
    """Whether every switch went on pausing the one before it."""
    return all(load.over.xoff(name) > load.stopped.xoff(name) for name in NAMES)


def stays(load: Load) -> bool:
    """Whether frames stay in the ring, and none of them moved since the sources stopped."""
    held = load.over.frames_held()
    return 0 < held == load.stopped.frames_held() and load.over.moved() == load.stopped.moved()


def is_explained(run: Run) -> bool:
    """Whether `knotless why` names the cycle of the rules, and a moment of the overload."""
    why, moments = run.load.why, run.load.moments
    if why is None or not why.cycle:
        return False
    ring = "deadlock: " + hops({"cycle": run.verified["cycle"]})
    return (sorted(why.cycle) == sorted(f"{hop['switch']}:{hop['in']}" for hop in run.verified["cycle"])
            and ring in why.text and "the cycle closed at" in why.text
            and moments[0].unix_ms() <= why.closed_ms <= moments[-1].unix_ms())


def print_verdict(plain: Run, ruled: Run) -> bool:
    """Answers whether all was as it should be, one line each."""
    knot, freed = plain.load, ruled.load
    seconds = knot.over.at() - knot.stopped.at()
    pfc = sum(len(wire.pfc) for wire in knot.wires)
    in_ring = cycle(knot.waits) == list(NAMES)
    answers = [
        (not plain.verified["deadlock_free"] and len(plain.verified["cycle"]) == len(NAMES),
         "plain PFC: `knotless verify` foretells the cycle"),
        (knot.is_frozen, f"plain PFC: the ring freezes; for {STILL_LOOKS} s of sending no frame moves"),
        (stays(knot) and is_refreshed(knot),
         f"plain PFC: {seconds:.0f} s after the sources stopped it is frozen still, its pauses refreshed"),
        (in_ring, "plain PFC: A waits for B waits for C waits for A, say the switches themselves"),
        (is_explained(plain), "plain PFC: `knotless why` names the cycle that `verify` names, and when it closed"),
        (knot.why is not None and knot.why.has_moment(knot.why.recorded) and knot.why.has_moment(knot.why.written),
         "plain PFC: the flight recorder of the switch that closed it has that moment, and its file too"),
        (len(knot.wires) == len(NAMES) and all(wire.is_silenced() for wire in knot.wires),
         f"plain PFC: on the ring's wires tshark sees {pfc} PFC frames, all XOFF, and no frame of a host"),
        (knot.over.lossless_drops() == 0 and is_balanced(knot),
         "plain PFC: 0 lossless drops; sent = delivered + held, to the frame"),
        (ruled.verified["deadlock_free"], "rules: `knotless verify` proves that no cycle can be"),
        (not freed.is_frozen and all(freed.mbps(name, host(name)) > 0 for name in NAMES)
         and freed.over.raised() > 0, "rules: every flow flows, and tags rise on the way"),
        (is_overloaded(freed),
         "rules: it is overloaded as before; every host is paused, and switches pause switches"),
        (freed.over.total("held") == 0, "rules: when the sources stop it runs empty"),
        (freed.over.lossless_drops() == 0 and is_whole(freed) and is_balanced(freed),
         "rules: 0 lossless drops; each flow arrives whole and in order"),
    ]
    for is_so, text in answers:
        show.result(is_so, text)
    for name, load in (("plain PFC", knot), ("the rules", freed)):
        if not is_balanced(load) or load.over.lossless_drops():
            show.heading(f"What {name} counted: a frame is missing")
            print_books(load)
    return all(is_so for is_so, _ in answers)
