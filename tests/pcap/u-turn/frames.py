from case import Case
from wire import host_mac, port_mac, routed, udp, udp6

case = Case(__file__)

# The loop's other router sends back what left here, one hop less, until it has no hop left.
for frame in (udp(1, 2, 1, target="10.9.0.1", ttl=6), udp6(1, 2, 2, target="2001:db8::1", ttl=6)):
    for arriving_hops in (6, 4, 2):
        case.arrive(1, frame)
        left = routed(frame, 1, mac=host_mac(1, 2))
        case.forward(1, left)
        if arriving_hops > 2:
            frame = routed(left, 1, mac=port_mac(1), source=host_mac(1, 2))
# Where the loop ends here, the sender hears of it.
expired = udp(1, 2, 3, target="10.9.0.1", ttl=1)
case.arrive(1, expired)
case.error(1, expired, 11, 0)
