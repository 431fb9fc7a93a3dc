from case import Case
from wire import pfc, routed, udp

case = Case(__file__)

# Threshold and headroom hold 59 frames of 1000 bytes, with room left for less than the longest one. A file
# does not stop: what comes then waits there, whatever its class, until the pause of 51 ms is over.
lossless = [udp(1, 2, n, dscp=3, size=1000) for n in range(70)]
other = [udp(1, 2, 100 + n, dscp=4, size=1000) for n in range(10)]
case.arrive(1, *lossless, *other)
case.arrive(2, pfc({3: 100}))
case.pause(1, {3: 0xFFFF})
case.pause(1, {3: 0})
case.forward(2, *(routed(frame, 2) for frame in [*lossless, *other]))
