from case import Case
from wire import routed, udp, udp6

case = Case(__file__)

raised = [udp(1, 2, n, dscp=1, ecn=n) for n in range(4)] + [udp6(1, 2, 4, dscp=1, ecn=2)]
kept = udp(1, 3, 5, dscp=1)
case.arrive(1, *raised, kept)
case.forward(2, *(routed(frame, 2, dscp=2) for frame in raised))
case.forward(3, routed(kept, 3))
