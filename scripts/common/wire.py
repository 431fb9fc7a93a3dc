"""What is on a wire, as dumpcap records it and tshark, a foreign tool, decodes it."""

import dataclasses
import pathlib
import signal

from common.lab import Lab

PRIORITIES = range(8)
XOFF = 0xFFFF
PFC = "ether[12:2]==0x8808"
PFC_OPCODE = "0x0101"
DECODED_FIELDS = ["frame.time_relative", "eth.src", "macc.opcode", "macc.cbfc.enbv"]


@dataclasses.dataclass
class Decoded:
    """A PFC frame as tshark decodes it."""

    time: float
    source: str
    classes: int
    quanta: list

    def named(self) -> list:
        """The priorities that it says something of."""
        return [priority for priority in PRIORITIES if self.classes >> priority & 1]


class Capture:
    """Frames of an interface, from now on."""

    def __init__(self, lab: Lab, where: str, dev: str, name: str, only: str = ""):
        self.lab = lab
        self.file = lab.folder / f"{name}.pcapng"
        # Where dumpcap has capabilities, it outlives even a script that is killed.
        command = ["dumpcap", "-q", "-i", dev, "-a", "duration:120", "-w", self.file]
        self.process = lab.start(command + (["-f", only] if only else []), where, f"dumpcap-{name}")

    def wait(self):
        """Waits until it records."""
        self.lab.wait_for(self.process, "File:")

    def stop(self) -> pathlib.Path:
        """Ends it; where the frames are."""
        self.process.send_signal(signal.SIGINT)
        self.lab.finish(self.process)
        return self.file


def fields(lab: Lab, file: pathlib.Path, names: list, only: str = "") -> list:
    """Has tshark print these fields of each frame."""
    command = ["tshark", "-r", file, "-T", "fields"] + (["-Y", only] if only else [])
    for name in names:
        command += ["-e", name]
    return [line.split("\t") for line in lab.run(command).splitlines()]


def pfc_frames(lab: Lab, file: pathlib.Path) -> list:
    """The PFC frames of a capture."""
    names = DECODED_FIELDS + [f"macc.cbfc.pause_time.c{priority}" for priority in PRIORITIES]
    frames = []
    for time, source, opcode, classes, *quanta in fields(lab, file, names):
        if opcode == PFC_OPCODE:
            quanta = [int(time) for time in quanta]
            frames.append(Decoded(float(time), source, int(classes, 16), quanta))
    return frames
