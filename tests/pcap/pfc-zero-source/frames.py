from case import Case
from wire import pfc, udp

case = Case(__file__)

case.arrive(1, *(udp(1, 2, n, dscp=3) for n in range(3)))
case.arrive(2, pfc({3: 0xFFFF}, source="00:00:00:00:00:00"))
