"""SWITCH.toml of a switch in a ring of switches with a host on each: what the rings of all scripts have."""

import pathlib

FRAME_BYTES = 1000
# Frames that a port's ring in the kernel holds until the switch takes them, and what a lossless
# priority must have room for once it has paused its peer: a pause does not reach those.
RING_FRAMES = 4096
HEADROOM_BYTES = 4_500_000
# Priority 1 is where the frames start; with the compiled rules some of them rise to 2.
LOSSLESS = (1, 2)
DSCP = 26


def lossless_toml(priority: int) -> str:
    return f"""
[[lossless]]
priority = {priority}
static_th = "100KB"
xon = "60KB"
headroom = {HEADROOM_BYTES}
"""


def switch_toml(name: str, rules: pathlib.Path, numbers: tuple, ports: tuple, speed: str) -> str:
    """Of switch `name`. `numbers` are its own and that of the switch before it; the host of switch N has the
    network 10.1.N.0/24, its link to the next one 10.9.N.0/31. `ports` are name and interface of three ports: to
    its host, to the next switch, to the one before."""
    own, prior = numbers
    (host, tap), (onward, onward_dev), (back, back_dev) = ports
    return f"""\
name = "{name}"
rules = "{rules}"

# Tags 1 and 2 travel as DSCP 26 and 34. The rules give them their priorities.
[[tag]]
tag = 1
dscp = {DSCP}

[[tag]]
tag = 2
dscp = 34
{"".join(lossless_toml(priority) for priority in LOSSLESS)}
[[port]]
name = "{host}"
device = "net_tap{own},iface={tap}"
addresses = ["10.1.{own}.1/24"]
speed = "{speed}"

[[port]]
name = "{onward}"
device = "net_af_packet{2 * own},iface={onward_dev},framecnt={RING_FRAMES}"
addresses = ["10.9.{own}.0/31"]
speed = "{speed}"
trusted = true

[[port]]
name = "{back}"
device = "net_af_packet{2 * own + 1},iface={back_dev},framecnt={RING_FRAMES}"
addresses = ["10.9.{prior}.1/31"]
speed = "{speed}"
trusted = true

# Everything goes the same way round.
[[route]]
to = "10.1.0.0/16"
via = ["10.9.{own}.1"]

[buffer]
size = "64MB"
cell = {FRAME_BYTES + 24}

# The switches and the hosts share this machine's cores.
[workers]
idle = "sleep"

[memory]
hugepages = "never"
"""
