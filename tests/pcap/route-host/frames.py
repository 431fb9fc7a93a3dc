from case import Case
from wire import host_mac, routed, udp, udp6

case = Case(__file__)

away = [udp(1, 2, 1, host=9), udp6(1, 2, 2, host=9)]
here = [udp(1, 2, 3, host=1), udp6(1, 2, 4, host=1)]
other = udp(1, 2, 5, host=10)
case.arrive(1, *away, *here, other)
case.forward(3, *(routed(frame, 3) for frame in away))
case.forward(2, *(routed(frame, 2) for frame in here), routed(other, 2, mac=host_mac(2, 10)))
