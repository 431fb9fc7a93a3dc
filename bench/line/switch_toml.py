"""The switch of the line-rate bench: everything on."""

import json

from frames import ROUTES, VLAN


def rules(count: int = 64) -> str:
    """`count` entries, of which the one that matches comes last: it raises tag 1 to 2."""
    fill = [{"tag": 2, "in": [1 + n % 2], "out": [1, 2], "new_tag": 2} for n in range(count - 1)]
    raised = [{"tag": 1, "in": [1, 2], "out": [1, 2], "new_tag": 2}]
    return json.dumps({"switch": "line", "ports": 2, "lossy_tag": 0, "initial_tag": 1,
                       "priorities": {"1": 3, "2": 4}, "entries": fill + raised})


def routes(kind: str = "") -> str:
    """1,000 routes behind each port; none if frames are bridged."""
    lines = []
    if kind == "bridged":
        return ""
    for port, first in ((1, 20), (2, 40)):
        if kind == "ipv6":
            lines += [f"2a00:{first}:{n:x}::/48 via 2001:db8:{port}::1" for n in range(ROUTES)]
            continue
        lines += [f"{first}.{n >> 8}.{n & 255}.0/24 via 10.0.{port}.2" for n in range(ROUTES)]
    return "\n".join(lines) + "\n"


def switch(devices: list[str], cores: list[int], socket: str, xoff: str, has_rules: bool,
           queues: int = 1, kind: str = "") -> str:
    """SWITCH.toml for `devices`, one worker on each of `cores`, ports dealt out in turn; upstream is
    paused above `xoff`. Without rules every frame keeps its tag. The first port has so many receive queues,
    one for each worker in turn, and with several of them the first worker owns all ports. `kind` is the kind of
    the traffic, IPv4 if empty."""
    text = f'''name = "line"
seed = 1
{'rules = "rules.json"' if has_rules else ""}
routes = "routes.txt"

[control]
socket = "{socket}"

[workers]
cores = {cores}

[buffer]
size = "12MB"
cell = 256

[[tag]]
tag = 1
dscp = 26
pcp = 3
priority = 3

[[tag]]
tag = 2
dscp = 27
pcp = 4
priority = 4

[[lossless]]
priority = 3
static_th = "{xoff}"
xon_offset = "4KB"
headroom = "200KB"

[[lossless]]
priority = 4
static_th = "{xoff}"
xon_offset = "4KB"
headroom = "200KB"

[[ecn]]
priority = 3
kmin = "5KB"
kmax = "10KB"
pmax = 0.1
'''
    for port, device in enumerate(devices, 1):
        text += f'''
[[port]]
device = "{device}"
mac = "02:00:00:00:00:0{port}"
{interface(port, kind)}
worker = {0 if queues > 1 else (port - 1) % len(cores)}
queues = {queues if port == 1 else 1}
speed = "100G"
pace = false
trusted = true
{neighbor(port, kind)}'''
    return text


def interface(port: int, kind: str) -> str:
    """The keys of `[[port]]` that say how it forwards."""
    if kind == "bridged":
        return f"vlan = {VLAN}"
    if kind == "ipv6":
        return f'addresses = ["2001:db8:{port}::fe/64"]'
    return f'addresses = ["10.0.{port}.254/24"]' + (f"\nvlan = {VLAN}" if kind == "vlan" else "")


def neighbor(port: int, kind: str) -> str:
    if kind == "bridged":
        return ""
    address = f"2001:db8:{port}::1" if kind == "ipv6" else f"10.0.{port}.2"
    return f'''
[[neighbor]]
address = "{address}"
mac = "02:00:00:00:01:0{port}"
'''
