from case import Case
from wire import routed, udp

case = Case(__file__)

frames = [udp(1, 2, 1, dscp=1), udp(1, 2, 2, dscp=2, ecn=2), udp(1, 3, 3, dscp=1)]
case.arrive(1, *frames)
case.forward(2, *(routed(frame, 2) for frame in frames[:2]))
case.forward(3, routed(frames[2], 3))
