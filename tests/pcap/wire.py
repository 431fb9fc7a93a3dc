"""Frames, and what a switch must make of them: what a case's frames.py is written with.

Nothing here knows how the switch does it. Frames are built with scapy, checksums are computed anew
over what stands in a frame, and of switch.toml only names, addresses, VLANs and MTUs are read.

Conventions of all cases: port n has the MAC address 02:00:00:00:00:0n; host h behind it has
02:00:00:01:0n:0h, 10.0.n.h and fd00:0:0:n::h.
"""

import ipaddress
import logging
import struct

logging.getLogger("scapy.runtime").setLevel(logging.ERROR)

from scapy.config import conf  # noqa: E402

conf.ipv6_enabled = True

from scapy.layers.inet import ICMP, IP, TCP, UDP, fragment  # noqa: E402,F401
from scapy.layers.inet6 import (  # noqa: E402,F401
    ICMPv6DestUnreach, ICMPv6EchoReply, ICMPv6EchoRequest, ICMPv6ND_NA, ICMPv6ND_NS,
    ICMPv6NDOptDstLLAddr, ICMPv6NDOptSrcLLAddr, ICMPv6PacketTooBig, ICMPv6TimeExceeded, IPv6,
    IPv6ExtHdrFragment, IPv6ExtHdrHopByHop, PadN)
from scapy.layers.l2 import ARP, Dot1AD, Dot1Q, Ether  # noqa: E402,F401
from scapy.packet import Raw  # noqa: E402,F401
from scapy.utils import checksum  # noqa: E402

FRAME_BYTES_MIN = 60
BROADCAST = "ff:ff:ff:ff:ff:ff"
MAC_CONTROL = "01:80:c2:00:00:01"
ROCE = 4791
VLAN_ETHERTYPES = (0x8100, 0x88A8)


def port_mac(port):
    """The switch's own address at a port."""
    return f"02:00:00:00:00:{port:02x}"


def host_mac(port, host=1):
    return f"02:00:00:01:{port:02x}:{host:02x}"


def host_v4(port, host=1):
    return f"10.0.{port}.{host}"


def host_v6(port, host=1):
    return f"fd00:0:0:{port:x}::{host:x}"


def octets(mac):
    return bytes.fromhex(mac.replace(":", ""))


def link_local(mac):
    """fe80::/64 and the modified EUI-64 (RFC 4291, appendix A)."""
    a, b, c, d, e, f = octets(mac)
    host = struct.pack("!8B", a ^ 2, b, c, 0xFF, 0xFE, d, e, f)
    return str(ipaddress.IPv6Address(b"\xfe\x80" + bytes(6) + host))


def solicited_node(address):
    """The group that whoever has `address` listens to (RFC 4291, 2.7.1)."""
    group = bytes.fromhex("ff02" + "00" * 9 + "01ff") + ipaddress.IPv6Address(address).packed[13:]
    return str(ipaddress.IPv6Address(group))


def group_mac(group):
    """The MAC address of an IPv6 group (RFC 2464, 7)."""
    return "33:33:" + ":".join(f"{b:02x}" for b in ipaddress.IPv6Address(group).packed[12:])


def ether(source, destination, tags=()):
    """An Ethernet header with VLAN tags. A tag is a VID, (VID, PCP), or a Dot1Q or Dot1AD layer."""
    frame = Ether(src=source, dst=destination)
    for tag in tags:
        if isinstance(tag, int):
            tag = Dot1Q(vlan=tag)
        elif isinstance(tag, tuple):
            tag = Dot1Q(vlan=tag[0], prio=tag[1])
        frame /= tag
    return frame


