from case import Case
from wire import routed, udp, udp6

case = Case(__file__)

case.arrive(1, udp(1, 2, 1, target="10.77.0.1"), udp6(1, 2, 2, target="fd77::1"))
# A hop that is used up does not make a blackhole speak.
case.arrive(1, udp(1, 2, 3, target="10.77.0.1", ttl=1))
out, connected = udp(1, 2, 4, target="10.8.8.8"), udp6(1, 2, 5)
case.arrive(1, out, connected)
case.forward(2, routed(out, 2), routed(connected, 2))
