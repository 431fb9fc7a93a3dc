"""Linux's own RoCE endpoint, rdma_rxe, as a judge: in two guests, through the switch.

Two guests with Debian's kernel boot under QEMU (TCG, so this needs no virtualization) behind ports
of a switch; a third port leads to a namespace with `knotless roce`. Every operation of perftest runs
from guest to guest, and between a guest and `knotless roce` both ways; nothing may be sent twice, as
nothing is lost. Status 0 if all is right, 1 if anything is not, 2 if it cannot run here. Leaves no
process, namespace or tap behind; the kernel of the guests stays in target/roce-guest. The figures
go to target/bench/rxe.json.

Usage: python3 scripts/roce. KNOTLESS names another program than target/release's.
"""

import json
import pathlib
import re
import signal
import sys
import time

# Before there is anything to clean up, Ctrl-C just ends it.
signal.signal(signal.SIGINT, signal.SIG_DFL)
sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parent / "guest")]
import guests  # noqa: E402
import network  # noqa: E402
from common import door, show  # noqa: E402
from common.lab import Failed, Lab  # noqa: E402

# perftest reads the type of service; DSCP 26 is lossless here.
LOSSLESS = "--tclass 104"
# 4 s: an emulated processor may lose its core for longer than the usual 67 ms.
TIMEOUT = "-u 20"
# Measure also where the clock of the processor looks unsteady.
CLOCK = "-F"
COUNT = "-n 200"
BANDWIDTH = {
    "SEND": f"ib_send_bw {COUNT}", "WRITE": f"ib_write_bw {COUNT}", "READ": f"ib_read_bw {COUNT}",
    "fetch and add": f"ib_atomic_bw -A FETCH_AND_ADD {COUNT}",
    "compare and swap": f"ib_atomic_bw -A CMP_AND_SWAP {COUNT}",
}
LATENCY = {
    "SEND latency": f"ib_send_lat {COUNT}", "WRITE latency": f"ib_write_lat {COUNT}",
    "READ latency": f"ib_read_lat {COUNT}",
    "fetch and add latency": f"ib_atomic_lat -A FETCH_AND_ADD {COUNT}",
}
# What `knotless roce bench` calls them.
OPS = {"SEND": "send", "WRITE": "write", "READ": "read", "fetch and add": "fetch-add",
       "compare and swap": "compare-swap"}
PATIENCE_S = 180
# A server of perftest reads its program over 9p, opens its device, and listens.
LISTENS_S = 60


def program(command: str) -> str:
    return f"/usr/bin/{command} -d rxe0 {LOSSLESS} {TIMEOUT} {CLOCK}"


def listens(guest, port: int = 18515):
    """Waits until somebody listens in a guest."""
    wanted = rf":{port:04X} 0+:0000 0A"
    deadline = time.monotonic() + LISTENS_S
    while not re.search(wanted, guest.sh("cat /proc/net/tcp /proc/net/tcp6")):
        if time.monotonic() > deadline:
            raise Failed(f"nobody listens in guest {guest.net}: {guest.said('server')}")
        time.sleep(0.2)


def figure(said: str) -> str:
    """The average that perftest has printed: MB/s, or microseconds."""
    rows = [line.split() for line in said.splitlines() if re.match(r"\s*\d+\s+\d+\s+[\d.]+", line)]
    if not rows:
        raise Failed(f"perftest printed no figure: {said}")
    row = rows[-1]
    is_latency = len(row) > 6
    return f"{float(row[5]):.1f} us" if is_latency else f"{float(row[3]):.2f} MB/s"


def between_guests(one, two, name: str, command: str) -> str:
    """perftest on both sides."""
    two.background("server", program(command))
    listens(two)
    one.background("client", f"{program(command)} {two.address}")
    one.expect_end("client", PATIENCE_S)
    two.expect_end("server", PATIENCE_S)
    return figure(one.said("client"))


def ping(one, two) -> str:
    """rping, which connects by rdma_cm."""
    two.background("server", f"/usr/bin/rping -s -a {two.address} -C 10")
    time.sleep(3)
    one.background("client", f"/usr/bin/rping -c -a {two.address} -C 10 -v -V")
    one.expect_end("client", PATIENCE_S)
    two.expect_end("server", PATIENCE_S)
    pings = one.said("client").count("ping data")
    if pings != 10:
        raise Failed(f"rping: {pings} of 10: {one.said('client')}")
    return "10 of 10"


