from case import Case
from wire import pfc, routed, udp

case = Case(__file__)

# Threshold and headroom hold 60 frames of 1000 bytes; four are lost, the other class is not harmed.
case.arrive(1, *(udp(1, 2, n, dscp=3, size=1000) for n in range(64)))
other = [udp(1, 2, 100 + n, dscp=4, size=1000) for n in range(10)]
case.arrive(1, *other)
case.arrive(2, pfc({3: 0xFFFF}))
case.pause(1, {3: 0xFFFF})
case.forward(2, *(routed(frame, 2) for frame in other))
