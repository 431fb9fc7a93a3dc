from case import Case
from wire import pfc, routed, udp

case = Case(__file__)

frames = [udp(1, 2, n, dscp=3, size=1000) for n in range(25)]
case.arrive(2, pfc({3: 0xFFFF}))
case.arrive(1, *frames)
# Another class is none of it.
other = udp(1, 2, 99, dscp=4)
case.arrive(1, other)
case.forward(2, routed(other, 2))
case.pause(1, {3: 0xFFFF})
case.pause(1, {3: 0})
