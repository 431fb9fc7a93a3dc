from case import Case
from wire import host_mac, routed, udp, udp6

case = Case(__file__)

four, six = udp(1, 2, 1, target="203.0.113.7"), udp6(1, 2, 2, target="2001:db8::7")
case.arrive(1, four, six)
case.forward(2, routed(four, 2), routed(six, 2, mac=host_mac(2, 2)))
