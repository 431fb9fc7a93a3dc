from case import Case
from wire import pfc, routed, udp

case = Case(__file__)

frames = [udp(1, 2, n, dscp=1, size=1000) for n in range(40)]
case.arrive(1, *frames)
case.arrive(2, pfc({3: 0xFFFF, 4: 0xFFFF}))
case.forward(2, *(routed(frame, 2, dscp=0) for frame in frames))
