"""Makes the pictures of the documents from what the program and the documents say.

Usage: python3 scripts/pictures [NAME...]. Writes docs/pictures/NAME.svg or .png; all without NAME.
KNOTLESS names another program than target/release's.
"""

import argparse
import pathlib
import signal
import sys

# Before there is anything to clean up, Ctrl-C just ends it.
signal.signal(signal.SIGINT, signal.SIG_DFL)
sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import graphs  # noqa: E402
import screens  # noqa: E402
from common import door  # noqa: E402

TOOLS = ["dot", "tmux", "chromium", "asciinema"]
PICTURES = {
    "pipeline": graphs.pipeline,
    "ring-before": graphs.ring_before,
    "ring-after": graphs.ring_after,
    "compare": screens.compare,
    "report": screens.report,
    "top": screens.top,
    "knot": screens.knot,
}


def story(lab, names: list) -> bool:
    folder = door.ROOT / "docs" / "pictures"
    folder.mkdir(exist_ok=True)
    for name in names:
        for file in PICTURES[name](lab, folder / name):
            print(f"{file.relative_to(door.ROOT)}: {file.stat().st_size} B")
    return True


def main() -> int:
    parser = argparse.ArgumentParser(prog="pictures", description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", choices=[[], *PICTURES], metavar="NAME")
    names = parser.parse_args().names or list(PICTURES)
    return door.run("pictures", TOOLS, lambda lab: story(lab, names))


sys.exit(main())
