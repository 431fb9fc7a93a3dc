from case import Case
from wire import routed, udp

case = Case(__file__)

kept = udp(1, 2, 1, dscp=1)
other_tag, other_egress = udp(1, 2, 2, dscp=2), udp(1, 3, 3, dscp=1)
case.arrive(1, kept, other_tag, other_egress)
case.forward(2, routed(kept, 2), routed(other_tag, 2, dscp=0))
case.forward(3, routed(other_egress, 3, dscp=0))
