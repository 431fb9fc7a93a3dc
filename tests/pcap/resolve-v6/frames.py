from case import Case
from wire import advertisement, host_mac, host_v6, port_mac, routed, udp6

case = Case(__file__)

waiting = [udp6(1, 2, n) for n in range(5)]
at_once = udp6(1, 2, 9, host=2)
case.arrive(1, *waiting[:3], at_once, *waiting[3:])
case.solicit(2, host_v6(2))
us = (port_mac(2), "fd00:0:0:2::fe")
case.arrive(2, advertisement((host_mac(2), host_v6(2)), host_v6(2), us))
case.forward(2, routed(at_once, 2, mac=host_mac(2, 2)), *(routed(frame, 2) for frame in waiting))
