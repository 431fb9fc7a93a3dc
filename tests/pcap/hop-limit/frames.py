from case import Case
from wire import (Ether, ICMPv6EchoRequest, ICMPv6TimeExceeded, IPv6, host_mac, host_v6, port_mac,
                  routed, udp6)

case = Case(__file__)

one, zero, last = udp6(1, 2, 1, ttl=1, size=1400), udp6(1, 2, 2, ttl=0), udp6(1, 2, 3, ttl=2)
link = Ether(src=host_mac(1), dst=port_mac(1))
ip = IPv6(src=host_v6(1), dst=host_v6(2), hlim=1)
about_error = bytes(link / ip / ICMPv6TimeExceeded() / IPv6())
from_nobody = udp6(1, 2, 4, ttl=1, source="::")
about_echo = bytes(link / ip / ICMPv6EchoRequest())
case.arrive(1, one, zero, last, about_error, from_nobody, about_echo)
case.forward(2, routed(last, 2))
for frame in (one, zero, about_echo):
    case.error(1, frame, 3, 0)
