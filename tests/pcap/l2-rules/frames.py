from case import Case
from wire import BROADCAST, bridged, retagged, with_ip

case = Case(__file__)

# Flooded: each copy has its own rules. Towards port 2 the tag stays, towards the trunk it rises.
frame = bridged(1, 2, 1, dscp=1, mac=BROADCAST)
case.arrive(1, frame)
case.forward(2, frame)
case.forward(3, retagged(with_ip(frame, dscp=2), [(10, 4)]))
lossy = bridged(1, 3, 2, dscp=40, mac=BROADCAST)
case.arrive(1, lossy)
case.forward(2, lossy)
case.forward(3, retagged(lossy, [(10, 5)]))
# Back from the trunk nothing matches.
back = bridged(3, 1, 3, dscp=2, tags=[(10, 4)])
case.arrive(3, back)
case.forward(1, with_ip(retagged(back, []), dscp=0))
