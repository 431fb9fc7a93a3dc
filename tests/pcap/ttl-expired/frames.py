from case import Case
from wire import ICMP, IP, Ether, UDP, host_mac, host_v4, padded, port_mac, routed, udp

case = Case(__file__)

one, zero, last = udp(1, 2, 1, ttl=1, size=300), udp(1, 2, 2, ttl=0), udp(1, 2, 3, ttl=2)
link = Ether(src=host_mac(1), dst=port_mac(1))
ip = IP(src=host_v4(1), dst=host_v4(2), ttl=1)
# No error about an error, about a fragment that is not the first, or to nobody.
about_error = padded(link / ip / ICMP(type=11) / IP() / UDP())
later = padded(link / IP(src=host_v4(1), dst=host_v4(2), ttl=1, frag=10, proto=17) / b"rest")
from_nobody = udp(1, 2, 4, ttl=1, source="10.0.1.255")
about_echo = padded(link / ip / ICMP(type=8) / b"ping")
case.arrive(1, one, zero, last, about_error, later, from_nobody, about_echo)
case.forward(2, routed(last, 2))
for frame in (one, zero, about_echo):
    case.error(1, frame, 11, 0)
