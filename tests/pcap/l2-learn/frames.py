from case import Case
from wire import BROADCAST, Ether, IP, UDP, arp, bridged, host_mac, host_v4

case = Case(__file__)

# Frames of port 1 are handled first, then those of port 2, then those of port 3.
unknown = bridged(1, 2, 1)
case.arrive(1, unknown)
case.forward(2, unknown)
case.forward(3, unknown)

answer = bridged(2, 1, 2)
case.arrive(2, answer)
case.forward(1, answer)

to_two, to_one = bridged(3, 2, 3), bridged(3, 1, 4)
everybody = arp(1, (host_mac(3), host_v4(3)), ("00:00:00:00:00:00", host_v4(1)))
group = bridged(3, 1, 5, mac="01:00:5e:01:01:01", target="239.1.1.1")
to_itself = bridged(3, 3, 6)
case.arrive(3, to_two, to_one, everybody, group, to_itself)
case.forward(2, to_two, everybody, group)
case.forward(1, to_one, everybody, group)
