from case import Case
from wire import routed, udp6

case = Case(__file__)

fits = udp6(1, 2, 1, size=1294)
case.arrive(1, fits)
case.forward(2, routed(fits, 2))
for frame in (udp6(1, 2, 2, size=1295), udp6(1, 2, 3, size=1514)):
    case.arrive(1, frame)
    case.error(1, frame, 2, 0, mtu=1280)
