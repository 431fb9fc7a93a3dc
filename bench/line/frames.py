"""Frames for the line-rate bench, made and judged without the switch's own code."""

import ipaddress
import struct

ROUTES = 1_000
FLOWS = 1_024
LOSSLESS_DSCP = 26
# What the rules raise it to.
RAISED_DSCP = 27
EGRESS_PRIORITY = 4
# Of frames with a tag.
VLAN = 100


def new_dscp(dscp: int) -> int:
    """The DSCP that a frame of `dscp` leaves with."""
    return RAISED_DSCP if dscp == LOSSLESS_DSCP else dscp


def checksum(header: bytes) -> int:
    total = sum(struct.unpack(f"!{len(header) // 2}H", header))
    while total > 0xFFFF:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def port_mac(port: int) -> bytes:
    return bytes([2, 0, 0, 0, 0, port])


def host_mac(port: int) -> bytes:
    return bytes([2, 0, 0, 0, 1, port])


def destination(port: int, flow: int) -> bytes:
    """Behind the other port of the pair, spread over all routes."""
    route = flow % ROUTES
    return bytes([20 if port == 2 else 40, route >> 8, route & 0xFF, 1 + flow % 250])


def udp(port: int, flow: int, frame_bytes: int, dscp: int | None = None, to: bytes | None = None) -> bytes:
    """Frame `flow` that arrives at `port`; `frame_bytes` is its length on the wire, FCS included. Every
    other flow is lossless, if `dscp` does not say otherwise. `to` is the address that it goes to, if that is not
    behind the other port."""
    ip_bytes = frame_bytes - 4 - 14
    if dscp is None:
        dscp = LOSSLESS_DSCP if flow % 2 else 0
    ip = struct.pack("!BBHHHBBH4s4s", 0x45, dscp << 2, ip_bytes, flow, 0x4000, 64, 17, 0,
                     bytes([10, 0, port, 1]), to or destination(port, flow))
    ip = ip[:10] + struct.pack("!H", checksum(ip)) + ip[12:]
    payload = struct.pack("!HHHH", 49_152 + flow, 4791, ip_bytes - 20, 0)
    frame = port_mac(port) + host_mac(port) + b"\x08\x00" + ip + payload
    return frame.ljust(frame_bytes - 4, b"\xa5")


def udp6(port: int, flow: int) -> bytes:
    """The same with IPv6, 66 bytes on the wire: the shortest with a UDP header."""
    dscp = LOSSLESS_DSCP if flow % 2 else 0
    head = struct.pack("!IHBB", 6 << 28 | dscp << 22 | flow, 8, 17, 64)
    udp_header = struct.pack("!HHHH", 49_152 + flow, 4791, 8, 0)
    return (port_mac(port) + host_mac(port) + b"\x86\xdd" + head + v6(f"2001:db8:{port}::1")
            + v6(f"2a00:{20 if port == 2 else 40}:{flow % ROUTES:x}::{flow:x}") + udp_header)


def v6(address: str) -> bytes:
    return ipaddress.IPv6Address(address).packed


def with_tag(frame: bytes, vid: int) -> bytes:
    """The IPv4 frame with a VLAN tag, of the same length as before; its PCP is that of its DSCP's tag."""
    tci = {0: 0, LOSSLESS_DSCP: 3, RAISED_DSCP: 4}[frame[15] >> 2] << 13 | vid
    return frame[:12] + struct.pack("!HH", 0x8100, tci) + frame[12:]


def bridged(port: int, flow: int) -> bytes:
    """Frame `flow` from one of 250 hosts behind `port` to one of as many behind the other."""
    host = bytes([2, 0, 0, 0, 2, flow % 250])
    pair = [host[:4] + bytes([2 + to]) + host[5:] for to in (3 - port, port)]
    return pair[0] + pair[1] + udp(port, flow, 64)[12:]


# Kinds of traffic that are compared with IPv4: the frames that arrive at a port.
KINDS = {
    "ipv6": udp6,
    "vlan": lambda port, flow: with_tag(udp(port, flow, 60), VLAN),
    "bridged": bridged,
}


def sent_of_kind(kind: str, frame: bytes, port_out: int) -> bytes:
    """What a frame of this kind must look like when it leaves by `port_out`."""
    if kind == "vlan":
        return with_tag(routed(frame[:12] + frame[16:], port_out), VLAN)
    if kind == "bridged":
        ip = bytearray(frame[14:34])
        ip[1] = new_dscp(ip[1] >> 2) << 2
        ip[10:12] = b"\0\0"
        ip[10:12] = struct.pack("!H", checksum(bytes(ip)))
        return frame[:14] + bytes(ip) + frame[34:]
    first, = struct.unpack("!I", frame[14:18])
    dscp = new_dscp(first >> 22 & 63)
    head = struct.pack("!I", first & ~(63 << 22) | dscp << 22) + frame[18:21] + bytes([frame[21] - 1])
    return host_mac(port_out) + port_mac(port_out) + frame[12:14] + head + frame[22:]


def pfc(port: int, quanta: int) -> bytes:
    """From the station behind `port`: pause the priority that lossless frames leave with."""
    times = [quanta if priority == EGRESS_PRIORITY else 0 for priority in range(8)]
    body = struct.pack("!HH8H", 0x0101, 1 << EGRESS_PRIORITY, *times)
    return (bytes.fromhex("0180c2000001") + host_mac(port) + b"\x88\x08" + body).ljust(60, b"\0")


def congested(port: int) -> list[bytes]:
    """Lossless frames only; of every two bursts of 64, one finds its queue paused by the far end and waits,
    and the other finds that there and waits behind it."""
    made = [udp(port, flow, 64, LOSSLESS_DSCP) for flow in range(FLOWS)]
    for start in range(0, FLOWS, 256):
        made[start], made[start + 192] = pfc(port, 0xFFFF), pfc(port, 0)
    return made


def routed(frame: bytes, port_out: int, keeps_dscp: bool = False) -> bytes:
    """What `frame` must look like when it leaves by `port_out`."""
    ip = bytearray(frame[14:34])
    ip[8] -= 1
    if not keeps_dscp:
        ip[1] = new_dscp(ip[1] >> 2) << 2 | ip[1] & 0b11
    ip[10:12] = b"\0\0"
    ip[10:12] = struct.pack("!H", checksum(bytes(ip)))
    return host_mac(port_out) + port_mac(port_out) + frame[12:14] + bytes(ip) + frame[34:]


def sizes(kind: str) -> list[int]:
    """Frame lengths of a pcap: all 64, or the simple IMIX of 7 x 64, 4 x 594, 1 x 1518."""
    pattern = [64] if kind == "64" else [64, 594, 64, 64, 594, 64, 1518, 64, 594, 64, 594, 64]
    return [pattern[flow % len(pattern)] for flow in range(FLOWS)]


def write_pcap(path: str, frames: list[bytes]) -> None:
    with open(path, "wb") as file:
        file.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65_535, 1))
        for number, frame in enumerate(frames):
            file.write(struct.pack("<IIII", 0, number, len(frame), len(frame)) + frame)


def read_pcap(path: str) -> list[bytes]:
    with open(path, "rb") as file:
        data = file.read()
    frames, at = [], 24
    while at < len(data):
        length = struct.unpack_from("<I", data, at + 8)[0]
        frames.append(data[at + 16:at + 16 + length])
        at += 16 + length
    return frames
