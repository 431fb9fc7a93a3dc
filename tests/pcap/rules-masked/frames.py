from case import Case
from wire import routed, udp

case = Case(__file__)

# Tags 1 and 3 are odd and become 3; tag 2 matches only the rule that looks at no bit.
one, two, three = (udp(1, 2, tag, dscp=tag) for tag in (1, 2, 3))
case.arrive(1, one, two, three)
case.forward(2, routed(one, 2, dscp=3), routed(two, 2), routed(three, 2))
