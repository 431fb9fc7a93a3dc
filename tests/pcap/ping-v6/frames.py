from case import Case
from wire import (Ether, ICMPv6EchoReply, ICMPv6EchoRequest, IPv6, host_mac, host_v6, link_local,
                  port_mac)

case = Case(__file__)

link = Ether(src=host_mac(1), dst=port_mac(1))
own = link_local(port_mac(1))
asked = [("fd00:0:0:1::fe", host_v6(1), b"abcd" * 14), ("fd00:0:0:2::fe", host_v6(1), b"far"),
         (own, link_local(host_mac(1)), b"y" * 1452)]
for sequence, (target, source, data) in enumerate(asked, 1):
    case.arrive(1, link / IPv6(src=source, dst=target, tc=sequence << 2)
                / ICMPv6EchoRequest(id=9, seq=sequence, data=data))
    case.say(1, Ether(src=port_mac(1), dst=host_mac(1))
             / IPv6(src=target, dst=source, hlim=64, tc=sequence << 2)
             / ICMPv6EchoReply(id=9, seq=sequence, data=data))

ip = IPv6(src=host_v6(1), dst="fd00:0:0:1::fe")
case.arrive(1, link / ip / ICMPv6EchoRequest(cksum=0xBEEF))
# The link-local address of the other port means nothing on this link, and is not routed.
case.arrive(1, link / IPv6(src=host_v6(1), dst=link_local(port_mac(2))) / ICMPv6EchoRequest())
