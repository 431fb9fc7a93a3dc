from case import Case
from wire import routed, udp

case = Case(__file__)

# Down to up, from port 1 to 2, raises; up to down, from port 3 to 1, and across keep.
rises, across = udp(1, 2, 1, dscp=1), udp(1, 3, 2, dscp=1)
back, lost = udp(3, 1, 3, dscp=1), udp(3, 2, 4, dscp=1)
case.arrive(1, rises, across)
case.arrive(3, back, lost)
case.forward(2, routed(rises, 2, dscp=2), routed(lost, 2, dscp=0))
case.forward(3, routed(across, 3))
case.forward(1, routed(back, 1))
