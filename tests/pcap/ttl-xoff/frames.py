from case import Case
from wire import pfc, routed, udp

case = Case(__file__)

# Class 2 fills, which upstream holds as class 1: priority 3.
frames = [udp(1, 2, n, dscp=3, ttl=63, size=1000) for n in range(25)]
case.arrive(1, *frames)
between = [udp(2, 1, n) for n in range(63)]
case.arrive(2, pfc({4: 0xFFFF}), *between, pfc({4: 0}))
case.forward(1, *(routed(frame, 1) for frame in between))
case.forward(2, *(routed(frame, 2) for frame in frames))
case.pause(1, {3: 0xFFFF})
case.pause(1, {3: 0})
