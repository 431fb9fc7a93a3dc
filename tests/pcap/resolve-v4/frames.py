from case import Case
from wire import arp, host_mac, host_v4, port_mac, routed, udp

case = Case(__file__)

waiting = [udp(1, 2, n) for n in range(5)]
# The neighbor that switch.toml names is not asked for.
at_once = udp(1, 2, 9, host=2)
case.arrive(1, *waiting[:3], at_once, *waiting[3:])
case.arp_request(2, host_v4(2))
case.arrive(2, arp(2, (host_mac(2), host_v4(2)), (port_mac(2), "10.0.2.254"),
                   destination=port_mac(2)))
case.forward(2, routed(at_once, 2, mac=host_mac(2, 2)), *(routed(frame, 2) for frame in waiting))