def payload(number, length):
    """`length` octets that tell frame `number` from all others."""
    text = f"{number:04d} knotless ".encode()
    return (text * (length // len(text) + 1))[:max(length, 0)]


def padded(frame, length=FRAME_BYTES_MIN):
    """The octets of a frame, filled up with zeros to what a wire carries at the least."""
    frame = bytes(frame)
    return frame + bytes(max(0, length - len(frame)))


def udp(from_port, to_port, number=0, *, version=4, dscp=0, ecn=0, ttl=64, size=None, source=None,
        target=None, sport=49152, dport=ROCE, tags=(), mac=None, host=1, options=(), flags="DF"):
    """UDP from host 1 of a port to a host of another, to the switch's own MAC address, `size` bytes
    long without VLAN tags."""
    mac = mac or port_mac(from_port)
    tos = dscp << 2 | ecn
    if version == 4:
        size = size or 60
        ip = IP(src=source or host_v4(from_port), dst=target or host_v4(to_port, host), ttl=ttl,
                tos=tos, flags=flags, id=number, options=list(options))
        # A checksum of 0 says that there is none, so that a rewrite that touched it would be seen.
        ip /= UDP(sport=sport, dport=dport, chksum=0)
    else:
        size = size or 80
        ip = IPv6(src=source or host_v6(from_port), dst=target or host_v6(to_port, host),
                  hlim=ttl, tc=tos)
        ip /= UDP(sport=sport, dport=dport)
    body = Raw(payload(number, size - 14 - len(ip)))
    return bytes(ether(host_mac(from_port), mac, tags) / ip / body)


def udp6(*arguments, **options):
    return udp(*arguments, version=6, **options)


def bridged(from_port, to_port, number=0, *, host=1, **options):
    """UDP straight from host to host of two switched ports."""
    mac = options.pop("mac", host_mac(to_port, host))
    return udp(from_port, to_port, number, mac=mac, host=host, **options)


def l3_offset(frame):
    """Where a frame's IP header starts."""
    at = 12
    while int.from_bytes(frame[at:at + 2], "big") in VLAN_ETHERTYPES:
        at += 4
    return at + 2


def with_ip(frame, *, dscp=None, hops=0):
    """The frame with another DSCP and `hops` hops fewer; the IPv4 checksum computed anew."""
    at = l3_offset(frame)
    out = bytearray(frame)
    if frame[at] >> 4 == 4:
        if dscp is not None:
            out[at + 1] = dscp << 2 | frame[at + 1] & 3
        out[at + 8] -= hops
        end = at + (frame[at] & 0x0F) * 4
        out[at + 10:at + 12] = bytes(2)
        out[at + 10:at + 12] = checksum(bytes(out[at:end])).to_bytes(2, "big")
    else:
        if dscp is not None:
            word = int.from_bytes(frame[at:at + 2], "big")
            word = word & 0xF03F | (dscp << 2) << 4
            out[at:at + 2] = word.to_bytes(2, "big")
        out[at + 7] -= hops
    return bytes(out)


def routed(frame, to_port, *, mac=None, source=None, dscp=None, tags=()):
    """What a router makes of `frame`: its MAC addresses, one hop fewer, perhaps another DSCP, and
    the VLAN of the port where it leaves, whatever VLAN it came in."""
    at = l3_offset(frame)
    kind = frame[at - 2:at]
    header = bytes(ether(source or port_mac(to_port), mac or host_mac(to_port), tags))[:-2]
    return header + kind + with_ip(frame, dscp=dscp, hops=1)[at:]


def retagged(frame, tags):
    """The frame with `tags` in the place of all its VLAN tags."""
    inner = l3_offset(frame) - 2
    source, destination = frame[6:12].hex(":"), frame[:6].hex(":")
    return bytes(ether(source, destination, tags))[:-2] + frame[inner:]


def mac_control(opcode, body=b"", *, source=None, destination=MAC_CONTROL, tags=()):
    """A MAC control frame (IEEE 802.3, 31), padded."""
    source = source or host_mac(9, 9)
    header = bytes(ether(source, destination, tags))[:-2]
    return padded(header + struct.pack("!HH", 0x8808, opcode) + body)


def pfc(times, *, vector=None, **options):
    """A PFC frame (IEEE 802.1Q, 36) with the time of each class of `times`, in quanta; `vector` is
    the class-enable vector if it is to say something else."""
    vector = sum(1 << priority for priority in times) if vector is None else vector
    body = struct.pack("!9H", vector, *(times.get(priority, 0) for priority in range(8)))
    return mac_control(0x0101, body, **options)


def arp(operation, sender, target, *, destination=BROADCAST, source=None):
    """ARP. `sender` and `target` are (MAC, IP)."""
    return padded(Ether(src=source or sender[0], dst=destination) / ARP(
        op=operation, hwsrc=sender[0], psrc=sender[1], hwdst=target[0], pdst=target[1]))


def solicitation(sender, target, *, mac=None, destination=None):
    """An IPv6 neighbor solicitation of `sender`, (MAC, IP), for `target`."""
    destination = destination or solicited_node(target)
    return bytes(Ether(src=sender[0], dst=mac or group_mac(destination))
                 / IPv6(src=sender[1], dst=destination, hlim=255)
                 / ICMPv6ND_NS(tgt=target) / ICMPv6NDOptSrcLLAddr(lladdr=sender[0]))


def advertisement(sender, target, destination):
    """An IPv6 neighbor advertisement of `target` at `sender`'s MAC, answered to `destination`."""
    return bytes(Ether(src=sender[0], dst=destination[0])
                 / IPv6(src=target, dst=destination[1], hlim=255)
                 / ICMPv6ND_NA(R=0, S=1, O=1, tgt=target) / ICMPv6NDOptDstLLAddr(lladdr=sender[0]))
