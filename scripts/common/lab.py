"""Namespaces and processes that end with the script, whatever ends it.

A namespace of the network has no name: it lives as long as the process that holds it. Every
process is killed by the kernel when this one dies, so even `kill -9` leaves nothing running.
"""

import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time


ENDS = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]


class Failed(Exception):
    """Why the script cannot go on, in a line."""


class Stopped(Exception):
    """Somebody wants the script to end, with this signal."""


class Lab:
    """A folder, and processes in namespaces; all of it is gone after `close`."""

    def __init__(self, name: str, knotless: pathlib.Path):
        # Until the first process runs, nothing raises where nobody would clean up.
        self.is_starting = True
        self.stopped_by = None
        for end in ENDS:
            signal.signal(end, self.stop)
        self.knotless = knotless
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix=f"knotless-{name}-"))
        self.processes = []
        self.namespaces = {}

    def stop(self, number, _frame):
        """Ends the script, once: nothing disturbs the cleaning up."""
        for end in ENDS:
            signal.signal(end, signal.SIG_IGN)
        self.stopped_by = signal.Signals(number)
        # What is just being made must become known first.
        if not self.is_starting:
            raise Stopped(self.stopped_by)

    def close(self):
        """Ends every process by its id, the latest first, and removes the folder."""
        for process in reversed(self.processes):
            if process.poll() is None:
                process.kill()
            try:
                process.wait(timeout=30)
            except subprocess.TimeoutExpired:
                # The kernel has not let it go, or the signal that stopped us came while its lock was taken.
                print(f"{process.what} was killed, and has not ended", file=sys.stderr)
        shutil.rmtree(self.folder, ignore_errors=True)

    def start(self, command: list, where: str | None = None, name: str | None = None):
        """Starts `command` in the namespace `where`. Its output goes to `name`.out and .err."""
        prefix = ["setpriv", "--pdeathsig", "KILL", "--"]
        if where is not None:
            prefix += ["nsenter", f"--net=/proc/{self.namespaces[where]}/ns/net", "--"]
        name = name or f"{len(self.processes)}-{pathlib.Path(command[0]).name}"
        out, err = self.folder / f"{name}.out", self.folder / f"{name}.err"
        self.is_starting = True
        with open(out, "w") as stdout, open(err, "w") as stderr:
            # A session of its own: Ctrl-C reaches the script only, which then ends the rest.
            process = subprocess.Popen(
                prefix + [str(word) for word in command],
                stdin=subprocess.DEVNULL, stdout=stdout, stderr=stderr, start_new_session=True,
            )
        process.out, process.err, process.what = out, err, name
        self.processes.append(process)
        self.is_starting = False
        if self.stopped_by is not None:
            raise Stopped(self.stopped_by)
        return process

    def finish(self, process, patience=30.0) -> str:
        """Waits for the end of `process`, which must be a good one, and returns what it said."""
        try:
            status = process.wait(timeout=patience)
        except subprocess.TimeoutExpired:
            raise Failed(f"{process.what} goes on and on") from None
        if status != 0:
            said = process.err.read_text().strip() or process.out.read_text().strip()
            raise Failed(f"{process.what} ended with {status}: {said}")
        return process.out.read_text()

    def run(self, command: list, where: str | None = None) -> str:
        """Runs `command` to its end, which must be a good one, and returns what it said."""
        return self.finish(self.start(command, where))

    def wait_for(self, process, text: str, patience=10.0):
        """Waits until `process` has written `text` to stderr."""
        self.wait_until(lambda: text in process.err.read_text(), process, patience)

    def wait_until(self, is_so, process, patience=10.0):
        """Waits until `is_so()`, while `process` runs."""
        deadline = time.monotonic() + patience
        while not is_so():
            if process.poll() is not None or time.monotonic() > deadline:
                said = process.err.read_text().strip()
                raise Failed(f"{process.what} does not come up: {said}")
            time.sleep(0.01)

    def add_namespace(self, name: str):
        """Makes a network namespace, with its loopback up."""
        holder = self.start(["unshare", "--net", "sleep", "infinity"], name=f"{name}-namespace")
        ours = os.stat("/proc/self/ns/net").st_ino
        there = f"/proc/{holder.pid}/ns/net"
        self.wait_until(lambda: os.stat(there).st_ino != ours, holder)
        self.namespaces[name] = holder.pid
        self.ip(name, "link set lo up")

    def ip(self, where: str, *commands: str):
        """Runs `ip` commands in a namespace."""
        for command in commands:
            self.run(["ip", *command.split()], where)

    def add_quiet_namespace(self, name: str):
        """A namespace for a switch: its ports' interfaces are there before anybody has asked them
        to speak, and with IPv6 would announce themselves."""
        self.add_namespace(name)
        self.run(["sh", "-c", "echo 1 >/proc/sys/net/ipv6/conf/all/disable_ipv6"], name)

    def add_host(self, name: str, dev: str, net: int, switch: str = "switch", queue: int = 0):
        """Makes a host and gives it the interface `dev` of the namespace `switch`.

        `queue`: frames that wait in the interface for the switch, if not as many as the switch set.
        """
        self.add_namespace(name)
        self.ip(switch, f"link set {dev} netns {self.namespaces[name]}")
        if queue:
            # Before it is up: the kernel drops what it sends while the length changes.
            self.ip(name, f"link set {dev} txqueuelen {queue}")
        self.ip(
            name,
            # Nothing announces itself while frames are counted.
            f"link set {dev} addrgenmode none",
            f"link set {dev} up",
            f"addr add 10.1.{net}.2/24 dev {dev}",
            f"addr add fd00:1:{net}::2/64 dev {dev} nodad",
            f"route add default via 10.1.{net}.1",
            f"route add default via fd00:1:{net}::1",
        )

    def traffic(self, what: str, host: str, dev: str, *arguments: str):
        """Starts `knotless traffic` on a host."""
        command = [self.knotless, "traffic", what, "--json", "--dev", dev, *arguments]
        return self.start(command, host, f"{what}-{host}")
