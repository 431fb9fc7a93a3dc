from case import Case
from wire import (Ether, ICMPv6EchoReply, ICMPv6EchoRequest, IPv6, host_mac, link_local, port_mac,
                  routed, udp, udp6)

case = Case(__file__)

# The networks of port 1, and those behind a router in them.
right = [udp(1, 2, 1), udp(1, 2, 2, source="10.0.1.77"), udp(1, 2, 3, source="10.8.1.1"),
         udp6(1, 2, 4), udp6(1, 2, 5, source="fd00:0:0:1::77"), udp6(1, 2, 6, source="fd08::1")]
# A host of port 2, the default route, this switch, a blackhole.
forged = [udp(1, 2, 7, source="10.0.2.1"), udp(1, 2, 8, source="192.0.2.1"),
          udp(1, 2, 9, source="10.0.1.254"), udp(1, 2, 10, source="10.9.0.1"),
          udp6(1, 2, 11, source="fd00:0:0:2::1"), udp6(1, 2, 12, source="2001:db8::1"),
          udp6(1, 2, 13, source="fd00:0:0:1::fe")]
for taken, dropped in zip(right, forged):
    case.arrive(1, taken, dropped)
case.arrive(1, *forged)
case.forward(2, *(routed(frame, 2) for frame in right))

# A link-local address is on every link.
local, own = link_local(host_mac(1)), link_local(port_mac(1))
link = Ether(src=host_mac(1), dst=port_mac(1))
case.arrive(1, link / IPv6(src=local, dst=own) / ICMPv6EchoRequest(data=b"near"))
case.say(1, Ether(src=port_mac(1), dst=host_mac(1)) / IPv6(src=own, dst=local, hlim=64)
         / ICMPv6EchoReply(data=b"near"))
