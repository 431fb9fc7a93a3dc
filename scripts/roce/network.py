"""The switch between the guests and a host with `knotless roce`."""

import json

from common.lab import Lab
from common.switch import Switch

SWITCH = """
name = "roce"
rules = "rules.json"

[[tag]]
tag = 1
dscp = 26

[[lossless]]
priority = 3
static_th = "200KB"
xon = "100KB"
headroom = "1600KB"

[workers]
idle = "sleep"
"""
PORT = """
[[port]]
name = "p{net}"
device = "{device}"
addresses = ["10.1.{net}.1/24", "fd00:1:{net}::1/64"]
speed = "1G"
"""
HOST_NET, HOST_DEV = 3, "kr3"


def rules(ports: int) -> dict:
    """Lossless between any two ports, never back out of the port a frame came in by."""
    every = range(1, ports + 1)
    entries = [
        {"tag": 1, "in": [port], "out": [it for it in every if it != port], "new_tag": 1}
        for port in every
    ]
    return {"switch": "roce", "ports": ports, "lossy_tag": 0, "initial_tag": 1,
            "priorities": {"1": 3}, "entries": entries}


class Host:
    """A namespace with `knotless roce`."""

    def __init__(self, lab: Lab):
        self.lab, self.address = lab, f"10.1.{HOST_NET}.2"
        lab.add_host("host", HOST_DEV, HOST_NET)

    def roce(self, what: str, *arguments: str):
        """Starts `knotless roce`. What perftest's options say of the link, these say, too."""
        command = [self.lab.knotless, "roce", what, *arguments, "--dev", HOST_DEV, "--json"]
        return self.lab.start(command, "host", f"roce-{len(self.lab.processes)}")


def start(lab: Lab, machines: list) -> tuple:
    """The switch on the guests' taps, and one of its own for the host."""
    devices = {machine.net: f"net_af_packet{machine.net},iface=kr{machine.net}"
               for machine in machines}
    devices[HOST_NET] = f"net_tap{HOST_NET},iface={HOST_DEV}"
    ports = [PORT.format(net=net, device=device) for net, device in devices.items()]
    (lab.folder / "rules.json").write_text(json.dumps(rules(len(devices))))
    file = lab.folder / "switch.toml"
    file.write_text(SWITCH + "".join(ports))
    switch = Switch(lab, file, "switch")
    switch.wait()
    return switch, Host(lab)
