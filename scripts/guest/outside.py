"""What is outside the guest: the tap at the other end of a NIC, frames, and counts of its own."""

import contextlib
import ctypes
import os
import socket
import threading
import time

from scapy.layers.inet import IP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import ARP, Ether
from scapy.packet import Raw

from common.lab import Failed, Lab

CLONE_NEWNET = 0x40000000
ETH_P_ALL = 3
PFC_TYPE, PFC_OPCODE = b"\x88\x08", b"\x01\x01"
PFC_ADDRESS = bytes.fromhex("0180c2000001")
# 65,535 quanta of 512 bit times.
XOFF = 0xFFFF
# At 100 Mb/s the longest pause lasts a third of a second.
PAUSE_EVERY_S = 0.05
RECEIVE_BYTES = 8 << 20


class Wire:
    """The tap of one NIC, with the addresses of a host there: its frames, whole and in order."""

    def __init__(self, lab: Lab, where: str, number: int):
        self.number = number
        self.mac = f"02:00:00:00:00:0{number}"
        self.v4, self.v6 = f"10.1.{number}.2", f"fd00:1:{number}::2"
        self.router_v4 = f"10.1.{number}.1"
        self.router_mac = f"52:54:00:00:00:0{number}"
        self.sent = 0
        self.socket = socket_in(lab.namespaces[where], f"kg{number}")

    def send(self, frames: list):
        """Sends frames, a few at a time, as the guest needs time for each."""
        for at, frame in enumerate(frames):
            self.socket.send(bytes(frame))
            if at % 8 == 7:
                time.sleep(0.005)
        self.sent += len(frames)

    def take(self, seconds: float, enough=None) -> list:
        """The frames that arrive in `seconds`, or until `enough(frames)`."""
        frames, deadline = [], time.monotonic() + seconds
        while (left := deadline - time.monotonic()) > 0:
            self.socket.settimeout(left)
            try:
                frame, (*_, kind, _, _) = self.socket.recvfrom(65536)
            except TimeoutError:
                break
            # What was sent here is shown here, too.
            if kind != socket.PACKET_OUTGOING:
                frames.append(frame)
                if enough is not None and enough(frames):
                    break
        return frames

    def take_data(self, count: int, seconds: float) -> list:
        """As `take`: until there are `count` datagrams; all else is left out."""
        def data(frames):
            return list(filter(is_datagram, frames))

        return data(self.take(seconds, lambda frames: len(data(frames)) >= count))

    def pause(self, priority: int, quanta: int):
        """Sends a PFC frame."""
        times = [quanta if it == priority else 0 for it in range(8)]
        frame = PFC_ADDRESS + bytes.fromhex(self.mac.replace(":", "")) + PFC_TYPE + PFC_OPCODE
        frame += (1 << priority).to_bytes(2, "big") + b"".join(it.to_bytes(2, "big") for it in times)
        self.send([frame.ljust(60, b"\0")])

    @contextlib.contextmanager
    def pausing(self, priority: int):
        """Pauses a priority without a break; at the end it may send again."""
        ended = threading.Event()

        def pause():
            while not ended.is_set():
                self.pause(priority, XOFF)
                ended.wait(PAUSE_EVERY_S)

        thread = threading.Thread(target=pause)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()
            self.pause(priority, 0)

    def arp(self) -> bool:
        """Asks the switch for its MAC address; whether it answers."""
        ask = ARP(op=1, hwsrc=self.mac, psrc=self.v4, pdst=self.router_v4)
        for _ in range(5):
            self.send([bytes(Ether(src=self.mac, dst="ff:ff:ff:ff:ff:ff") / ask).ljust(60, b"\0")])
            if any(map(self.is_answer, self.take(2, lambda got: any(map(self.is_answer, got))))):
                return True
        return False

    def is_answer(self, frame: bytes) -> bool:
        packet = Ether(frame)
        return ARP in packet and packet[ARP].op == 2 and packet.src == self.router_mac

    def datagrams(self, to: "Wire", version: int, sizes: list, dscp: int = 0) -> list:
        """UDP datagrams from here to a host behind the switch; each holds its number."""
        frames = []
        for number, size in enumerate(sizes):
            frame = Ether(src=self.mac, dst=self.router_mac)
            if version == 4:
                frame /= IP(src=self.v4, dst=to.v4, tos=dscp << 2, ttl=64, id=number)
            else:
                frame /= IPv6(src=self.v6, dst=to.v6, tc=dscp << 2, hlim=64)
            frame /= UDP(sport=4791, dport=9000 + number % 7)
            body = number.to_bytes(4, "big") + os.urandom(max(0, size - len(frame) - 4))
            frames.append(bytes(frame / Raw(body)))
        return frames


def socket_in(process: int, interface: str) -> socket.socket:
    """A raw socket at an interface of a process's network namespace. It stays there."""
    libc = ctypes.CDLL(None, use_errno=True)
    here = os.open("/proc/self/ns/net", os.O_RDONLY)
    there = os.open(f"/proc/{process}/ns/net", os.O_RDONLY)
    try:
        if libc.setns(there, CLONE_NEWNET) != 0:
            raise Failed(f"the namespace of {interface}: {os.strerror(ctypes.get_errno())}")
        raw = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))
        raw.setsockopt(socket.SOL_SOCKET, 33, RECEIVE_BYTES)
        raw.bind((interface, 0))
        return raw
    finally:
        libc.setns(here, CLONE_NEWNET)
        os.close(here)
        os.close(there)


def is_pfc(frame: bytes) -> bool:
    return frame[12:14] == PFC_TYPE


def is_datagram(frame: bytes) -> bool:
    """Whether it is UDP, over IPv4 or IPv6."""
    return {b"\x08\x00": frame[23:24], b"\x86\xdd": frame[20:21]}.get(frame[12:14]) == b"\x11"


def paused(frames: list, priority: int) -> list:
    """The times that PFC frames give a priority, in quanta."""
    times = []
    for frame in filter(is_pfc, frames):
        if frame[14:16] != PFC_OPCODE or frame[:6] != PFC_ADDRESS:
            raise Failed(f"a MAC control frame that is no PFC frame: {frame.hex()}")
        if frame[17] >> priority & 1:
            times.append(int.from_bytes(frame[18 + 2 * priority : 20 + 2 * priority], "big"))
    return times


def routed(frame: bytes, to: Wire) -> bytes:
    """What a router makes of a frame to `to`: scapy computes the checksum."""
    packet = Ether(frame)
    packet.src, packet.dst = to.router_mac, to.mac
    if IP in packet:
        packet[IP].ttl -= 1
        del packet[IP].chksum
    else:
        packet[IPv6].hlim -= 1
    return bytes(packet)
