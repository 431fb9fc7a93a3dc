from case import Case
from wire import ICMP, IP, Ether, TCP, host_mac, host_v4, port_mac, routed, udp

case = Case(__file__)

# Every length class, every ECN codepoint, the largest TTL and the least that still passes.
there = [udp(1, 2, n, size=size, ecn=n % 4, dscp=n)
         for n, size in enumerate((60, 61, 64, 127, 128, 512, 1513, 1514))]
there += [udp(1, 2, 10, ttl=255), udp(1, 2, 11, ttl=2)]
link = Ether(src=host_mac(1), dst=port_mac(1))
there.append(bytes(link / IP(src=host_v4(1), dst=host_v4(2), id=12) / TCP(dport=80, flags="S")))
there.append(bytes(link / IP(src=host_v4(1), dst=host_v4(2), id=13) / ICMP() / b"ping"))


def checksum(frame):
    return int.from_bytes(frame[24:26], "big")


# The two corners of ones' complement: a checksum of zero before the rewrite, and after it. What
# the checksum says with an identification of 0 is the identification that makes it zero.
there.append(udp(1, 2, checksum(udp(1, 2, 0))))
there.append(udp(1, 2, checksum(routed(udp(1, 2, 0), 2))))
assert checksum(there[-2]) == 0 and checksum(routed(there[-1], 2)) == 0

back = [udp(2, 1, n, ttl=128) for n in range(5)]

case.arrive(1, *there)
case.arrive(2, *back)
case.forward(2, *(routed(frame, 2) for frame in there))
case.forward(1, *(routed(frame, 1) for frame in back))
