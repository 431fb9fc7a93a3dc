from case import Case
from wire import routed, udp

case = Case(__file__)

# A DSCP that claims another lossless tag is set right, to the tag's own: 40 and 0 are the class
# selectors of PCP 5 and 0.
for number, (pcp, dscp, leaves_with) in enumerate((
        (3, 46, 46), (4, 0, 0), (5, 3, 40), (0, 4, 0), (3, 4, 3), (5, 46, 46))):
    frame = udp(1, 2, number, tags=[(10, pcp)], dscp=dscp)
    case.arrive(1, frame)
    case.forward(2, routed(frame, 2, dscp=leaves_with))
    # On a tagged port the PCP says the tag again.
    frame = udp(1, 3, number, tags=[(10, pcp)], dscp=dscp)
    case.arrive(1, frame)
    case.forward(3, routed(frame, 3, dscp=leaves_with, tags=[(30, pcp)]))
# No PCP to go by: the port's default, and the DSCP says so.
plain = udp(1, 2, 9, dscp=3)
case.arrive(1, plain)
case.forward(2, routed(plain, 2, dscp=0))
