from case import Case
from wire import pfc, udp

case = Case(__file__)

case.arrive(1, *(udp(1, 2, n, dscp=3 + n % 2, size=1000) for n in range(50)))
case.arrive(2, pfc({3: 0xFFFF, 4: 0xFFFF}))
case.pause(1, {3: 0xFFFF, 4: 0xFFFF})
