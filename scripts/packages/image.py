"""The container image forwards frames: two hosts on the taps of its switch.

buildah runs it with the isolation of a chroot, which works wherever root does; the capabilities are those of the
quadlet. Status 0 if all is right, 1 if not, 2 if it cannot run here. Leaves no process or container behind.
"""

import pathlib
import signal
import sys

signal.signal(signal.SIGINT, signal.SIG_DFL)
sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from common import door, show  # noqa: E402
from common.lab import Failed, Lab  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
IMAGE = "localhost/knotless"
START_S = 60


def capabilities() -> list:
    """What the quadlet gives the switch, and no more."""
    lines = (ROOT / "packaging" / "knotless@.container").read_text().splitlines()
    given = [line.split("=")[1].split() for line in lines if line.startswith("AddCapability=")]
    if len(given) != 1:
        raise Failed("the quadlet has no line AddCapability=")
    return given[0]


def forwards(lab: Lab, container: str):
    """A host reaches the other through the switch of the image."""
    # The kernel ends everything in it when `unshare` ends.
    command = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc", "buildah", "run"]
    command += ["--isolation", "chroot", "--network", "host", "--volume", "/dev/net/tun:/dev/net/tun"]
    command += [*[f"--cap-add={name}" for name in capabilities()], container, "--"]
    # `--cap-drop=all` of buildah drops what is added, too.
    kept = ",".join(f"+{name.removeprefix('CAP_').lower()}" for name in capabilities())
    command += ["setpriv", f"--bounding-set=-all,{kept}"]
    command += ["/usr/bin/knotless", "run", "/etc/knotless/demo.toml"]
    lab.add_quiet_namespace("switch")
    switch = lab.start(command, "switch", "switch")
    lab.wait_until(lambda: " runs: " in switch.out.read_text(), switch, START_S)
    for net in (1, 2):
        lab.add_host(f"h{net}", f"kd{net}", net)
    for to in ("10.1.2.2", "fd00:1:2::2"):
        said = lab.run(["ping", "-n", "-c", "5", "-i", "0.2", "-W", "5", to], "h1")
        if "5 received" not in said:
            raise Failed(f"h1 does not reach {to}: {said}")
    show.result(True, "the image's switch forwards: 5 of 5 answers by IPv4, 5 of 5 by IPv6")
    switch.kill()
    switch.wait()


def story(lab: Lab) -> bool:
    container = lab.run(["buildah", "from", "--pull-never", IMAGE]).strip()
    try:
        forwards(lab, container)
    finally:
        lab.run(["buildah", "rm", container])
    return True


if __name__ == "__main__":
    sys.exit(door.run("image", ["buildah"], story, needs_build=False))
