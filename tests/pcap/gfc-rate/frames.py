from case import Case
from wire import pfc, routed, udp

case = Case(__file__)

# At 1 Mb/s stage 1 is half of that: the first frame of class 3 may go, the next one 17 ms later, and
# so on. All do in the end, in order.
case.arrive(2, pfc({3: 1}))
slow = [udp(1, 2, n, dscp=3, size=1000) for n in range(4)]
others = [udp(1, 2, 100 + n, dscp=4) for n in range(4)]
case.arrive(1, *slow, *others)
# Those of class 4 stood ready already.
case.forward(2, *(routed(frame, 2) for frame in others))
case.forward(2, *(routed(frame, 2) for frame in slow))
