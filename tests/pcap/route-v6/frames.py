from case import Case
from wire import (Ether, ICMPv6EchoRequest, IPv6, IPv6ExtHdrHopByHop, PadN, TCP, UDP, host_mac,
                  host_v6, padded, port_mac, routed, udp6)

case = Case(__file__)

there = [udp6(1, 2, n, size=size, ecn=n % 4, dscp=n)
         for n, size in enumerate((62, 63, 80, 128, 512, 1513, 1514))]
there += [udp6(1, 2, 10, ttl=255), udp6(1, 2, 11, ttl=2)]
link = Ether(src=host_mac(1), dst=port_mac(1))
ip = IPv6(src=host_v6(1), dst=host_v6(2), fl=0xABCDE)
there += [bytes(link / ip / TCP(dport=80, flags="S")), bytes(link / ip / ICMPv6EchoRequest(id=7))]
there.append(bytes(link / ip / IPv6ExtHdrHopByHop(options=[PadN(optdata=b"1234")]) / UDP() / b"x"))
# No next header at all, and what stands behind the packet is padding.
there.append(padded(link / IPv6(src=host_v6(1), dst=host_v6(2), nh=59)))

back = [udp6(2, 1, n, ttl=128) for n in range(5)]

case.arrive(1, *there)
case.arrive(2, *back)
case.forward(2, *(routed(frame, 2) for frame in there))
case.forward(1, *(routed(frame, 1) for frame in back))
