"""A running `knotless run`, and what it answers."""

import json
import pathlib
import signal
import time

from common.lab import Failed, Lab

LOOK_S = 0.05


class Switch:
    """The switch of a file, in a namespace, with a control socket of its own."""

    def __init__(self, lab: Lab, file: pathlib.Path, namespace: str):
        """Starts it. The file gets a `[control]` table."""
        self.lab = lab
        self.name = file.stem
        self.socket = file.with_suffix(".sock")
        with open(file, "a") as text:
            text.write(f'\n[control]\nsocket = "{self.socket}"\n')
        # Ahead of the hosts, which share its cores: a switch must look at its ports in time.
        command = ["nice", "-n", "-10", lab.knotless, "run", file]
        self.process = lab.start(command, namespace, f"{namespace}-switch")

    def wait(self):
        """Waits until it answers."""
        self.lab.wait_until(self.socket.exists, self.process)

    def is_stopped(self) -> bool:
        """Whether a signal has stopped it (SIGSTOP)."""
        stat = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text()
        return stat.rpartition(")")[2].split()[0] == "T"

    def said(self) -> list:
        """What it has said, line by line."""
        return self.process.out.read_text().splitlines()

    def ctl(self, *arguments: str) -> str:
        """What it answers to `knotless ctl`."""
        return self.lab.run([self.lab.knotless, "ctl", "--socket", self.socket, *arguments])

    def stats(self) -> dict:
        """Everything it counts."""
        return json.loads(self.ctl("stats", "--json"))

    def settled(self) -> dict:
        """The same, once no frame waits in it any more."""
        for _ in range(100):
            stats = self.stats()
            if stats["totals"]["held"] == 0:
                return stats
            time.sleep(LOOK_S)
        raise Failed(f"{stats['totals']['held']} frames stay in switch {self.name}")

    def interrupt(self):
        """Asks for its end as Ctrl-C would."""
        self.process.send_signal(signal.SIGINT)

    def end(self) -> str:
        """Waits for its end; its last words."""
        return self.lab.finish(self.process).splitlines()[-1]

    def stop(self) -> str:
        """Ends it; its last words."""
        self.interrupt()
        return self.end()
