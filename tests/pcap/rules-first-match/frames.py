from case import Case
from wire import routed, udp

case = Case(__file__)

first, second = udp(1, 2, 1, dscp=1), udp(1, 3, 2, dscp=1)
case.arrive(1, first, second)
case.forward(2, routed(first, 2, dscp=2))
case.forward(3, routed(second, 3))
