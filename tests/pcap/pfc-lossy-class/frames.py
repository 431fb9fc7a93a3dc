from case import Case
from wire import pfc, routed, udp

case = Case(__file__)

frames = [udp(1, 2, n, dscp=n) for n in range(8)]
case.arrive(1, *frames)
case.arrive(2, pfc({priority: 0xFFFF for priority in (0, 1, 2, 5, 6, 7)}))
case.forward(2, *(routed(frame, 2) for frame in frames))
