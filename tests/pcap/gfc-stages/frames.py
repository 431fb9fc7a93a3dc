from case import Case
from wire import pfc, routed, udp

case = Case(__file__)

# 60 frames arrive in one turn: the queue is at 63,000 bytes at once, in its third stage.
frames = [udp(1, 2, n, dscp=3, size=1050) for n in range(60)]
case.arrive(1, *frames)
between = [udp(2, 1, n) for n in range(63)]
case.arrive(2, pfc({3: 0xFFFF}), *between, pfc({3: 0}))
case.forward(1, *(routed(frame, 1) for frame in between))
case.forward(2, *(routed(frame, 2) for frame in frames))
case.pause(1, {3: 3})
case.pause(1, {3: 0})
