from case import Case
from wire import Dot1Q, Ether, Raw, bridged, host_mac, retagged

case = Case(__file__)

# DSCP before PCP: 3 is priority 3 whatever the tag says, and 8 is lossy. A PCP that claims another
# lossless tag is set right, or the next switch might believe it.
claims = [bridged(1, 2, 1, dscp=3, tags=[(10, 4)]), bridged(1, 2, 2, dscp=8, tags=[(10, 3)])]
case.arrive(1, *claims)
case.forward(2, retagged(claims[0], [(10, 3)]), retagged(claims[1], [(10, 1)]))
frames = [bridged(1, 2, 3, dscp=4, tags=[(10, 0)]), bridged(1, 2, 4, dscp=8, tags=[(10, 7)])]
link = Ether(src=host_mac(1), dst=host_mac(2))
for pcp in (3, 4, 5):
    tag = Dot1Q(vlan=10, prio=pcp, type=0x88B5)
    frames.append(bytes(link / tag / Raw(b"knotless" * 6)))
case.arrive(1, *frames)
case.forward(2, *frames)
