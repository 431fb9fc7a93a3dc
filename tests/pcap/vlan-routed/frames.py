from case import Case
from wire import routed, udp

case = Case(__file__)

# DSCP 40 has the PCP of its upper three bits, 5.
tagged = udp(1, 2, 1, tags=[(100, 3)], dscp=40)
plain, priority_tagged = udp(1, 2, 2), udp(1, 2, 3, tags=[(0, 5)])
to_other = udp(1, 3, 4, tags=[100], dscp=40, size=1514)
case.arrive(1, tagged, plain, priority_tagged, to_other)
# Another VLAN, and the reserved VID.
case.arrive(1, udp(1, 2, 5, tags=[101]), udp(1, 2, 6, tags=[4095]))
case.forward(2, *(routed(frame, 2) for frame in (tagged, plain, priority_tagged)))
case.forward(3, routed(to_other, 3, tags=[(300, 5)]))

# A port without a VLAN takes none.
back = udp(2, 1, 7, dscp=8)
case.arrive(2, back, udp(2, 1, 8, tags=[100]), udp(2, 1, 9, tags=[100, 200]))
case.forward(1, routed(back, 1, tags=[(100, 1)]))
