"""One case: its switch.toml as far as frames depend on it, what arrives, and what must leave.

A switch sends three kinds of frames at a port: those it forwards, PFC, and its own (ARP, neighbor
discovery, ICMP), which another thread makes. Each kind has an order; between kinds there is none,
so expectations are written kind after kind, and the runner compares each by itself.
"""

import ipaddress
import pathlib
import struct
import tomllib

from wire import (  # noqa: F401
    ARP, ICMP, IP, BROADCAST, Dot1Q, Ether, ICMPv6DestUnreach, ICMPv6ND_NA, ICMPv6ND_NS,
    ICMPv6NDOptDstLLAddr, ICMPv6NDOptSrcLLAddr, ICMPv6PacketTooBig, ICMPv6TimeExceeded, IPv6,
    ether, group_mac, host_mac, l3_offset, link_local, mac_control, octets, padded, pfc, port_mac,
    solicited_node)

ALL_NODES = "ff02::1"
# What the switch says of its own accord: CS6 and its PCP, network control (RFC 4594).
CONTROL_TOS = 48 << 2
CONTROL_PCP = 6
HOP_LIMIT = 64
V6_QUOTE_MAX = 1280 - 40 - 8


class Port:
    """A port of switch.toml."""

    def __init__(self, number, table):
        self.number = number
        self.mac = table.get("mac", port_mac(number))
        self.addresses = [ipaddress.ip_interface(text) for text in table.get("addresses", [])]
        self.vlan = table.get("vlan")
        self.mtu = table.get("mtu", 1500)
        self.link_local = link_local(self.mac)

    def address(self, version):
        """The port's address of that IP version, as text."""
        return next(str(a.ip) for a in self.addresses if a.version == version)


class Case:
    """What arrives at the ports of a switch, and what it must send."""

    def __init__(self, script):
        self.folder = pathlib.Path(script).parent
        with open(self.folder / "switch.toml", "rb") as file:
            tables = tomllib.load(file)["port"]
        self.ports = {n: Port(n, table) for n, table in enumerate(tables, 1)}
        self.arriving = {}
        self.forwarded, self.flow_control, self.own = {}, {}, {}
        for port in self.ports.values():
            if port.addresses:
                self._announce(port)

    def arrive(self, port, *frames):
        """The frames come in at `port`, after those that came before."""
        self.arriving.setdefault(port, []).extend(bytes(frame) for frame in frames)

    def forward(self, port, *frames):
        """The switch must forward exactly these frames to `port`, in this order."""
        self.forwarded.setdefault(port, []).extend(bytes(frame) for frame in frames)

    def pause(self, port, times):
        """The switch must send PFC at `port`."""
        frame = pfc(times, source=self.ports[port].mac)
        self.flow_control.setdefault(port, []).append(frame)

    def say(self, port, frame):
        """The switch must send this frame of its own at `port`, padded and in the port's VLAN."""
        at = self.ports[port]
        if at.vlan is not None and Dot1Q not in frame:
            frame = Ether(src=frame.src, dst=frame.dst) / Dot1Q(vlan=at.vlan, prio=CONTROL_PCP) \
                / frame.payload
        frame = padded(frame, 60 if at.vlan is None else 64)
        self.own.setdefault(port, []).append(frame)

    def _announce(self, port):
        """A router tells its links who has its addresses when it starts."""
        first = [str(a.ip) for a in port.addresses if str(a.ip) != port.link_local]
        for address in first + [port.link_local]:
            if ":" in address:
                self.say(port.number, self._advertisement(port, address, ALL_NODES,
                                                          group_mac(ALL_NODES), solicited=0))
            else:
                self.say(port.number, Ether(src=port.mac, dst=BROADCAST) / ARP(
                    op=1, hwsrc=port.mac, psrc=address, hwdst="00:00:00:00:00:00", pdst=address))

    @staticmethod
    def _advertisement(port, target, destination, mac, solicited):
        return (Ether(src=port.mac, dst=mac)
                / IPv6(src=target, dst=destination, hlim=255, tc=CONTROL_TOS)
                / ICMPv6ND_NA(R=1, S=solicited, O=1, tgt=target)
                / ICMPv6NDOptDstLLAddr(lladdr=port.mac))

    def arp_reply(self, port, address, to):
        """The switch answers that `address` is its own; `to` is (MAC, IP)."""
        mac = self.ports[port].mac
        self.say(port, Ether(src=mac, dst=to[0]) / ARP(
            op=2, hwsrc=mac, psrc=address, hwdst=to[0], pdst=to[1]))

    def arp_request(self, port, target):
        """The switch asks for `target`."""
        at = self.ports[port]
        self.say(port, Ether(src=at.mac, dst=BROADCAST) / ARP(
            op=1, hwsrc=at.mac, psrc=at.address(4), hwdst="00:00:00:00:00:00", pdst=target))

    def solicit(self, port, target):
        """The switch asks for `target`."""
        at, group = self.ports[port], solicited_node(target)
        self.say(port, Ether(src=at.mac, dst=group_mac(group))
                 / IPv6(src=at.address(6), dst=group, hlim=255, tc=CONTROL_TOS)
                 / ICMPv6ND_NS(tgt=target) / ICMPv6NDOptSrcLLAddr(lladdr=at.mac))

    def advertise(self, port, target, to):
        """The switch answers that `target` is its own; `to` is (MAC, IP)."""
        self.say(port, self._advertisement(self.ports[port], target, to[1], to[0], solicited=1))

    def error(self, port, frame, kind, code, *, mtu=0, source=None):
        """The switch tells the sender of `frame`, which came in at `port`, why it ended.

        An ICMPv4 error quotes the IP header and eight octets (RFC 792), an ICMPv6 error all that
        the least MTU holds (RFC 4443, 2.4 c).
        """
        at = self.ports[port]
        packet = frame[l3_offset(frame):]
        link = Ether(src=at.mac, dst=frame[6:12].hex(":"))
        if packet[0] >> 4 == 4:
            total = int.from_bytes(packet[2:4], "big")
            quoted = packet[:total][:(packet[0] & 0x0F) * 4 + 8]
            head = struct.pack("!BBHHH", kind, code, 0, 0, mtu)
            sum_ = checksum_of(head + quoted)
            head = head[:2] + sum_ + head[4:]
            to = str(ipaddress.IPv4Address(packet[12:16]))
            ip = IP(src=source or at.address(4), dst=to, ttl=HOP_LIMIT, tos=CONTROL_TOS, proto=1,
                    id=0, flags="DF")
            self.say(port, link / ip / (head + quoted))
            return
        length = 40 + int.from_bytes(packet[4:6], "big")
        to = str(ipaddress.IPv6Address(packet[8:24]))
        ip = IPv6(src=source or at.address(6), dst=to, hlim=HOP_LIMIT, tc=CONTROL_TOS)
        layer = {1: ICMPv6DestUnreach(code=code), 2: ICMPv6PacketTooBig(code=code, mtu=mtu),
                 3: ICMPv6TimeExceeded(code=code)}[kind]
        self.say(port, link / ip / layer / packet[:length][:V6_QUOTE_MAX])

    def inputs(self):
        """Frames by the name of their file."""
        return {f"in-{port}.pcap": frames for port, frames in self.arriving.items()}

    def outputs(self):
        """The same of what must leave."""
        kinds = (self.forwarded, self.flow_control, self.own)
        ports = sorted(set().union(*kinds))
        return {f"out-{port}.pcap": sum((kind.get(port, []) for kind in kinds), [])
                for port in ports}


def checksum_of(data):
    from scapy.utils import checksum
    return checksum(data).to_bytes(2, "big")
