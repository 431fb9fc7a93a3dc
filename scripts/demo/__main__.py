"""Three hosts around a lossless switch, one behind a port that is too slow for the other two.

Shows that hosts reach each other, overloads the slow port with lossless and lossy streams, and then
accounts for every frame. Ends by itself in about 20 seconds with status 0 if nothing lossless was
lost, 1 if anything was, 2 if it cannot run here. Leaves no process, namespace or file behind.

Usage: python3 scripts/demo [--seconds N]. KNOTLESS names another program than target/release's.
"""

import argparse
import json
import pathlib
import shutil
import signal
import sys
import time

# Before there is anything to clean up, Ctrl-C just ends it.
signal.signal(signal.SIGINT, signal.SIG_DFL)
sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import report  # noqa: E402
from common import door, show, wire  # noqa: E402
from common.lab import Lab  # noqa: E402
from common.switch import Switch  # noqa: E402

EXAMPLE = door.ROOT / "config" / "examples" / "demo"
TOOLS = ["traceroute", "dumpcap", "tshark"]
HOSTS = {"h1": "kd1", "h2": "kd2", "h3": "kd3"}

INTRODUCTION = """\
  h1 10.1.1.2 --1G--+
                    +-- knotless --100M-- h3 10.1.3.2
  h2 10.1.2.2 --1G--+

h1 and h2 each send h3 80 Mb/s lossless (DSCP 26, priority 3) and 60 Mb/s lossy: 280 in all, for a
port of 100. The senders obey PFC as a RoCE NIC does. Twice a second h3 pauses priority 3 itself."""


def start(lab: Lab) -> Switch:
    """The switch, its rules, and the hosts."""
    for file in EXAMPLE.iterdir():
        shutil.copy(file, lab.folder)
    lab.add_quiet_namespace("switch")
    switch = Switch(lab, lab.folder / "switch.toml", "switch")
    switch.wait()
    said = switch.said()
    print("\n".join(f"  {line}" for line in said[: len(HOSTS) + 1]))
    print("\n".join(f"  {line}" for line in said if line.startswith("memory")))
    rules = switch.ctl("rules").splitlines()
    print("\n".join(f"  {line}" for line in rules if not line.startswith("file")))
    for net, (host, dev) in enumerate(HOSTS.items(), 1):
        lab.add_host(host, dev, net)
    return switch


def reach(lab: Lab):
    """Pings, all at once, and the way of a frame."""
    pings = [("h1", "h2", 2), ("h2", "h3", 3), ("h3", "h1", 1)]
    asked = [
        (start, end, to, lab.start(["ping", "-n", "-c", "3", "-i", "0.2", "-W", "2", to], start))
        for start, end, net in pings
        for to in (f"10.1.{net}.2", f"fd00:1:{net}::2")
    ]
    for to in ("10.1.1.1", "fd00:1:1::1"):
        command = ["ping", "-n", "-c", "3", "-i", "0.2", "-W", "2", to]
        asked.append(("h1", "switch", to, lab.start(command, "h1")))
    rows = []
    for start, end, to, ping in asked:
        said = lab.finish(ping).splitlines()
        received = next(line for line in said if "packets transmitted" in line).split(",")[1]
        times = next(line for line in said if line.startswith("rtt")).split()[3].split("/")
        rows.append([start, end, to, f"{received.split()[0]} of 3", times[1]])
    print(show.table(["ping", "to", "address", "answers", "mean ms"], rows, 3))
    said = lab.run(["traceroute", "-n", "-q", "1", "-w", "2", "10.1.3.2"], "h1").splitlines()[1:]
    hops = [line.split()[1] for line in said]
    print(f"  traceroute from h1 to h3: {', then '.join(hops)}")


def watch(lab: Lab, switch: Switch, seconds: int):
    """What `knotless top` shows, for as long as the streams run."""
    command = [lab.knotless, "top", "--socket", switch.socket, "--interval", "1s"]
    top = lab.start(command + ["--count", seconds], name="top")
    picture, seen = show.Picture(), 0
    while top.poll() is None:
        time.sleep(0.1)
        pictures = ("\n" + top.out.read_text()).split("\nknotless ")[1:]
        # Where nothing can be drawn over, a few pictures say it all.
        if len(pictures) > seen and (show.IS_TERMINAL or len(pictures) in (2, 8)):
            picture.draw([f"  {line}" for line in f"knotless {pictures[-1]}".rstrip().splitlines()])
        seen = len(pictures)
    lab.finish(top)


def flows(host: str, seconds: int) -> list:
    common = "dst-ip=10.1.3.2,size=1000"
    return [
        "--speed", "1G", "--duration", f"{seconds}s",
        "--flow", f"name={host}-lossless,dscp=26,rate=80M,{common}",
        "--flow", f"name={host}-lossy,dscp=0,rate=60M,{common}",
    ]


def overload(lab: Lab, switch: Switch, seconds: int) -> report.Load:
    """The streams, from before the first frame to after the last."""
    captures = {host: wire.Capture(lab, host, dev, host, wire.PFC) for host, dev in HOSTS.items()}
    for capture in captures.values():
        capture.wait()
    before = switch.settled()
    receiver = lab.traffic("recv", "h3", "kd3", "--idle", "1s", "--duration", "60s", "--speed", "100M",
                           "--pause-class", "3", "--pause-for", "20ms", "--pause-every", "500ms",
                           "--pause-after", "500ms")
    lab.wait_for(receiver, "listening")
    senders = [lab.traffic("send", host, HOSTS[host], *flows(host, seconds))
               for host in ("h1", "h2")]
    watch(lab, switch, seconds)
    sent = [json.loads(lab.finish(sender)) for sender in senders]
    received = json.loads(lab.finish(receiver))
    after = switch.settled()
    seen = {host: wire.pfc_frames(lab, capture.stop()) for host, capture in captures.items()}
    return report.Load(sent, received, before, after, seen)


def story(lab: Lab, seconds: int) -> bool:
    show.heading("Knotless: three hosts, one port that is too slow")
    print(INTRODUCTION)
    show.heading("The switch")
    switch = start(lab)
    show.heading("Hosts reach each other and the switch")
    reach(lab)
    show.heading(f"{seconds} seconds of overload, as `knotless top` shows it")
    load = overload(lab, switch, seconds)
    show.heading("PFC on the wire, as tshark decodes it")
    report.print_wire(lab, load)
    show.heading("Where every frame went")
    report.print_frames(load)
    show.heading("PFC frames by class")
    report.print_pfc(load)
    show.heading("As promised?")
    is_well = report.print_verdict(load)
    print(f"  The switch has stopped; {switch.stop()}.")
    return is_well


def main() -> int:
    parser = argparse.ArgumentParser(prog="demo", description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=int, default=10, help="how long the overload lasts")
    seconds = max(parser.parse_args().seconds, 1)
    return door.run("demo", TOOLS, lambda lab: story(lab, seconds))


if __name__ == "__main__":
    sys.exit(main())
