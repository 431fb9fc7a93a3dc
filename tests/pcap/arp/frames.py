from case import Case
from wire import arp, host_mac, host_v4, padded, port_mac

case = Case(__file__)

US = "10.0.1.254"
NOBODY = "00:00:00:00:00:00"
me = (host_mac(1), host_v4(1))
case.arrive(1, arp(1, me, (NOBODY, US)))
case.arp_reply(1, US, me)
# To the switch alone, as when a neighbor checks whether it is still there.
case.arrive(1, arp(1, me, (port_mac(1), US), destination=port_mac(1)))
case.arp_reply(1, US, me)
# A probe (RFC 5227): is the address free? It names no sender.
case.arrive(1, arp(1, (host_mac(1, 2), "0.0.0.0"), (NOBODY, US)))
case.arp_reply(1, US, (host_mac(1, 2), "0.0.0.0"))

# For somebody else, for an address of another port, an answer nobody asked for, an announcement.
case.arrive(1, arp(1, me, (NOBODY, host_v4(1, 7))))
case.arrive(1, arp(1, me, (NOBODY, "10.0.2.254")))
case.arrive(1, arp(2, (host_mac(1, 3), host_v4(1, 3)), (port_mac(1), US), destination=port_mac(1)))
case.arrive(1, arp(1, (host_mac(1, 4), host_v4(1, 4)), (NOBODY, host_v4(1, 4))))
# Somebody claims our address; a group as a station; no such operation; cut short.
case.arrive(1, arp(2, (host_mac(1, 5), US), me, destination=port_mac(1)))
case.arrive(1, arp(1, ("01:00:5e:00:00:01", host_v4(1, 6)), (NOBODY, US), source=host_mac(1, 6)))
case.arrive(1, arp(9, me, (port_mac(1), US), destination=port_mac(1)))
case.arrive(1, padded(arp(1, me, (NOBODY, US))[:30], 30))
