from case import Case
from wire import ICMP, IP, Dot1Q, Ether, arp, ether, host_mac, host_v4, port_mac, udp

case = Case(__file__)

US = "10.0.1.254"
me = (host_mac(1), host_v4(1))
request = Ether(arp(1, me, ("00:00:00:00:00:00", US)))
case.arrive(1, ether(me[0], request.dst, [(100, 2)]) / request.payload)
case.arp_reply(1, US, me)

# An answer goes back with the priority of the question.
echo = IP(src=me[1], dst=US, id=1) / ICMP(id=1) / (b"knot" * 8)
case.arrive(1, ether(me[0], port_mac(1), [(100, 3)]) / echo)
answer = IP(src=US, dst=me[1], ttl=64, id=0, flags="DF") / ICMP(type=0, id=1) / (b"knot" * 8)
case.say(1, Ether(src=port_mac(1), dst=me[0]) / Dot1Q(vlan=100, prio=3) / answer)

lost = udp(1, 2, 1, target="192.0.2.1", tags=[(100, 1)])
case.arrive(1, lost)
case.error(1, lost, 3, 0)
