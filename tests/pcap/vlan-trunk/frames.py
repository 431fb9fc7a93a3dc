from case import Case
from wire import BROADCAST, bridged, retagged

case = Case(__file__)

ten = bridged(1, 3, 1, mac=BROADCAST, dscp=8)
case.arrive(1, ten)
case.forward(3, retagged(ten, [(10, 1)]))
twenty = bridged(2, 3, 2, mac=BROADCAST)
case.arrive(2, twenty)
case.forward(3, retagged(twenty, [20]))

# From the trunk: tagged to the access ports, untagged to the native VLAN's.
to_ten, to_twenty = (bridged(3, port, 3, tags=[(vlan, 6)], mac=BROADCAST)
                     for port, vlan in ((1, 10), (2, 20)))
native = bridged(3, 4, 4, mac=BROADCAST)
# A priority tag names no VLAN: the native one.
priority_tagged = bridged(3, 4, 5, tags=[(0, 3)], mac=BROADCAST)
nobody_else = bridged(3, 4, 6, tags=[101], mac=BROADCAST)
case.arrive(3, to_ten, to_twenty, native, priority_tagged, nobody_else)
case.forward(1, retagged(to_ten, []))
case.forward(2, retagged(to_twenty, []))
case.forward(4, native, retagged(priority_tagged, []))

untagged = bridged(4, 3, 7, mac=BROADCAST)
case.arrive(4, untagged)
case.forward(3, untagged)
