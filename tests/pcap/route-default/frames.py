from case import Case
from wire import routed, udp, udp6

case = Case(__file__)

connected = [udp(1, 2, 1), udp6(1, 2, 2)]
elsewhere = [udp(1, 2, 3, target="192.0.2.1"), udp(1, 2, 4, target="223.255.255.255"),
             udp(1, 2, 5, target="1.0.0.0"), udp6(1, 2, 6, target="2001:db8::1"),
             udp6(1, 2, 7, target="2000::")]
case.arrive(1, *connected, *elsewhere)
case.forward(2, *(routed(frame, 2) for frame in connected))
case.forward(3, *(routed(frame, 3) for frame in elsewhere))
