"""The package on fresh machines of each Debian release: installed, forwarding, upgraded, removed.

A machine is a root of the release with systemd as its init (systemd-nspawn). Status 0 if all is
right, 1 if anything is not, 2 if it cannot run here. Leaves no process, namespace or mount behind;
the roots stay in target/package/roots, and no run changes them.

Usage: python3 scripts/packages RELEASE [PREVIOUS.deb], with the package in target/package/debianRELEASE.
"""

import argparse
import pathlib
import shutil
import signal
import sys

# Before there is anything to clean up, Ctrl-C just ends it.
signal.signal(signal.SIGINT, signal.SIG_DFL)
sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import forwarding  # noqa: E402
import install  # noqa: E402
import rights  # noqa: E402
import upgrade  # noqa: E402
from common import door, show  # noqa: E402
from common.lab import Failed, Lab  # noqa: E402
from leftovers import Inventory  # noqa: E402
from machine import ROOT, Machine, Release  # noqa: E402

TOOLS = ["systemd-nspawn", "lintian", "debootstrap"]


def lint(lab: Lab, package: pathlib.Path):
    lab.finish(lab.start(["lintian", "--fail-on", "error", "--allow-root", package]), 300)
    show.result(True, "lintian has no error")


def fresh(machine: Machine, package: str):
    """Installed, used and removed."""
    forwarding.add_hosts(machine)
    before = Inventory(machine)
    install.install(machine, package)
    show.result(True, f"apt install ./{package}")
    for check in (install.manuals, install.completions, install.unit):
        check(machine)
    machine.run(["systemctl", "start", "knotless@demo"])
    forwarding.connect_hosts(machine)
    for check in (forwarding.reach, forwarding.count):
        check(machine)
    for check in (rights.capabilities, rights.roles, rights.changes, rights.journal):
        check(machine)
    machine.run(["systemctl", "reload", "knotless@demo"])
    machine.run(["systemctl", "enable", "knotless@demo"])
    install.remove(machine, before)


def upgraded(machine: Machine, previous: str, package: str):
    """Upgraded under load."""
    install.install(machine, previous)
    upgrade.start(machine)
    upgrade.upgrade(machine, package)
    upgrade.reinstall(machine, package)


def story(lab: Lab, number: str, previous: pathlib.Path | None) -> bool:
    found = sorted((ROOT / "target" / "package" / f"debian{number}").glob("knotless_*.deb"))
    if len(found) != 1:
        raise Failed(f"there is no package for Debian {number}; `make package RELEASES={number}` builds it")
    show.heading(f"Debian {number}")
    lint(lab, found[0])
    release = Release(lab, number)
    release.make()
    release.fetch(found[0])
    packages = lab.folder / "packages"
    packages.mkdir()
    for package in filter(None, (found[0], previous)):
        shutil.copy(package, packages)
    in_machine(lab, release, packages, lambda machine: fresh(machine, found[0].name))
    if previous is not None:
        show.heading(f"Debian {number}: upgrade from {previous.name}")
        in_machine(lab, release, packages, lambda machine: upgraded(machine, previous.name, found[0].name))
    return True


def in_machine(lab: Lab, release: Release, packages: pathlib.Path, act):
    machine = Machine(lab, release, packages)
    try:
        machine.boot()
        act(machine)
    except Failed as why:
        raise Failed(f"{why}\n{machine.journal()}") from None
    finally:
        machine.end()


def main() -> int:
    parser = argparse.ArgumentParser(prog="packages", description=__doc__.splitlines()[0])
    parser.add_argument("release", choices=["12", "13"])
    parser.add_argument("previous", nargs="?", type=pathlib.Path, help="the package to upgrade from")
    arguments = parser.parse_args()
    return door.run("packages", TOOLS, lambda lab: story(lab, arguments.release, arguments.previous), needs_build=False)


if __name__ == "__main__":
    sys.exit(main())
