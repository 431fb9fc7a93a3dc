"""A BGP speaker that announces many prefixes and then changes them: what feeds bgpd in a bench.

It speaks as much of RFC 4271 as that takes: OPEN, KEEPALIVE, UPDATE with ORIGIN, AS_PATH and NEXT_HOP.
"""

import socket
import struct
import threading
import time

MARKER = b"\xff" * 16
OPEN, UPDATE, NOTIFICATION, KEEPALIVE = 1, 2, 3, 4
HOLD_SECONDS = 180
MESSAGE_BYTES_MAX = 4096


def message(kind: int, body: bytes = b"") -> bytes:
    return MARKER + struct.pack("!HB", 19 + len(body), kind) + body


def attributes(asn: int, next_hop: str) -> bytes:
    path = struct.pack("!BBH", 2, 1, asn)
    hop = socket.inet_aton(next_hop)
    return (
        bytes([0x40, 1, 1, 0])
        + bytes([0x40, 2, len(path)]) + path
        + bytes([0x40, 3, 4]) + hop
    )  # fmt: skip


def host(number: int) -> bytes:
    """A host of the /24 with this number, from 20.0.0.0 on."""
    return bytes([20 + (number >> 16), number >> 8 & 0xFF, number & 0xFF, 1])


def nlri(number: int) -> bytes:
    """That /24."""
    return bytes([24]) + host(number)[:3]


def updates(asn: int, next_hop: str, numbers: range | list[int]) -> list[bytes]:
    """UPDATE messages that announce these prefixes, as few as can be."""
    common = attributes(asn, next_hop)
    room = (MESSAGE_BYTES_MAX - 19 - 4 - len(common)) // 4
    numbers = list(numbers)
    parts = [numbers[at : at + room] for at in range(0, len(numbers), room)]
    bodies = [
        struct.pack("!HH", 0, len(common)) + common + b"".join(nlri(number) for number in part) for part in parts
    ]
    return [message(UPDATE, body) for body in bodies]


class Speaker:
    """One session with bgpd, opened from our side."""

    def __init__(self, peer: str, own: str, asn: int) -> None:
        self.asn = asn
        self.connection = socket.create_connection((peer, 179), timeout=20, source_address=(own, 0))
        own_open = struct.pack("!BHH4sB", 4, asn, HOLD_SECONDS, socket.inet_aton(own), 0)
        self.connection.sendall(message(OPEN, own_open))
        kind, body = self.receive()
        if kind != OPEN:
            raise RuntimeError(f"bgpd answers with message {kind}: {body.hex()}")
        self.connection.sendall(message(KEEPALIVE))
        kind, _ = self.receive()
        if kind != KEEPALIVE:
            raise RuntimeError(f"bgpd does not open the session: message {kind}")
        self.connection.settimeout(None)
        # Until bgpd ends the session.
        self.is_up = True
        threading.Thread(target=self.listen, daemon=True).start()

    def receive(self) -> tuple[int, bytes]:
        head = self.exactly(19)
        length, kind = struct.unpack("!HB", head[16:])
        return kind, self.exactly(length - 19)

    def exactly(self, count: int) -> bytes:
        data = b""
        while len(data) < count:
            part = self.connection.recv(count - len(data))
            if not part:
                raise ConnectionError("bgpd closed the session")
            data += part
        return data

    def listen(self) -> None:
        """Reads what bgpd says, so that it never waits, and keeps the session alive."""
        try:
            while True:
                kind, body = self.receive()
                if kind == KEEPALIVE:
                    self.connection.sendall(message(KEEPALIVE))
                elif kind == NOTIFICATION:
                    raise ConnectionError(f"bgpd ends the session: {body.hex()}")
        except OSError as error:
            self.is_up = False
            print(f"speaker: {error}")

    def announce(self, next_hop: str, numbers: range | list[int]) -> None:
        for update in updates(self.asn, next_hop, numbers):
            self.connection.sendall(update)

    def announce_table(self, next_hops: list[str], count: int) -> None:
        """Announces so many prefixes with the first next hop, the last few of them with the others: bgpd forgets a
        next hop that no route uses, and withdraws routes that come to it until zebra has found it anew."""
        others = next_hops[1:]
        self.announce(next_hops[0], range(count - len(others)))
        for number, next_hop in enumerate(others, count - len(others)):
            self.announce(next_hop, [number])

    def churn(self, next_hops: list[str], numbers: range, rate: int, seconds: float) -> int:
        """Changes the next hop of one prefix after the other, `rate` a second; returns how many."""
        sent, start = 0, time.monotonic()
        while (elapsed := time.monotonic() - start) < seconds:
            due = int(elapsed * rate)
            if due > sent:
                batch: dict[str, list[int]] = {}
                for turn in range(sent, min(due, sent + 500)):
                    number = numbers[turn % len(numbers)]
                    hop = next_hops[(turn // len(numbers) + 1) % len(next_hops)]
                    batch.setdefault(hop, []).append(number)
                for hop, changed in batch.items():
                    self.announce(hop, changed)
                sent = min(due, sent + 500)
            time.sleep(0.002)
        return sent
