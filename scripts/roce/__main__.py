"""draft"""
import pathlib
import signal
import sys
import time

signal.signal(signal.SIGINT, signal.SIG_DFL)
sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parent / "guest")]
import guests  # noqa: E402
from common import door, show  # noqa: E402
from common.lab import Lab  # noqa: E402
from common.switch import Switch  # noqa: E402

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
headroom = "1MB"

[buffer]
size = "8MB"

[workers]
count = 1
idle = "sleep"
"""
PORT = """
[[port]]
name = "p{n}"
device = "{device}"
addresses = ["10.1.{n}.1/24", "fd00:1:{n}::1/64"]
speed = "1G"
"""


def story(lab: Lab) -> bool:
    lab.add_quiet_namespace("switch")
    image = guests.image(lab, door.ROOT / "target" / "roce-guest")
    started = time.monotonic()
    machines = [guests.RoceGuest(lab, image, "switch", number) for number in (1, 2)]
    file = lab.folder / "switch.toml"
    import json
    entries = [{"tag": 1, "in": [n], "out": [m for m in (1, 2) if m != n], "new_tag": 1} for n in (1, 2)]
    (lab.folder / "rules.json").write_text(json.dumps({
        "switch": "roce", "ports": 2, "lossy_tag": 0, "initial_tag": 1, "priorities": {"1": 3}, "entries": entries}))
    ports = [PORT.format(n=n, device=f"net_af_packet{n},iface=kr{n}") for n in (1, 2)]
    file.write_text(SWITCH + "".join(ports))
    switch = Switch(lab, file, "switch")
    switch.wait()
    for machine in machines:
        machine.configure()
    print("booted", time.monotonic() - started)
    one, two = machines
    print(one.sh("/usr/bin/ping -c 2 10.1.2.2", 30))
    print(one.sh("/usr/bin/ibv_devinfo", 60))
    two.background("server", "/usr/bin/ib_write_bw -d rxe0 -n 200 -s 65536")
    time.sleep(3)
    one.background("client", "/usr/bin/ib_write_bw -d rxe0 -n 200 -s 65536 10.1.2.2")
    try:
        one.expect_end("client", 120)
    finally:
        print(one.said("client"))
        print(two.said("server"))
    print(one.counters())
    print(two.counters())
    print(switch.stop())
    return True


sys.exit(door.run("roce", [], story))
