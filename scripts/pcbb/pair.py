"""Dual-ToR switches below T1 switches, from SONiC's databases: processes in namespaces, veth pairs between them."""

import ipaddress
import itertools
import json
import pathlib
import re
import signal

from common.door import ROOT
from common.lab import Lab
from common.switch import Switch

EXAMPLES = ROOT / "config" / "examples" / "pcbb"
TORS = ("tor-a", "tor-b")
T1S = ("t1-1", "t1-2")
# Links have this part of the speed in the databases, so that all of it fits on two cores. A pause then lasts 1.7 s, and
# a switch that gets no core for a while still keeps its neighbor silent.
SLOWER = 2000
# Servers are slower still: what is for them has to wait for them, also while this machine is busy.
SERVER_MBPS = 2
DSCP = 3
PRIORITY = 3
FRAME_BYTES = 1000
# Flows from a host to a server. A T1 sends them by their hash, and these are flows that it sends to the ToR where the
# server is on standby: they bounce.
FLOWS = 2
UDP_PORT = 4791
# Frames that a port's ring in the kernel holds until the switch takes them, and what a lossless priority must have
# room for once it has paused its peer: a pause does not reach those.
RING_FRAMES = 2048
HEADROOM_BYTES = 2_300_000
TUNNEL_MAPS = ("decap_dscp_to_tc_map", "decap_tc_to_pg_map", "encap_tc_to_dscp_map", "encap_tc_to_queue_map")

# Limits of each lossless priority: small ones, so that it freezes soon. What hosts send may wait a little longer, or
# the links down would run empty between two pauses of a host.
LIMITS = f'static_th = "12KB"\nxon = "6KB"\nheadroom = {HEADROOM_BYTES}\n'
OF_HOSTS = f"""
[[lossless]]
priority = {PRIORITY}
ports = ["PORT"]
static_th = "200KB"
xon = "150KB"
headroom = {HEADROOM_BYTES}
"""
REST = f"""
# As most hardware: frames leave in the order in which they came.
[scheduler]
fair = false

[buffer]
size = "64MB"
cell = {FRAME_BYTES + 48}

# The switches and the hosts share this machine's cores.
[workers]
idle = "sleep"

[memory]
hugepages = "never"
"""


def database(name: str, remaps: bool) -> dict:
    """The database of a switch; without the remapping as SONiC's templates write it then."""
    db = json.loads((EXAMPLES / f"{name}.json").read_text())
    if not remaps:
        db["SYSTEM_DEFAULTS"]["tunnel_qos_remap"]["status"] = "disabled"
        for tunnel in db.get("TUNNEL", {}).values():
            tunnel["dscp_mode"] = "uniform"
            for field in TUNNEL_MAPS:
                del tunnel[field]
    return db


def slower(mbps: int) -> str:
    """The speed here of a link: of all but those of servers 40G in the databases."""
    return f"{mbps // SLOWER if mbps == 40_000 else SERVER_MBPS}M"


def in_lab(text: str) -> str:
    """A SWITCH.toml of an import, with the speeds, the limits and the cores of this machine."""
    text = re.sub(r"\[host\]\ntaps = true[^\n]*\n", "", text)
    text = re.sub(r'speed = "(\d+)G"', lambda speed: f'speed = "{slower(int(speed[1]) * 1000)}"', text)
    text = re.sub(r"(\[\[lossless\]\][^\n]*\npriority = [^\n]*\n)", rf"\1{LIMITS}", text)
    return text + REST


def addresses(db: dict) -> dict:
    """The address of each port that has one."""
    rows = [key.split("|") for key in db["INTERFACE"] if "|" in key]
    return {port: ipaddress.ip_interface(address) for port, address in rows}


