"""A fleet of eight switches: proven rules rolled out by etcd, while lossless traffic flows and things fail.

Three members of etcd, eight switches in a ring of network namespaces, a host on each. New rules are
rolled out; a switch hangs, the leader of etcd dies, all three members die, half of the switches are cut
off. Each rollout stops in a proven state or goes on, as it is said to; no lossless frame is lost; and
the rules that switches really have are sampled and verified throughout. Ends by itself in about two
minutes: with status 0 if all of that is so, 1 if not, 2 if it cannot run here.

Usage: python3 scripts/fleet. KNOTLESS names another program than target/release's.
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
import fabric  # noqa: E402
from common import door, show  # noqa: E402
from common.lab import Failed, Lab  # noqa: E402
from samples import Samples  # noqa: E402
from store import MEMBERS, Management, Operator, Store  # noqa: E402

TIMEOUT = ["--timeout", "4s"]
# Within this every agent is back: it waits at most 10 s between two attempts.
BACK_S = 40.0


class Story:
    """What was tried, and whether each came out as it was said to."""

    def __init__(self, lab: Lab):
        self.lab = lab
        self.rows, self.said = [], ""
        self.network, self.old = fabric.compile_rules(lab, "A")
        _, self.new = fabric.compile_rules(lab, "E")
        management = Management(lab)
        self.management = management
        self.store = Store(lab, management)
        self.operator = Operator(lab, fabric.NETWORK)
        self.until("etcd comes up", lambda: self.init() == 0)
        self.fabric = fabric.Fabric(lab, management, self.old)
        self.until("the switches report", lambda: all(
            row["state"] == "ok" for row in self.status()["switches"]))

    def init(self) -> int:
        status, self.said = self.operator.call("init", self.network, "--rules", self.old)
        return status

    def status(self) -> dict:
        _, self.said = self.operator.call("status", "--json")
        return json.loads(self.said)

    def until(self, what: str, is_so, patience=BACK_S):
        deadline = time.monotonic() + patience
        while not is_so():
            if time.monotonic() > deadline:
                raise Failed(f"{what}: not within {patience:.0f} s; {self.said}")
            time.sleep(0.2)

    def all_at(self, revision: int) -> bool:
        """Whether the store says that all switches have a revision, and they do."""
        status = self.status()
        head, rows = status["head"], status["switches"]
        return (head["running"] == revision and head["rollout"] is None
                and all(row["state"] == "ok" for row in rows))

    def are_connected(self, is_so: bool) -> bool:
        return all(connected == is_so for _, connected in self.fabric.rules().values())

    def check(self, what: str, is_so: bool, found: str, drops: int):
        """A row: what was tried, what was found, what was dropped until now."""
        self.rows.append((what, found, drops, is_so and drops == 0))
        show.result(is_so and drops == 0, f"{what}: {found}; {drops} lossless drops")

    def call(self, what: str, expected: int, says: str, revision: int, *words: str):
        """A command that must end with a status and say something; then all switches have a revision,
        unless that is 0."""
        began = time.monotonic()
        status, said = self.operator.call(*words)
        seconds = time.monotonic() - began
        is_so = status == expected and says in said
        if revision:
            is_so = is_so and self.all_at(revision)
        line = next((line for line in said.splitlines() if says in line), said.strip())
        self.check(what, is_so, f"exit {status} in {seconds:.1f} s, {line[:110]}", self.fabric.drops())


def steps(story: Story):
    """Everything that is tried while traffic flows."""
    operator, switches = story.operator, story.fabric.switches
    story.call("push of new rules, dry", 0, "dry run", 0, "push", story.new, "--dry-run")
    said = operator.must("push", story.new)
    print("".join(f"       {line}\n" for line in said.splitlines()), end="")
    story.call("rollout", 0, "revision 2 runs", 2, "rollout")
    story.call("rollback", 0, "revision 1 runs", 1, "rollback")

    hung = switches["D"].process
    hung.send_signal(signal.SIGSTOP)
    try:
        story_hung(story)
    finally:
        hung.send_signal(signal.SIGCONT)
    story.until("the hung switch is back", lambda: story.are_connected(True))
    story.call("it is back: resume", 0, "revision 2 runs", 2, "resume")

    leader = story.store.leader()
    story.store.kill(leader)
    story.call("the leader of etcd dies: rollback", 0, "revision 1 runs", 1, "rollback")
    rules = story.fabric.rules()
    for member in range(MEMBERS):
        if member != leader:
            story.store.kill(member)
    story.until("switches notice", lambda: story.are_connected(False))
    same = sum(rules[name][0] == hash for name, (hash, _) in story.fabric.rules().items())
    story.check("all three die: switches go on and say so", same == len(rules),
                f"{same} have the rules that they had, and say that etcd is lost", story.fabric.drops())
    story.call("rollout without etcd", 1, "etcd", 0, "rollout", *TIMEOUT)
    for member in range(MEMBERS):
        story.store.start(member)
    story.until("switches are back", lambda: story.are_connected(True))
    story.check("etcd is back: they converge", story.all_at(1), "all are connected", story.fabric.drops())
    story.call("etcd is back: rollout", 0, "revision 2 runs", 2, "rollout")

    cut = [20 + fabric.number(name) for name in "EFGH"]
    for number in cut:
        story.management.cut(number, True)
    story.call("half is cut off: rollback stops", 1, "proven", 0, "rollback", *TIMEOUT)
    for number in cut:
        story.management.cut(number, False)
    story.until("the half is back", lambda: story.are_connected(True))
    story.call("mended: rollback", 0, "revision 1 runs", 1, "rollback")


def story_hung(story: Story):
    """A rollout while D is stopped: asked only of the others, for D does not answer."""
    began = time.monotonic()
    status, said = story.operator.call("rollout", "2", *TIMEOUT)
    is_so = status == 1 and "does not answer" in said and "proven" in said
    line = said.strip().replace("\n", "; ")[:160]
    story.rows.append(("a switch hangs: rollout stops", line, 0, is_so))
    show.result(is_so, f"a switch hangs: exit {status} in {time.monotonic() - began:.1f} s, {line}")


def story(lab: Lab) -> bool:
    began = time.monotonic()
    show.heading("Knotless: a fleet of eight switches")
    tried = Story(lab)
    show.heading("With lossless traffic between all hosts")
    tried.fabric.start_traffic()
    samples = Samples(tried.fabric, tried.network)
    try:
        steps(tried)
    finally:
        samples.stop()
    sent, received = tried.fabric.stop_traffic()
    frames = sum(report["frames"] for report in sent.values())
    arrived = sum(report["frames"] for report in received.values())
    def faults(*kinds: str) -> int:
        return sum(flow[kind] for report in received.values() for flow in report["flows"] for kind in kinds)
    drops = tried.fabric.drops()
    # Where new rules raise a tag elsewhere, frames of a flow change queues, and may overtake others of it.
    tried.rows.append(("every frame arrived, once",
                       f"{arrived:,} of {frames:,}, {faults('reordered')} reordered", drops,
                       arrived == frames and frames > 0 and drops == 0
                       and faults("lost", "duplicates", "corrupt") == 0))
    mixtures = len(samples.different)
    tried.rows.append(("no cycle at any moment", f"{samples.count} samples of all rules, {mixtures} "
                       "different", drops, samples.count > 20 and mixtures > 1 and not samples.bad))
    tried.fabric.stop()
    show.heading("As it should be?")
    print(show.table(["", "", "drops", ""], [
        [what, found[:90], count, "yes" if is_so else "NO"] for what, found, count, is_so in tried.rows
    ], left=2))
    for bad in samples.bad[:3]:
        print(f"  {bad}")
    print(f"  It took {time.monotonic() - began:.0f} s.")
    return all(is_so for *_, is_so in tried.rows)


if __name__ == "__main__":
    sys.exit(door.run("fleet", ["etcd", "etcdctl"], story))
