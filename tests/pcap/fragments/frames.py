from case import Case
from wire import (IP, UDP, Ether, IPv6, IPv6ExtHdrFragment, fragment, host_mac, host_v4, host_v6,
                  padded, port_mac, routed)

case = Case(__file__)

link = Ether(src=host_mac(1), dst=port_mac(1))
datagram = IP(src=host_v4(1), dst=host_v4(2), id=7) / UDP(sport=1, dport=2) / (b"knotless" * 300)
frames = [padded(link / part) for part in fragment(datagram, fragsize=1000)]
# The last ones first, and a tiny one without room for ports.
frames.reverse()
frames.append(padded(link / IP(src=host_v4(1), dst=host_v4(2), flags="MF", proto=17, id=8) / b"12"))
ip = IPv6(src=host_v6(1), dst=host_v6(2))
frames.append(bytes(link / ip / IPv6ExtHdrFragment(nh=17, offset=0, m=1, id=9) / (b"first" * 200)))
frames.append(bytes(link / ip / IPv6ExtHdrFragment(nh=17, offset=125, m=0, id=9) / b"last"))
case.arrive(1, *frames)
case.forward(2, *(routed(frame, 2) for frame in frames))
