"""Writes golden.rs: packets of every kind as scapy builds them, with the ICRC as scapy computes it; that of
IPv6, which scapy cannot, by zlib. Usage: /usr/bin/python3 golden.py >golden.rs"""

import struct
import zlib

from scapy.contrib.roce import AETH, BTH
from scapy.layers.inet import IP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Dot1Q, Ether
from scapy.packet import Raw

# Of the dynamic range; the endpoint derives it from the queue pairs.
PORTS = [0xE972, 0xE972]
PSNS = [0xFFFFF0, 5]
DSCP, ECT = 26, 2


def transport(side: int, opcode: int, psn: int, body: bytes, **fields):
    dscp, ecn = fields.pop("dscp", DSCP), fields.pop("ecn", ECT)
    ip = IP(src=f"10.0.0.{side + 1}", dst=f"10.0.0.{2 - side}", tos=dscp << 2 | ecn, id=0, flags="DF", ttl=64)
    bth = BTH(opcode=opcode, migreq=1, pkey=0xFFFF, dqpn=0x11, psn=psn, **fields)
    packet = ip / UDP(sport=PORTS[side], dport=4791, chksum=0) / bth / Raw(body)
    return bytes(Ether(src=f"02:00:00:00:00:0{side}", dst=f"02:00:00:00:00:0{1 - side}") / packet)


def reth(address: int, key: int, length: int) -> bytes:
    return struct.pack("!QII", address, key, length)


def aeth(syndrome: int, msn: int) -> bytes:
    return bytes(AETH(syndrome=syndrome, msn=msn))


def over_v6(side: int, opcode: int, psn: int, body: bytes, tci: int, **fields) -> bytes:
    bth = bytes(BTH(opcode=opcode, migreq=1, pkey=0xFFFF, dqpn=0x11, psn=psn, icrc=0, **fields))[:12]
    part = bth + body
    udp = struct.pack("!HHHH", PORTS[side], 4791, 8 + len(part) + 4, 0)
    ip = bytes(IPv6(src=f"fd00::{side + 1}", dst=f"fd00::{2 - side}", tc=DSCP << 2 | ECT, fl=0, nh=17, hlim=64,
                    plen=len(udp) + len(part) + 4))
    masked = bytes([0x6F, 0xFF, 0xFF, 0xFF]) + ip[4:7] + b"\xff" + ip[8:]
    masked += udp[:6] + b"\xff\xff" + bth[:4] + b"\xff" + bth[5:] + body
    icrc = struct.pack("<I", zlib.crc32(b"\xff" * 8 + masked))
    head = bytes(Ether(src=f"02:00:00:00:00:0{side}", dst=f"02:00:00:00:00:0{1 - side}") /
                 Dot1Q(prio=tci >> 13, vlan=tci & 0xFFF, type=0x86DD))
    return head + ip + udp + part + icrc


BYTES = bytes(range(1, 256)) + bytes(range(256))
ADDRESS, KEY = 0x7000_0000_0000, 0x1100
ME, YOU = PSNS
FRAMES = {
    "SEND_ONLY": transport(0, 0x04, ME, BYTES[:5] + b"\0\0\0", padcount=3, ackreq=1),
    "SEND_ONLY_IMMEDIATE": transport(0, 0x05, ME, b"\xde\xad\xbe\xef" + BYTES[:4], ackreq=1),
    "WRITE_FIRST": transport(0, 0x06, ME, reth(ADDRESS + 8, KEY, 300) + BYTES[:256]),
    "WRITE_LAST_IMMEDIATE": transport(0, 0x09, ME + 1, b"\x01\x02\x03\x04" + BYTES[256:300], ackreq=1),
    "READ_REQUEST": transport(0, 0x0C, ME, reth(ADDRESS + 8, KEY, 300)),
    "READ_RESPONSE_FIRST": transport(1, 0x0D, ME, aeth(0x1F, 1) + BYTES[8:264]),
    "READ_RESPONSE_LAST": transport(1, 0x0F, ME + 1, aeth(0x1F, 1) + BYTES[264:308]),
    "FETCH_ADD": transport(0, 0x14, ME, reth(ADDRESS, KEY, 0)[:12] + struct.pack("!QQ", 7, 0)),
    "COMPARE_SWAP": transport(0, 0x13, ME, reth(ADDRESS, KEY, 0)[:12] + struct.pack("!QQ", 9, 3)),
    "ATOMIC_ACKNOWLEDGE": transport(
        1, 0x12, ME, aeth(0x1F, 1) + struct.pack("!Q", int.from_bytes(BYTES[:8], "little")), ecn=0),
    "ACKNOWLEDGE": transport(1, 0x11, ME + 1, aeth(0x1F, 1), ecn=0),
    "NAK_ACCESS": transport(1, 0x11, ME, aeth(0x62, 0), ecn=0),
    "RNR_NAK": transport(1, 0x11, ME, aeth(0x2C, 0), ecn=0),
    "CNP": transport(1, 0x81, 0, bytes(16), becn=1, dscp=48, ecn=0),
    "WRITE_ONLY_V6": over_v6(0, 0x0A, ME, reth(ADDRESS, KEY, 4) + BYTES[:4], 3 << 13 | 100, ackreq=1),
}

print("//! Packets of every kind as scapy builds them: `golden.py` writes this file.")
for name, frame in FRAMES.items():
    text = frame.hex()
    lines = "\\\n".join("    " + text[at : at + 92] for at in range(0, len(text), 92))
    print(f'\npub(crate) const {name}: &str = "\\\n{lines}";')
