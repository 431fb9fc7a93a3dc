from case import Case
from wire import routed, udp, udp6

case = Case(__file__)

for frame, dscp in ((udp(1, 2, 1, dscp=1), 1), (udp(1, 2, 2, dscp=2, ecn=2), 1),
                    (udp6(1, 2, 3, dscp=2, ecn=1), 1), (udp(1, 2, 4, dscp=46), 46),
                    (udp(1, 2, 5), 0)):
    case.arrive(1, frame)
    case.forward(2, routed(frame, 2, dscp=dscp))
