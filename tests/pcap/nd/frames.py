from case import Case
from wire import host_mac, host_v6, link_local, port_mac, solicitation

case = Case(__file__)

US = "fd00:0:0:1::fe"
me = (host_mac(1), host_v6(1))
case.arrive(1, solicitation(me, US))
case.advertise(1, US, me)
# To the switch alone, from a link-local address, for its link-local address.
local = (host_mac(1), link_local(host_mac(1)))
own = link_local(port_mac(1))
case.arrive(1, solicitation(local, own, mac=port_mac(1), destination=own))
case.advertise(1, own, local)

# For a neighbor, and for an address of another port.
case.arrive(1, solicitation(me, host_v6(1, 7)))
case.arrive(1, solicitation(me, "fd00:0:0:2::fe"))
# A hop limit below 255 says that a router sent it on; and a broken checksum.
off_link = bytearray(solicitation(me, US))
off_link[21] = 254
broken = bytearray(solicitation(me, US))
broken[56] ^= 1
case.arrive(1, off_link, broken)
