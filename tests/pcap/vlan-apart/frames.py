from case import Case
from wire import BROADCAST, bridged, host_mac, retagged

case = Case(__file__)

# Host 1 of port 1 is in VLAN 10 behind port 1 and, with the same address, in VLAN 20 behind port 2.
ten = bridged(1, 3, 1, mac=BROADCAST)
case.arrive(1, ten)
case.forward(3, retagged(ten, [10]))
case.forward(4, ten)
twenty = bridged(1, 3, 2, mac=BROADCAST)
case.arrive(2, twenty)
case.forward(3, retagged(twenty, [20]))
case.forward(5, twenty)

to_ten, to_twenty = (bridged(3, 1, number, tags=[vlan]) for number, vlan in ((3, 10), (4, 20)))
case.arrive(3, to_ten, to_twenty)
case.forward(1, retagged(to_ten, []))
case.forward(2, retagged(to_twenty, []))
