"""Figures of rounds, which of them count, and what they must be.

A figure that was measured while the machine interfered is measured again, a few times at most. Medians are
of undisturbed figures. Where too few can be had all count, and the result says that it rests on the CPU
time which the cores received: every rate is one by that time.
"""

import dataclasses
import statistics

# How often a disturbed figure is measured again.
REPEATS_MAX = 3
# Ratios that frames of 64 bytes must reach: beside testpmd's csum mode, beside OVS-DPDK, two workers beside
# one, a port's two queues on two workers beside one queue, congested beside not.
MUSTS = {"csum": 1.0, "ovs": 2.5, "two_workers": 1.6, "two_queues": 1.7, "congested": 0.7}


class Failed(Exception):
    """A measurement came to no figure, for a reason that may be gone next time."""


@dataclasses.dataclass(frozen=True)
class Figure:
    """Millions of frames for each second that a core was had."""

    mpps: float
    # The share of the time that the threads were kept from their cores.
    lost: float = 0.0
    # What disturbed it; empty if nothing did.
    reasons: tuple[str, ...] = ()
    # Lossless frames that the switch dropped meanwhile. A core that is away for some milliseconds is enough
    # for that, since a file obeys no pause: little enough to be no disturbance of its own.
    lossless_drops: int = 0

    @property
    def is_disturbed(self) -> bool:
        return bool(self.why)

    @property
    def why(self) -> str:
        """What disturbed it, in a line; empty if nothing did."""
        drops = [f"{self.lossless_drops} lossless frames dropped"] if self.lossless_drops else []
        return ", ".join([*self.reasons, *drops])


@dataclasses.dataclass(frozen=True)
class Repeat:
    """A figure that was thrown away, and why."""

    round: int
    name: str
    why: str


def take(measure, name: str, number: int, repeats: list[Repeat]) -> Figure:
    """One figure of round `number`: the first undisturbed one, else the least disturbed. What was measured
    again is added to `repeats`. Raises `Failed` if not one attempt came to a figure."""
    figures, why = [], ""
    for attempt in range(1 + REPEATS_MAX):
        try:
            figure = measure()
        except Failed as failure:
            why = str(failure)
        else:
            if not figure.is_disturbed:
                return figure
            figures.append(figure)
            why = figure.why
        if attempt < REPEATS_MAX:
            repeats.append(Repeat(number, name, why))
    if not figures:
        raise Failed(f"{name}: {why}")
    return min(figures, key=lambda figure: (figure.lossless_drops > 0, figure.lost))


def drops_unexplained(figures: list[Figure]) -> int:
    """Lossless frames dropped, attempt after attempt, on a machine that did not interfere."""
    return sum(figure.lossless_drops for figure in figures if not figure.reasons)


@dataclasses.dataclass(frozen=True)
class Median:
    """A median, and what it rests on."""

    value: float
    least: float
    most: float
    undisturbed: int
    of: int

    @property
    def is_undisturbed(self) -> bool:
        return enough(self.undisturbed, self.of)


def enough(undisturbed: int, of: int) -> bool:
    """Whether so many undisturbed rounds can speak for all."""
    return 2 * undisturbed > of


def median(values: list[float], disturbed: list[bool]) -> Median:
    """Of the undisturbed values if there are enough of them, else of all."""
    quiet = [value for value, is_disturbed in zip(values, disturbed) if not is_disturbed]
    used = quiet if enough(len(quiet), len(values)) else values
    return Median(statistics.median(used), min(used), max(used), len(quiet), len(values))


def rate(figures: list[Figure]) -> Median:
    return median([figure.mpps for figure in figures], [figure.is_disturbed for figure in figures])


def ratio(ours: list[Figure], theirs: list[Figure]) -> Median:
    """Median of the rounds' ratios: each compares two figures of the same minute."""
    pairs = list(zip(ours, theirs))
    return median([a.mpps / b.mpps for a, b in pairs], [a.is_disturbed or b.is_disturbed for a, b in pairs])


@dataclasses.dataclass(frozen=True)
class Verdict:
    """A ratio beside what it must be."""

    name: str
    ratio: Median
    least: float

    @property
    def is_met(self) -> bool:
        return self.ratio.value >= self.least

    def __str__(self) -> str:
        basis = "" if self.ratio.is_undisturbed else (
            f"; only {self.ratio.undisturbed} of {self.ratio.of} rounds were undisturbed: by the CPU time that "
            "the cores received")
        answer = "yes" if self.is_met else "NO "
        return f"{answer}  {self.name} {self.ratio.value:.2f}, must be {self.least:.1f} or more{basis}"


def judge(ratios: dict[str, Median], musts: dict[str, float]) -> list[Verdict]:
    return [Verdict(name, ratios[name], least) for name, least in musts.items()]
