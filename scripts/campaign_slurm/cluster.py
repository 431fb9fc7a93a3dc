"""A Slurm cluster of one node in a folder of its own: munged, slurmctld and slurmd, on loopback only.

It uses nothing of /etc/slurm and /etc/munge, and no cgroup. What it starts ends with it.
"""

import ctypes
import os
import pathlib
import secrets
import signal
import socket
import subprocess
import time

CONFIG = """\
ClusterName=knotless-campaign
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={controller_port}
SlurmdPort={node_port}
CommunicationParameters=NoCtldInAddrAny,NoInAddrAny
AuthType=auth/munge
AuthInfo=socket={folder}/munge/socket
CredType=cred/munge
SlurmUser=root
SlurmdUser=root
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
JobCompType=jobcomp/none
SwitchType=switch/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerParameters=batch_sched_delay=0,sched_min_interval=0
KillWait=2
ReturnToService=2
NodeName={host} NodeAddr=127.0.0.1 CPUs={cpus} State=UNKNOWN
PartitionName=campaign Nodes={host} Default=YES MaxTime=INFINITE State=UP
"""
# <linux/prctl.h>
PR_SET_CHILD_SUBREAPER = 36
START_MAX_S = 60
END_MAX_S = 20


class Failed(Exception):
    """What cannot go on, in a line."""


def free_port():
    """A port of loopback that nobody has now."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


def wait_for(what, condition, seconds):
    """Waits until `condition` returns something true, which it returns."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        value = condition()
        if value:
            return value
        time.sleep(0.05)
    raise Failed(f"waited {seconds} s for {what}")


class Cluster:
    """The cluster; `with` starts and ends it."""

    def __init__(self, folder, cpus):
        self.folder = pathlib.Path(folder)
        self.cpus = cpus
        self.daemons = []
        self.environment = dict(os.environ, SLURM_CONF=str(self.folder / "slurm.conf"))
        # Of a job that this itself may run in.
        for name in list(self.environment):
            if name.startswith("SLURM_") and name != "SLURM_CONF":
                del self.environment[name]

    def __enter__(self):
        try:
            self.start()
        except BaseException:
            self.end()
            raise
        return self

    def __exit__(self, *_):
        self.end()

    def start(self):
        """Starts the three daemons and waits until the node is idle."""
        # slurmd's children outlive it for a moment; they are to end here, not at init.
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        for name in ("munge", "state", "spool"):
            (self.folder / name).mkdir(mode=0o755)
        key = self.folder / "munge" / "key"
        key.write_bytes(secrets.token_bytes(128))
        key.chmod(0o400)
        host = socket.gethostname().split(".")[0]
        ports = {"controller_port": free_port(), "node_port": free_port()}
        text = CONFIG.format(folder=self.folder, host=host, cpus=self.cpus, **ports)
        (self.folder / "slurm.conf").write_text(text)
        munge = {name: self.folder / "munge" / name for name in ("socket", "pid", "log", "seed")}
        # By --force a temporary folder that others may list is no obstacle.
        self.daemon("munged", "--foreground", "--force", f"--key-file={key}", f"--socket={munge['socket']}",
                    f"--pid-file={munge['pid']}", f"--log-file={munge['log']}", f"--seed-file={munge['seed']}")
        wait_for("munged's socket", munge["socket"].exists, START_MAX_S)
        config = self.folder / "slurm.conf"
        self.daemon("slurmctld", "-D", "-f", config)
        self.daemon("slurmd", "-D", "-f", config, "-N", host)
        wait_for("the node to be idle", lambda: self.ask("sinfo", "-h", "-o", "%T") == "idle", START_MAX_S)

    def daemon(self, name, *words):
        """Starts a daemon in a session of its own."""
        out = open(self.folder / f"{name}.out", "wb")
        command = [f"/usr/sbin/{name}", *map(str, words)]
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=out,
                                   env=self.environment, start_new_session=True)
        self.daemons.append((name, process))

    def run(self, *words, **options):
        """Runs a command of Slurm."""
        return subprocess.run(list(map(str, words)), env=self.environment, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=60, **options)

    def ask(self, *words):
        """What a command prints; None if it fails, as it does before the controller answers."""
        for name, process in self.daemons:
            if process.poll() is not None:
                said = (self.folder / f"{name}.out").read_text(errors="replace").strip().splitlines()
                raise Failed(f"{name} ended with {process.returncode}: {said[-1:]}")
        done = self.run(*words)
        return done.stdout.strip() if done.returncode == 0 else None

    def tasks(self, job):
        """How many tasks of an array wait or run."""
        states = self.ask("squeue", "-h", "-r", "-j", job, "-o", "%T")
        return len(states.splitlines()) if states else 0

    def end(self):
        """Ends the daemons, the last that was started first."""
        for name, process in reversed(self.daemons):
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
            try:
                process.wait(END_MAX_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
                print(f"campaign_slurm: {name} did not end by itself")
        self.daemons = []
        end = time.monotonic() + END_MAX_S
        while time.monotonic() < end:
            try:
                if os.waitpid(-1, os.WNOHANG) == (0, 0):
                    time.sleep(0.05)
            except ChildProcessError:
                return
