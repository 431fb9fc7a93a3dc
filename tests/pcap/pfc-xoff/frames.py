from case import Case
from wire import pfc, udp

case = Case(__file__)

# 20 frames of 1000 bytes are the threshold; 5 more are in headroom.
case.arrive(1, *(udp(1, 2, n, dscp=3, size=1000) for n in range(25)))
case.arrive(2, pfc({3: 0xFFFF}))
case.pause(1, {3: 0xFFFF})
