from case import Case
from wire import BROADCAST, bridged, retagged

case = Case(__file__)

# An access port's own VLAN may stand on its frames; others, and the reserved VID, may not.
case.arrive(1, bridged(1, 2, 2, tags=[20]), bridged(1, 2, 3, tags=[4095]))
# A trunk without a native VLAN takes no untagged frame.
case.arrive(2, bridged(2, 1, 4), bridged(2, 1, 5, tags=[30]))
# Nobody was learned from those: this floods.
last = bridged(3, 1, 6)
case.arrive(3, last)
case.forward(1, last)
case.forward(2, retagged(last, [10]))
