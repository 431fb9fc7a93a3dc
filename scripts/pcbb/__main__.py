"""SONiC's dual-ToR deadlock on real wires, and its remapping of bounced frames (PCBB) that prevents it.

Two ToRs below two T1s, as `knotless import sonic` makes them of the databases in config/examples/pcbb: each server is
active at one ToR and on standby at the other, which sends its frames back up in a tunnel. Overload of the servers
freezes the switches if bounced frames stay in their priority, and does not if they go in another one. Ends by itself in
a minute: with status 0 if both are so, 1 if not, 2 if it cannot run here. Leaves no process, namespace or file behind.

Usage: python3 scripts/pcbb [--seconds N] [--no-remap]. KNOTLESS names another program than
target/release's.
"""

import argparse
import pathlib
import signal
import sys
import time

# Before there is anything to clean up, Ctrl-C just ends it.
signal.signal(signal.SIGINT, signal.SIG_DFL)
sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import load  # noqa: E402
import report  # noqa: E402
from common import door, show  # noqa: E402
from common.lab import Lab  # noqa: E402
from pair import TORS, Pair, tunnel_lines  # noqa: E402

# What has not frozen by then will not; it always has within a few seconds.
FREEZE_S = 25

INTRODUCTION = """\
           host1       host2
             |           |
            t1-1        t1-2        20 Mb/s each; a host sends to all servers
             | \\       / |
             |   \\   /   |
             |   /   \\   |
             | /       \\ |
           tor-a       tor-b        2 Mb/s to each server
           1, 3         2, 4        servers that are active here; each is on standby at the other

A T1 sends what is for a server to either ToR, by the hash of the flow. The ToR where the server is on
standby sends it to the other one in a tunnel, back up by a T1; the flows here are such. All frames are
lossless, in DSCP 3; the hosts have five times for the servers what those can take. Each switch is what
`knotless import sonic` makes of a database, slowed down, in a network namespace of its own."""


def overload(lab: Lab, phase: str, remaps: bool, seconds: int) -> report.Run:
    """The switches from start to end. What waits at the end is shown as they tell it."""
    pair = Pair(lab, phase, remaps)
    print(f"  The tunnel of {TORS[0]}, as imported:")
    for line in tunnel_lines(pair.folder / f"{TORS[0]}.toml"):
        print(f"    {line}")
    what = load.run(pair, seconds)
    cycle = load.cycle(pair, what.waits)
    if cycle:
        show.heading("Who waits for whom, as `knotless ctl waits` of each switch tells it")
        for link in cycle:
            print(f"  {load.sentence(pair, what.waits, link)}")
    pair.stop()
    return report.Run(what, cycle)


def story(lab: Lab, options: argparse.Namespace) -> bool:
    began = time.monotonic()
    show.heading("Knotless: the deadlock of a dual-ToR pair, and what prevents it")
    print(INTRODUCTION)
    show.heading("1. Without remapping: bounced frames stay in their priority")
    plain = overload(lab, "plain", False, FREEZE_S)
    show.heading("2. With remapping: bounced frames have outer DSCP 2, and priority 2")
    remapped = overload(lab, "pcbb", not options.no_remap, options.seconds)
    show.heading("Both")
    report.print_table(plain, remapped)
    show.heading("As it should be?")
    is_well = report.print_verdict(plain, remapped)
    print(f"  It took {time.monotonic() - began:.0f} s.")
    return is_well


def main() -> int:
    parser = argparse.ArgumentParser(prog="pcbb", description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=int, default=10, help="how long hosts send with remapping")
    parser.add_argument("--no-remap", action="store_true",
                        help="keep bounced frames in their priority in the second part too: it must fail")
    options = parser.parse_args()
    return door.run("pcbb", ["dumpcap", "tshark"], lambda lab: story(lab, options))


if __name__ == "__main__":
    sys.exit(main())
