from case import Case
from wire import pfc, routed, udp

case = Case(__file__)

frames = [udp(1, 2, n, dscp=3 + n % 2) for n in range(6)]
case.arrive(1, *frames)
# 5 ms for class 3; class 4 is not paused.
case.arrive(2, pfc({3: 10}))
case.forward(2, *(routed(frame, 2) for frame in frames[1::2] + frames[::2]))
