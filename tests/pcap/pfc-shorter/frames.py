from case import Case
from wire import pfc, routed, udp

case = Case(__file__)

# 33 s, then half a millisecond: were the longer one kept, nothing would leave.
frames = [udp(1, 2, n, dscp=3) for n in range(5)]
case.arrive(1, *frames)
case.arrive(2, pfc({3: 0xFFFF}), pfc({3: 1}))
case.forward(2, *(routed(frame, 2) for frame in frames))
