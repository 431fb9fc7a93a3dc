from case import Case
from wire import (Ether, ICMPv6EchoReply, ICMPv6EchoRequest, IPv6, host_mac, link_local, port_mac,
                  routed, udp, udp6)

case = Case(__file__)

local = link_local(host_mac(1))
# IPv6: nobody, this host, this link (RFC 4291, 2.5.2, 2.5.3, 2.5.6).
for number, source in enumerate(("::", "::1", local, "fe80::", "febf::1")):
    case.arrive(1, udp6(1, 2, number, source=source))
for number, target in enumerate(("::", "::1", link_local(host_mac(2)), "febf::1")):
    case.arrive(1, udp6(1, 2, number, target=target))
# IPv4: this network, this host (RFC 1812, 5.3.7), this link (RFC 3927, 2.7).
for number, source in enumerate(("0.1.2.3", "127.0.0.1", "169.254.7.7")):
    case.arrive(1, udp(1, 2, number, source=source))
for number, target in enumerate(("0.1.2.3", "127.0.0.1", "169.254.7.7")):
    case.arrive(1, udp(1, 2, number, target=target))

# Neighbors of those are ordinary addresses, and the switch itself may be spoken to from its link.
near = [udp6(1, 2, 20, source="fec0::1"), udp6(1, 2, 21, source="::2"),
        udp6(1, 2, 22, target="fe7f::1"), udp(1, 2, 23, source="169.253.0.1"),
        udp(1, 2, 24, source="169.255.0.1"), udp(1, 2, 25, target="128.0.0.1")]
case.arrive(1, *near)
case.forward(2, *(routed(frame, 2) for frame in near))
own = link_local(port_mac(1))
link = Ether(src=host_mac(1), dst=port_mac(1))
case.arrive(1, link / IPv6(src=local, dst=own) / ICMPv6EchoRequest(data=b"near"))
case.say(1, Ether(src=port_mac(1), dst=host_mac(1)) / IPv6(src=own, dst=local, hlim=64)
         / ICMPv6EchoReply(data=b"near"))
