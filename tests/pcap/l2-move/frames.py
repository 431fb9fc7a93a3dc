from case import Case
from wire import BROADCAST, bridged, host_mac

case = Case(__file__)

before = bridged(1, 2, 1, mac=BROADCAST)
case.arrive(1, before)
case.forward(2, before)
case.forward(3, before)

# The same station, now behind port 2.
after = bridged(1, 2, 2, mac=BROADCAST)
case.arrive(2, after)
case.forward(1, after)
case.forward(3, after)

there = bridged(3, 1, 3)
case.arrive(3, there)
case.forward(2, there)
