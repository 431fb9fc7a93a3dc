from case import Case
from wire import Ether, Raw, host_mac, padded, port_mac, udp, udp6

case = Case(__file__)

# Another station's frame.
case.arrive(1, udp(1, 2, 1, mac=host_mac(1, 9)), udp6(1, 2, 2, mac=host_mac(1, 9)))
# Destinations that nobody routes: multicast, limited broadcast, reserved; loopback has no route.
case.arrive(1, udp(1, 2, 3, target="224.0.0.9"), udp(1, 2, 4, target="255.255.255.255"),
            udp(1, 2, 5, target="240.0.0.1"), udp6(1, 2, 6, target="ff02::9"))
# Sources that nobody has.
case.arrive(1, udp(1, 2, 7, source="127.0.0.1"), udp(1, 2, 8, source="0.0.0.0"),
            udp(1, 2, 9, source="224.0.0.1"), udp(1, 2, 10, source="255.255.255.255"),
            udp6(1, 2, 11, source="ff02::1"))
# IP to Ethernet groups.
case.arrive(1, udp(1, 2, 12, mac="ff:ff:ff:ff:ff:ff", target="10.0.1.255"),
            udp(1, 2, 13, mac="01:00:5e:00:00:09", target="224.0.0.9"))
# Not IP: to the switch, to everybody, to a group that bridges keep to themselves; and LLDP.
for target in (port_mac(1), "ff:ff:ff:ff:ff:ff", "01:80:c2:00:00:00"):
    case.arrive(1, padded(Ether(src=host_mac(1), dst=target, type=0x88B5) / Raw(b"knotless")))
case.arrive(1, padded(Ether(src=host_mac(1), dst="01:80:c2:00:00:0e", type=0x88CC)
                      / Raw(bytes.fromhex("020704020000010101040503706f727400"))))
