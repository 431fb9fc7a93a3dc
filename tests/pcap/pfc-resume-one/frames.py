from case import Case
from wire import pfc, routed, udp

case = Case(__file__)

frames = [udp(1, 2, n, dscp=3 + n % 2) for n in range(10)]
case.arrive(1, *frames)
case.arrive(2, pfc({3: 0xFFFF, 4: 0xFFFF}), pfc({4: 0}))
case.forward(2, *(routed(frame, 2) for frame in frames[1::2]))
