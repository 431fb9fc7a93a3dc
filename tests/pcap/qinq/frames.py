from case import Case
from wire import BROADCAST, Dot1AD, Dot1Q, bridged, retagged

case = Case(__file__)

# The tag of VLAN 10 comes off, whatever stands inside it, one tag or two.
for number, inner in enumerate(([300], [300, 400])):
    frame = bridged(1, 2, number, mac=BROADCAST, tags=[10, *inner])
    case.arrive(1, frame)
    case.forward(2, frame)
    out = bridged(2, 3, 10 + number, mac=BROADCAST, tags=[20, *inner])
    case.arrive(2, out)
    case.forward(3, retagged(out, inner))
# A service tag (802.1ad) counts as the outer tag, too.
service = bridged(2, 3, 20, mac=BROADCAST, tags=[Dot1AD(vlan=20), Dot1Q(vlan=300)])
case.arrive(2, service)
case.forward(3, retagged(service, [300]))
