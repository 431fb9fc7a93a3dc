from case import Case
from wire import routed, udp

case = Case(__file__)

fits = udp(1, 2, 1, size=614)
case.arrive(1, fits)
case.forward(2, routed(fits, 2))
# The switch does not fragment, so who allows it is told as well.
for frame in (udp(1, 2, 2, size=615), udp(1, 2, 3, size=1514), udp(1, 2, 4, size=700, flags=0)):
    case.arrive(1, frame)
    case.error(1, frame, 3, 4, mtu=600)
