"""A switch and FRR in one namespace, and a namespace with a BGP speaker beside it."""

import contextlib
import ctypes
import json
import pathlib
import subprocess
import tempfile
import time

NS = "kfpmbench"
# The speaker's.
PEER_NS = "kfpmpeer"
FRR = pathlib.Path("/usr/lib/frr")
CLONE_NEWNET = 0x40000000
HEAD = """
name = "fpmbench"
[control]
socket = "{socket}"
[routing]
fpm = "127.0.0.1:2620"
[[tag]]
tag = 1
dscp = 26
pcp = 3
priority = 3
"""
NEIGHBORS = "".join(
    f"""
[[neighbor]]
address = "10.0.2.{host}"
mac = "02:00:00:00:02:{host:02x}"
"""
    for host in (2, 3)
)
# Of the prefixes of the speaker, in turn.
NEXT_HOPS = ["10.0.2.2", "10.0.2.3"]


class Router:
    """The namespaces, the switch and FRR, which runs on `cpus`."""

    def __init__(self, knotless: pathlib.Path, cpus: set[int]) -> None:
        self.knotless = knotless
        self.cpus = cpus
        self.folder = tempfile.TemporaryDirectory()
        self.dir = pathlib.Path(self.folder.name)
        self.processes: list[subprocess.Popen] = []
        # FRR's daemons become a user of their own, who makes sockets there.
        self.dir.chmod(0o777)
        run("ip", "netns", "add", NS)
        self.inside("ip", "link", "set", "lo", "up")

    def inside(self, *command: str) -> None:
        run("ip", "netns", "exec", NS, *command)

    def start(self, *command: str) -> subprocess.Popen:
        log = open(self.dir / f"{len(self.processes)}.log", "w", encoding="utf-8")
        process = subprocess.Popen(["ip", "netns", "exec", NS, *command], stdout=log, stderr=log)
        self.processes.append(process)
        return process

    def start_switch(self, more: str) -> subprocess.Popen:
        """A switch with `more` in its file, and the network of the speaker."""
        text = HEAD.format(socket=self.dir / "s.sock") + more + NEIGHBORS
        (self.dir / "s.toml").write_text(text)
        process = self.start(str(self.knotless), "run", str(self.dir / "s.toml"))
        wait_for("the switch", lambda: (self.dir / "s.sock").exists())
        run("ip", "netns", "add", PEER_NS)
        self.inside("ip", "link", "add", "kbgp", "type", "veth", "peer", "name", "kspeak", "netns", PEER_NS)
        self.inside("ip", "addr", "add", "10.9.0.1/24", "dev", "kbgp")
        self.inside("ip", "link", "set", "kbgp", "up")
        run("ip", "-n", PEER_NS, "addr", "add", "10.9.0.2/24", "dev", "kspeak")
        run("ip", "-n", PEER_NS, "link", "set", "kspeak", "up")
        return process

    def start_frr(self, peer: str = "10.9.0.2") -> None:
        """zebra and bgpd, which waits for the speaker at `peer`."""
        config = {
            "zebra": "fpm address 127.0.0.1 port 2620\n",
            "bgpd": "router bgp 65001\n bgp router-id 10.0.1.1\n no bgp ebgp-requires-policy\n"
            f" no bgp network import-check\n neighbor {peer} remote-as 65002\n"
            f" neighbor {peer} passive\n neighbor {peer} timers connect 1\n",
        }
        for name, text in config.items():
            (self.dir / f"{name}.conf").write_text(text)
            more = ["-M", "dplane_fpm_nl"] if name == "zebra" else []
            common = ["-P", "0", "-z", str(self.dir / "zserv.api")]
            common += ["--vty_socket", str(self.dir), "-i", str(self.dir / f"{name}.pid")]
            pinned = ["taskset", "--cpu-list", ",".join(map(str, sorted(self.cpus)))]
            self.start(*pinned, str(FRR / name), *common, "-f", str(self.dir / f"{name}.conf"), *more)
            wait_for(name, lambda name=name: (self.dir / f"{name}.vty").exists())

    def ctl(self, *command: str) -> dict:
        socket = str(self.dir / "s.sock")
        text = output(str(self.knotless), "ctl", "--socket", socket, "--json", *command)
        return json.loads(text)

    def fpm(self) -> dict:
        return self.ctl("stats")["fpm"]

    def kernel_routes(self) -> int:
        """What the trie's statistics say: cheaper than to list them."""
        text = output("ip", "netns", "exec", NS, "cat", "/proc/net/fib_triestat")
        return max(int(line.split()[1]) for line in text.splitlines() if "Prefixes:" in line)

    def close(self) -> None:
        for process in reversed(self.processes):
            process.terminate()
        for process in self.processes:
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
        for name in (NS, PEER_NS):
            subprocess.run(["ip", "netns", "del", name], check=False, stderr=subprocess.DEVNULL)
        self.folder.cleanup()


def run(*command: str) -> None:
    subprocess.run(command, check=True)


def output(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def open_session(speaker_class, peer: str = "10.9.0.1", own: str = "10.9.0.2"):
    """A speaker's session. bgpd refuses it until it knows the way to its neighbor."""
    for _ in range(30):
        try:
            return speaker_class(peer, own, 65002)
        except (OSError, RuntimeError) as error:
            last = error
            time.sleep(1)
    raise RuntimeError(f"no session with bgpd: {last}")


def wait_for(what: str, is_so, seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not is_so():
        if time.monotonic() > end:
            raise RuntimeError(f"{what} does not come")
        time.sleep(0.05)


@contextlib.contextmanager
def speaker_namespace():
    """This process is in the speaker's network namespace meanwhile."""
    with open("/proc/self/ns/net", encoding="ascii") as own:
        with open(f"/run/netns/{PEER_NS}", encoding="ascii") as theirs:
            enter(theirs)
        try:
            yield
        finally:
            enter(own)


def enter(namespace) -> None:
    if ctypes.CDLL(None, use_errno=True).setns(namespace.fileno(), CLONE_NEWNET) != 0:
        raise OSError(ctypes.get_errno(), "setns")
