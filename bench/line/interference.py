"""What the machine took from polling threads while they were measured, by the kernel's own counts."""

import dataclasses
import os
import pathlib
import re
import time

# Above these shares of the time a measurement is disturbed. A poll-mode thread never sleeps: what it does
# not run it was kept from.
WAIT_MAX = 0.01
STEAL_MAX = 0.01
LOST_MAX = 0.02
# Each preemption also costs the caches; on a quiet machine the kernel's own threads make a few in a second.
PREEMPTIONS_MAX_PER_S = 50
# The column of /proc/stat behind a CPU's name: user, nice, system, idle, iowait, irq, softirq, steal.
STEAL_COLUMN = 7


@dataclasses.dataclass(frozen=True)
class Counts:
    """What the kernel has counted of some threads and of the cores that they poll on, up to now."""

    at_s: float
    # Summed over the threads: time on a core, time runnable without one, involuntary context switches.
    on_core_s: float
    wait_s: float
    preemptions: int
    # Summed over the cores: time that the hypervisor gave to others.
    steal_s: float


@dataclasses.dataclass(frozen=True)
class Interference:
    """The same, between two moments."""

    threads: int
    elapsed_s: float
    on_core_s: float
    wait_s: float
    steal_s: float
    preemptions: int

    @property
    def core_seconds(self) -> float:
        """What the threads would have had to themselves."""
        return self.threads * self.elapsed_s

    @property
    def lost(self) -> float:
        """The share of it that they did not get. The kernel may or may not count stolen time as theirs."""
        return max(1 - self.on_core_s / self.core_seconds, self.steal_s / self.core_seconds, 0.0)

    def reasons(self) -> list[str]:
        """Why a figure measured meanwhile is not that of a machine of its own; empty if it is."""
        found = []
        shares = (("run-queue wait", self.wait_s, WAIT_MAX), ("steal", self.steal_s, STEAL_MAX))
        for what, seconds, most in shares:
            if seconds > most * self.core_seconds:
                found.append(f"{what} {seconds / self.core_seconds:.1%}")
        if self.lost > LOST_MAX:
            found.append(f"off its core {self.lost:.1%}")
        if self.preemptions > PREEMPTIONS_MAX_PER_S * self.core_seconds:
            found.append(f"{self.preemptions / self.core_seconds:.0f} involuntary context switches a second")
        return found


def between(before: Counts, after: Counts, threads: int) -> Interference:
    return Interference(threads, after.at_s - before.at_s, after.on_core_s - before.on_core_s,
                        after.wait_s - before.wait_s, after.steal_s - before.steal_s,
                        after.preemptions - before.preemptions)


def schedstat_s(text: str) -> tuple[float, float]:
    """Time on a core and run-queue wait in the text of a thread's schedstat."""
    on_core_ns, wait_ns = map(int, text.split()[:2])
    return on_core_ns / 1e9, wait_ns / 1e9


def preemptions(text: str) -> int:
    """Involuntary context switches in the text of a thread's status."""
    return int(re.search(r"^nonvoluntary_ctxt_switches:\s+(\d+)$", text, re.MULTILINE).group(1))


def steal_s(text: str, cores: list[int], ticks_per_s: int) -> float:
    """Stolen time of `cores` in the text of /proc/stat."""
    ticks = 0
    for line in text.splitlines():
        name, *columns = line.split()
        if name in {f"cpu{core}" for core in cores}:
            ticks += int(columns[STEAL_COLUMN])
    return ticks / ticks_per_s


class Threads:
    """Polling threads of a process, found by the beginnings of their names, each on its core."""

    def __init__(self, pid: int, names: list[tuple[str, ...]], cores: list[int]):
        """For each thread the names that it may have: they differ between DPDK's versions."""
        self.cores = cores
        self.folders = [find(pid, begins) for begins in names]

    def counts(self) -> Counts:
        stats = [schedstat_s((folder / "schedstat").read_text()) for folder in self.folders]
        stolen_s = steal_s(pathlib.Path("/proc/stat").read_text(), self.cores, os.sysconf("SC_CLK_TCK"))
        return Counts(time.monotonic(), sum(on for on, _ in stats), sum(wait for _, wait in stats),
                      sum(preemptions((folder / "status").read_text()) for folder in self.folders), stolen_s)

    def since(self, before: Counts) -> Interference:
        return between(before, self.counts(), len(self.folders))


def find(pid: int, begins: tuple[str, ...], patience_s: float = 20.0) -> pathlib.Path:
    """The folder in /proc of the thread, when there is one."""
    deadline = time.monotonic() + patience_s
    while time.monotonic() < deadline:
        for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
            if (task / "comm").read_text().startswith(begins):
                return task
        time.sleep(0.02)
    raise LookupError(f"process {pid} has no thread {' or '.join(begins)}")
