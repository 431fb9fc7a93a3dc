"""What the installed service may do, and who may ask and change it."""

from common import show
from common.lab import Failed
from machine import Machine

AS = "setpriv --reuid=knotless --regid=knotless --init-groups"
NET_ADMIN = 1 << 12


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
    machine.shell(f"{AS} knotless ctl --name demo stats >/dev/null")
    machine.shell("usermod --append --groups knotless-admin games")
    machine.shell("setpriv --reuid=games --regid=games --init-groups knotless ctl --name demo link h2 up >/dev/null")
    refused = machine.shell(f"{AS} knotless ctl --name demo stop 2>&1 || true")
    nobody = "setpriv --reuid=nobody --regid=nogroup --clear-groups"
    stranger = machine.shell(f"{nobody} knotless ctl --name demo stats 2>&1 || true")
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
