from case import Case
from wire import BROADCAST, bridged, host_mac

case = Case(__file__)

hello = bridged(1, 1, 1, mac=BROADCAST)
case.arrive(1, hello)
case.forward(2, hello)
# Host 1 is known to be here; host 7 is not, and may be anywhere.
stranger = bridged(1, 1, 3, mac=host_mac(1, 7))
case.arrive(1, bridged(1, 1, 2), stranger)
case.forward(2, stranger)
