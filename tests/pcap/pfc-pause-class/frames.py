from case import Case
from wire import pfc, routed, udp

case = Case(__file__)

# The frames are handled before the pause that comes in the same turn: what already stood ready to
# leave is taken back.
frames = [udp(1, 2, 10 * n + dscp, dscp=dscp) for n in range(5) for dscp in (3, 4, 0)]
case.arrive(1, *frames)
case.arrive(2, pfc({3: 0xFFFF}))
case.forward(2, *(routed(frame, 2) for frame in frames if frame[15] >> 2 != 3))
# The other direction is not paused.
back = udp(2, 1, 99, dscp=3)
case.arrive(2, back)
case.forward(1, routed(back, 1))
