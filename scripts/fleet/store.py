"""Three members of etcd, each in a namespace of its own, on the network that switches are managed by."""

import json
import subprocess

from common.lab import Failed, Lab

MEMBERS = 3
CLIENT_PORT, PEER_PORT = 2379, 2380
# The bridge of the managers; members are .11 to .13, switches from .21 on.
MANAGER = "manager"


def address(number: int) -> str:
    return f"10.254.0.{number}"


def url(member: int) -> str:
    return f"http://{address(11 + member)}:{CLIENT_PORT}"


def urls() -> list:
    return [url(member) for member in range(MEMBERS)]


class Management:
    """A bridge, to which members, switches and the operator are connected."""

    def __init__(self, lab: Lab):
        self.lab = lab
        lab.add_namespace(MANAGER)
        lab.ip(MANAGER, "link add br0 type bridge", "link set br0 up",
               f"addr add {address(1)}/24 dev br0")

    def connect(self, space: str, number: int):
        """Gives the namespace `space` an interface `mgmt` with the address of this number."""
        pid = self.lab.namespaces[space]
        self.lab.ip(MANAGER, f"link add m{number} type veth peer name mgmt netns {pid}",
                    f"link set m{number} master br0 up")
        self.lab.ip(space, f"addr add {address(number)}/24 dev mgmt", "link set mgmt up")

    def cut(self, number: int, is_cut: bool):
        """Cuts the cable of an address, or mends it."""
        self.lab.ip(MANAGER, f"link set m{number} {'down' if is_cut else 'up'}")


class Store:
    """The members."""

    def __init__(self, lab: Lab, management: Management):
        self.lab = lab
        self.processes = {}
        for member in range(MEMBERS):
            lab.add_namespace(f"etcd{member}")
            management.connect(f"etcd{member}", 11 + member)
        for member in range(MEMBERS):
            self.start(member)

    def start(self, member: int):
        """Starts a member on the data that it has."""
        peer = [f"http://{address(11 + at)}:{PEER_PORT}" for at in range(MEMBERS)]
        cluster = ",".join(f"m{at}={peer[at]}" for at in range(MEMBERS))
        command = [
            "etcd", "--name", f"m{member}", "--data-dir", self.lab.folder / f"etcd{member}",
            "--listen-client-urls", url(member), "--advertise-client-urls", url(member),
            "--listen-peer-urls", peer[member], "--initial-advertise-peer-urls", peer[member],
            "--initial-cluster", cluster, "--initial-cluster-state", "new", "--log-level", "error",
        ]
        name = f"etcd{member}-{len(self.lab.processes)}"
        self.processes[member] = self.lab.start(command, f"etcd{member}", name)

    def leader(self) -> int:
        """The member that leads."""
        command = ["env", "ETCDCTL_API=3", "etcdctl", "--endpoints", ",".join(urls()),
                   "endpoint", "status", "--write-out", "json"]
        members = json.loads(self.lab.run(command, MANAGER))
        for row in members:
            if row["Status"]["leader"] == row["Status"]["header"]["member_id"]:
                return urls().index(row["Endpoint"])
        raise Failed("etcd has no leader")

    def kill(self, member: int):
        """A power cut."""
        self.processes[member].kill()
        self.processes[member].wait()


class Operator:
    """`knotless fleet`, from the bridge."""

    def __init__(self, lab: Lab, network: str):
        self.lab = lab
        self.base = [lab.knotless, "fleet", "--etcd", ",".join(urls()), "--network", network]

    def start(self, *words: str):
        return self.lab.start([*self.base, *words], MANAGER)

    def call(self, *words: str, patience=60.0) -> tuple:
        """The exit status, and everything that was said."""
        process = self.start(*words)
        try:
            status = process.wait(timeout=patience)
        except subprocess.TimeoutExpired:
            raise Failed(f"fleet {words[0]} goes on and on") from None
        return status, process.out.read_text() + process.err.read_text()

    def must(self, *words: str) -> str:
        status, said = self.call(*words)
        if status != 0:
            raise Failed(f"fleet {' '.join(map(str, words))} ended with {status}: {said.strip()}")
        return said
