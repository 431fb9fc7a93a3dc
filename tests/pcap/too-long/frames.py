from case import Case
from wire import routed, udp

case = Case(__file__)

# The port's longest frame is 1514 bytes, and two VLAN tags are allowed for.
longest = [udp(1, 2, 1, size=1514), udp(1, 2, 2, size=1522)]
too_long = [udp(1, 2, 3, size=1523), udp(1, 2, 4, size=2048), udp(1, 2, 5, size=9014)]
case.arrive(1, *longest, *too_long)
case.forward(2, *(routed(frame, 2) for frame in longest))