def to_knotless(host, guest, name: str, command: str) -> tuple:
    """perftest in a guest, `knotless roce recv` at the other side."""
    receiver = host.roce("recv", "--sessions", "1", "--size", "64KiB")
    host.lab.wait_for(receiver, "listening")
    guest.background("client", f"{program(command)} {host.address}")
    guest.expect_end("client", PATIENCE_S)
    report = json.loads(host.lab.finish(receiver))
    return figure(guest.said("client")), report["counters"]


def from_knotless(host, guest, name: str, command: str) -> tuple:
    """`knotless roce bench`, perftest in a guest at the other side."""
    guest.background("server", program(command))
    listens(guest)
    bench = host.roce("bench", guest.address, "--op", OPS[name], "--ops", "200", "--size", "64KiB",
                      "--depth", "8")
    report = json.loads(host.lab.finish(bench, PATIENCE_S))
    guest.expect_end("server", PATIENCE_S)
    if report["ops"] != 200:
        raise Failed(f"{report['ops']} of 200 operations")
    return f"{report['goodput_bps'] / 8e6 / 1.048576:.2f} MB/s", report["counters"]


# Counters of rdma_rxe that move when something is sent twice, or refused.
REPEATS = ["completer_retry_err", "duplicate_request", "out_of_seq_request", "rcvd_seq_err",
           "retry_exceeded_err", "retry_rnr_exceeded_err", "send_err"]
OWN_REPEATS = ["retransmitted", "duplicates", "out_of_sequence", "timeouts", "bad_icrc", "bad_length",
               "read_gaps", "nak_fatal_sent", "nak_fatal_received"]


class Rows:
    """What ran, and how often something was sent twice meanwhile."""

    def __init__(self, machines: list):
        self.machines, self.rows, self.is_well = machines, [], True

    def run(self, name: str, way: str, work):
        before = [machine.counters() for machine in self.machines]
        started = time.monotonic()
        try:
            answer, own = work(), {}
            if isinstance(answer, tuple):
                answer, own = answer
        except Failed as why:
            show.result(False, f"{name}, {way}: {why}")
            self.is_well = False
            for machine in self.machines:
                machine.end_programs()
            return
        after = [machine.counters() for machine in self.machines]
        moved = [f"{key} {now[key] - then[key]}" for then, now in zip(before, after)
                 for key in REPEATS if now[key] != then[key]]
        moved += [f"{key} {own[key]}" for key in OWN_REPEATS if own.get(key, 0)]
        repeats = sum(int(counter.split()[1]) for counter in moved)
        self.is_well &= repeats == 0
        self.rows.append({"operation": name, "way": way, "result": answer, "repeats": repeats})
        seconds = time.monotonic() - started
        show.result(repeats == 0, f"{seconds:5.1f} s  {name}, {way}: {answer}, {repeats} repeats {' '.join(moved)}")


def story(lab: Lab) -> bool:
    show.heading("rdma_rxe in two guests, and `knotless roce`, through the switch")
    image = guests.image(lab, door.ROOT / "target" / "roce-guest")
    lab.add_quiet_namespace("switch")
    machines = [guests.RoceGuest(lab, image, "switch", number) for number in (1, 2)]
    switch, host = network.start(lab, machines)
    for machine in machines:
        machine.configure()
    one, two = machines
    rows = Rows(machines)
    for name, command in {**BANDWIDTH, **LATENCY}.items():
        rows.run(name, "guest to guest", lambda: between_guests(one, two, name, command))
    rows.run("rping", "guest to guest", lambda: ping(one, two))
    for name, command in BANDWIDTH.items():
        rows.run(name, "guest to knotless", lambda: to_knotless(host, one, name, command))
        rows.run(name, "knotless to guest", lambda: from_knotless(host, one, name, command))
    show.heading("In all")
    table = [[row["operation"], row["way"], row["result"], row["repeats"]] for row in rows.rows]
    print(show.table(["operation", "way", "result", "repeats"], table, 2))
    stats = switch.settled()
    lost = sum(sum(map(sum, (port["lossless_drops"],))) for port in stats["ports"])
    show.result(lost == 0, f"the switch dropped {lost} lossless frames")
    file = door.TARGET / "bench" / "rxe.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps({"rows": rows.rows, "lossless_drops": lost}, indent=1) + "\n")
    switch.stop()
    return rows.is_well and lost == 0


if __name__ == "__main__":
    tools = ["qemu-system-x86_64", "busybox", "dpkg-deb", "apt-get", "ib_write_bw", "rping", "rdma"]
    sys.exit(door.run("roce", tools, story))
