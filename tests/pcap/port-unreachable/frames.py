from case import Case
from wire import IP, TCP, Ether, host_mac, host_v4, padded, port_mac, udp, udp6

case = Case(__file__)

# The error comes from the address that was asked.
for number, target in enumerate(("10.0.1.254", "10.0.2.254")):
    frame = udp(1, 1, number, target=target, size=100)
    case.arrive(1, frame)
    case.error(1, frame, 3, 3, source=target)
for number, target in enumerate(("fd00:0:0:1::fe", "fd00:0:0:2::fe")):
    frame = udp6(1, 1, number, target=target)
    case.arrive(1, frame)
    case.error(1, frame, 1, 4, source=target)

link = Ether(src=host_mac(1), dst=port_mac(1))
# Nobody speaks TCP here, and a fragment is not put together.
case.arrive(1, padded(link / IP(src=host_v4(1), dst="10.0.1.254") / TCP(dport=179)))
case.arrive(1, padded(link / IP(src=host_v4(1), dst="10.0.1.254", flags="MF", proto=17) / b"part"))
# What claims to come from the switch itself is not answered.
case.arrive(1, udp(1, 1, 9, target="10.0.1.254", source="10.0.2.254"))
