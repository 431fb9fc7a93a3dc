"""What `apt install ./knotless_*.deb` puts on a machine, and what `apt purge` leaves there."""

from common import show
from common.lab import Failed
from leftovers import Inventory, unnamed, whose
from machine import INSTALL_S, Machine

APT = ["env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "--yes", "-qq", "-o", "Dpkg::Use-Pty=0"]
# Finds the function that loads completions when TAB is pressed, and calls it as bash does.
COMPLETE = """
    set +eu
    . /usr/share/bash-completion/bash_completion
    loader=$(complete -p -D | sed 's/.*-F \\([^ ]*\\).*/\\1/')
    $loader knotless
    complete -p knotless || exit 1
    COMP_WORDS=(knotless ctl rel) COMP_CWORD=2
    _knotless knotless rel ctl
    echo "${COMPREPLY[@]}"
"""


def install(machine: Machine, package: str) -> str:
    """Installs a package of /packages."""
    return machine.run([*APT, "install", f"/packages/{package}"], INSTALL_S)


def manuals(machine: Machine):
    """man finds each page, mandoc has no error, groff no warning."""
    listed = machine.run(["dpkg", "-L", "knotless"]).splitlines()
    pages = [path for path in listed if "/man/man1/" in path]
    names = [path.rsplit("/", 1)[1].removesuffix(".1.gz") for path in pages]
    if "knotless-run" not in names or len(pages) < 20:
        raise Failed(f"pages are missing: {names}")
    machine.run(["man", "-w", *names])
    complaints = machine.shell(f"""
        for page in {' '.join(pages)}; do
          zcat $page | mandoc -T lint -W error || true
          man --warnings=all -E utf8 -P cat -l $page 2>&1 >/dev/null
        done
    """)
    if complaints.strip():
        raise Failed(f"man pages: {complaints.strip()[:1000]}")
    show.result(True, f"{len(pages)} man pages: man finds them, mandoc has no error, groff no warning")


def completions(machine: Machine):
    """bash loads the completion by itself."""
    said = machine.run(["bash", "-c", COMPLETE]).split()
    if said[-1] != "reload":
        raise Failed(f"`knotless ctl rel` is completed as {said}")
    show.result(True, "bash loads the completion: `knotless ctl rel` TAB gives reload")


def unit(machine: Machine):
    """systemd has nothing to say against the unit."""
    verify = machine.start(["systemd-analyze", "verify", "knotless@demo.service"])
    said = machine.lab_said(verify) + verify.err.read_text()
    if verify.returncode != 0 or said.strip():
        raise Failed(f"systemd-analyze verify: {said.strip()}")
    show.result(True, "systemd-analyze verify has no complaint about knotless@demo.service")


def remove(machine: Machine, before: Inventory):
    """Removal stops the switches, purge and autoremove leave nothing."""
    machine.run([*APT, "remove", "knotless"], INSTALL_S)
    running = machine.run(["systemctl", "list-units", "--plain", "--no-legend", "knotless@*"])
    if running.strip():
        raise Failed(f"after `apt remove`: {running.strip()}")
    kept = machine.shell("ls -A /etc/knotless /etc/default/knotless").split()
    show.result(True, f"`apt remove` stops the switches and keeps the configuration: {' '.join(kept)}")
    machine.run([*APT, "purge", "knotless"], INSTALL_S)
    machine.run([*APT, "autoremove", "--purge"], INSTALL_S)
    news = Inventory(machine).news_since(before)
    left = unnamed(news)
    if left:
        raise Failed(f"`apt purge` leaves {', '.join(left[:60])}")
    stays = ", ".join(f"{count} of {owner}" for owner, count in whose(news).items())
    show.result(True, f"`apt purge` leaves no file, user or group; what differs: {stays}")
