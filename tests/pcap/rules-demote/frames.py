from case import Case
from wire import routed, udp

case = Case(__file__)

demoted = [udp(1, 2, 1, dscp=1, ecn=1), udp(1, 2, 2, dscp=2)]
case.arrive(1, *demoted)
case.forward(2, *(routed(frame, 2, dscp=0) for frame in demoted))