class Pair:
    """The switches, their servers below and their hosts above, from the first namespace to the last word."""

    def __init__(self, lab: Lab, phase: str, remaps: bool):
        """Starts them. `phase` keeps apart what two of them would share."""
        self.lab = lab
        self.phase = phase
        self.names = TORS + T1S
        self.folder = lab.folder / phase
        self.folder.mkdir()
        self.databases = {name: database(name, remaps) for name in self.names}
        self.addresses = {name: addresses(db) for name, db in self.databases.items()}
        # By switch and port: what is there, and the port of it if that is a switch.
        self.peers = {}
        # By host: its address, and the switch and port that it is behind.
        self.servers, self.hosts = {}, {}
        for name in self.names:
            lab.add_quiet_namespace(self.space(name))
        self.connect_switches()
        self.connect_servers()
        for number, name in enumerate(T1S, 1):
            self.connect_host(name, f"host{number}")
        self.switches = {name: self.start_switch(name) for name in self.names}
        for switch in self.switches.values():
            switch.wait()
        self.ping()

    def space(self, name: str) -> str:
        """The namespace of a switch or a host."""
        return f"{self.phase}-{name}"

    def speed(self, name: str, port: str) -> str:
        return slower(int(self.databases[name]["PORT"][port]["speed"]))

    def end(self, name: str, port: str) -> tuple:
        """The interface of a port, as an import numbers them: SONiC's virtual switch does too."""
        ports = sorted(self.databases[name]["PORT"], key=lambda port: int(port.removeprefix("Ethernet")))
        return self.space(name), f"eth{ports.index(port) + 1}"

    def wire(self, near: tuple, far: tuple):
        """A veth pair between two interfaces, each a namespace and a name."""
        (space, dev), (far_space, far_dev) = near, far
        far_pid = self.lab.namespaces[far_space]
        self.lab.ip(space, f"link add {dev} type veth peer name {far_dev} netns {far_pid}", f"link set {dev} up")
        self.lab.ip(far_space, f"link set {far_dev} up")

    def connect_switches(self):
        """Ports of a ToR and a T1 with addresses of one network are ends of a link."""
        for tor in TORS:
            for t1 in T1S:
                for port, address in self.addresses[tor].items():
                    for other, its in self.addresses[t1].items():
                        if address.network == its.network:
                            self.wire(self.end(tor, port), self.end(t1, other))
                            self.peers[tor, port] = (t1, other)
                            self.peers[t1, other] = (tor, port)

    def connect_servers(self):
        """A server is wired to the switch that is active; the port of the other one leads nowhere."""
        for tor in TORS:
            for number, (port, cable) in enumerate(self.databases[tor]["MUX_CABLE"].items(), 1):
                if cable["state"] == "active":
                    address = cable["server_ipv4"].split("/")[0]
                    self.add_host(f"server{number}", address, tor, port, self.servers)
                else:
                    space, dev = self.end(tor, port)
                    self.wire((space, dev), (space, f"off-{dev}"))
        self.servers = dict(sorted(self.servers.items()))

    def connect_host(self, name: str, host: str):
        """A host at the port of a T1 that leads to no ToR."""
        port = next(port for port in self.addresses[name] if (name, port) not in self.peers)
        self.add_host(host, str(self.addresses[name][port].ip + 1), name, port, self.hosts)

    def add_host(self, host: str, address: str, switch: str, port: str, hosts: dict):
        gateway = self.addresses[switch][port]
        space = self.space(host)
        self.lab.add_quiet_namespace(space)
        self.wire(self.end(switch, port), (space, "eth0"))
        self.lab.ip(space, f"addr add {address}/{gateway.network.prefixlen} dev eth0",
                    f"route add default via {gateway.ip}")
        hosts[host] = (address, switch, port)

    def start_switch(self, name: str) -> Switch:
        """What `knotless import sonic` makes of its database, at the speeds of here."""
        source, file = self.folder / f"{name}.json", self.folder / f"{name}.toml"
        source.write_text(json.dumps(self.databases[name]))
        template = f"net_af_packet{{index}},iface=eth{{number}},framecnt={RING_FRAMES}"
        self.lab.run([self.lab.knotless, "import", "sonic", source, "--device-template", template, "--out", file])
        of_hosts = [OF_HOSTS.replace("PORT", port) for _, switch, port in self.hosts.values() if switch == name]
        file.write_text(in_lab(file.read_text()) + "".join(of_hosts))
        return Switch(self.lab, file, self.space(name))

    def ping(self):
        """Hosts reach every server, and everybody knows the next MAC address."""
        pings = []
        for host in self.hosts:
            for address, _, _ in self.servers.values():
                command = ["ping", "-n", "-c", "3", "-i", "0.2", "-W", "5", address]
                pings.append(self.lab.start(command, self.space(host)))
        for ping in pings:
            self.lab.finish(ping)

    def start_receivers(self) -> dict:
        """A receiver on each server."""
        receivers = {name: self.traffic(name, "recv", *where[1:]) for name, where in self.servers.items()}
        for receiver in receivers.values():
            self.lab.wait_for(receiver, "listening")
        return receivers

    def is_bounced(self, host: str, server: str, source_port: int) -> bool:
        """Whether the host's T1 sends a flow to the ToR where its server is on standby, as `knotless trace` says."""
        address, t1, port = self.hosts[host]
        flow = ["--port", port, "--src", address, "--dst", self.servers[server][0], "--dscp", DSCP,
                "--sport", source_port, "--dport", UDP_PORT]
        trace = [self.lab.knotless, "trace", "--json", "--socket", self.switches[t1].socket, *flow]
        sent = json.loads(self.lab.run(trace))["end"]["sent"]
        return [self.peers[t1, frame["port"]][0] for frame in sent] != [self.servers[server][1]]

    def flows(self) -> dict:
        """By host and server, source ports of flows that bounce."""
        def ports(host: str, server: str) -> list:
            bounced = (port for port in range(50000, 60000) if self.is_bounced(host, server, port))
            return list(itertools.islice(bounced, FLOWS))
        return {(host, server): ports(host, server) for host in self.hosts for server in self.servers}

    def start_senders(self, flows: dict) -> dict:
        """A sender on each host, with flows to all servers, as fast as its link and PFC let it."""
        def sender(host: str, where: tuple):
            arguments = []
            for server, (address, _, _) in self.servers.items():
                for port in flows[host, server]:
                    name = f"h{host[-1]}-s{server[-1]}-{port}"
                    arguments += ["--flow", f"name={name},dst-ip={address},dscp={DSCP},"
                                  f"priority={PRIORITY},src-port={port},size={FRAME_BYTES},rate=max"]
            return self.traffic(host, "send", *where[1:], *arguments)
        return {host: sender(host, where) for host, where in self.hosts.items()}

    def traffic(self, host: str, what: str, switch: str, port: str, *arguments: str):
        return self.lab.traffic(what, self.space(host), "eth0", "--speed", self.speed(switch, port), *arguments)

    def reports(self, processes: dict, patience: float) -> dict:
        """Ends senders or receivers; what they have to report."""
        for process in processes.values():
            process.send_signal(signal.SIGINT)
        return {name: json.loads(self.lab.finish(process, patience)) for name, process in processes.items()}

    def stats(self) -> dict:
        """What each switch counts."""
        return {name: switch.stats() for name, switch in self.switches.items()}

    def waits(self) -> dict:
        """Who waits for whom, as each switch tells it."""
        return {name: json.loads(switch.ctl("waits", "--json"))["waits"]
                for name, switch in self.switches.items()}

    def stop(self):
        """Ends the switches as Ctrl-C would."""
        for switch in self.switches.values():
            switch.interrupt()
        for switch in self.switches.values():
            switch.end()


def tunnel_lines(file: pathlib.Path) -> list:
    """What a SWITCH.toml says of its tunnel."""
    text = file.read_text().split("[[tunnel]]", 1)[1].split("\n[[", 1)[0]
    return [line.split("  # ")[0] for line in text.splitlines()[1:] if line.strip()]
