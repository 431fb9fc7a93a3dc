"""A real PFC deadlock on real wires, and the tag rules that untie it.

Three switches in a ring, a flow from each one's host to the host two hops on. With plain PFC the
ring freezes, and stays frozen when the sources have stopped; with the rules that `knotless compile`
makes for it, it flows and runs empty. Ends by itself in less than a minute: with status 0 if both
are so, 1 if not, 2 if it cannot run here. Leaves no process, namespace or file behind.

Usage: python3 scripts/knot [--seconds N] [--no-rules]. KNOTLESS names another program than
target/release's.
"""

import argparse
import json
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
import waits  # noqa: E402
from common import door, show  # noqa: E402
from common.lab import Failed, Lab  # noqa: E402
from ring import NAMES, NETWORK, SPEED, Ring  # noqa: E402

PLAIN = NETWORK.parent / "plain"
# A ring that has not frozen by then will not; it always has within a few seconds.
FREEZE_S = 25

INTRODUCTION = f"""\
   HA -- A ------> B -- HB      HA to HC by A, B, C
          ^       /             HB to HA by B, C, A
           \\     v              HC to HB by C, A, B
              C -- HC

Each switch is a process in a network namespace of its own: its host on port 1, the next switch on
port 2, the one before on port 3. Each link of the ring is a veth pair, and every link has {SPEED}b/s.
All flows are lossless; every host sends as fast as its link and PFC let it, so that each link of the
ring has two flows to carry, twice what it can."""


def verify(lab: Lab, rules: pathlib.Path) -> dict:
    """Shows what `knotless verify` says of rules, and returns it."""
    command = [lab.knotless, "verify", NETWORK, "--rules", rules]
    for arguments in ([], ["--json"]):
        process = lab.start(command + arguments)
        # 1 says that there is a cycle.
        if process.wait(timeout=30) not in (0, 1):
            raise Failed(process.err.read_text().strip())
        said = process.out.read_text()
        if not arguments:
            print("".join(f"  {line}\n" for line in said.splitlines()), end="")
    return json.loads(said)


def compile_rules(lab: Lab, rules: pathlib.Path):
    """Has `knotless compile` make the rules, and shows what it found and where tags rise."""
    said = lab.run([lab.knotless, "compile", NETWORK, "--out", rules]).splitlines()
    wanted = ("expected paths", "paths with a raise", "lossless priorities", "rules of all")
    for line in said:
        if line.startswith(wanted):
            print(f"  {line}")
    for name in NAMES:
        for entry in json.loads((rules / f"{name}.json").read_text())["entries"]:
            if entry["tag"] == 1 and entry["new_tag"] == 2:
                turns = [" or ".join(map(str, entry[side])) for side in ("in", "out")]
                print(f"  {name}: tag 1 rises to 2 from port {turns[0]} to port {turns[1]}")


def overload(lab: Lab, phase: str, rules: pathlib.Path, seconds: int) -> load.Load:
    """A ring from start to end. What waits at the end is shown as its switches tell it."""
    ring = Ring(lab, phase, rules)
    what = load.run(ring, seconds)
    if what.over.total("held") > 0:
        print_waits(ring, what.waits)
        what.why = load.ask_why(ring)
        print_why(what.why)
    ring.stop()
    return what


def print_waits(ring: Ring, told: dict):
    """Who waits for whom, and one switch's own picture of it."""
    show.heading("Who waits for whom, as `knotless ctl waits` of each switch tells it")
    for name in waits.cycle(told):
        print(f"  {waits.sentence(told, name)}")
    name = NAMES[0]
    show.heading(f"Switch {name}, as `knotless top` shows it")
    top = ["top", "--once", "--interval", "1s", "--socket", ring.switches[name].socket]
    for line in ring.lab.run([ring.lab.knotless, *top]).splitlines():
        print(f"  {line}")


def print_why(said: load.Why):
    """The same as `knotless why` says it, and the moment in which the ring closed."""
    show.heading(f"Why, as `knotless why` of switch {NAMES[0]} says it")
    for line in said.text.splitlines():
        print(f"  {line}")


def story(lab: Lab, seconds: int, with_rules: bool) -> bool:
    began = time.monotonic()
    show.heading("Knotless: a deadlock of three switches, and what unties it")
    print(INTRODUCTION)
    show.heading("1. Plain PFC: one priority, tags never change")
    plain = report.Run(verify(lab, PLAIN), overload(lab, "plain", PLAIN, FREEZE_S))
    show.heading("2. The rules that `knotless compile` makes of the network and its paths")
    rules = lab.folder / "rules" if with_rules else PLAIN
    if with_rules:
        compile_rules(lab, rules)
    ruled = report.Run(verify(lab, rules), overload(lab, "ruled", rules, seconds))
    show.heading("Both")
    report.print_table(plain, ruled)
    show.heading("As it should be?")
    is_well = report.print_verdict(plain, ruled)
    print(f"  It took {time.monotonic() - began:.0f} s.")
    return is_well


def main() -> int:
    parser = argparse.ArgumentParser(prog="knot", description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=int, default=10, help="how long hosts send under the rules")
    parser.add_argument("--no-rules", action="store_true",
                        help="keep plain PFC in the second part too: it must fail")
    options = parser.parse_args()
    return door.run("knot", ["dumpcap", "tshark"], lambda lab: story(lab, options.seconds, not options.no_rules))


if __name__ == "__main__":
    sys.exit(main())
