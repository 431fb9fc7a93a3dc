from case import Case
from wire import routed, udp

case = Case(__file__)

frames = [udp(1, 2, dscp, dscp=dscp) for dscp in range(64) if dscp not in (1, 2)]
case.arrive(1, *frames)
case.forward(2, *(routed(frame, 2) for frame in frames))
