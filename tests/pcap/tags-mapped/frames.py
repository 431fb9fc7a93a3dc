from case import Case
from wire import routed, udp

case = Case(__file__)

keep, raised, lossy = udp(1, 2, 1, dscp=26), udp(1, 3, 2, dscp=26), udp(1, 3, 3, dscp=46)
# DSCP 1 and 2 lost their tags to others and are lossy markings of their own.
formerly = [udp(1, 2, 4, dscp=1), udp(1, 2, 5, dscp=2)]
case.arrive(1, keep, raised, lossy, *formerly)
case.forward(2, routed(keep, 2), *(routed(frame, 2) for frame in formerly))
case.forward(3, routed(raised, 3, dscp=27, tags=[(30, 5)]), routed(lossy, 3, tags=[(30, 0)]))
