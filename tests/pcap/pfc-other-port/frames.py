from case import Case
from wire import pfc, routed, udp

case = Case(__file__)

to_two = [udp(1, 2, n, dscp=3) for n in range(3)]
to_three = [udp(1, 3, n, dscp=3) for n in range(3)]
case.arrive(1, *to_two, *to_three)
case.arrive(2, pfc({3: 0xFFFF}))
case.forward(3, *(routed(frame, 3) for frame in to_three))
