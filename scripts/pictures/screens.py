"""Pictures of a terminal and of a browser."""

import io
import pathlib
import re
import shutil
import subprocess
import sys
import time

from common.door import ROOT
from common.lab import Failed
from common.switch import Switch
from rich.console import Console
from rich.text import Text

sys.path.insert(0, str(ROOT / "scripts"))

BROWSER = [
    "chromium", "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--no-first-run", "--hide-scrollbars", "--virtual-time-budget=5000",
]


def terminal(text: str, title: str, file: pathlib.Path) -> list:
    """Writes what a terminal shows as an SVG file."""
    lines = text.rstrip().splitlines()
    width = max(len(Text.from_ansi(line).plain) for line in lines)
    console = Console(record=True, width=width, file=io.StringIO(), force_terminal=True, color_system="truecolor")
    for line in lines:
        console.print(Text.from_ansi(line), soft_wrap=True)
    svg = console.export_svg(title=title)
    # The fonts of a viewer do: nothing is fetched.
    svg = re.sub(r"@font-face \{.*?\}\n", "", svg, flags=re.S)
    file = file.with_suffix(".svg")
    file.write_text(svg)
    return [file]


def compare(lab, file: pathlib.Path) -> list:
    """The ways out of a deadlock, under the same failures."""
    scenarios = sorted((ROOT / "netsim" / "scenarios" / "compare").glob("*.toml"))
    said = lab.finish(lab.start([lab.knotless, "compare", *scenarios]), patience=300)
    return terminal(said, "make compare", file)


def report(lab, file: pathlib.Path) -> list:
    """The page of a simulation that ends in a deadlock."""
    page, image = lab.folder / "report.html", file.with_suffix(".png")
    scenario = ROOT / "netsim" / "scenarios" / "ring.toml"
    subprocess.run([lab.knotless, "simulate", scenario, "--report", page], stdout=subprocess.DEVNULL)
    profile = lab.folder / "profile"
    lab.finish(lab.start([*BROWSER, f"--user-data-dir={profile}", "--window-size=1100,1150",
                          f"--screenshot={image}", f"file://{page}"]), patience=120)
    return [image]


def top(lab, file: pathlib.Path) -> list:
    """`knotless top` in the middle of `make demo`'s overload."""
    example, hosts = ROOT / "config" / "examples" / "demo", {"h1": "kd1", "h2": "kd2", "h3": "kd3"}
    for source in example.iterdir():
        shutil.copy(source, lab.folder)
    lab.add_quiet_namespace("switch")
    switch = Switch(lab, lab.folder / "switch.toml", "switch")
    switch.wait()
    for net, (host, dev) in enumerate(hosts.items(), 1):
        lab.add_host(host, dev, net)
    receiver = lab.traffic("recv", "h3", "kd3", "--duration", "12s")
    lab.wait_for(receiver, "listening")
    for host in ("h1", "h2"):
        common = "dst-ip=10.1.3.2,size=1000"
        lab.traffic("send", host, hosts[host], "--speed", "1G", "--duration", "10s",
                    "--flow", f"name={host}-lossless,dscp=26,rate=80M,{common}",
                    "--flow", f"name={host}-lossy,dscp=0,rate=60M,{common}")
    shown = in_terminal(lab, f"{lab.knotless} top --socket {switch.socket}", 110, 30, 6)
    return terminal(shown, "knotless top", file)


def in_terminal(lab, command: str, columns: int, rows: int, seconds: float) -> str:
    """What a terminal shows, with colors, after `command` has run in it for some time."""
    tmux = ["tmux", "-S", lab.folder / "tmux", "-f", "/dev/null"]
    subprocess.run([*tmux, "new-session", "-d", "-x", str(columns), "-y", str(rows),
                    f"COLORTERM=truecolor {command}"], check=True)
    time.sleep(seconds)
    shown = subprocess.run([*tmux, "capture-pane", "-p", "-e"], capture_output=True, text=True)
    subprocess.run([*tmux, "send-keys", "q"], capture_output=True)
    subprocess.run([*tmux, "kill-server"], capture_output=True)
    if shown.returncode != 0:
        raise Failed(f"`{command}` did not stay in its terminal: {shown.stderr.strip()}")
    return shown.stdout


def knot(lab, file: pathlib.Path) -> list:
    """`make knot` as it goes, to be played by asciinema; and what it has said at the end."""
    cast, said = file.with_suffix(".cast"), lab.folder / "knot.txt"
    script = ROOT / "scripts" / "knot"
    command = f"/usr/bin/python3 {script} | tee {said}"
    lab.finish(lab.start(["asciinema", "rec", "--quiet", "--overwrite", "--cols", "110", "--rows", "40",
                          "--title", "make knot", "--command", command, cast]), patience=180)
    return [cast, *terminal(said.read_text(), "make knot", file)]
