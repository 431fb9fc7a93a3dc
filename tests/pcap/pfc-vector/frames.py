from case import Case
from wire import pfc, routed, udp

case = Case(__file__)

every_class = {priority: 0xFFFF for priority in range(8)}
frames = [udp(1, 2, n, dscp=3 + n % 2) for n in range(6)]
case.arrive(1, *frames)
# Nobody; nobody; class 4.
case.arrive(2, pfc(every_class, vector=0), pfc(every_class, vector=0xFF00),
            pfc(every_class, vector=0xFF10))
case.forward(2, *(routed(frame, 2) for frame in frames[::2]))
