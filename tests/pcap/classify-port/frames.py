from case import Case
from wire import routed, udp

case = Case(__file__)

for number, dscp in enumerate((0, 3, 4, 46)):
    frame = udp(1, 3, number, dscp=dscp, ecn=number)
    case.arrive(1, frame)
    case.forward(3, routed(frame, 3, dscp=4))
back = udp(2, 1, 9, dscp=46)
case.arrive(2, back)
case.forward(1, routed(back, 1))
