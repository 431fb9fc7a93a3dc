"""What every door does that puts up a lab: say what is missing, and end well however it ends."""

import os
import pathlib
import shutil
import sys

from common.lab import Failed, Lab, Stopped

ROOT = pathlib.Path(__file__).resolve().parents[2]
TARGET = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
KNOTLESS = pathlib.Path(os.environ.get("KNOTLESS", TARGET / "release" / "knotless"))
TOOLS = ["setpriv", "nsenter", "unshare", "ip", "ping"]


def why_not(tools: list, needs_build: bool) -> str | None:
    """What is missing to run here; `tools` are needed besides those of every lab."""
    missing = [tool for tool in TOOLS + tools if shutil.which(tool) is None]
    if os.geteuid() != 0:
        return "network namespaces and taps need root; run it as root"
    if not os.path.exists("/dev/net/tun"):
        return "there is no /dev/net/tun, so there are no taps; `modprobe tun`, or map it in"
    if missing:
        return f"{', '.join(missing)} cannot be found; `make setup` installs it"
    if needs_build and not KNOTLESS.exists():
        return f"there is no {KNOTLESS}; `make build` builds it"
    return None


def run(name: str, tools: list, story, needs_build: bool = True) -> int:
    """Runs `story(lab)`, which says whether all was as promised. 0: it was; 1: it was not; 2: it
    cannot be run here; 128 and more: a signal has ended it. Nothing of it is left."""
    missing = why_not(tools, needs_build)
    if missing is not None:
        print(f"{name}: {missing}", file=sys.stderr)
        return 2
    lab = Lab(name, KNOTLESS)
    try:
        return 0 if story(lab) else 1
    except Failed as why:
        print(f"{name}: {why}", file=sys.stderr)
        return 1
    except Stopped as why:
        print(f"{name}: stopped by {why.args[0].name}", file=sys.stderr)
        return 128 + why.args[0]
    except BrokenPipeError:
        # Nobody reads on; nor does anybody want to hear of that at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    finally:
        lab.close()
