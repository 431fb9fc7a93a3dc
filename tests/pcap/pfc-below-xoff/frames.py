from case import Case
from wire import pfc, udp

case = Case(__file__)

case.arrive(1, *(udp(1, 2, n, dscp=3, size=1000) for n in range(20)))
case.arrive(2, pfc({3: 0xFFFF}))
