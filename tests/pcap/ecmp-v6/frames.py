from case import Case
from flow_hash import FlowHash
from wire import Ether, IPv6, TCP, host_mac, host_v6, port_mac, routed, udp6

case = Case(__file__)

hashes = FlowHash(seed=7)
frames = [udp6(1, 2, n, target="2001:db8::1", sport=49152 + n) for n in range(16)]
frames += [udp6(1, 2, n, target=f"2001:db8::{n:x}") for n in range(16)]
link = Ether(src=host_mac(1), dst=port_mac(1))
frames += [bytes(link / IPv6(src=host_v6(1), dst="2001:db8::1") / TCP(sport=5000 + n) / b"data")
           for n in range(16)]
used = set()
for frame in frames + frames:
    port = 2 + hashes.member(frame, 2)
    used.add(port)
    case.arrive(1, frame)
    case.forward(port, routed(frame, port))
assert used == {2, 3}, "the flows use both gateways"
