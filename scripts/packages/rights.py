"""What the installed service may do, who may ask and change it, and what it says in the journal."""

import json

from common import show
from common.lab import Failed
from machine import Machine

NET_ADMIN = 1 << 12


def ctl(machine: Machine, user: str, group: str, words: str) -> str:
    """What `knotless ctl` says to a user, whose groups are those of the machine's lists."""
    become = f"setpriv --reuid={user} --regid={group} --init-groups"
    return machine.shell(f"{become} knotless ctl --name demo {words} 2>&1 || echo refused")


def capabilities(machine: Machine):
    """No thread of the service has more than its ports need."""
    script = """
        pid=$(systemctl show --property=MainPID --value knotless@demo)
        for task in /proc/$pid/task/*; do
          echo "$(cat $task/comm) $(sed -n 's/^CapPrm:\\t//p' $task/status) $(sed -n 's/^Seccomp:\\t//p' $task/status)"
        done
    """
    threads = [line.rsplit(" ", 2) for line in machine.shell(script).splitlines()]
    kept = {name: int(mask, 16) for name, mask, _ in threads}
    wrong = [name for name, mask in kept.items() if mask & ~NET_ADMIN or mask and name.startswith("worker")]
    if wrong or any(mode != "2" for _, _, mode in threads) or "worker-0" not in kept:
        raise Failed(f"threads with capabilities or without a filter: {threads}")
    show.result(True, f"{len(threads)} threads: seccomp filters on all, cap_net_admin at most, none for workers")


def roles(machine: Machine):
    """The group `knotless` asks and changes nothing, `knotless-admin` changes, others do neither."""
    machine.shell("usermod --append --groups knotless-admin games")
    asked, changed = ctl(machine, "knotless", "knotless", "stats"), ctl(machine, "games", "games", "link h2 up")
    refused, stranger = ctl(machine, "knotless", "knotless", "stop"), ctl(machine, "nobody", "nogroup", "stats")
    if "refused" in asked or "refused" in changed:
        raise Failed(f"the control socket: {asked.strip()}; {changed.strip()}")
    if "right to change" not in refused or "in no group" not in stranger:
        raise Failed(f"the control socket: {refused.strip()}; {stranger.strip()}")
    machine.shell("gpasswd --delete games knotless-admin >/dev/null")
    show.result(True, "group knotless asks, group knotless-admin changes, a stranger is refused")


def changes(machine: Machine):
    """What ctl changes outlives a restart of the service."""
    machine.shell("""
        knotless ctl --name demo route add 10.77.0.0/16 via 10.1.2.77
        systemctl restart knotless@demo
        knotless ctl --name demo diff | grep -qF '+ 10.77.0.0/16 via 10.1.2.77'
        knotless ctl --name demo rollback
        ! knotless ctl --name demo routes | grep -q 10.77
    """)
    show.result(True, "a route that ctl added is there after a restart of the service, and gone after a rollback")


def journal(machine: Machine):
    """An event has its port, its kind and a priority in the journal."""
    machine.shell("knotless ctl --name demo link h2 down; knotless ctl --name demo link h2 up; journalctl --sync")
    words = ["journalctl", "--unit=knotless@demo", "--output=json", "KNOTLESS_EVENT=service", "KNOTLESS_PORT=h2"]
    said = [json.loads(line) for line in machine.run(words).splitlines()]
    texts = [entry["MESSAGE"] for entry in said[-2:]]
    priorities = {entry["PRIORITY"] for entry in said}
    if texts != ["port h2 is out of service", "port h2 is in service again"] or priorities != {"5"}:
        raise Failed(f"the journal has {said}")
    show.result(True, "events are in the journal, each with its port, kind and priority")
